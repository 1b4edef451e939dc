package top

import (
	"context"
	"fmt"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"ramjet.dev/ingress/internal/admin"
	"ramjet.dev/ingress/internal/adminclient"
	"ramjet.dev/ingress/internal/top/tally"
)

// still is a source and a clock of which nothing comes by itself.
type still struct{}

func (still) Target() adminclient.Target { return adminclient.Target{Name: "127.0.0.1:10254"} }

func (still) Read(context.Context) (*adminclient.Reading, error) { return nil, context.Canceled }

func (still) Pin(context.Context, uint64, string) (admin.Pin, error) { return admin.Pin{}, nil }

func (still) Release(context.Context) (admin.Pin, error) { return admin.Pin{}, nil }

func (still) Now() tally.Moment { return tally.Moment{} }

func (still) Wait(context.Context, time.Duration) {}

// tenThousand is a reading with ten thousand routes, and a diff as long.
func tenThousand(step int) *adminclient.Reading {
	r := &adminclient.Reading{Routes: admin.Routes{Version: 1}, Generations: admin.Generations{Version: 1}}
	g := admin.Generation{Published: true, Diff: admin.Diff{Summary: "10000 routes added (gen 0→1)"}}
	for i := range 10_000 {
		host := fmt.Sprintf("shop-%d.team-%d.example.com", i, i%97)
		r.Routes.Routes = append(r.Routes.Routes, admin.Route{
			Host: host, Path: fmt.Sprintf("/api/v%d", i%7), PathType: "Prefix", Backend: fmt.Sprintf("team-%d/shop-%d:8080", i%97, i), Endpoints: i % 9,
			Numbers: admin.Numbers{
				Requests: uint64(step * (i * 7919 % 1000)), Errors5xx: uint64(step * (i % 3)),
				LatencyCount: uint64(step * (i * 7919 % 1000)), LatencyMillis: float64(step * i),
			},
		})
		g.Diff.RoutesAdded = append(g.Diff.RoutesAdded, host+" / -> web")
	}
	r.Generations.Generations = []admin.Generation{g}
	r.RoutesAt, r.SeriesAt = time.Duration(step)*time.Second, time.Duration(step)*time.Second
	return r
}

// large is a cockpit at 200x60 that saw ten thousand routes twice.
func large() *Model {
	m := New(context.Background(), Options{Sources: []Source{still{}}, Interval: time.Second, Clock: still{}, Location: time.UTC})
	m.Update(tea.WindowSizeMsg{Width: 200, Height: 60})
	for step := 1; step <= 2; step++ {
		m.Update(answerMsg{at: tally.Moment{Clock: time.Duration(step) * time.Second}, reading: tenThousand(step)})
	}
	return m
}

// BenchmarkFrame is one drawing of ten thousand routes at 200x60, after a key.
func BenchmarkFrame(b *testing.B) {
	m := large()
	b.ReportAllocs()
	for b.Loop() {
		m.Update(tea.KeyPressMsg{Code: tea.KeyDown})
		_ = m.View()
	}
}

// BenchmarkAnswer is what an answer with ten thousand routes costs between two frames:
// rates, order and widths.
func BenchmarkAnswer(b *testing.B) {
	m := large()
	readings := []*adminclient.Reading{tenThousand(3), tenThousand(4)}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		m.Update(answerMsg{reading: readings[i%2]})
	}
}

// BenchmarkFrameOfDiff is one drawing of a diff with ten thousand lines.
func BenchmarkFrameOfDiff(b *testing.B) {
	m := large()
	m.Update(tea.KeyPressMsg{Code: tea.KeyTab})
	m.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
	b.ReportAllocs()
	for b.Loop() {
		m.Update(tea.KeyPressMsg{Code: tea.KeyPgDown})
		_ = m.View()
	}
}

// Only what is visible is drawn: a frame of ten thousand routes takes no more than
// one of a hundred, give or take what a slow machine adds.
func TestFrameDoesNotGrow(t *testing.T) {
	many, few := large(), large()
	reading := tenThousand(3)
	reading.Routes.Routes = reading.Routes.Routes[:100]
	few.Update(answerMsg{at: tally.Moment{Clock: 3 * time.Second}, reading: reading})
	frame := func(m *Model) float64 { return testing.AllocsPerRun(5, func() { _ = m.View() }) }
	if a, b := frame(many), frame(few); a > b*1.2 {
		t.Errorf("a frame of 10000 routes takes %.0f allocations, one of 100 takes %.0f", a, b)
	}
}
