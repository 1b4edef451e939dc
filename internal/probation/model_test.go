package probation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
)

// model is the kernel once more, written from the description as plainly as it goes
// and for plans alone: no entries but those that soak apply prints, which are maps
// that encoding/json writes, and numbers that know no end.
type model struct {
	window, budget          uint64
	current, lastGood, cand string
	phase                   string
	started                 *big.Int
	restarts, exits         uint64
	ledger                  bytes.Buffer
}

func newModel(p Policy) *model {
	return &model{window: p.SoakMS, budget: p.MaxRestarts, phase: "serving", started: new(big.Int)}
}

// write appends a line to the ledger.
func (m *model) write(fields map[string]any) {
	enc := json.NewEncoder(&m.ledger)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(fields); err != nil {
		panic(err)
	}
}

// feed takes an event by the name it has in a plan.
func (m *model) feed(ts uint64, event, version string) {
	now := new(big.Int).SetUint64(ts)
	end := new(big.Int).Add(m.started, new(big.Int).SetUint64(m.window))
	if m.phase == "soaking" && now.Cmp(end) >= 0 {
		m.phase = "confirmed"
		m.lastGood = m.cand
		m.write(map[string]any{"event": "confirmed", "ts": ts, "version": m.cand, "restarts": m.restarts})
	}
	if event == "serving" {
		m.phase = "serving"
		m.current = version
		m.lastGood = version
	}
	if event == "promoted" {
		m.phase = "soaking"
		m.current = version
		m.cand = version
		m.started = now
		m.restarts = 0
		m.exits = 0
	}
	if event == "exited" && m.phase == "confirmed" && version == m.current {
		m.write(map[string]any{"event": "restarted_post_soak", "ts": ts, "version": version})
	}
	if event == "exited" && m.phase == "soaking" && version == m.cand {
		m.exits++
		if m.exits <= m.budget {
			m.restarts++
			m.write(map[string]any{"event": "restarting", "ts": ts, "version": version, "attempt": m.restarts, "max": m.budget})
		} else {
			m.phase = "rolled_back"
			m.current = m.lastGood
			m.write(map[string]any{
				"event": "rolled_back", "ts": ts, "version": version, "from": version, "to": m.lastGood,
				"reason": "restart_budget_exceeded", "exits_in_window": m.exits, "max": m.budget, "window_ms": m.window,
			})
		}
	}
}

// report is the seven lines.
func (m *model) report() string {
	return fmt.Sprint("soak_ms: ", m.window, "\nmax_restarts: ", m.budget, "\ncurrent: ", m.current, "\nlast_good: ", m.lastGood,
		"\ncandidate: ", m.cand, "\ncandidate.restarts: ", m.restarts, "\ndeploy: ", m.phase, "\n")
}
