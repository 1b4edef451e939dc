package route

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
)

// balanced compiles one backend with endpoints a, b, c, … of the given weights.
func balanced(t testing.TB, policy Policy, weights ...int) *Backend {
	t.Helper()
	spec := BackendSpec{Name: "web", Policy: policy}
	for i, w := range weights {
		spec.Endpoints = append(spec.Endpoints, EndpointSpec{Address: fmt.Sprintf("%c:80", 'a'+i), Weight: w})
	}
	table, diagnostics := Compile(Spec{Backends: []BackendSpec{spec}})
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	return table.Backends()[0]
}

// sequence picks n times without load and returns the first letters.
func sequence(b *Backend, n int) string {
	var s strings.Builder
	for range n {
		if e := b.Pick(nil); e != nil {
			s.WriteByte(e.Address[0])
		}
	}
	return s.String()
}

func TestRoundRobinInterleavesWeights(t *testing.T) {
	for _, test := range []struct {
		weights []int
		want    string // of one round; then it repeats
	}{
		{[]int{1, 1, 1}, "abc"},
		{[]int{7, 7}, "ab"},
		{[]int{2, 1}, "aba"},
		{[]int{5, 1, 1}, "aabacaa"},
		{[]int{50, 10, 10}, "aabacaa"},
		{[]int{1, 0, 1}, "ac"},
		{[]int{0, 3}, "b"},
		{[]int{1}, "a"},
	} {
		b := balanced(t, RoundRobin, test.weights...)
		if got := sequence(b, 2*len(test.want)); got != test.want+test.want {
			t.Errorf("weights %v: %s, want %s twice", test.weights, got, test.want)
		}
	}
}

func TestEqualWeightsNeedNoSequence(t *testing.T) {
	b := balanced(t, RoundRobin, 3, 3, 3)
	if &b.turns[0] != &b.Endpoints[0] {
		t.Error("the turns of equal weights are a copy")
	}
}

// TestTurnsAreBounded checks weights that have nothing in common and a huge sum.
func TestTurnsAreBounded(t *testing.T) {
	b := balanced(t, RoundRobin, math.MaxInt32, 1, math.MaxInt32/2)
	if len(b.turns) > maxTurns+len(b.Endpoints) {
		t.Errorf("%d turns", len(b.turns))
	}
	got := sequence(b, len(b.turns))
	if n := strings.Count(got, "b"); n != 1 {
		t.Errorf("the smallest weight has %d turns", n)
	}
	if share := float64(strings.Count(got, "a")) / float64(len(got)); math.Abs(share-2.0/3) > 0.01 {
		t.Errorf("two thirds of the weight have a share of %.3f", share)
	}
}

// TestSharesFollowWeights checks that all policies honour weights when nothing is in
// flight, and that a drained endpoint gets nothing.
func TestSharesFollowWeights(t *testing.T) {
	weights := []int{1, 2, 5, 0}
	for _, policy := range []Policy{RoundRobin, LeastConn, Random} {
		b := balanced(t, policy, weights...)
		const n = 16000
		got := sequence(b, n)
		for i, w := range weights {
			want := float64(w) / 8
			share := float64(strings.Count(got, string(rune('a'+i)))) / n
			if math.Abs(share-want) > 0.02 || w == 0 && share > 0 {
				t.Errorf("%v: weight %d of 8 has a share of %.3f", policy, w, share)
			}
		}
	}
}

// TestPickPassesOverWhatWasTried retries until nothing is left, with every policy.
func TestPickPassesOverWhatWasTried(t *testing.T) {
	for _, policy := range []Policy{RoundRobin, LeastConn, Random} {
		b := balanced(t, policy, 1, 3, 0, 2, 1)
		for range 100 {
			var tried []*Endpoint
			for e := b.Pick(tried); e != nil; e = b.Pick(tried) {
				for _, before := range tried {
					if e == before {
						t.Fatalf("%v: %s was picked twice", policy, e.Address)
					}
				}
				if e.Weight == 0 {
					t.Fatalf("%v: %s is drained and was picked", policy, e.Address)
				}
				tried = append(tried, e)
			}
			if len(tried) != 4 {
				t.Fatalf("%v: %d endpoints were tried, want 4", policy, len(tried))
			}
		}
	}
}

func TestPickWithNobodyThere(t *testing.T) {
	for _, policy := range []Policy{RoundRobin, LeastConn, Random} {
		for _, weights := range [][]int{nil, {0}, {0, 0}} {
			if e := balanced(t, policy, weights...).Pick(nil); e != nil {
				t.Errorf("%v with weights %v picked %v", policy, weights, e)
			}
		}
	}
	unknown, _ := Compile(Spec{Routes: []RouteSpec{{Backend: "missing"}}})
	if e := unknown.Routes()[0].Backend.Pick(nil); e != nil {
		t.Errorf("an unknown backend picked %v", e)
	}
}

// TestLeastConnTakesTheLightest fills a backend and checks that load per weight evens out.
func TestLeastConnTakesTheLightest(t *testing.T) {
	b := balanced(t, LeastConn, 1, 2, 1)
	for range 40 {
		b.Pick(nil).Acquire()
	}
	for i, want := range []int64{10, 20, 10} {
		if got := b.Endpoints[i].InFlight(); got != want {
			t.Errorf("%s has %d in flight, want %d", b.Endpoints[i].Address, got, want)
		}
	}
	for range 5 {
		b.Endpoints[2].Release()
	}
	for range 5 {
		e := b.Pick(nil)
		if e != b.Endpoints[2] {
			t.Errorf("picked %s with %d in flight", e.Address, e.InFlight())
		}
		e.Acquire()
	}
}

// TestLeastConnRotatesTies checks that of several equal ones not always the first is taken.
func TestLeastConnRotatesTies(t *testing.T) {
	b := balanced(t, LeastConn, 1, 1, 1, 1)
	b.Endpoints[0].Acquire()
	got := sequence(b, 400)
	for _, c := range "bcd" {
		if n := strings.Count(got, string(c)); n < 120 || n > 150 {
			t.Errorf("%c was picked %d times of 400", c, n)
		}
	}
}

// TestMirrorPickLeavesNoTrace checks that copies do not move whose turn it is.
func TestMirrorPickLeavesNoTrace(t *testing.T) {
	b := balanced(t, RoundRobin, 1, 1, 0)
	m := &Mirror{Backend: b}
	for range 100 {
		if e := m.Pick(); e.Weight == 0 {
			t.Fatalf("%s is drained and was picked", e.Address)
		}
	}
	if got := sequence(b, 2); got != "ab" {
		t.Errorf("after copies the turns are %s", got)
	}
	if e := (&Mirror{Backend: balanced(t, Random, 0)}).Pick(); e != nil {
		t.Errorf("picked %v", e)
	}
}

// TestPickConcurrently picks from many goroutines: a round robin is exact also then.
func TestPickConcurrently(t *testing.T) {
	b := balanced(t, RoundRobin, 3, 1)
	const workers, each = 8, 400
	var counts [2]int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			got := sequence(b, each)
			mu.Lock()
			defer mu.Unlock()
			counts[0] += strings.Count(got, "a")
			counts[1] += strings.Count(got, "b")
		})
	}
	wg.Wait()
	if counts != [2]int{workers * each * 3 / 4, workers * each / 4} {
		t.Errorf("counts = %v", counts)
	}
}
