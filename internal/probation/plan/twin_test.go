package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"ramjet.dev/ingress/internal/probation"
)

var errTwin = errors.New("refused")

// twin reads a line as the parser does, slowly, on top of encoding/json.
func twin(line []byte) (e probation.Event, blank bool, err error) {
	switch {
	case !utf8.Valid(line):
		return e, false, errTwin
	case strings.TrimSpace(string(line)) == "":
		return e, true, nil
	case !json.Valid(line):
		return e, false, errTwin
	}
	fields, err := fieldsOf(line)
	if err != nil {
		return e, false, err
	}
	ts, err := strconv.ParseUint(string(fields["ts"]), 10, 64) // "" and whatever is no integer fail
	if err != nil || fields["ts"][0] == '+' {
		return e, false, errTwin
	}
	name, err := text(fields["event"])
	if err != nil {
		return e, false, err
	}
	e = probation.Event{TS: ts, Kind: probation.PlanKind(name)}
	if v := fields["version"]; v != nil && string(v) != "null" {
		e.Version, err = text(v)
	}
	return e, false, err
}

// fieldsOf are the values of the three fields as they are written.
func fieldsOf(line []byte) (map[string]json.RawMessage, error) {
	fields := make(map[string]json.RawMessage)
	if line = bytes.TrimSpace(line); line[0] == '[' {
		var values []json.RawMessage
		if json.Unmarshal(line, &values) != nil || len(values) != 3 {
			return nil, errTwin
		}
		fields["ts"], fields["event"], fields["version"] = values[0], values[1], values[2]
		return fields, nil
	}
	d := json.NewDecoder(bytes.NewReader(line))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errTwin
	}
	for d.More() {
		before := d.InputOffset()
		key, err := d.Token()
		if err != nil || lonely(line[before:d.InputOffset()]) {
			return nil, errTwin
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, errTwin
		}
		switch name := key.(string); name {
		case "ts", "event", "version":
			if fields[name] != nil {
				return nil, errTwin
			}
			fields[name] = value
		}
	}
	return fields, nil
}

// text is the string that a value is.
func text(value json.RawMessage) (s string, err error) {
	if len(value) == 0 || value[0] != '"' || lonely(value) {
		return "", errTwin
	}
	return s, json.Unmarshal(value, &s)
}

var (
	otherEscape = regexp.MustCompile(`\\[^u]`)
	pairEscape  = regexp.MustCompile(`\\u[dD][89abAB]..\\u[dD][c-fC-F]..`)
	halfEscape  = regexp.MustCompile(`\\u[dD][89a-fA-F]`)
)

// lonely reports whether half of an escaped character stands alone, for which
// encoding/json puts U+FFFD.
func lonely(literal []byte) bool {
	literal = otherEscape.ReplaceAll(literal, []byte("."))
	return halfEscape.Match(pairEscape.ReplaceAll(literal, []byte(".")))
}

// FuzzTwin wants the parser and its twin to say the same about any line.
func FuzzTwin(f *testing.F) {
	for _, line := range seeds(f) {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if depth(line) > 5000 {
			return // encoding/json gives up at ten thousand
		}
		var p parser
		got, blank, err := p.line(line)
		want, wantBlank, wantErr := twin(line)
		if err != nil && wantErr != nil {
			return
		}
		if got != want || blank != wantBlank || (err == nil) != (wantErr == nil) {
			t.Errorf("%q:\nparser %+v, blank %v, %v\ntwin   %+v, blank %v, %v", line, got, blank, err, want, wantBlank, wantErr)
		}
	})
}

// depth is how deep a line may be nested at most.
func depth(line []byte) int { return bytes.Count(line, []byte("[")) + bytes.Count(line, []byte("{")) }
