package engine

import (
	"net/http"
	"strconv"
)

// Reply is an answer that the proxy writes itself: one text/plain line
// `<status> <reason>: <text>` with a Content-Length, nothing internal in it.
// Replies are constants of this package and http1's refusals; they are never
// built from addresses, Go errors or bytes a client sent.
type Reply struct {
	// Status is the HTTP status code.
	Status int
	// Text says what happened in words that the reader can act on.
	Text string
	// Allow, if set, is the value of an Allow field (405 only, RFC 9110 §15.5.6).
	Allow string
	// Unsupported, if set, is the value of the x-ramjet-unsupported field.
	Unsupported string
}

// Line is the body: one line, ending in a newline.
func (r *Reply) Line() string {
	return strconv.Itoa(r.Status) + " " + reason(r.Status) + ": " + r.Text + "\n"
}

// AppendHTTP1 appends the whole reply as an HTTP/1.1 message that closes the
// connection, for places where no server is left to write it.
func (r *Reply) AppendHTTP1(b []byte) []byte {
	line := r.Line()
	b = append(b, "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(r.Status), 10)
	b = append(b, ' ')
	b = append(b, reason(r.Status)...)
	b = append(b, "\r\nContent-Type: text/plain\r\nContent-Length: "...)
	b = strconv.AppendInt(b, int64(len(line)), 10)
	b = append(b, "\r\nConnection: close\r\n\r\n"...)
	return append(b, line...)
}

func reason(status int) string {
	if text := http.StatusText(status); text != "" {
		return text
	}
	return "Error"
}

// StatusClientGone is what the access record shows for a request whose client
// went away before the answer (nginx's number); it is never sent.
const StatusClientGone = 499

// The replies that routing and upstreams lead to.
var (
	ReplyNoRoute         = &Reply{Status: 404, Text: "no route matches this host and path"}
	ReplyNotReady        = &Reply{Status: 503, Text: "this proxy has no configuration yet"}
	ReplyConnect         = &Reply{Status: 405, Text: "this proxy does not tunnel; CONNECT is not available", Allow: "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, TRACE"}
	ReplyBadMethod       = &Reply{Status: 400, Text: "the method is not a valid token"}
	ReplyBadLength       = &Reply{Status: 400, Text: "Content-Length is not one number that fits the body"}
	ReplyBadHost         = &Reply{Status: 400, Text: "the Host is not a valid host name with an optional port"}
	ReplyTwoHosts        = &Reply{Status: 400, Text: "the request names more than one host"}
	ReplyBadTarget       = &Reply{Status: 400, Text: "the request target is not a valid path or http URL"}
	ReplyUserinfo        = &Reply{Status: 400, Text: "the request target must not carry a user name or password"}
	ReplyClimbs          = &Reply{Status: 400, Text: "the path climbs above the root"}
	ReplyNUL             = &Reply{Status: 400, Text: "the path contains a NUL byte"}
	ReplyPercent         = &Reply{Status: 400, Text: "the path contains an invalid percent sequence"}
	ReplyNoEndpoints     = &Reply{Status: 503, Text: "the backend of this route has no endpoints ready"}
	ReplyConnectFailed   = &Reply{Status: 502, Text: "no endpoint of the backend accepted a connection"}
	ReplyConnectTimeout  = &Reply{Status: 504, Text: "no endpoint of the backend accepted a connection in time"}
	ReplyResponseTimeout = &Reply{Status: 504, Text: "the backend did not begin to answer in time"}
	ReplyStalled         = &Reply{Status: 504, Text: "the backend stopped reading the request"}
	ReplyUpstreamClosed  = &Reply{Status: 502, Text: "the backend closed the connection before it answered"}
	ReplyBadResponse     = &Reply{Status: 502, Text: "the backend sent something that is not a valid HTTP response"}
	ReplyHeadTooLarge    = &Reply{Status: 502, Text: "the backend sent a response head larger than --max-header-bytes"}
	ReplyUnaskedSwitch   = &Reply{Status: 502, Text: "the backend switched protocols although nobody asked"}
	ReplyTooMany1xx      = &Reply{Status: 502, Text: "the backend sent too many interim responses"}
	ReplyBodyStalled     = &Reply{Status: 408, Text: "the request body stopped arriving"}
	ReplyHTTPOnHTTPS     = &Reply{Status: 400, Text: "this port speaks TLS; use https://"}
	ReplyTLSOnHTTP       = &Reply{Status: 400, Text: "this port speaks plain HTTP; use http://"}
	ReplyGRPCNeedsH2     = &Reply{Status: 502, Text: "a gRPC request needs a backend with protocol GRPC (annotation nginx.ingress.kubernetes.io/backend-protocol: GRPC)", Unsupported: "grpc-needs-backend-protocol"}
)
