package main

import (
	"bytes"
	"context"
	"log/slog"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"ramjet.dev/ingress/internal/accesslog"
	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/route"
)

// lineOf is what the access log writes about a record.
func lineOf(t *testing.T, format accesslog.Format, r *engine.Record) string {
	t.Helper()
	var out bytes.Buffer
	l := accesslog.New(accesslog.Options{Sink: &out, Format: format, Logger: slog.New(slog.DiscardHandler)})
	recordTo(l)(r)
	if err := l.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// exchange is a record in which everything is set.
func exchange(t *testing.T) *engine.Record {
	t.Helper()
	table, diagnostics := route.Compile(route.Spec{
		Backends: []route.BackendSpec{{Name: "web"}, {Name: "next", Endpoints: []route.EndpointSpec{{Address: "192.0.2.9:80", Weight: 1}}}},
		Routes: []route.RouteSpec{{Host: "*.a.test", Path: "/p", PathType: route.Prefix, Backend: "web",
			Canary: &route.CanarySpec{Backend: "next", Header: "x"}}},
	})
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	r := table.Match("b.a.test", "/p/q")
	return &engine.Record{
		Start:  time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC),
		Plan:   engine.Plan{Route: r, Backend: r.Canary.Backend, Canary: true, Target: "/p/q", Authority: "b.a.test"},
		Status: 201, RequestID: "id-1", Endpoint: r.Canary.Backend.Pick(nil),
		Latency: 20 * time.Millisecond, Answered: true, Truncated: true, Cut: true, Attempts: 2,
		Duration: 30 * time.Millisecond, Client: netip.MustParseAddr("192.0.2.1"),
		Method: "PUT", Target: "/p/./q?r", Host: "b.A.test:81", Proto: "HTTP/1.1",
		UserAgent: "agent", Referer: "from", BytesIn: 40, BytesOut: 50,
	}
}

// TestRecordTo: every part of a record is in the line, under its name.
func TestRecordTo(t *testing.T) {
	full := exchange(t)
	for i := range reflect.TypeFor[engine.Record]().NumField() {
		if reflect.ValueOf(full).Elem().Field(i).IsZero() {
			t.Errorf("engine.Record.%s is not set here: say what the log makes of it", reflect.TypeFor[engine.Record]().Field(i).Name)
		}
	}
	unanswered := *full
	unanswered.Answered, unanswered.Cut, unanswered.Plan.Canary = false, false, false
	unanswered.Plan.Backend = unanswered.Plan.Route.Backend
	for _, c := range []struct {
		intent string
		record *engine.Record
		format accesslog.Format
		want   string
	}{
		{"all, as JSON", full, accesslog.JSON,
			`{"time":"2030-05-01T12:00:00.000000Z","client":"192.0.2.1","method":"PUT","host":"b.A.test:81","path":"/p/./q?r","protocol":"HTTP/1.1",` +
				`"status":201,"bytes_in":40,"bytes_out":50,"duration":0.030000,"upstream_addr":"192.0.2.9:80","upstream_latency":0.020000,` +
				`"route":"*.a.test /p","backend":"next","canary":true,"truncated":true,"request_id":"id-1","user_agent":"agent","referer":"from"}`},
		{"all, as text", full, accesslog.Text,
			`192.0.2.1 - - [01/May/2030:12:00:00 +0000] "PUT /p/./q?r HTTP/1.1" 201 50 "from" "agent" host="b.A.test:81" bytes_in=40 duration=0.030000 ` +
				`upstream_addr="192.0.2.9:80" upstream_latency=0.020000 route="*.a.test /p" backend="next" canary=true truncated=true request_id="id-1"`},
		{"the route's own backend, without an answer", &unanswered, accesslog.Text,
			`192.0.2.1 - - [01/May/2030:12:00:00 +0000] "PUT /p/./q?r HTTP/1.1" 201 50 "from" "agent" host="b.A.test:81" bytes_in=40 duration=0.030000 ` +
				`upstream_addr="192.0.2.9:80" upstream_latency=- route="*.a.test /p" backend="web" canary=false truncated=false request_id="id-1"`},
		{"a head that was refused", &engine.Record{Start: full.Start, Status: 400, Client: full.Client, Duration: time.Millisecond, BytesOut: 9}, accesslog.JSON,
			`{"time":"2030-05-01T12:00:00.000000Z","client":"192.0.2.1","status":400,"bytes_in":0,"bytes_out":9,"duration":0.001000,"canary":false,"truncated":false}`},
	} {
		if got := lineOf(t, c.format, c.record); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.intent, got, c.want)
		}
	}
}

// TestRecordOfDefaultBackend: the default backend is no route, but a backend.
func TestRecordOfDefaultBackend(t *testing.T) {
	table, _ := route.Compile(route.Spec{Backends: []route.BackendSpec{{Name: "fallback"}}, DefaultBackend: "fallback"})
	r := exchange(t)
	r.Plan = engine.Plan{Route: table.Match("a.test", "/"), Backend: table.DefaultBackend()}
	line := lineOf(t, accesslog.Text, r)
	if want := `route="-" backend="fallback"`; !strings.Contains(line, want) {
		t.Errorf("%s\nwant %s in it", line, want)
	}
}

// TestNoAccessLog: off is no log, and nothing that has to be ended.
func TestNoAccessLog(t *testing.T) {
	if l := newAccessLog(config{accessLog: "off"}, t.Output(), slog.New(slog.DiscardHandler)); l != nil {
		t.Error("there is a log")
	}
}
