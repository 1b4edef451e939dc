package accesslog

import (
	"net/netip"
	"strconv"
	"time"
)

// appendClient appends an address as people write it, nothing for none.
func appendClient(b []byte, a netip.Addr) []byte {
	return a.Unmap().WithZone("").AppendTo(b)
}

// appendSeconds appends a duration in seconds, to the microsecond. A clock that was
// set back does not make it negative.
func appendSeconds(b []byte, d time.Duration) []byte {
	micros := max(d, 0).Microseconds()
	b = strconv.AppendInt(b, micros/1e6, 10)
	b = append(b, '.')
	return appendSix(b, int(micros%1e6))
}

// appendYear appends four digits.
func appendYear(b []byte, year int) []byte {
	year = max(year, 0) % 1e4
	return appendTwo(appendTwo(b, year/100), year%100)
}

// appendClock appends the time of day.
func appendClock(b []byte, t time.Time) []byte {
	hour, minute, second := t.Clock()
	b = append(appendTwo(b, hour), ':')
	b = append(appendTwo(b, minute), ':')
	return appendTwo(b, second)
}

// appendTwo appends two digits: n is from 0 to 99.
func appendTwo(b []byte, n int) []byte {
	return append(b, byte('0'+n/10), byte('0'+n%10))
}

// appendSix appends six digits: n is from 0 to 999,999.
func appendSix(b []byte, n int) []byte {
	return appendTwo(appendTwo(appendTwo(b, n/1e4), n/100%100), n%100)
}
