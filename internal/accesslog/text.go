package accesslog

import (
	"strconv"
	"time"
)

const absent = '-'

func appendText(b []byte, e *Entry) []byte {
	if e.Client.IsValid() {
		b = appendClient(b, e.Client)
	} else {
		b = append(b, absent)
	}
	b = append(b, " - - ["...)
	b = appendCommonTime(b, e.Time.UTC())
	b = append(b, `] "`...)
	b = appendRequest(b, e)
	b = append(b, `" `...)
	b = strconv.AppendInt(b, int64(e.Status), 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, e.BytesOut, 10)
	b = appendQuoted(b, " ", e.Referer, longValue)
	b = appendQuoted(b, " ", e.UserAgent, longValue)
	b = appendQuoted(b, " host=", e.Host, shortValue)
	b = append(b, " bytes_in="...)
	b = strconv.AppendInt(b, e.BytesIn, 10)
	b = append(b, " duration="...)
	b = appendSeconds(b, e.Duration)
	b = appendQuoted(b, " upstream_addr=", e.UpstreamAddr, shortValue)
	b = append(b, " upstream_latency="...)
	if e.Answered {
		b = appendSeconds(b, e.UpstreamLatency)
	} else {
		b = append(b, absent)
	}
	b = append(b, ` route="`...)
	if e.RoutePath == "" {
		b = append(b, absent)
	} else {
		b = appendEscaped(b, routeHost(e), shortValue, &plain)
		b = append(b, ' ')
		b = appendEscaped(b, e.RoutePath, longValue, &plain)
	}
	b = append(b, '"')
	b = appendQuoted(b, " backend=", e.Backend, shortValue)
	b = append(b, " canary="...)
	b = strconv.AppendBool(b, e.Canary)
	b = append(b, " truncated="...)
	b = strconv.AppendBool(b, e.Truncated)
	b = appendQuoted(b, " request_id=", e.RequestID, shortValue)
	return append(b, '\n')
}

// routeHost is the host of the route as people write it.
func routeHost(e *Entry) string {
	if e.RouteHost == "" {
		return "*"
	}
	return e.RouteHost
}

// appendRequest appends method, path and protocol, or one dash for all of them.
func appendRequest(b []byte, e *Entry) []byte {
	if e.Method == "" && e.Path == "" && e.Protocol == "" {
		return append(b, absent)
	}
	b = appendWord(b, e.Method, shortValue)
	b = append(b, ' ')
	b = appendWord(b, e.Path, longValue)
	b = append(b, ' ')
	return appendWord(b, e.Protocol, shortValue)
}

// appendWord appends a value that has no spaces around it to tell it by.
func appendWord(b []byte, s string, bound int) []byte {
	if s == "" {
		return append(b, absent)
	}
	return appendEscaped(b, s, bound, &plainWord)
}

// appendQuoted appends a key and a value in quotes.
func appendQuoted(b []byte, key, s string, bound int) []byte {
	b = append(b, key...)
	b = append(b, '"')
	if s == "" {
		b = append(b, absent)
	} else {
		b = appendEscaped(b, s, bound, &plain)
	}
	return append(b, '"')
}

// plain are the bytes that stand for themselves in a string of either format: those
// that print, but for the quote and the backslash. plainWord is without the space.
var plain, plainWord = func() (p, w [256]bool) {
	for c := ' '; c <= '~'; c++ {
		p[c] = c != '"' && c != '\\'
		w[c] = p[c] && c != ' '
	}
	return p, w
}()

// appendEscaped appends a value with its bytes escaped that do not stand for
// themselves.
func appendEscaped(b []byte, s string, bound int, plain *[256]bool) []byte {
	const hex = "0123456789ABCDEF"
	s, shortened := cut(s, bound)
	from := 0
	for i := range len(s) {
		c := s[i]
		if plain[c] {
			continue
		}
		b = append(b, s[from:i]...)
		b = append(b, '\\', 'x', hex[c>>4], hex[c&0xf])
		from = i + 1
	}
	b = append(b, s[from:]...)
	if shortened {
		b = append(b, cutMark...)
	}
	return b
}

// appendCommonTime appends a time in UTC as the combined format has it:
// 02/Jan/2006:15:04:05 +0000.
func appendCommonTime(b []byte, t time.Time) []byte {
	year, month, day := t.Date()
	b = append(appendTwo(b, day), '/')
	b = append(b, month.String()[:3]...)
	b = append(b, '/')
	b = append(appendYear(b, year), ':')
	b = appendClock(b, t)
	return append(b, " +0000"...)
}
