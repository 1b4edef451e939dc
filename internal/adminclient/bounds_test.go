package adminclient

import (
	"bytes"
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"time"

	"ramjet.dev/ingress/internal/admin"
)

// full is an answer of the largest size: head, then as many parts as there is room for,
// then tail.
func full(head, part, tail string) []byte {
	n := (maxAnswer - len(head) - len(tail)) / len(part)
	return []byte(head + strings.Repeat(part, n) + tail)
}

// allocated is how many bytes f allocates, all in all.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestHostileAnswers: an answer that would become far larger than it is, is refused
// before it is decoded, in one line.
func TestHostileAnswers(t *testing.T) {
	const most = 1 << 20
	c := New(Options{Target: Target{Name: "daemon"}, Now: func() time.Duration { return 0 }})
	defer c.Close()
	for what, parts := range map[string][3]string{
		"routes that are not written out": {`{"version":1,"routes":[{}`, ",{}", "]}"},
		"routes that are none":            {`{"version":1,"routes":[0`, ",0", "]}"},
		"the list of them more than once": {`{"version":1`, `,"routes":[{},{},{},{}]`, "}"},
		"empty lines of a diff":           {`{"version":1,"generations":[{"diff":{"routes_added":[""`, `,""`, "]}}]}"},
		"many diffs":                      {`{"version":1,"generations":[{}`, `,{"diff":{"hosts_added":["","","",""]}}`, "]}"},
		"lists in lists":                  {`{"version":1,"routes":[`, "[", "]}"},
		"objects in objects":              {`{"version":1,"routes":`, `{"a":`, "}"},
		"a text without an end":           {`{"version":1,"routes":[{"host":"`, `\"x`, ""},
		"quotes":                          {`{"version":1,"routes":["`, `\\`, `"]}`},
	} {
		t.Run(what, func(t *testing.T) {
			body := full(parts[0], parts[1], parts[2])
			var err error
			got := allocated(func() {
				var routes admin.Routes
				if err = c.decode(admin.PathRoutes, body, &routes, &routes.Version); err != nil {
					var generations admin.Generations
					err = c.decode(admin.PathGenerations, body, &generations, &generations.Version)
				}
			})
			if err == nil || strings.ContainsRune(err.Error(), '\n') {
				t.Errorf("it is taken: %v", err)
			}
			if got > most {
				t.Errorf("%d KiB for an answer of %d", got>>10, len(body)>>10)
			}
			t.Log(err)
		})
	}
}

// TestLargestAnswer: a daemon with as many routes as are taken is read, in a few times
// the room that they need.
func TestLargestAnswer(t *testing.T) {
	const one = `{"host":"a","path":"/b,[c]{d}\""}`
	body := []byte(`{"version":1,"routes":[` + strings.Repeat(one+",", maxListed-1) + one + "]}")
	c := New(Options{Target: Target{Name: "daemon"}, Now: func() time.Duration { return 0 }})
	defer c.Close()
	var read admin.Routes
	var err error
	got := allocated(func() { err = c.decode(admin.PathRoutes, body, &read, &read.Version) })
	if err != nil || len(read.Routes) != maxListed || read.Routes[maxListed-1].Path != `/b,[c]{d}"` {
		t.Errorf("%d routes, %v", len(read.Routes), err)
	}
	if got > 1024*maxListed {
		t.Errorf("%d bytes for each route", got/maxListed)
	}
}

// TestHostileSeries: of an exposition only the lines are parsed that are read, and not
// any number of these.
func TestHostileSeries(t *testing.T) {
	for what, c := range map[string]struct{ part, want string }{
		"series of others":     {"a 1\n", "there is no ramjet_active_connections in it"},
		"nothing but comments": {"# TYPE ramjet_pinned gauge\n", "it has more series than a daemon has"},
		"one series with many": {`ramjet_requests_total{code="a"} 1` + "\n", "it has more series than a daemon has"},
		"empty lines":          {"\n", "there is no ramjet_active_connections in it"},
		"no line":              {"x", "there is no ramjet_active_connections in it"},
	} {
		t.Run(what, func(t *testing.T) {
			text := bytes.Repeat([]byte(c.part), 1<<20/len(c.part))
			var err error
			if got := allocated(func() { _, err = parseSeries(text) }); got > 256<<10 {
				t.Errorf("%d KiB for an exposition of %d", got>>10, len(text)>>10)
			}
			if err == nil || err.Error() != c.want {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

// FuzzCount: what is decoded was counted, whatever it is written like.
func FuzzCount(f *testing.F) {
	for _, seed := range []string{`{"routes":[{},{"host":"a,\"]"}]}`, `[[1,2],[3]]`, `{"a":[[],[1,2,"3"]]}`, `"\\"`, `]},[{`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		_ = count(text) // whatever it is, it does not panic
		var any map[string][]json.RawMessage
		if json.Unmarshal(text, &any) != nil || len(any) != 1 || count(text) != nil {
			return
		}
		for _, list := range any {
			if listed, _ := members(text); listed < len(list) {
				t.Errorf("%d members, counted %d", len(list), listed)
			}
		}
	})
}
