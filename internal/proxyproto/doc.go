// Package proxyproto reads the PROXY protocol, versions 1 and 2: the header by
// which a load balancer that passes TCP on says whose connection it is. Section
// numbers are those of HAProxy's proxy-protocol.txt.
//
// What it guarantees:
//
//   - Bytes are consumed up to the last one of the header and no further; what
//     follows, be it TLS, HTTP or a second header, is the caller's.
//   - The verdict does not depend on how the bytes were cut into reads, and no byte
//     is looked at again because more bytes came.
//   - What cannot be a header is refused at the first byte that shows it, so that a
//     health check without one is not left waiting. Words and addresses of version 1
//     are judged at the end of their line.
//   - Addresses are either both there and well-formed or the header is Local. They
//     are never IPv4 addresses mapped into IPv6 and have no zone, so that they can be
//     compared with networks as they are.
//   - Nothing is allocated, and memory is constant: a Parser holds one line of version
//     1 at most. A header of version 2 is bounded by its own length field, to 65,551
//     bytes with all TLVs, and TLVs are dropped as they come.
//
// TLVs are not looked into: neither their structure nor the optional checksum
// (section 2.2.3) is verified.
//
// What it never knows: sockets, clocks, loggers, goroutines; whether a peer may say
// whose connection it is (the listener that demands the header must be reachable by
// such peers only), and how long one may take to say it.
package proxyproto
