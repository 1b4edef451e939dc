package reactor

import (
	"log/slog"
	"testing"

	"go.uber.org/goleak"

	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/engine/enginetest"
	"ramjet.dev/ingress/internal/engine/nethttp"
	"ramjet.dev/ingress/internal/generation"
	"ramjet.dev/ingress/internal/upstream"
)

// newEngine makes an engine of two loops, so that connections meet on one and on two.
func newEngine(o engine.Options, live *generation.Live, pools *upstream.Pools, m *engine.Metrics, log *slog.Logger) enginetest.Engine {
	e, err := New(o, live, pools, m, log, 2)
	if err != nil {
		panic(err)
	}
	return e
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSuite(t *testing.T) { enginetest.Run(t, newEngine) }

// newReference makes the engine whose behaviour this one has.
func newReference(o engine.Options, live *generation.Live, pools *upstream.Pools, m *engine.Metrics, log *slog.Logger) enginetest.Engine {
	return nethttp.New(o, live, pools, m, log)
}

// TestDiffer holds the engine against the other one, case by case.
func TestDiffer(t *testing.T) { enginetest.Differ(t, newReference, newEngine) }
