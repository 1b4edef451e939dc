// Package upstream keeps the connections to endpoints: one pool of idle
// HTTP/1.1 connections per endpoint address, shared by all generations that
// name the endpoint.
//
// Guarantees: a connection from the pool had neither been closed nor spoken to
// by its server when it was handed out; a connection whose endpoint has left
// the serving table is closed instead of pooled; at most Options.IdlePerEndpoint
// connections idle per endpoint; an idle connection owns no buffer and no
// goroutine. One goroutine (the janitor) closes what servers have hung up on.
//
// It knows nothing of routes, requests or HTTP: it moves bytes with deadlines.
package upstream
