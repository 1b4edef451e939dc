package nethttp

import (
	"log/slog"
	"testing"

	"go.uber.org/goleak"

	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/engine/enginetest"
	"ramjet.dev/ingress/internal/generation"
	"ramjet.dev/ingress/internal/upstream"
)

func newEngine(o engine.Options, live *generation.Live, pools *upstream.Pools, m *engine.Metrics, log *slog.Logger) enginetest.Engine {
	return New(o, live, pools, m, log)
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSuite(t *testing.T) { enginetest.Run(t, newEngine) }

// TestDifferIsFair: an engine does not differ from itself, so what another differs
// in is no matter of chance.
func TestDifferIsFair(t *testing.T) { enginetest.Differ(t, newEngine, newEngine) }
