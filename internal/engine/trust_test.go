package engine

import (
	"net/netip"
	"testing"
)

func TestTrusts(t *testing.T) {
	trust := networks(t, "10.0.0.0/8", "192.0.2.7/32", "2001:db8::/32", "fe80::/10")
	for addr, want := range map[string]bool{
		"10.1.2.3":            true,
		"11.1.2.3":            false,
		"192.0.2.7":           true,
		"192.0.2.8":           false,
		"::ffff:10.1.2.3":     true, // the IPv4 address that it is
		"::ffff:11.1.2.3":     false,
		"2001:db8::1":         true,
		"2001:db9::1":         false,
		"fe80::1%eth0":        true, // a zone says where, not who
		"::ffff:192.0.2.7%xx": true,
	} {
		if got := trust.Trusts(netip.MustParseAddr(addr)); got != want {
			t.Errorf("Trusts(%s) = %v", addr, got)
		}
	}
	if (Trust{}).Trusts(netip.MustParseAddr("127.0.0.1")) || trust.Trusts(netip.Addr{}) {
		t.Error("nobody, or no address, is trusted")
	}
}

func TestClient(t *testing.T) {
	trust := networks(t, "10.0.0.0/8", "2001:db8::/32")
	for _, c := range []struct{ say, peer, forwardedFor, want string }{
		{"a stranger is the client whatever it says", "203.0.113.9", "198.51.100.1", "203.0.113.9"},
		{"a trusted peer without a word", "10.0.0.1", "", "10.0.0.1"},
		{"one hop", "10.0.0.1", "198.51.100.1", "198.51.100.1"},
		{"the rightmost that is not trusted", "10.0.0.1", "198.51.100.1, 198.51.100.2, 10.0.0.3", "198.51.100.2"},
		{"all trusted: the leftmost", "10.0.0.1", "10.0.0.4, 10.0.0.3", "10.0.0.4"},
		{"spaces and tabs", "10.0.0.1", " 198.51.100.1\t,\t10.0.0.2 ", "198.51.100.1"},
		{"with a port", "10.0.0.1", "198.51.100.1:1234", "198.51.100.1"},
		{"IPv6", "10.0.0.1", "2001:db9::1", "2001:db9::1"},
		{"IPv6 in brackets", "10.0.0.1", "[2001:db9::1]", "2001:db9::1"},
		{"IPv6 in brackets with a port", "10.0.0.1", "[2001:db9::1]:1234", "2001:db9::1"},
		{"IPv4 inside IPv6 is trusted as IPv4", "10.0.0.1", "198.51.100.1, ::ffff:10.0.0.2", "198.51.100.1"},
		{"a word ends the walk", "10.0.0.1", "198.51.100.1, unknown, 10.0.0.2", "10.0.0.2"},
		{"so does an empty entry", "10.0.0.1", "198.51.100.1,,10.0.0.2", "10.0.0.2"},
		{"and an obfuscated name", "10.0.0.1", "_hidden", "10.0.0.1"},
		{"half a bracket", "10.0.0.1", "[", "10.0.0.1"},
		{"a zone is kept out of nothing", "10.0.0.1", "fe80::1%eth0", "fe80::1%eth0"},
	} {
		if got := trust.Client(netip.MustParseAddr(c.peer), c.forwardedFor); got.String() != c.want {
			t.Errorf("%s: %v, want %s", c.say, got, c.want)
		}
	}
}
