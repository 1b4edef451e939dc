package enginetest

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"google.golang.org/grpc"
)

// countedGRPC is a backend that counts its unary calls and streams.
type countedGRPC struct {
	*grpcBackend
	calls, streams atomic.Int64
}

func newCounted(t *T, n int) (all []*countedGRPC, addresses []string) {
	t.Helper()
	for range n {
		c := new(countedGRPC)
		c.grpcBackend = newGRPC(t, &grpcService{
			unary: func(_ context.Context, in []byte) ([]byte, error) {
				c.calls.Add(1)
				return in, nil
			},
			stream: func(_ string, s grpc.ServerStream) error {
				c.streams.Add(1)
				return echoStream(s)
			},
		})
		all, addresses = append(all, c), append(addresses, c.address)
	}
	return all, addresses
}

// grpcBalance (G04): one connection of a client, many endpoints. Who comes gets calls
// with the publish; who goes keeps what runs there, and then loses its connection.
func grpcBalance(t *T) {
	backends, addresses := newCounted(t, 5)
	p := t.Start(Setup{Spec: grpcSpec(addresses[:3]...), Hosts: []string{"a.test"}, Change: forEver})
	c := p.grpcClient(true)
	call := func(times int) {
		t.Helper()
		for range times {
			if _, err := c.unary(c.within(), "x"); err != nil {
				t.Fatal(err)
			}
		}
	}
	shares := func(say string, want ...int64) {
		t.Helper()
		for i, b := range backends {
			got := b.calls.Swap(0)
			if got < want[i]*95/100 || got > want[i]*105/100 {
				t.Errorf("%s: endpoint %d got %d calls, want %d", say, i, got, want[i])
			}
		}
	}
	each := int64(often)
	call(3 * often)
	shares("three", each, each, each, 0, 0)

	while, cancel := context.WithTimeout(t.Context(), 10*patience) // it outlives all calls
	defer cancel()
	open := c.open(while, bothCall)
	open.send("x")
	open.want("x")
	mine := slices.IndexFunc(backends, func(b *countedGRPC) bool { return b.streams.Load() == 1 })
	p.Publish(grpcSpec(addresses...))
	call(5 * often)
	shares("five", each, each, each, each, each)

	want := []int64{each, each, each, each, each}
	want[mine] = 0
	p.Publish(grpcSpec(slices.Delete(slices.Clone(addresses), mine, mine+1)...))
	call(4 * often)
	shares("four", want...)
	open.send("y") // on the endpoint that has left
	open.want("y")
	gone := backends[mine]
	gone.read(func() {
		if len(gone.conns) != 1 {
			t.Errorf("%d connections to the endpoint that left while its stream lives", len(gone.conns))
		}
	})
	open.CloseSend()
	open.next()
	gone.wait(t, "the connection to close", func() bool { return len(gone.conns) == 0 })
}

// grpcShutdown: a backend that is told to end serves what it has and refuses the
// rest in a way that leads elsewhere: no call fails.
func grpcShutdown(t *T) {
	backends, addresses := newCounted(t, 2)
	p := startGRPC(t, addresses...)
	c := p.grpcClient(false)
	stopped := make(chan struct{})
	for i := range 3 * often {
		if i == often {
			go func() {
				defer close(stopped)
				backends[0].server.GracefulStop()
			}()
		}
		if got, err := c.unary(c.within(), fmt.Sprint(i)); err != nil || got != fmt.Sprint(i) {
			t.Errorf("call %d: got %q, %v", i, got, err)
		}
	}
	await(t, "the end of the backend", stopped)
	if a, b := backends[0].calls.Load(), backends[1].calls.Load(); a < int64(often)/2-1 || a+b != int64(3*often) {
		t.Errorf("%d and %d calls", a, b)
	}
}
