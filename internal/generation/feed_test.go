package generation_test

import (
	"testing"

	"ramjet.dev/ingress/internal/generation"
)

// The feed holds the latest value only, and never makes the one who offers wait.
func TestFeedIsLatestValue(t *testing.T) {
	f := generation.NewFeed()
	if _, ok := f.Take(); ok {
		t.Error("took something from nothing")
	}
	for i := range uint64(5) {
		f.Offer(generation.Compiled{Number: i})
	}
	<-f.C()
	if c, ok := f.Take(); !ok || c.Number != 4 {
		t.Errorf("took %d %v", c.Number, ok)
	}
	if _, ok := f.Take(); ok {
		t.Error("took a value twice")
	}
	select {
	case <-f.C():
		t.Error("signalled without a value")
	default:
	}
}

// A taker that follows the signals ends with the last value, whatever coalesces,
// and sees numbers rise.
func TestFeedNeverLosesTheLast(t *testing.T) {
	const last = 10_000
	f := generation.NewFeed()
	go func() {
		for i := uint64(1); i <= last; i++ {
			f.Offer(generation.Compiled{Number: i})
		}
	}()
	var got uint64
	for got < last {
		<-f.C()
		if c, ok := f.Take(); ok {
			if c.Number <= got {
				t.Fatalf("%d after %d", c.Number, got)
			}
			got = c.Number
		}
	}
}
