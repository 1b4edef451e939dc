// Package engine holds what every data plane of this project decides alike:
// which route and backend a request goes to, what its head looks like one hop
// further, when a failed attempt may be repeated, and the words of the answers
// that the proxy writes itself.
//
// All of it is a function of its inputs; the packages below (engine/nethttp)
// move the bytes. Because they share these rules, and the table, the
// certificates and the counters, a client cannot tell one engine from another.
//
// It knows nothing of sockets, Kubernetes, the generation history, or which
// engine is calling.
package engine
