package engine

import (
	"net/textproto"
	"strings"
	"testing"
)

// TestFieldRules lists what a hop must not pass on (RFC 9110 section 7.6.1, and
// what this proxy says of its own) and some that it must.
func TestFieldRules(t *testing.T) {
	for names, want := range map[string][2]FieldRule{ // in a request, in a response
		"Connection Proxy-Connection Keep-Alive Te Transfer-Encoding Upgrade Trailer": {FieldDrop, FieldDrop},
		"Proxy-Authenticate Proxy-Authorization":                                      {FieldDrop, FieldDrop},
		"Http2-Settings Proxy":                                                        {FieldDrop, FieldForward},
		"X-Ramjet-Unsupported":                                                        {FieldForward, FieldDrop},
		"Content-Length":                                                              {FieldOwn, FieldOwn},
		"Host Expect Forwarded X-Request-Id X-Real-Ip X-Scheme":                       {FieldOwn, FieldForward},
		"X-Forwarded-For X-Forwarded-Proto X-Forwarded-Scheme X-Forwarded-Host":       {FieldOwn, FieldForward},
		"X-Forwarded-Port X-Original-Forwarded-For":                                   {FieldOwn, FieldForward},
		"Accept Authorization Cookie Content-Type User-Agent X-Original-Uri":          {FieldForward, FieldForward},
		"Date Server Set-Cookie Vary Via Alt-Svc Www-Authenticate":                    {FieldForward, FieldForward},
	} {
		for _, name := range strings.Fields(names) {
			if canonical := textproto.CanonicalMIMEHeaderKey(name); canonical != name {
				t.Errorf("%s is spelt %s", name, canonical)
			}
			if got := [2]FieldRule{RequestField(name), ResponseField(name)}; got != want {
				t.Errorf("%s: request %d, response %d; want %d, %d", name, got[0], got[1], want[0], want[1])
			}
		}
	}
}

func TestHasToken(t *testing.T) {
	for _, c := range []struct {
		list, token string
		want        bool
	}{
		{"close", "close", true},
		{"Close", "close", true},
		{"keep-alive, Upgrade", "upgrade", true},
		{"keep-alive ,\tupgrade\t", "upgrade", true},
		{",,close,", "close", true},
		{"closed", "close", false},
		{"x close", "close", false},
		{"", "close", false},
		{",", "", true}, // an empty element is equal to an empty token
		{"trailers;q=0.5", "trailers", false},
	} {
		if got := HasToken(c.list, c.token); got != c.want {
			t.Errorf("HasToken(%q, %q) = %v", c.list, c.token, got)
		}
	}
	if !NamesToken([]string{"", "a, b"}, "B") || NamesToken([]string{"a", "b"}, "a, b") || NamesToken(nil, "a") {
		t.Error("NamesToken does not look into each field")
	}
}

func TestOffersH2C(t *testing.T) {
	for list, want := range map[string]bool{
		"h2c": true, "H2C": true, "websocket, h2c": true, "h2c/1.0, websocket": true, "foo/2,\th2c ": true,
		"": false, ",": false, "websocket": false, "h2": false, "h2cx": false, "x/h2c": false, "xh2c": false,
	} {
		if got := OffersH2C(list); got != want {
			t.Errorf("OffersH2C(%q) = %v", list, got)
		}
	}
}

func TestKeepRequestID(t *testing.T) {
	for id, want := range map[string]bool{
		"a":                          true,
		"0123-abc_DEF.~:/+=":         true,
		`"quoted"`:                   true,
		strings.Repeat("x", 128):     true,
		strings.Repeat("x", 129):     false,
		"":                           false,
		"a b":                        false,
		"a\tb":                       false,
		"a\nb":                       false,
		"a\x00":                      false,
		"a\x7f":                      false,
		"gr\u00fc\u00df":             false,
		"\x1b[31m":                   false,
		strings.Repeat(" ", 3) + "a": false,
	} {
		if got := KeepRequestID(id); got != want {
			t.Errorf("KeepRequestID(%q) = %v", id, got)
		}
	}
}
