// Package reactor is the second engine: one event loop for each core, on a thread of
// its own, over epoll and non-blocking system calls.
//
// Each loop owns what it serves: its share of the client connections, the connections
// to endpoints, buffers and timers. Nothing of a connection is locked, because nobody
// else touches it; what comes from outside (accepted sockets, finished handshakes, the
// end) arrives in the loop's inbox. A connection that is idle owns no buffer and no
// goroutine.
//
// A client cannot tell this engine from nethttp: the rules are those of package
// engine, the messages are read by package http1, and what this engine does not speak
// (HTTP/2 from clients, HTTP/2 to backends) is handed, with the bytes already read, to
// an engine nethttp that lives inside.
//
// It needs Linux; elsewhere New says so.
package reactor
