package enginetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"ramjet.dev/ingress/internal/engine"
)

// grpcFeatures are what gRPC needs of a proxy: grpc-go on both sides.
var grpcFeatures = features{
	"all four kinds":                          overBoth(grpcKinds),
	"metadata":                                overBoth(grpcMetadata),
	"messages of 4 MiB":                       overBoth(grpcLarge),
	"a thousand streams at once":              overBoth(grpcThousand),
	"a thousand calls over one connection":    grpcQueue,
	"a deadline":                              overBoth(grpcDeadline),
	"a deadline that the server keeps":        grpcServerFirst,
	"a client that cancels":                   overBoth(grpcCancel),
	"a head long before the first message":    overBoth(grpcHead),
	"a call in flight ends during a drain":    grpcDrain,
	"a call that outlasts the grace":          grpcGrace,
	"calls are balanced, not connections":     grpcBalance,
	"an endpoint that leaves and one late":    grpcLate,
	"a backend that is shut down with manner": grpcShutdown,
	"no way to the backend":                   grpcUnreachable,
	"no route, or the wrong protocol":         grpcRefused,
	"errors of the backend":                   overBoth(grpcErrors),
	"a server that ends the call early":       overBoth(grpcEarly),
	"errors without a message on the wire":    grpcTrailersOnly,
	"status of every shape":                   grpcShapes,
	"a backend that breaks off":               overBoth(grpcBroken),
	"a backend that resets the stream":        grpcReset,
}

// overBoth runs a test over TLS and in the clear.
func overBoth(fn func(t *T, secure bool)) func(*T) {
	return func(t *T) {
		t.Run("TLS", func(t *T) { fn(t, true) })
		t.Run("cleartext", func(t *T) { fn(t, false) })
	}
}

// startGRPC is a proxy in front of these endpoints.
func startGRPC(t *T, addresses ...string) *Proxy {
	return t.Start(Setup{Spec: grpcSpec(addresses...), Hosts: []string{"a.test"}})
}

func grpcKinds(t *T, secure bool) {
	b := newGRPC(t, &grpcService{stream: func(method string, s grpc.ServerStream) error {
		switch method {
		case clientCall:
			return collect(s)
		case serverCall:
			return spread(s)
		}
		return echoStream(s)
	}})
	c := startGRPC(t, b.address).grpcClient(secure)
	for _, m := range []string{"hello", "", "\x00\xff"} {
		if got, err := c.unary(c.within(), m); err != nil || got != m {
			t.Errorf("unary: got %q, %v; want %q", got, err, m)
		}
	}
	up := c.open(c.within(), clientCall)
	for i := range 100 {
		up.send(fmt.Sprint(i, ","))
	}
	up.CloseSend()
	if got, err := up.next(); err != nil || !strings.HasPrefix(got, "100: 0,1,2,") {
		t.Errorf("client streaming: got %q, %v", got, err)
	}
	down := c.open(c.within(), serverCall)
	down.send("100")
	down.CloseSend()
	for i := range 100 {
		down.want(fmt.Sprint(i))
	}
	if got, err := down.next(); err != io.EOF {
		t.Errorf("server streaming: got %q, %v after the last message", got, err)
	}
	// Each message has to arrive before the next one is sent: nothing may be kept.
	both := c.open(c.within(), bothCall)
	for i := range 100 {
		both.send(fmt.Sprint(i))
		both.want(fmt.Sprint(i))
	}
	both.CloseSend()
	if got, err := both.next(); err != io.EOF {
		t.Errorf("both: got %q, %v after the last message", got, err)
	}
}

// collect answers with all messages at once.
func collect(s grpc.ServerStream) error {
	n, all := 0, ""
	for {
		var m []byte
		err := s.RecvMsg(&m)
		if err == io.EOF {
			out := []byte(fmt.Sprint(n, ": ", all))
			return s.SendMsg(&out)
		}
		if err != nil {
			return err
		}
		n, all = n+1, all+string(m)
	}
}

// spread answers with as many messages as it is asked for.
func spread(s grpc.ServerStream) error {
	var m []byte
	if err := s.RecvMsg(&m); err != nil {
		return err
	}
	var n int
	if _, err := fmt.Sscan(string(m), &n); err != nil {
		return err
	}
	for i := range n {
		out := []byte(fmt.Sprint(i))
		if err := s.SendMsg(&out); err != nil {
			return err
		}
	}
	return nil
}

func grpcMetadata(t *T, secure bool) {
	b := newGRPC(t, &grpcService{unary: func(ctx context.Context, in []byte) ([]byte, error) {
		md, _ := metadata.FromIncomingContext(ctx)
		grpc.SetHeader(ctx, metadata.Pairs("x-head", "h", "x-head", "h2", "x-head-bin", "\x00\x01"))
		grpc.SetTrailer(ctx, metadata.Pairs("x-tail", "t", "x-tail-bin", "\xff\xfe"))
		return []byte(metadataOf(md, ":authority", "content-type", "x-sent", "x-sent-bin", "x-forwarded-for", "x-forwarded-proto")), nil
	}})
	c := startGRPC(t, b.address).grpcClient(secure)
	ctx := metadata.AppendToOutgoingContext(c.within(), "x-sent", "1", "x-sent", "2", "x-sent-bin", "\x00\xff")
	var head, tail metadata.MD
	got, err := c.unary(ctx, "", grpc.Header(&head), grpc.Trailer(&tail))
	scheme := map[bool]string{true: "https", false: "http"}[secure]
	want := `[:authority=["a.test"] content-type=["application/grpc+bytes"] x-sent=["1" "2"] x-sent-bin=["\x00\xff"] ` +
		`x-forwarded-for=["127.0.0.1"] x-forwarded-proto=["` + scheme + `"]]`
	if err != nil || got != want {
		t.Errorf("the server got %s, %v\nwant           %s", got, err, want)
	}
	if got := metadataOf(head, "x-head", "x-head-bin"); got != `[x-head=["h" "h2"] x-head-bin=["\x00\x01"]]` {
		t.Errorf("the client got the header %s of %v", got, head)
	}
	if got := metadataOf(tail, "x-tail", "x-tail-bin"); got != `[x-tail=["t"] x-tail-bin=["\xff\xfe"]]` {
		t.Errorf("the client got the trailer %s of %v", got, tail)
	}
}

func grpcLarge(t *T, secure bool) {
	b := newGRPC(t, &grpcService{})
	c := startGRPC(t, b.address).grpcClient(secure)
	big := strings.Repeat("4 MiB...", 4<<20/8)
	if got, err := c.unary(c.within(), big); err != nil || got != big {
		t.Errorf("unary: got %d bytes, %v", len(got), err)
	}
	s := c.open(c.within(), bothCall)
	for range 2 {
		s.send(big)
		s.want(big)
	}
}

// grpcThousand holds a thousand streams open at the same time, all of which then
// end well. One connection has room for fewer.
func grpcThousand(t *T, secure bool) {
	const connections, each = 5, 200
	var all sync.WaitGroup
	all.Add(connections * each)
	b := newGRPC(t, &grpcService{stream: func(_ string, s grpc.ServerStream) error {
		all.Done()
		all.Wait() // for every other one
		return echoStream(s)
	}})
	p := startGRPC(t, b.address)
	var clients sync.WaitGroup
	for range connections {
		c := p.grpcClient(secure)
		for i := range each {
			clients.Go(func() {
				s, err := c.NewStream(c.within(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, bothCall)
				if err != nil {
					t.Error(err)
					return
				}
				m := []byte(fmt.Sprint(i))
				var got []byte
				if err := errors.Join(s.SendMsg(&m), s.RecvMsg(&got), s.CloseSend()); err != nil || string(got) != string(m) {
					t.Errorf("got %q, %v; want %q", got, err, m)
				}
				if err := s.RecvMsg(&got); err != io.EOF {
					t.Errorf("the end is %v", err)
				}
			})
		}
	}
	clients.Wait()
}

// grpcQueue: more calls than a connection has room for wait in the client.
func grpcQueue(t *T) {
	b := newGRPC(t, &grpcService{})
	c := startGRPC(t, b.address).grpcClient(true)
	var clients sync.WaitGroup
	for i := range 1000 {
		clients.Go(func() {
			if got, err := c.unary(c.within(), fmt.Sprint(i)); err != nil || got != fmt.Sprint(i) {
				t.Errorf("got %q, %v; want %d", got, err, i)
			}
		})
	}
	clients.Wait()
}

// ended is a service whose calls end when their context does, and say how.
func ended() (*grpcService, <-chan error) {
	causes := make(chan error, 16)
	wait := func(ctx context.Context) error {
		<-ctx.Done()
		causes <- ctx.Err()
		return ctx.Err()
	}
	return &grpcService{
		unary:  func(ctx context.Context, _ []byte) ([]byte, error) { return nil, wait(ctx) },
		stream: func(_ string, s grpc.ServerStream) error { s.SendHeader(nil); return wait(s.Context()) },
	}, causes
}

// grpcDeadline: the deadline is the client's and known to the server; whoever
// notices first, both calls end.
func grpcDeadline(t *T, secure bool) {
	knows := make(chan bool, 16)
	service, causes := ended()
	wait := service.unary
	service.unary = func(ctx context.Context, in []byte) ([]byte, error) {
		_, ok := ctx.Deadline()
		knows <- ok
		return wait(ctx, in)
	}
	b := newGRPC(t, service)
	p := startGRPC(t, b.address)
	c := p.grpcClient(secure)
	// On a busy machine the deadline may pass before the server has the call.
	for d := moment; len(knows) == 0 && d < patience; d *= 2 {
		ctx, cancel := context.WithTimeout(context.Background(), d)
		if _, err := c.unary(ctx, ""); status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("the client got %v", err)
		}
		cancel()
	}
	if !await(t, "the call at the server", knows) {
		t.Error("the server does not know the deadline")
	}
	await(t, "the end of the call at the server", causes)
}

// grpcCancel: there is no deadline, so what ends the call at the server is the
// client, and nothing else on the connections.
func grpcCancel(t *T, secure bool) {
	for _, method := range []string{unaryCall, bothCall} {
		service, causes := ended()
		b := newGRPC(t, service)
		p := startGRPC(t, b.address)
		c := p.grpcClient(secure)
		ctx, cancel := context.WithCancel(context.Background())
		failed := make(chan error, 1)
		if method == unaryCall {
			go func() {
				_, err := c.unary(ctx, "")
				failed <- err
			}()
			eventually(t, "the call", func() bool {
				e := p.Live.Table().Backends()[0].Endpoints[0]
				return e.InFlight() == 1
			})
		} else {
			s := c.open(ctx, method)
			if _, err := s.Header(); err != nil {
				t.Fatal(err)
			}
			go func() {
				_, err := s.next()
				failed <- err
			}()
		}
		cancel()
		if err := await(t, "the end at the client", failed); status.Code(err) != codes.Canceled {
			t.Errorf("%s: the client got %v", method, err)
		}
		if method == bothCall || len(causes) > 0 { // a unary call may be cancelled before the server has it
			if err := await(t, "the end at the server", causes); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: the server got %v", method, err)
			}
		}
		r := p.Record(1)
		if want := map[string]int{unaryCall: engine.StatusClientGone, bothCall: 200}[method]; r.Status != want {
			t.Errorf("%s: the record says %d, want %d", method, r.Status, want)
		}
	}
}

// grpcHead: a server may send its head at once and the first message much later.
func grpcHead(t *T, secure bool) {
	more := make(chan struct{})
	b := newGRPC(t, &grpcService{stream: func(_ string, s grpc.ServerStream) error {
		s.SendHeader(metadata.Pairs("x-head", "h"))
		<-more
		m := []byte("late")
		return s.SendMsg(&m)
	}})
	c := startGRPC(t, b.address).grpcClient(secure)
	s := c.open(c.within(), bothCall)
	head, err := s.Header()
	close(more)
	if err != nil || metadataOf(head, "x-head") != `[x-head=["h"]]` {
		t.Errorf("got %v, %v", head, err)
	}
	s.want("late")
}

// grpcSlow: the bound on the gap between two bytes is none on the wait for the
// answer to a request that has been sent whole.
func grpcSlow(t *T) {
	b := newGRPC(t, &grpcService{unary: func(ctx context.Context, in []byte) ([]byte, error) {
		late := time.NewTimer(long * 5 / 4)
		defer late.Stop()
		select {
		case <-late.C:
		case <-ctx.Done():
		}
		return in, ctx.Err()
	}})
	p := t.Start(Setup{Spec: grpcSpec(b.address), Change: longIdle})
	c := p.grpcClient(false)
	if got, err := c.unary(c.within(), "late"); err != nil || got != "late" {
		t.Errorf("got %q, %v", got, err)
	}
}

// grpcSilent: a stream that nobody uses ends, and the client can tell that it is
// not its own fault.
func grpcSilent(t *T) {
	service, causes := ended()
	b := newGRPC(t, service)
	p := t.Start(Setup{Spec: grpcSpec(b.address), Change: longIdle})
	c := p.grpcClient(false)
	s := c.open(c.within(), bothCall)
	if _, err := s.next(); status.Code(err) != codes.Unavailable {
		t.Errorf("the client got %v", err)
	}
	await(t, "the end at the server", causes)
	if n := p.Metrics.UpstreamTimeouts.Load(); n != 1 {
		t.Errorf("%d timeouts counted, want 1", n)
	}
}
