package accesslog

import (
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the lines into testdata/*.cases; read the diff before you commit it")

// A file of cases holds entries and their lines. Cases are separated by empty lines:
//
//	case: what is tried and why, in words
//	Field: a value for the field of Entry; the other fields are those of typical()
//	text: the line in the text format, without its line feed
//	json: the same in JSON
//
// A string is a Go string in quotes, with *N behind it to repeat it.

type testCase struct {
	name       string
	entry      Entry
	lines      []string // of the file, but for the results
	text, json string
}

// typical is an ordinary exchange.
func typical() Entry {
	return Entry{
		Time:            time.Date(2025, time.November, 29, 16, 48, 3, 123456789, time.UTC),
		Client:          netip.MustParseAddr("192.0.2.7"),
		Method:          "GET",
		Host:            "shop.example.com",
		Path:            "/api/items?page=2",
		Protocol:        "HTTP/1.1",
		Status:          200,
		BytesOut:        5120,
		Duration:        12345 * time.Microsecond,
		UpstreamAddr:    "10.0.0.7:8080",
		UpstreamLatency: 10021 * time.Microsecond,
		Answered:        true,
		RouteHost:       "shop.example.com",
		RoutePath:       "/api",
		Backend:         "web",
		RequestID:       "4bf92f3577b34da6a3ce929d0e0e4736",
		UserAgent:       "curl/8.5.0",
		Referer:         "https://shop.example.com/",
	}
}

// TestCases runs testdata/*.cases.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/*.cases")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		cases, err := readCases(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			text := checkText(t, &c.entry)
			json := checkJSON(t, &c.entry)
			if !*update && (text != c.text || json != c.json) {
				t.Errorf("%s: %s\ntext: %s\nwant: %s\njson: %s\nwant: %s", file, c.name, text, c.text, json, c.json)
			}
			c.text, c.json = text, json
		}
		if *update {
			if err := writeCases(file, cases); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// readCases reads a file; a mistake in it is an error, never a case less.
func readCases(file string) ([]*testCase, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var cases []*testCase
	for i, block := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
		c := &testCase{entry: typical()}
		for line := range strings.SplitSeq(strings.Trim(block, "\n"), "\n") {
			if err := c.add(line); err != nil {
				return nil, fmt.Errorf("%s, block %d: %w", file, i+1, err)
			}
		}
		if c.name == "" {
			return nil, fmt.Errorf("%s, block %d has no case", file, i+1)
		}
		cases = append(cases, c)
	}
	return cases, nil
}

func (c *testCase) add(line string) (err error) {
	key, value, _ := strings.Cut(line, ": ")
	switch key {
	case "text":
		c.text = value
		return nil
	case "json":
		c.json = value
		return nil
	}
	c.lines = append(c.lines, line)
	if key == "case" {
		c.name = value
		return nil
	}
	return set(&c.entry, key, value)
}

// set sets a field of an entry from its text.
func set(e *Entry, field, value string) (err error) {
	texts := map[string]*string{
		"Method": &e.Method, "Host": &e.Host, "Path": &e.Path, "Protocol": &e.Protocol, "UpstreamAddr": &e.UpstreamAddr,
		"RouteHost": &e.RouteHost, "RoutePath": &e.RoutePath, "Backend": &e.Backend, "RequestID": &e.RequestID,
		"UserAgent": &e.UserAgent, "Referer": &e.Referer,
	}
	bools := map[string]*bool{"Answered": &e.Answered, "Canary": &e.Canary, "Truncated": &e.Truncated}
	numbers := map[string]*int64{"BytesIn": &e.BytesIn, "BytesOut": &e.BytesOut}
	durations := map[string]*time.Duration{"Duration": &e.Duration, "UpstreamLatency": &e.UpstreamLatency}
	switch {
	case texts[field] != nil:
		*texts[field], err = unquote(value)
	case bools[field] != nil:
		*bools[field], err = strconv.ParseBool(value)
	case numbers[field] != nil:
		*numbers[field], err = strconv.ParseInt(value, 10, 64)
	case durations[field] != nil:
		*durations[field], err = time.ParseDuration(value)
	case field == "Status":
		e.Status, err = strconv.Atoi(value)
	case field == "Time":
		e.Time, err = time.Parse(time.RFC3339Nano, value)
	case field == "Client" && value == "unknown":
		e.Client = netip.Addr{}
	case field == "Client":
		e.Client, err = netip.ParseAddr(value)
	default:
		err = fmt.Errorf("no field is called %q", field)
	}
	return err
}

// unquote reads a Go string with an optional *N behind it.
func unquote(value string) (string, error) {
	quoted, err := strconv.QuotedPrefix(value)
	if err != nil {
		return "", fmt.Errorf("%s: %w", value, err)
	}
	text, err := strconv.Unquote(quoted)
	if times, repeat := strings.CutPrefix(value[len(quoted):], "*"); repeat && err == nil {
		n, err := strconv.Atoi(times)
		return strings.Repeat(text, n), err
	}
	return text, err
}

func writeCases(file string, cases []*testCase) error {
	var b strings.Builder
	for i, c := range cases {
		if i > 0 {
			b.WriteByte('\n')
		}
		for _, line := range c.lines {
			b.WriteString(line + "\n")
		}
		b.WriteString("text: " + c.text + "\njson: " + c.json + "\n")
	}
	return os.WriteFile(file, []byte(b.String()), 0o644)
}
