package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var updateFlags = flag.Bool("update-flags", false, "rewrite the expectations in testdata/flags (read the diff)")

// TestFlags runs the scripts of testdata/flags. A case is a paragraph of
// comments (#), args:, env: and environ: lines; the lines with a bar below it are
// what must come out: every field that differs from the defaults, or the error.
func TestFlags(t *testing.T) {
	files, err := filepath.Glob("testdata/flags/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			script, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got := runScript(t, string(script))
			if *updateFlags {
				if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(script) {
				reportDifference(t, string(script), got)
			}
		})
	}
}

// reportDifference shows the cases that came out differently.
func reportDifference(t *testing.T, want, got string) {
	t.Helper()
	wants, gots := strings.Split(want, "\n\n"), strings.Split(got, "\n\n")
	if len(wants) != len(gots) {
		t.Errorf("the layout is not as -update-flags would write it")
		return
	}
	for i := range wants {
		if wants[i] != gots[i] {
			t.Errorf("want\n%s\ngot\n%s", wants[i], gots[i])
		}
	}
}

// runScript returns the script with the expectations that are true.
func runScript(t *testing.T, script string) string {
	var out []string
	for paragraph := range strings.SplitSeq(strings.TrimSpace(script), "\n\n") {
		var asked []string
		for line := range strings.SplitSeq(paragraph, "\n") {
			if !strings.HasPrefix(line, "| ") {
				asked = append(asked, line)
			}
		}
		out = append(out, strings.Join(append(asked, runCase(t, asked)...), "\n"))
	}
	return strings.Join(out, "\n\n") + "\n"
}

func runCase(t *testing.T, lines []string) []string {
	var args, environ []string
	env := map[string]string{}
	for _, line := range lines {
		kind, rest, _ := strings.Cut(line, ":")
		rest = strings.TrimPrefix(rest, " ")
		switch {
		case strings.HasPrefix(line, "#"):
		case kind == "args":
			args = append(args, words(t, rest)...)
		case kind == "env":
			name, text, _ := strings.Cut(rest, "=")
			env[name] = text
		case kind == "environ":
			environ = append(environ, strings.Fields(rest)...)
		default:
			t.Fatalf("unknown line %q", line)
		}
	}
	if environ != nil {
		return bars(unknownVariables(environ))
	}
	var printed bytes.Buffer
	c, err := parseFlags(args, func(name string) (string, bool) { v, ok := env[name]; return v, ok }, &printed)
	if err != nil {
		if printed.Len() > 0 || strings.ContainsAny(err.Error(), "\r\n") {
			t.Errorf("%q: printed %q, error %q: want one line and nothing else", args, printed.String(), err)
		}
		return bars([]string{"error: " + err.Error()})
	}
	if c.help != (printed.String() == helpText()) {
		t.Errorf("%q: help is %v, printed %q", args, c.help, printed.String())
	}
	return bars(differences(c))
}

// words splits at blanks, with "quotes".
func words(t *testing.T, line string) []string {
	var all []string
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		if quoted, err := strconv.QuotedPrefix(line); err == nil {
			word, err := strconv.Unquote(quoted)
			if err != nil {
				t.Fatal(err)
			}
			all, line = append(all, word), line[len(quoted):]
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		all, line = append(all, word), rest
	}
	return all
}

func bars(lines []string) []string {
	if len(lines) == 0 {
		lines = []string{"nothing"}
	}
	out := make([]string, 0, len(lines))
	for _, line := range lines {
		out = append(out, "| "+line)
	}
	return out
}

// differences are the fields of c that are not as by default. Where only help or
// version is asked for, nothing else is set.
func differences(c config) []string {
	base := fields(defaults())
	if c.help || c.version {
		base = fields(config{})
	}
	var out []string
	for i, f := range fields(c) {
		if f != base[i] {
			out = append(out, f)
		}
	}
	return out
}

// fields is a config as text, one line for each field.
func fields(c config) []string {
	place := func(l listener) string {
		return fmt.Sprintf("%s enabled=%v explicit=%v", l.address, l.enabled(), l.explicit)
	}
	pairs := []any{
		"help", c.help, "version", c.version, "static-routes", c.staticRoutes, "demo", c.demo,
		"ingress-class", c.ingressClass, "watch-namespace", c.watchNamespace, "default-backend", named(c.defaultBackend),
		"default-tls-secret", named(c.defaultTLSSecret), "publish-service", named(c.publishService),
		"publish-address", c.publishAddress, "no-status-update", c.noStatusUpdate,
		"http", place(c.http), "https", place(c.https), "admin", place(c.admin),
		"admin-token-file", c.adminTokenFile, "history-size", c.historySize, "audit-webhook", c.auditWebhook,
		"connect-timeout", c.connectTimeout, "response-timeout", c.responseTimeout,
		"stream-idle-timeout", c.streamIdleTimeout, "tunnel-idle-timeout", c.tunnelIdleTimeout,
		"proxy-protocol", c.proxyProtocol, "proxy-protocol-timeout", c.proxyProtocolTimeout,
		"trusted-proxies", c.trustedProxies, "underscores-in-headers", c.underscoresInHeaders, "mirror-max-body", c.mirrorMaxBody,
		"max-connect-attempts", c.maxConnectAttempts, "upstream-pool-idle", c.upstreamPoolIdle,
		"engine", c.engine, "worker-threads", c.workerThreads, "max-header-bytes", c.maxHeaderBytes,
		"client-header-timeout", c.clientHeaderTimeout, "client-idle-timeout", c.clientIdleTimeout,
		"access-log", c.accessLog, "log-level", c.logLevel, "log-format", c.logFormat, "shutdown-grace", c.shutdownGrace,
	}
	var out []string
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, fmt.Sprintf("%s: %v", pairs[i], pairs[i+1]))
	}
	return out
}

// named is the name of an object, "" for none.
func named[T interface {
	comparable
	fmt.Stringer
}](object T) string {
	if object == *new(T) {
		return ""
	}
	return object.String()
}

// TestDefaults compares the defaults with those of the interface, and makes sure
// that fields shows them all.
func TestDefaults(t *testing.T) {
	got := fields(defaults())
	want := []string{
		"help: false", "version: false", "static-routes: ", "demo: false",
		"ingress-class: ramjet", "watch-namespace: ", "default-backend: ",
		"default-tls-secret: ", "publish-service: ", "publish-address: ", "no-status-update: false",
		"http: 0.0.0.0:8080 enabled=true explicit=false",
		"https: 0.0.0.0:8443 enabled=true explicit=false",
		"admin: 0.0.0.0:10254 enabled=true explicit=false",
		"admin-token-file: ", "history-size: 10", "audit-webhook: ",
		"connect-timeout: 5s", "response-timeout: 1m0s", "stream-idle-timeout: 5m0s", "tunnel-idle-timeout: 1h0m0s",
		"proxy-protocol: false", "proxy-protocol-timeout: 5s",
		"trusted-proxies: []", "underscores-in-headers: false", "mirror-max-body: 262144", "max-connect-attempts: 3", "upstream-pool-idle: 128",
		"engine: nethttp", "worker-threads: 0", "max-header-bytes: 65536",
		"client-header-timeout: 10s", "client-idle-timeout: 1m15s",
		"access-log: off", "log-level: INFO", "log-format: text", "shutdown-grace: 30s",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if n := reflect.TypeFor[config]().NumField(); n != len(want) {
		t.Errorf("config has %d fields, %d are shown", n, len(want))
	}
}

// TestHelp checks what the help promises: every flag, narrow lines, plain ASCII.
func TestHelp(t *testing.T) {
	help := helpText()
	for _, o := range options(new(config)) {
		if !strings.Contains(help, "\n  --"+o.name+" ") {
			t.Errorf("the help does not show --%s", o.name)
		}
	}
	for line := range strings.SplitSeq(help, "\n") {
		if len(line) > helpWidth || strings.TrimRight(line, " ") != line {
			t.Errorf("line of %d columns or with blanks at its end: %q", len(line), line)
		}
	}
}

// FuzzParseFlags looks for arguments and variables that make it panic, or whose
// refusal is not one line.
func FuzzParseFlags(f *testing.F) {
	f.Add("--demo\x00--http=:80", "RAMJET_HTTPS", "0")
	f.Add("--static-routes\x00x\x00--trusted-proxies=::/0,1.2.3.4", "RAMJET_CONNECT_TIMEOUT", "0.001")
	f.Add("-h", "", "")
	f.Fuzz(func(t *testing.T, args, name, text string) {
		getenv := func(n string) (string, bool) { return text, n == name }
		c, err := parseFlags(strings.Split(args, "\x00"), getenv, &bytes.Buffer{})
		if err != nil && strings.ContainsAny(err.Error(), "\r\n") {
			t.Errorf("not one line: %q", err)
		}
		if err == nil && !c.help && !c.version && (c.historySize < 1 || c.maxConnectAttempts < 1 || c.connectTimeout <= 0) {
			t.Errorf("accepted %+v", c)
		}
	})
}
