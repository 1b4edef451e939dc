package control_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"ramjet.dev/ingress/internal/audit"
	"ramjet.dev/ingress/internal/control"
	"ramjet.dev/ingress/internal/generation"
)

// When a command and a compiled generation wait for the same turn, the command has it:
// the brake that was pulled first holds what came with it. Often enough that a choice by
// chance could not pass.
func TestCommandsGoFirst(t *testing.T) {
	for range 32 {
		synctest.Test(t, commandGoesFirst)
	}
}

func commandGoesFirst(t *testing.T) {
	inside, leave := make(chan struct{}), make(chan struct{})
	var events []string // of the loop's goroutine, until it has ended
	c := control.New(control.Options{
		History: generation.NewHistory(3),
		Live:    &generation.Live{},
		Sinks: []audit.Sink{sinkFunc(func(e audit.Event) {
			switch e := e.(type) {
			case audit.Config:
				events = append(events, fmt.Sprintf("config %d published=%v", e.Generation, e.Published))
			default:
				events = append(events, e.Kind())
			}
			if len(events) == 1 {
				close(inside)
				<-leave
			}
		})},
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	c.Offer(compiled(t, 1))
	<-inside
	pinned := make(chan error, 1)
	go func() {
		_, err := c.Pin(ctx, 1)
		pinned <- err
	}()
	c.Offer(compiled(t, 2))
	synctest.Wait() // both wait for the loop now
	close(leave)
	if err := <-pinned; err != nil {
		t.Error(err)
	}
	synctest.Wait()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if want := []string{"config 1 published=true", "pin", "config 2 published=false"}; !slices.Equal(events, want) {
		t.Errorf("%q, want %q", events, want)
	}
}
