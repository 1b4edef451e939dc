package enginetest

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"

	"ramjet.dev/ingress/internal/route"
)

// The methods of the suite's gRPC service, one of each kind. Their messages are
// bytes: a proxy has no business with what is in them.
const (
	unaryCall  = "/suite.Calls/Unary"
	clientCall = "/suite.Calls/Collect"
	serverCall = "/suite.Calls/Spread"
	bothCall   = "/suite.Calls/Talk"
)

// grpcService is what the methods do; a nil one echoes.
type grpcService struct {
	unary  func(ctx context.Context, in []byte) ([]byte, error)
	stream func(method string, s grpc.ServerStream) error
}

func (g *grpcService) answer(ctx context.Context, in []byte) ([]byte, error) {
	if g.unary != nil {
		return g.unary(ctx, in)
	}
	return in, nil
}

func (g *grpcService) handle(s grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(s)
	if g.stream != nil {
		return g.stream(method, s)
	}
	return echoStream(s)
}

// echoStream sends each message back when it comes.
func echoStream(s grpc.ServerStream) error {
	for {
		var m []byte
		if s.RecvMsg(&m) != nil { // the end, as a rule
			return s.Context().Err()
		}
		if err := s.SendMsg(&m); err != nil {
			return err
		}
	}
}

func grpcUnary(srv any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	var in []byte
	if err := decode(&in); err != nil {
		return nil, err
	}
	out, err := srv.(*grpcService).answer(ctx, in)
	return &out, err
}

func grpcStream(srv any, s grpc.ServerStream) error { return srv.(*grpcService).handle(s) }

var grpcDesc = grpc.ServiceDesc{
	ServiceName: "suite.Calls",
	HandlerType: (*any)(nil),
	Methods:     []grpc.MethodDesc{{MethodName: "Unary", Handler: grpcUnary}},
	Streams: []grpc.StreamDesc{
		{StreamName: "Collect", Handler: grpcStream, ClientStreams: true},
		{StreamName: "Spread", Handler: grpcStream, ServerStreams: true},
		{StreamName: "Talk", Handler: grpcStream, ClientStreams: true, ServerStreams: true},
	},
}

// bytesCodec takes messages as they are.
type bytesCodec struct{}

// Name is the subtype of the content type.
func (bytesCodec) Name() string { return "bytes" }

// Marshal writes a message.
func (bytesCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

// Unmarshal reads a message.
func (bytesCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

// grpcBackend is a gRPC server without TLS.
type grpcBackend struct {
	address string
	server  *grpc.Server

	monitor // guards the following
	conns   map[net.Conn]bool
}

// most is the largest message that clients and servers take.
const most = 16 << 20

func newGRPC(t testing.TB, service *grpcService) *grpcBackend {
	t.Helper()
	l := listen(t)
	b := &grpcBackend{address: l.Addr().String(), conns: map[net.Conn]bool{}}
	b.server = grpc.NewServer(grpc.ForceServerCodecV2(bytesCodec{}), grpc.MaxRecvMsgSize(most), grpc.WaitForHandlers(true))
	b.server.RegisterService(&grpcDesc, service)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = b.server.Serve(&watchedListener{l, b})
	}()
	t.Cleanup(func() {
		b.server.Stop()
		<-served
	})
	return b
}

// watchedListener tells a backend of its connections.
type watchedListener struct {
	net.Listener
	b *grpcBackend
}

type watchedConn struct {
	net.Conn
	b *grpcBackend
}

// Accept waits for the next connection.
func (l *watchedListener) Accept() (net.Conn, error) {
	raw, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &watchedConn{raw, l.b}
	l.b.change(func() { l.b.conns[c] = true })
	return c, nil
}

// Close closes the connection.
func (c *watchedConn) Close() error {
	c.b.change(func() { delete(c.b.conns, c) })
	return c.Conn.Close()
}

// cut breaks every connection off.
func (b *grpcBackend) cut() {
	var open []net.Conn
	b.read(func() {
		for c := range b.conns {
			open = append(open, c)
		}
	})
	for _, c := range open {
		c.Close()
	}
}

// grpcSpec sends everything to these gRPC endpoints, in turn.
func grpcSpec(addresses ...string) route.Spec {
	spec := specFor(addresses...)
	spec.Backends[0].Protocol = route.GRPC
	return spec
}

// calls is a gRPC client with one connection to the proxy.
type calls struct {
	*grpc.ClientConn
	t testing.TB
}

// grpcClient connects over TLS or in the clear.
func (p *Proxy) grpcClient(secure bool) *calls {
	p.T.Helper()
	address, transport := p.HTTP, insecure.NewCredentials()
	if secure {
		address = p.HTTPS
		transport = credentials.NewTLS(&tls.Config{ServerName: "a.test", RootCAs: p.Roots})
	}
	cc, err := grpc.NewClient("passthrough:///a.test",
		grpc.WithTransportCredentials(transport),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", address)
		}),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(bytesCodec{}), grpc.MaxCallRecvMsgSize(most)))
	if err != nil {
		p.T.Fatal(err)
	}
	p.T.Cleanup(func() { cc.Close() })
	return &calls{cc, p.T}
}

// within is the context of a call that has to end in time.
func (c *calls) within() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	c.t.Cleanup(cancel)
	return ctx
}

// unary calls and returns what comes.
func (c *calls) unary(ctx context.Context, in string, options ...grpc.CallOption) (string, error) {
	request, reply := []byte(in), []byte(nil)
	err := c.Invoke(ctx, unaryCall, &request, &reply, options...)
	return string(reply), err
}

// open starts a call of one of the streaming methods.
func (c *calls) open(ctx context.Context, method string) *grpcCall {
	c.t.Helper()
	desc := &grpc.StreamDesc{ClientStreams: method != serverCall, ServerStreams: method != clientCall}
	s, err := c.NewStream(ctx, desc, method)
	if err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	return &grpcCall{s, c.t}
}

// grpcCall is a streaming call.
type grpcCall struct {
	grpc.ClientStream
	t testing.TB
}

func (c *grpcCall) send(m string) {
	c.t.Helper()
	b := []byte(m)
	if err := c.SendMsg(&b); err != nil {
		c.t.Fatalf("sending %s: %v", brief(m, len(m)), err)
	}
}

// next returns the next message, or how the call ended.
func (c *grpcCall) next() (string, error) {
	var m []byte
	err := c.RecvMsg(&m)
	return string(m), err
}

// want wants the next message.
func (c *grpcCall) want(m string) {
	c.t.Helper()
	if got, err := c.next(); err != nil || got != m {
		c.t.Fatalf("got %s, %v; want %s", brief(got, len(got)), err, brief(m, len(m)))
	}
}

// metadataOf is metadata as text.
func metadataOf(md metadata.MD, keys ...string) string {
	var out []string
	for _, k := range keys {
		out = append(out, fmt.Sprintf("%s=%q", k, md.Get(k)))
	}
	return fmt.Sprint(out)
}
