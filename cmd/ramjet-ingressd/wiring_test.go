package main

import (
	"net/netip"
	"reflect"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/upstream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// flagsOf parses arguments that must be good.
func flagsOf(t *testing.T, args ...string) config {
	t.Helper()
	c, err := parseFlags(args, func(string) (string, bool) { return "", false }, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestUpstreamOptions is TestEngineOptions for the pools.
func TestUpstreamOptions(t *testing.T) {
	got := upstreamOptions(flagsOf(t, "--demo", "--connect-timeout=11s", "--upstream-pool-idle=12", "--response-timeout=13s", "--max-header-bytes=14001"))
	want := upstream.Options{ConnectTimeout: 11 * time.Second, IdlePerEndpoint: 12, ResponseTimeout: 13 * time.Second, MaxHeaderBytes: 14001}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for i := range reflect.TypeFor[upstream.Options]().NumField() {
		if reflect.ValueOf(want).Field(i).IsZero() {
			t.Errorf("upstream.Options.%s has no source here: give it its flag", reflect.TypeOf(want).Field(i).Name)
		}
	}
}

// TestEngineOptions gives every flag of the engines a value that no other has, and
// wants each in its field. A field of which nothing is said here fails: a setting
// that no flag reaches is the zero value in production.
func TestEngineOptions(t *testing.T) {
	fields := map[string]struct {
		flag string // as given
		want any
	}{
		"ResponseTimeout":      {"--response-timeout=11s", 11 * time.Second},
		"StreamIdle":           {"--stream-idle-timeout=12s", 12 * time.Second},
		"TunnelIdle":           {"--tunnel-idle-timeout=13s", 13 * time.Second},
		"HeaderTimeout":        {"--client-header-timeout=14s", 14 * time.Second},
		"ClientIdle":           {"--client-idle-timeout=15s", 15 * time.Second},
		"HandshakeTimeout":     {"", engine.HandshakeTimeout}, // fixed
		"ProxyProtocol":        {"--proxy-protocol", true},
		"ProxyProtocolTimeout": {"--proxy-protocol-timeout=16s", 16 * time.Second},
		"MaxHeaderBytes":       {"--max-header-bytes=17001", 17001},
		"MaxConnectAttempts":   {"--max-connect-attempts=18", 18},
		"Trust":                {"--trusted-proxies=192.0.2.0/24", engine.NewTrust([]netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")})},
		"Underscores":          {"--underscores-in-headers", true},
		"MirrorMaxBody":        {"--mirror-max-body=19001", int64(19001)},
		"Done":                 {"", (func(*engine.Record))(nil)}, // set with the access log
	}
	args := []string{"--demo"}
	for _, f := range fields {
		if f.flag != "" {
			args = append(args, f.flag)
		}
	}
	set := reflect.ValueOf(engineOptions(flagsOf(t, args...)))
	usual := reflect.ValueOf(engineOptions(flagsOf(t, "--demo")))
	for i := range set.NumField() {
		name := set.Type().Field(i).Name
		f, known := fields[name]
		if !known {
			t.Errorf("engine.Options.%s has no source here: give it its flag", name)
			continue
		}
		if got := set.Field(i).Interface(); !reflect.DeepEqual(got, f.want) {
			t.Errorf("%s with %q is %v, want %v", name, f.flag, got, f.want)
		}
		if same := reflect.DeepEqual(usual.Field(i).Interface(), f.want); f.flag != "" && same {
			t.Errorf("%s: %q is what it is without the flag: nothing is shown by it", name, f.flag)
		}
	}
	if set.NumField() != len(fields) {
		t.Errorf("engine.Options has %d fields, %d are named here", set.NumField(), len(fields))
	}
}
