package probation

import (
	"strconv"
	"unicode/utf8"
)

// field is a set of those that only some kinds of entries have.
type field uint8

const (
	hasAttempt  field = 1 << iota
	hasMax            // Policy.MaxRestarts
	hasReason         //
	hasRestarts       //
	hasRollback       // exits_in_window, from, now if it is set, to
	hasWindow         // Policy.SoakMS
)

// fields has every kind of entry, with what it has beside event, ts and version.
var fields = map[EntryKind]field{
	EntryServing:           0,
	EntryStarting:          0,
	EntryReadinessFailed:   hasReason,
	EntryAbandoned:         hasReason,
	EntryDeployRefused:     hasReason,
	EntryPromoted:          hasMax | hasWindow,
	EntryRestarting:        hasAttempt | hasMax,
	EntryConfirmed:         hasRestarts,
	EntryRestartedPostSoak: 0,
	EntryRestarted:         0,
	EntryExited:            0,
	EntryRolledBack:        hasRollback | hasMax | hasReason | hasWindow,
	EntryRollbackRefused:   hasReason,
	EntryStopped:           0,
	EntryResumed:           0,
}

// AppendJSON appends the entry as one JSON object, without a newline: keys in
// alphabetical order, nothing escaped that need not be.
func (e Entry) AppendJSON(b []byte) []byte {
	has := fields[e.Kind]
	b = append(b, '{')
	if has&hasAttempt != 0 {
		b = append(appendNumber(b, `"attempt":`, e.Attempt), ',')
	}
	b = appendString(b, `"event":`, string(e.Kind))
	if has&hasRollback != 0 {
		b = appendNumber(b, `,"exits_in_window":`, e.Exits)
		b = appendString(b, `,"from":`, e.Version)
	}
	if has&hasMax != 0 {
		b = appendNumber(b, `,"max":`, e.Policy.MaxRestarts)
	}
	if has&hasRollback != 0 && e.Now {
		b = append(b, `,"now":true`...)
	}
	if has&hasReason != 0 {
		b = appendString(b, `,"reason":`, string(e.Reason))
	}
	if has&hasRestarts != 0 {
		b = appendNumber(b, `,"restarts":`, e.Restarts)
	}
	if has&hasRollback != 0 {
		b = appendString(b, `,"to":`, e.To)
	}
	b = appendNumber(b, `,"ts":`, e.TS)
	b = appendString(b, `,"version":`, e.Version)
	if has&hasWindow != 0 {
		b = appendNumber(b, `,"window_ms":`, e.Policy.SoakMS)
	}
	return append(b, '}')
}

// String is the entry as JSON.
func (e Entry) String() string { return string(e.AppendJSON(nil)) }

// appendNumber appends a key, as it is, and a number.
func appendNumber(b []byte, key string, n uint64) []byte {
	return strconv.AppendUint(append(b, key...), n, 10)
}

// appendString appends a key, as it is, and s as a JSON string. Only the quote, the backslash and the
// characters below the space are escaped. What is not UTF-8 becomes U+FFFD.
func appendString(b []byte, key, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(append(b, key...), '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				b = append(append(b, s[start:i]...), "\uFFFD"...)
				start = i + 1
			}
			i += n
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		b = append(b, s[start:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\b':
			b = append(b, '\\', 'b')
		case '\t':
			b = append(b, '\\', 't')
		case '\n':
			b = append(b, '\\', 'n')
		case '\f':
			b = append(b, '\\', 'f')
		case '\r':
			b = append(b, '\\', 'r')
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		start = i
	}
	return append(append(b, s[start:]...), '"')
}
