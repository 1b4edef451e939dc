package accesslog

import (
	"strconv"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

func appendJSON(b []byte, e *Entry) []byte {
	b = append(b, `{"time":"`...)
	b = appendTime(b, e.Time.UTC())
	b = append(b, '"')
	if e.Client.IsValid() {
		b = append(b, `,"client":"`...)
		b = appendClient(b, e.Client)
		b = append(b, '"')
	}
	b = appendMember(b, `,"method":"`, e.Method, shortValue)
	b = appendMember(b, `,"host":"`, e.Host, shortValue)
	b = appendMember(b, `,"path":"`, e.Path, longValue)
	b = appendMember(b, `,"protocol":"`, e.Protocol, shortValue)
	b = append(b, `,"status":`...)
	b = strconv.AppendInt(b, int64(e.Status), 10)
	b = append(b, `,"bytes_in":`...)
	b = strconv.AppendInt(b, e.BytesIn, 10)
	b = append(b, `,"bytes_out":`...)
	b = strconv.AppendInt(b, e.BytesOut, 10)
	b = append(b, `,"duration":`...)
	b = appendSeconds(b, e.Duration)
	b = appendMember(b, `,"upstream_addr":"`, e.UpstreamAddr, shortValue)
	if e.Answered {
		b = append(b, `,"upstream_latency":`...)
		b = appendSeconds(b, e.UpstreamLatency)
	}
	if e.RoutePath != "" {
		b = append(b, `,"route":"`...)
		b = appendString(b, routeHost(e), shortValue)
		b = append(b, ' ')
		b = appendString(b, e.RoutePath, longValue)
		b = append(b, '"')
	}
	b = appendMember(b, `,"backend":"`, e.Backend, shortValue)
	b = append(b, `,"canary":`...)
	b = strconv.AppendBool(b, e.Canary)
	b = append(b, `,"truncated":`...)
	b = strconv.AppendBool(b, e.Truncated)
	b = appendMember(b, `,"request_id":"`, e.RequestID, shortValue)
	b = appendMember(b, `,"user_agent":"`, e.UserAgent, longValue)
	b = appendMember(b, `,"referer":"`, e.Referer, longValue)
	return append(b, '}', '\n')
}

// appendMember appends a member whose value is a string, unless it is empty. The key
// comes with the first quote of the value.
func appendMember(b []byte, key, s string, bound int) []byte {
	if s == "" {
		return b
	}
	b = append(b, key...)
	b = appendString(b, s, bound)
	return append(b, '"')
}

// appendString appends the inside of a JSON string (RFC 8259 section 7), in ASCII: so
// nobody has to ask which characters beyond it a terminal or a parser would act upon.
func appendString(b []byte, s string, bound int) []byte {
	s, shortened := cut(s, bound)
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if plain[c] {
			i++
			continue
		}
		b = append(b, s[from:i]...)
		r, size := rune(c), 1
		if c >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		b = appendRune(b, r)
		i += size
		from = i
	}
	b = append(b, s[from:]...)
	if shortened {
		b = append(b, cutMark...)
	}
	return b
}

// appendRune appends an escaped character.
func appendRune(b []byte, r rune) []byte {
	if r == '"' || r == '\\' {
		return append(b, '\\', byte(r))
	}
	if r > 0xffff {
		high, low := utf16.EncodeRune(r)
		return appendUnit(appendUnit(b, high), low)
	}
	return appendUnit(b, r)
}

func appendUnit(b []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	return append(b, '\\', 'u', hex[r>>12], hex[r>>8&0xf], hex[r>>4&0xf], hex[r&0xf])
}

// appendTime appends a time in UTC as RFC 3339 has it, to the microsecond.
func appendTime(b []byte, t time.Time) []byte {
	year, month, day := t.Date()
	b = append(appendYear(b, year), '-')
	b = append(appendTwo(b, int(month)), '-')
	b = append(appendTwo(b, day), 'T')
	b = append(appendClock(b, t), '.')
	b = appendSix(b, t.Nanosecond()/1e3)
	return append(b, 'Z')
}
