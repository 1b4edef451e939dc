// Package http1 is the HTTP/1.1 kernel: bytes in, spans out. It delimits and
// judges message heads (RFC 9112) and decodes the chunked transfer coding, and
// it is used on both sides of the proxy: in front of clients, where it is
// strict, and behind it, where it reads what backends answer.
//
// What it guarantees:
//
//   - A message is accepted only if its end is beyond doubt. Whatever two
//     implementations might delimit differently (both length fields, bare line
//     feeds, folded fields, lists where one value belongs) is an Error.
//   - The verdict on a sequence of bytes does not depend on how the sequence was
//     cut into reads, and no byte is looked at again because more bytes came.
//   - What is refused is refused at the first byte that shows it, as far as the
//     syntax of lines goes; rules that need the whole head are judged at its end.
//   - On the normal path nothing is allocated once the structs given have grown
//     to size: results are slices of the caller's buffer, errors are constants.
//   - What it accepts from a client, net/http's server accepts too and
//     understands the same; the fuzz targets hold it to that.
//   - Memory is bounded by Limits.
//
// What it never knows: sockets, clocks, loggers, goroutines, routes, and which
// engine calls it. No type in it is safe for concurrent use; each belongs to the
// one connection, or the one loop, that feeds it.
package http1
