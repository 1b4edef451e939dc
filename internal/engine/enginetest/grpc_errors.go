package enginetest

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/route"
	"ramjet.dev/ingress/internal/upstream"
)

// grpcUnreachable (G02): what the proxy has to say itself, a gRPC client takes for
// UNAVAILABLE, which means: try again.
func grpcUnreachable(t *T) {
	hanging := newGRPC(t, &grpcService{
		unary:  func(ctx context.Context, _ []byte) ([]byte, error) { <-ctx.Done(); return nil, ctx.Err() },
		stream: func(_ string, s grpc.ServerStream) error { <-s.Context().Done(); return nil },
	})
	plain := NewOrigin(t, Text("this is HTTP/1.1"))
	hangsUp := NewOrigin(t, func(*Exchange) error { return ErrClose })
	for say, addresses := range map[string][]string{
		"no endpoints":                 {},
		"connect refused":              {refusing(t)},
		"connect refused by all":       {refusing(t), refusing(t)},
		"no answer":                    {hanging.address},
		"an answer that is not HTTP/2": {plain.Address},
		"no answer and the end":        {hangsUp.Address},
	} {
		p := t.Start(Setup{Spec: grpcSpec(addresses...), Pools: func(o *upstream.Options) { o.ResponseTimeout = moment }})
		c := p.grpcClient(false)
		if got, err := c.unary(c.within(), "x"); status.Code(err) != codes.Unavailable {
			t.Errorf("%s: unary got %q, %v", say, got, err)
		}
		s := c.open(c.within(), serverCall)
		s.send("1")
		s.CloseSend()
		if got, err := s.next(); status.Code(err) != codes.Unavailable {
			t.Errorf("%s: a stream got %q, %v", say, got, err)
		}
		p.settled(2)
		if n := p.Metrics.Requests[5].Load(); n != 2 {
			t.Errorf("%s: %d requests counted as 5xx, want 2", say, n)
		}
	}
}

// grpcRefused (G02): the protocol that nobody declared, and no route.
func grpcRefused(t *T) {
	o := NewOrigin(t, Text("no"))
	spec := o.Spec()
	spec.Routes[0] = route.RouteSpec{Host: "a.test", Path: "/suite.Calls/Unary", PathType: route.Exact, Backend: "origin"}
	p := t.Start(Setup{Spec: spec})
	c := p.grpcClient(false)
	// A backend that nobody declared as gRPC.
	if got, err := c.unary(c.within(), "x"); status.Code(err) != codes.Unavailable || !strings.Contains(fmt.Sprint(err), "502") {
		t.Errorf("got %q, %v", got, err)
	}
	h := p.DialH2(0)
	s := h.open(false, h2Request("POST", "a.test", unaryCall, "content-type: application/grpc", "te: trailers")...)
	h.data(s, true, "\x00\x00\x00\x00\x00")
	a := h.answer(s)
	if a.status() != "502" || first(a.head["x-ramjet-unsupported"]) != "grpc-needs-backend-protocol" || !strings.Contains(a.body, "backend-protocol: GRPC") {
		t.Errorf("got %+v", a)
	}
	if n := p.Metrics.UnsupportedGRPC.Load(); n != 2 || len(o.Heads()) != 0 {
		t.Errorf("%d refusals counted, want 2; the origin got %q", n, o.Heads())
	}
	// No route is what a gRPC server says of a method that it does not have.
	down := c.open(c.within(), serverCall)
	if got, err := down.next(); status.Code(err) != codes.Unimplemented {
		t.Errorf("no route: got %q, %v", got, err)
	}
}

// grpcErrors (G01): code, message and details are the backend's, whatever came before.
func grpcErrors(t *T, secure bool) {
	b := newGRPC(t, &grpcService{
		unary: func(context.Context, []byte) ([]byte, error) {
			return nil, status.Error(codes.FailedPrecondition, "not today: 100% sure, \u00e4")
		},
		stream: func(_ string, s grpc.ServerStream) error {
			var m []byte
			if err := s.RecvMsg(&m); err != nil {
				return err
			}
			var n int
			fmt.Sscan(string(m), &n)
			for i := range n {
				out := []byte(fmt.Sprint(i))
				s.SendMsg(&out)
			}
			s.SetTrailer(metadata.Pairs("x-tail", "t"))
			if n == 0 {
				return nil
			}
			return status.Error(codes.DataLoss, "after messages")
		},
	})
	c := startGRPC(t, b.address).grpcClient(secure)
	want := func(say string, err error, code codes.Code, message string) {
		t.Helper()
		if s := status.Convert(err); s.Code() != code || s.Message() != message {
			t.Errorf("%s: got %v", say, err)
		}
	}
	_, err := c.unary(c.within(), "x")
	want("before the first message", err, codes.FailedPrecondition, "not today: 100% sure, \u00e4")
	var in, out []byte
	err = c.Invoke(c.within(), "/suite.Calls/Nothing", &in, &out)
	want("an unknown method", err, codes.Unimplemented, "unknown method Nothing for service suite.Calls")
	err = c.Invoke(c.within(), "/suite.Nothing/Unary", &in, &out)
	want("an unknown service", err, codes.Unimplemented, "unknown service suite.Nothing")
	for _, n := range []int{0, 2} {
		s := c.open(c.within(), serverCall)
		s.send(fmt.Sprint(n))
		s.CloseSend()
		for i := range n {
			s.want(fmt.Sprint(i))
		}
		_, err := s.next()
		if n == 0 && err != io.EOF {
			t.Errorf("no messages and OK: got %v", err)
		} else if n > 0 {
			want("after two messages", err, codes.DataLoss, "after messages")
		}
		if got := metadataOf(s.Trailer(), "x-tail"); got != `[x-tail=["t"]]` {
			t.Errorf("the trailer is %s of %v", got, s.Trailer())
		}
	}
}

// forEver lets streams be silent, so that nothing ends for that reason.
func forEver(o *engine.Options) { o.StreamIdle = 0 }

// grpcEarly: the server may end a call while the client has more to say, or says
// nothing.
func grpcEarly(t *T, secure bool) {
	b := newGRPC(t, &grpcService{stream: func(_ string, s grpc.ServerStream) error {
		var m []byte
		s.RecvMsg(&m)
		s.SendMsg(&m)
		return status.Error(codes.Aborted, "enough")
	}})
	p := t.Start(Setup{Spec: grpcSpec(b.address), Hosts: []string{"a.test"}, Change: forEver})
	c := p.grpcClient(secure)
	for range 3 {
		s := c.open(c.within(), bothCall)
		s.send("x")
		s.want("x")
		if _, err := s.next(); status.Code(err) != codes.Aborted {
			t.Errorf("got %v", err)
		}
	}
}

// grpcTrailersOnly (G01): a response that is one head stays one, with nothing added.
func grpcTrailersOnly(t *T) {
	b := newGRPC(t, &grpcService{})
	p := startGRPC(t, b.address)
	h := p.DialH2(0)
	s := h.open(false, h2Request("POST", "a.test", "/suite.Calls/Nothing", "content-type: application/grpc+bytes", "te: trailers")...)
	h.data(s, true, "\x00\x00\x00\x00\x00")
	a := h.answer(s)
	want := "map[:status:[200] content-type:[application/grpc+bytes] grpc-message:[unknown method Nothing for service suite.Calls] grpc-status:[12]]"
	// An answer that came before the whole request was read ends with a reset that
	// says so and is no error (RFC 9113 §8.1); whether it did is chance here.
	whole := a.reset == "" || a.reset == "NO_ERROR"
	if got := fmt.Sprint(a.head); got != want || a.trailer != nil || a.body != "" || !whole {
		t.Errorf("got %+v\nwant the head %s and nothing else", a, want)
	}
}

// grpcShapes (G01): what a backend says of the outcome, wherever it says it, is what the
// client gets; nothing is made up for a backend that says nothing, and what is broken ends
// in an error.
func grpcShapes(t *T) {
	const head = ":status: 200|content-type: application/grpc"
	for _, try := range []struct{ heads, want string }{
		{head + "|grpc-status: 0", ":status:[200] content-type:[application/grpc] grpc-status:[0], "},
		{head + "|grpc-status: 3|grpc-message: a%20b|x-bin: AAA=", ":status:[200] content-type:[application/grpc] grpc-message:[a%20b] grpc-status:[3] x-bin:[AAA=], "},
		{head + "||grpc-status: 7|x-t: 1", ":status:[200] content-type:[application/grpc], grpc-status:[7] x-t:[1]"},
		{head + "|grpc-status: 3||grpc-status: 7", ":status:[200] content-type:[application/grpc] grpc-status:[3], grpc-status:[7]"},
		{head + "||grpc-status: 7|grpc-status: 0", ":status:[200] content-type:[application/grpc], grpc-status:[7 0]"},
		{head + "|trailer: grpc-status||grpc-status: 7", ":status:[200] content-type:[application/grpc], grpc-status:[7]"},
		{head + "||grpc-status: 7|content-length: 5|host: x|set-cookie: a", ":status:[200] content-type:[application/grpc], grpc-status:[7]"},
		{head + "||grpc-status: 7|connection: close|transfer-encoding: x", ":status:[200] content-type:[application/grpc], grpc-status:[7]"},
		{head + "||grpc-status: 7|x-ramjet-unsupported: x", ":status:[200] content-type:[application/grpc], grpc-status:[7]"},
		{head, ":status:[200] content-type:[application/grpc], "},
		{head + "||x-t: 1", ":status:[200] content-type:[application/grpc], x-t:[1]"},
		{":status: 503|content-type: text/html", ":status:[503] content-type:[text/html], "},
		{":status: 103|link: x||" + head + "|grpc-status: 3", ":status:[200] content-type:[application/grpc] grpc-status:[3], "},
		{head + "||:status: 500|grpc-status: 7", ":status:[200] content-type:[application/grpc], grpc-message:[the backend broke off its response] grpc-status:[14]"},
		{head + "|content-length: 5||grpc-status: 0", ":status:[200] content-length:[5] content-type:[application/grpc], grpc-message:[the backend broke off its response] grpc-status:[14]"},
	} {
		var heads [][]string
		for section := range strings.SplitSeq(try.heads, "||") {
			var fields []string
			for f := range strings.SplitSeq(section, "|") {
				i := strings.Index(f[1:], ": ") + 1
				fields = append(fields, f[:i], f[i+2:])
			}
			heads = append(heads, fields)
		}
		h := t.Start(Setup{Spec: rawH2Backend(t, heads...)}).DialH2(0)
		// The backend answers a head: with a body, which of the two comes first is chance.
		a := h.answer(h.open(true, h2Request("POST", "a.test", unaryCall, "content-type: application/grpc", "te: trailers")...))
		got := strings.NewReplacer("map[", "", "]]", "]", " map[]", " ").Replace(fmt.Sprint(a.head, ", ", a.trailer))
		if strings.TrimSuffix(got, "]") != strings.TrimSuffix(try.want, "]") {
			t.Errorf("%s:\ngot  %s\nwant %s", try.heads, got, try.want)
		}
	}
}

// grpcServerFirst: the server may be the first to notice that the time is over, and
// grpc-go's then resets the stream without a word.
func grpcServerFirst(t *T) {
	service, _ := ended()
	p := startGRPC(t, newGRPC(t, service).address)
	h := p.DialH2(0)
	for _, method := range []string{unaryCall, bothCall} {
		s := h.open(false, h2Request("POST", "a.test", method, "content-type: application/grpc+bytes", "te: trailers", "grpc-timeout: 50m")...)
		h.data(s, method == unaryCall, "\x00\x00\x00\x00\x00")
		a := h.answer(s)
		got := first(a.head["grpc-status"]) + first(a.trailer["grpc-status"])
		if a.status() != "200" || got != "4" {
			t.Errorf("%s: got %+v", method, a)
		}
	}
}

// grpcBroken: an endpoint that vanishes between two messages is UNAVAILABLE; what
// came before it is the client's, and the client's connection lives.
func grpcBroken(t *T, secure bool) {
	sent := make(chan struct{}, 1)
	b := newGRPC(t, &grpcService{stream: func(_ string, s grpc.ServerStream) error {
		for _, m := range []string{"one", "two"} {
			b := []byte(m)
			s.SendMsg(&b)
		}
		sent <- struct{}{}
		<-s.Context().Done()
		return nil
	}})
	other := newGRPC(t, &grpcService{})
	spec := grpcSpec(b.address)
	spec.Backends = append(spec.Backends, grpcSpec(other.address).Backends[0])
	spec.Backends[1].Name = "other"
	spec.Routes = append(spec.Routes, route.RouteSpec{Path: unaryCall, PathType: route.Exact, Backend: "other"})
	p := t.Start(Setup{Spec: spec, Hosts: []string{"a.test"}})
	c := p.grpcClient(secure)
	s := c.open(c.within(), serverCall)
	s.send("")
	s.CloseSend()
	s.want("one")
	s.want("two")
	await(t, "the messages", sent)
	b.cut()
	if m, err := s.next(); status.Code(err) != codes.Unavailable {
		t.Errorf("got %q, %v", m, err)
	}
	if _, err := c.unary(c.within(), "x"); err != nil {
		t.Errorf("another call over the same connection: %v", err)
	}
	if r := p.RecordOf(serverCall); !r.Truncated || p.Metrics.UpstreamTruncated.Load() != 1 {
		t.Errorf("the record says %+v", r)
	}
}

// grpcReset: a reset of the backend's reaches the client as what it means.
func grpcReset(t *T) {
	spec := h2cServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		w.WriteHeader(200)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler) // INTERNAL_ERROR
	})
	c := t.Start(Setup{Spec: spec, Change: forEver}).grpcClient(false)
	s := c.open(c.within(), serverCall)
	if m, err := s.next(); status.Code(err) != codes.Internal {
		t.Errorf("got %q, %v", m, err)
	}
}

// grpcDrain (G02): the client is told to go elsewhere, and the call in flight goes on.
func grpcDrain(t *T) {
	b := newGRPC(t, &grpcService{})
	p := startGRPC(t, b.address)
	c := p.grpcClient(true)
	s := c.open(c.within(), bothCall)
	s.send("before")
	s.want("before")
	stopped := make(chan error, 1)
	go func() { stopped <- p.Stop(patience) }()
	eventually(t, "the listener to close", func() bool {
		probe, err := net.Dial("tcp", p.HTTPS)
		if err == nil {
			probe.Close()
		}
		return err != nil
	})
	s.send("after")
	s.want("after")
	s.CloseSend()
	if _, err := s.next(); err != io.EOF {
		t.Errorf("the call ended with %v", err)
	}
	if err := await(t, "the end of the drain", stopped); err != nil {
		t.Error(err)
	}
	if got, err := c.unary(c.within(), "x"); status.Code(err) != codes.Unavailable {
		t.Errorf("after the end: got %q, %v", got, err)
	}
}

func grpcGrace(t *T) {
	service, causes := ended()
	b := newGRPC(t, service)
	p := startGRPC(t, b.address)
	c := p.grpcClient(true)
	s := c.open(c.within(), bothCall)
	if _, err := s.Header(); err != nil {
		t.Fatal(err)
	}
	if p.Stop(time.Millisecond) == nil {
		t.Error("nothing was cut at the end of the grace")
	}
	if _, err := s.next(); status.Code(err) != codes.Unavailable {
		t.Errorf("the client got %v", err)
	}
	await(t, "the end at the server", causes)
}

// grpcLate: a request that was routed by the table of before is served by an
// endpoint that has left.
func grpcLate(t *T) {
	p := t.Start(Setup{Spec: grpcSpec(newGRPC(t, &grpcService{}).address)})
	p.Pools.Retain(nil)
	c := p.grpcClient(false)
	for range 3 {
		if _, err := c.unary(c.within(), "x"); err != nil {
			t.Fatal(err)
		}
	}
}
