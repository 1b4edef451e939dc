package engine

import (
	"net/netip"
	"testing"
)

func networks(t *testing.T, cidrs ...string) Trust {
	t.Helper()
	var all []netip.Prefix
	for _, c := range cidrs {
		p, err := netip.ParsePrefix(c)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return NewTrust(all)
}

// TestForward holds what each kind of peer may say against what goes upstream.
func TestForward(t *testing.T) {
	stranger := netip.MustParseAddr("203.0.113.9")
	trusted := netip.MustParseAddr("10.0.0.7")
	every := Claims{For: "198.51.100.1", Proto: "https", Scheme: "https", XScheme: "https", Host: "evil.test", Port: "444",
		OriginalFor: "1.1.1.1", Forwarded: "for=1.1.1.1"}
	for _, c := range []struct {
		say       string
		peer      netip.Addr
		authority string
		secure    bool
		claims    Claims
		want      Forwarding
	}{
		{"a stranger who claims nothing", stranger, "a.test", false, Claims{},
			Forwarding{"203.0.113.9", "203.0.113.9", "http", "http", "http", "a.test", "80", "", ""}},
		{"the same over TLS", stranger, "a.test", true, Claims{},
			Forwarding{"203.0.113.9", "203.0.113.9", "https", "https", "https", "a.test", "443", "", ""}},
		{"a port in the authority", stranger, "a.test:8443", true, Claims{},
			Forwarding{"203.0.113.9", "203.0.113.9", "https", "https", "https", "a.test:8443", "8443", "", ""}},
		{"an empty port is none", stranger, "a.test:", false, Claims{},
			Forwarding{"203.0.113.9", "203.0.113.9", "http", "http", "http", "a.test:", "80", "", ""}},
		{"the colons of an address are no port", stranger, "[2001:db8::1]", false, Claims{},
			Forwarding{"203.0.113.9", "203.0.113.9", "http", "http", "http", "[2001:db8::1]", "80", "", ""}},
		{"unless one follows", stranger, "[2001:db8::1]:81", false, Claims{},
			Forwarding{"203.0.113.9", "203.0.113.9", "http", "http", "http", "[2001:db8::1]:81", "81", "", ""}},
		{"no authority at all", stranger, "", false, Claims{},
			Forwarding{"203.0.113.9", "203.0.113.9", "http", "http", "http", "", "80", "", ""}},
		{"a stranger who claims everything", stranger, "a.test", false, every,
			Forwarding{"203.0.113.9", "203.0.113.9", "http", "http", "http", "a.test", "80", "198.51.100.1", ""}},
		{"a trusted peer who claims nothing", trusted, "a.test", true, Claims{},
			Forwarding{"10.0.0.7", "10.0.0.7", "https", "https", "https", "a.test", "443", "", ""}},
		{"a trusted peer who claims everything", trusted, "a.test", false, every,
			Forwarding{"198.51.100.1, 10.0.0.7", "198.51.100.1", "https", "https", "https", "evil.test", "444", "1.1.1.1", "for=1.1.1.1"}},
		{"a chain of trusted peers", trusted, "a.test", false, Claims{For: "198.51.100.1, 10.1.1.1, 10.2.2.2"},
			Forwarding{"198.51.100.1, 10.1.1.1, 10.2.2.2, 10.0.0.7", "198.51.100.1", "http", "http", "http", "a.test", "80", "", ""}},
		{"a client that forges the beginning", trusted, "a.test", false, Claims{For: "10.9.9.9, 198.51.100.1"},
			Forwarding{"10.9.9.9, 198.51.100.1, 10.0.0.7", "198.51.100.1", "http", "http", "http", "a.test", "80", "", ""}},
		{"what is not claimed fits the scheme that is", trusted, "a.test", false, Claims{Proto: "https"},
			Forwarding{"10.0.0.7", "10.0.0.7", "https", "https", "https", "a.test", "443", "", ""}},
		{"but a port that is named stands", trusted, "a.test:8080", false, Claims{Proto: "https"},
			Forwarding{"10.0.0.7", "10.0.0.7", "https", "https", "https", "a.test:8080", "8080", "", ""}},
	} {
		got := networks(t, "10.0.0.0/8").Forward(c.peer, c.peer.String(), c.authority, c.secure, c.claims)
		if got != c.want {
			t.Errorf("%s:\ngot  %+v\nwant %+v", c.say, got, c.want)
		}
	}
}

// TestForwardTrustsNobody: without networks the claims are worth nothing,
// whoever makes them.
func TestForwardTrustsNobody(t *testing.T) {
	peer := netip.MustParseAddr("127.0.0.1")
	got := Trust{}.Forward(peer, "127.0.0.1", "a.test", false, Claims{For: "127.0.0.1", Proto: "https", Forwarded: "x"})
	want := Forwarding{"127.0.0.1", "127.0.0.1", "http", "http", "http", "a.test", "80", "127.0.0.1", ""}
	if got != want {
		t.Errorf("got %+v", got)
	}
}

func TestForwardAllocations(t *testing.T) {
	peer := netip.MustParseAddr("203.0.113.9")
	trust := networks(t, "10.0.0.0/8")
	if n := testing.AllocsPerRun(100, func() { trust.Forward(peer, "203.0.113.9", "a.test:8443", true, Claims{For: "1.1.1.1"}) }); n != 0 {
		t.Errorf("%v allocations for a stranger", n)
	}
}
