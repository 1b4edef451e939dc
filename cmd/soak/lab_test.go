package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// The eight checks of the document that soak comes from, under the names it gives
// them; "build" is that this test runs.

func ledgerOf(t *testing.T, name string) (entries []map[string]any) {
	t.Helper()
	status, stdout, stderr := call("", "apply", "testdata/plans/"+name+".plan")
	if status != exitOK {
		t.Fatalf("%s: status %d, %s", name, status, stderr)
	}
	for line := range strings.Lines(stdout) {
		var e map[string]any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%s: %s: %v", name, line, err)
		}
		entries = append(entries, e)
	}
	return entries
}

// events are the entries of one kind.
func events(ledger []map[string]any, kind string) (some []map[string]any) {
	for _, e := range ledger {
		if e["event"] == kind {
			some = append(some, e)
		}
	}
	return some
}

// wantReport checks lines of the report.
func wantReport(t *testing.T, name string, want ...string) {
	t.Helper()
	_, stdout, _ := call("", "report", "testdata/plans/"+name+".plan")
	for _, line := range want {
		if !strings.Contains("\n"+stdout, "\n"+line+"\n") {
			t.Errorf("%s: no line %q in the report\n%s", name, line, stdout)
		}
	}
}

func TestLabStormRollsBack(t *testing.T) {
	ledger := ledgerOf(t, "flap")
	back := events(ledger, "rolled_back")
	if len(events(ledger, "restarting")) != 2 || len(back) != 1 || back[0]["to"] != "v1" || back[0]["reason"] != "restart_budget_exceeded" {
		t.Errorf("flap: %v", ledger)
	}
	wantReport(t, "flap", "current: v1", "last_good: v1", "deploy: rolled_back")
}

func TestLabSurvivorConfirmed(t *testing.T) {
	ledger := ledgerOf(t, "stable")
	if len(ledger) != 1 || len(events(ledger, "confirmed")) != 1 {
		t.Errorf("stable: %v", ledger)
	}
	wantReport(t, "stable", "current: v2", "last_good: v2", "deploy: confirmed")
}

func TestLabNoConfirmWhileSoaking(t *testing.T) {
	if ledger := ledgerOf(t, "soaking"); len(events(ledger, "confirmed")) != 0 {
		t.Errorf("soaking: %v", ledger)
	}
	wantReport(t, "soaking", "current: v2", "last_good: v1", "deploy: soaking")
}

func TestLabWindowCloses(t *testing.T) {
	ledger := ledgerOf(t, "slowburn")
	if len(events(ledger, "rolled_back")) != 0 || len(events(ledger, "confirmed")) != 1 || len(events(ledger, "restarted_post_soak")) != 1 {
		t.Errorf("slowburn: %v", ledger)
	}
	wantReport(t, "slowburn", "current: v2", "last_good: v2", "deploy: confirmed")
}

func TestLabRollbackTargetLastGood(t *testing.T) {
	back := events(ledgerOf(t, "chain"), "rolled_back")
	if len(back) != 2 || back[1]["to"] != "v1" {
		t.Errorf("chain: %v", back)
	}
	wantReport(t, "chain", "current: v1", "last_good: v1", "deploy: rolled_back")
}

// TestLabLedgerSchema is, on every plan there is,
//
//	jq -c 'select((.ts|type)!="number" or (.event|type)!="string" or (.version|type)!="string")'
func TestLabLedgerSchema(t *testing.T) {
	plans, err := filepath.Glob("testdata/plans/*.plan")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range plans {
		for _, e := range ledgerOf(t, strings.TrimSuffix(filepath.Base(path), ".plan")) {
			_, number := e["ts"].(float64)
			_, event := e["event"].(string)
			_, version := e["version"].(string)
			if !number || !event || !version {
				t.Errorf("%s: %v", path, e)
			}
		}
	}
}

func TestLabMissingFileExit2(t *testing.T) {
	if status, stdout, _ := call("", "report", "testdata/plans/none.plan"); status != 2 || stdout != "" {
		t.Errorf("status %d, %q", status, stdout)
	}
}
