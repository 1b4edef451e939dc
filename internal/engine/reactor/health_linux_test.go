package reactor

import (
	"net"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"time"

	"ramjet.dev/ingress/internal/engine/enginetest"
)

// saturate has clients ask as fast as they can until the function returned is called,
// which tells how many answers came.
func saturate(t *testing.T, p *enginetest.Proxy, clients, size int) (stop func() int) {
	end := make(chan struct{})
	counts := make([]int, clients)
	var all sync.WaitGroup
	for n := range clients {
		a := newAsker(t, p, getRequest, size)
		all.Go(func() {
			for {
				select {
				case <-end:
					return
				default:
					a.ask(t)
					counts[n]++
				}
			}
		})
	}
	return func() (sum int) {
		close(end)
		all.Wait()
		for _, n := range counts {
			sum += n
		}
		return sum
	}
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// TestRestOfTheProcess: while the loops are saturated, other goroutines answer, and the
// collector is not held up. A machine that others use may be late once; half of the
// times it must not.
func TestRestOfTheProcess(t *testing.T) {
	answer := getResponse + string(make([]byte, 128))
	p := enginetest.Start(t, newEngine, enginetest.Setup{Spec: echoing(t, answer).Spec(), Change: noRecords})
	admin, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.Serve(admin)
	}()
	defer func() {
		s.Close()
		<-served
	}()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()

	stop := saturate(t, p, 32, len(answer))
	var answers []time.Duration
	var before, after debug.GCStats
	debug.ReadGCStats(&before)
	for range 20 {
		began := time.Now()
		resp, err := client.Get("http://" + admin.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		answers = append(answers, time.Since(began))
		runtime.GC()
	}
	debug.ReadGCStats(&after)
	if n := stop(); n < 100 {
		t.Errorf("%d requests were served meanwhile: that is no load", n)
	}
	if got := median(answers); got > 100*time.Millisecond {
		t.Errorf("an answer beside the loops takes %v, want at most 100 ms", got)
	}
	pauses := slices.Clone(after.Pause[:min(len(after.Pause), int(after.NumGC-before.NumGC))])
	if got := median(pauses); got > 10*time.Millisecond {
		t.Errorf("a collection stops the world for %v, want at most 10 ms", got)
	}
	t.Logf("answers: median %v, most %v; pauses: median %v, most %v", median(answers), answers[len(answers)-1], median(pauses), pauses[len(pauses)-1])
}
