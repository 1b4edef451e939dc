package accesslog

import (
	"fmt"
	"net/netip"
	"time"
	"unicode/utf8"
)

// Entry is one finished exchange. The strings may hold any bytes, as a client sent
// them; they are not decoded, and only read until Record or Append returns.
//
// Method, Host, Protocol, UpstreamAddr, RouteHost, Backend and RequestID are cut after
// 256 bytes, Path, RoutePath, UserAgent and Referer after 2,048, counted before
// anything is escaped; never within a character. What was cut ends in "...".
type Entry struct {
	// Time is when the request began.
	Time time.Time
	// Client is the client's address; the zero value is unknown. Zones are not shown,
	// and an IPv4-mapped address is shown as IPv4.
	Client netip.Addr
	// Method, Path, with its query, and Protocol ("HTTP/1.1", "HTTP/2.0") are those of
	// the request; empty when its head could not be read.
	Method, Path, Protocol string
	// Host is the authority that the client named.
	Host string
	// Status is the status of the response, or 499 when the client went away first.
	Status int
	// BytesIn and BytesOut count the bytes of the bodies, as content: without the
	// framing.
	BytesIn, BytesOut int64
	// Duration is the time from the beginning of the request to the end of the
	// response.
	Duration time.Duration
	// UpstreamAddr is the address of the last endpoint that was tried, empty when none
	// was.
	UpstreamAddr string
	// UpstreamLatency is the time from sending the request to the first byte of the
	// response; valid when Answered.
	UpstreamLatency time.Duration
	Answered        bool
	// RouteHost and RoutePath are those of the route, with host "" for the hostless
	// rule. Without a RoutePath there is no route: the default backend took the
	// request if there is a Backend, and nobody if there is none.
	RouteHost, RoutePath string
	// Backend is the backend that the request was for: the canary's if Canary is set.
	Backend string
	Canary  bool
	// Truncated says that the response broke off.
	Truncated bool
	// RequestID is the X-Request-Id that went upstream.
	RequestID          string
	UserAgent, Referer string
}

const (
	shortValue = 256
	longValue  = 2048
	cutMark    = "..."

	// MaxLine bounds the bytes of a line with its line feed, whatever is in the entry.
	MaxLine = 64 << 10
)

// cut shortens a value to bound bytes.
func cut(s string, bound int) (kept string, shortened bool) {
	if len(s) <= bound {
		return s, false
	}
	end := bound
	for end > bound-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end], true
}

// Format is how an entry is written.
type Format uint8

const (
	// Text is the combined format, with more behind it.
	Text Format = iota
	// JSON is an object a line.
	JSON
)

// String is the word that ParseFormat reads.
func (f Format) String() string {
	if f == JSON {
		return "json"
	}
	return "text"
}

// ParseFormat reads "text" or "json".
func ParseFormat(word string) (Format, error) {
	for _, f := range [...]Format{Text, JSON} {
		if word == f.String() {
			return f, nil
		}
	}
	return Text, fmt.Errorf("%q is not a format of access logs: text or json", word)
}

// Append appends the line of e, with its line feed, and returns the longer slice. It
// does not keep or change e.
func (f Format) Append(b []byte, e *Entry) []byte {
	if f == JSON {
		return appendJSON(b, e)
	}
	return appendText(b, e)
}
