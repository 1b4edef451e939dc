package route

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// request is a Fields by name: header fields as they are, cookies as "name=".
type request map[string]string

func (r request) Field(name string) (string, bool)  { v, ok := r[name]; return v, ok }
func (r request) Cookie(name string) (string, bool) { v, ok := r[name+"="]; return v, ok }

// TestCanary runs the scripts of testdata/canary: a canary, then lines of fields ("a=b")
// and cookies ("cookie:a=b"). The answer is canary or main when a rule decides whatever
// the dice say, weight when they do decide.
func TestCanary(t *testing.T) {
	scripts(t, "canary", func(t *testing.T, s *script) {
		table := compileLoose(t, "route a.test / Prefix -> web\n"+s.sections[""])
		c := table.Match("a.test", "/").Canary
		s.answer(t, "requests", func(words []string) string {
			r := request{}
			for _, word := range words {
				name, value, _ := strings.Cut(word, "=")
				if cookie, ok := strings.CutPrefix(name, "cookie:"); ok {
					name = cookie + "="
				}
				r[name] = value
			}
			return decide(c, r)
		})
	})
}

func decide(c *Canary, r request) string {
	low, high := c.Takes(r, 0), c.Takes(r, math.MaxUint32)
	switch {
	case low && high:
		return "canary"
	case low:
		return "weight"
	}
	return "main"
}

// TestCanaryShare draws 10,000 requests for each weight: the share is within two per
// cent of what was asked for, nothing at all for 0 and everything from the total on.
func TestCanaryShare(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, test := range []struct {
		weight, total int
		share         float64
	}{
		{0, 0, 0},
		{1, 0, 0.01},
		{50, 0, 0.5},
		{50, 10, 0.5},
		{50, -5, 0.5},
		{99, 100, 0.99},
		{100, 100, 1},
		{101, 100, 1},
		{-1, 100, 0},
		{500, 1000, 0.5},
		{100, 1000, 0.1},
		{1000000, 1000, 1},
		{math.MaxInt32 / 2, math.MaxInt32, 0.5},
	} {
		d := &draft{spec: &RouteSpec{Canary: &CanarySpec{Backend: "next", Weight: test.weight, WeightTotal: test.total}}}
		c := (&compiler{described: map[string]*Backend{"next": {}}}).compileCanary(d)
		const n = 10000
		taken := 0
		for range n {
			if c.Takes(request{}, rng.Uint32()) {
				taken++
			}
		}
		got := float64(taken) / n
		if math.Abs(got-test.share) > 0.02 || test.share == 0 && taken > 0 || test.share == 1 && taken < n {
			t.Errorf("weight %d of %d took %.4f, want %.2f", test.weight, test.total, got, test.share)
		}
	}
}

func TestMirrorShare(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, percent := range []int{0, 1, 50, 99, 100} {
		m := &Mirror{Percent: percent}
		const n = 10000
		copied := 0
		for range n {
			if m.Samples(rng.Uint32()) {
				copied++
			}
		}
		if got := float64(copied) / n; math.Abs(got-float64(percent)/100) > 0.02 ||
			percent == 0 && copied > 0 || percent == 100 && copied < n {
			t.Errorf("%d%% copied %.4f", percent, got)
		}
	}
}
