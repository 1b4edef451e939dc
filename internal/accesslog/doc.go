// Package accesslog writes a line for each finished exchange.
//
// An entry is formatted by the goroutine that served the exchange, into memory that
// is used again, and copied into a queue of bytes; one goroutine writes the queue to
// the sink. So no string of a request outlives its exchange, a queue of a known size
// holds what it can whatever clients send, and a slow sink is nobody's matter but
// its own.
//
// Guarantees:
//
//   - Record never waits for the sink. A line that finds the queue full is dropped and
//     counted.
//   - One entry is one line, whatever a client sent: printable ASCII and the line feed
//     at its end. No value can end a line, close a quote, begin a terminal's escape
//     sequence, or be taken for another value.
//   - A line has a bounded length, MaxLine, because values have: see Entry.
//   - Lines are whole. Where a sink took a part of one, the next begins on a new line.
//   - A line waits for a tenth of a second at most, unless the sink is slow; Close
//     writes what is queued.
//
// The package never knows engines, routes, flags, or where the lines go.
//
// # Text
//
// The text format is the combined format of nginx and Apache, with the protocol's
// own numbers behind it:
//
//	192.0.2.7 - - [29/Nov/2025:16:48:03 +0000] "GET /api/items?page=2 HTTP/1.1" 200 5120 "https://shop.example.com/" "curl/8.5.0" host="shop.example.com" bytes_in=0 duration=0.012345 upstream_addr="10.0.0.7:8080" upstream_latency=0.010021 route="shop.example.com /api" backend="web" canary=false truncated=false request_id="4bf92f3577b34da6a3ce929d0e0e4736"
//
// in the order: client address; two dashes for names that nobody asks for any more;
// the time at which the request began, in UTC; the request; the status; the bytes of
// the response body; Referer; User-Agent; then key=value pairs, always all of them and
// in this order. Times are seconds. What is absent is a dash.
//
// Strings stand in quotes. In them a quote, a backslash, and every byte that is not
// printable ASCII is written as nginx does it: \x and two upper-case hexadecimal
// digits. Within the request, spaces are written so too, so that it has three words.
//
// # JSON
//
// The same as an object:
//
//	{"time":"2025-11-29T16:48:03.123456Z","client":"192.0.2.7","method":"GET","host":"shop.example.com","path":"/api/items?page=2","protocol":"HTTP/1.1","status":200,"bytes_in":0,"bytes_out":5120,"duration":0.012345,"upstream_addr":"10.0.0.7:8080","upstream_latency":0.010021,"route":"shop.example.com /api","backend":"web","canary":false,"truncated":false,"request_id":"4bf92f3577b34da6a3ce929d0e0e4736","user_agent":"curl/8.5.0","referer":"https://shop.example.com/"}
//
// Members whose value is absent or empty are left out; time, status, bytes_in,
// bytes_out, duration, canary and truncated are always there. Characters that are not
// printable ASCII are written as \u and four hexadecimal digits. JSON has text and
// not bytes: each byte that is not part of valid UTF-8 becomes U+FFFD.
//
// Members and pairs may be added at the end of a line, never changed or reordered.
package accesslog
