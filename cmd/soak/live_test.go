package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ramjet.dev/ingress/internal/soak/config"
	"ramjet.dev/ingress/internal/soak/control"
)

// file writes a file of the test and returns its path.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const someLedger = `{"event":"serving","ts":0,"version":"v1"}
{"event":"starting","ts":1795980035686,"version":"v2"}
{"event":"promoted","max":2,"ts":1795980035898,"version":"v2","window_ms":5000}
{"event":"from the future","ts":1795980035899,"version":"v2","who":{"is":["it"]}}
`

func TestLedgerTable(t *testing.T) {
	path := file(t, "ledger.jsonl", someLedger+`{"event":"torn`)
	const table = `LINE  TIME                      EVENT            VERSION  DETAILS
1     1970-01-01T00:00:00.000Z  serving          v1       
2     2026-11-29T19:20:35.686Z  starting         v2       
3     2026-11-29T19:20:35.898Z  promoted         v2       max=2 window_ms=5000
4     2026-11-29T19:20:35.899Z  from the future  v2       who={"is":["it"]}
`
	const torn = "soak: the last line was not written to its end and is left out: line 5, 14 bytes: {\\\"event\\\":\\\"torn\n"
	if status, out, err := call("", "ledger", path); status != exitOK || out != table || err != torn {
		t.Errorf("%d\n%s\n%s", status, out, err)
	}
	if status, out, err := call("", "ledger", "--json", path); status != exitOK || out != someLedger || err != torn {
		t.Errorf("as it is: %d\n%s\n%s", status, out, err)
	}
	if status, out, _ := call(someLedger, "ledger", "-"); status != exitOK || out != table {
		t.Errorf("from standard input: %d\n%s", status, out)
	}
	config, dir := someConfig(t)
	if err := os.WriteFile(filepath.Join(dir, "ledger.jsonl"), []byte(someLedger), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, of := range []string{config, dir} {
		if status, out, err := call("", "ledger", of); status != exitOK || out != table {
			t.Errorf("of %s: %d\n%s%s", of, status, out, err)
		}
	}
	broken := file(t, "broken.jsonl", strings.Replace(someLedger, `"ts":1795980035686`, `"ts":-1`, 1))
	if status, out, err := call("", "ledger", broken); status != exitRefused || out != "" || !strings.HasPrefix(err, "soak: "+broken+":2: ") {
		t.Errorf("broken: %d %q %q", status, out, err)
	}
}

// someConfig writes a config with a state folder beside it.
func someConfig(t *testing.T) (path, stateDir string) {
	t.Helper()
	path = file(t, "soak.yaml", "stateDir: state\nbaseline: v1\ncommand: [app]\nports: 8081-8082\nreadiness: {tcp: true}\n")
	stateDir = filepath.Join(filepath.Dir(path), "state")
	if err := os.Mkdir(stateDir, 0o700); err != nil {
		t.Fatal(err)
	}
	return path, stateDir
}

// TestStatusWithoutSupervisor says what the ledger says, and that nobody is there.
func TestStatusWithoutSupervisor(t *testing.T) {
	path, dir := someConfig(t)
	if status, out, err := call("", "status", path); status != exitFailed || out != "" || !strings.Contains(err, "there is no ledger in "+dir) {
		t.Errorf("%d %q %q", status, out, err)
	}
	text := strings.ReplaceAll(someLedger, "1795980035898", fmt.Sprint(time.Now().UnixMilli()))
	if err := os.WriteFile(filepath.Join(dir, "ledger.jsonl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	status, out, _ := call("", "status", path)
	for _, want := range []string{
		"supervisor  none is running; this is what the ledger says\n", "state       soaking: v2 is on probation, ", " of 5s left, 0 of 2 restarts used\n",
		"current     v2\n", "last good   v1\n", "earlier     -\n", "ledger      4 lines\n",
	} {
		if status != exitFailed || !strings.Contains(out, want) {
			t.Errorf("%d, %q is missing in\n%s", status, want, out)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "ledger.jsonl"), []byte(`{"event":"serving","ts":0,"version":"v1"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, out, _ := call("", "status", path); !strings.Contains(out, "ledger      1 line\n") {
		t.Errorf("one line:\n%s", out)
	}
	if err := os.WriteFile(filepath.Join(dir, "ledger.jsonl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, out, _ := call("", "status", "--json", path); status != exitFailed || !strings.Contains(out, `"running":false,"state":"soaking","current":"v2"`) {
		t.Errorf("%d %s", status, out)
	}
}

// TestStatusOfOneThatIsStopped: a supervisor that does not answer is not waited for for ever.
func TestStatusOfOneThatIsStopped(t *testing.T) {
	path := file(t, "soak.yaml", "stateDir: s\nbaseline: v1\ncommand: [app]\nports: 8081-8082\nreadiness: {tcp: true}\n")
	c, err := config.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(c.StateDir, 0o700); err != nil {
		t.Fatal(err)
	}
	silent, err := net.Listen("unix", socketOf(c))
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	var out, said strings.Builder
	if code := status(streams{out: &out, err: &said}, false, path, 20*time.Millisecond); code != exitFailed || !strings.Contains(said.String(), "the supervisor does not answer") || out.String() != "" {
		t.Errorf("%d %q %q", code, out.String(), said.String())
	}
}

// TestRefusedBeforeAnythingIsAsked: status 2, and one line for each fault.
func TestRefusedBeforeAnythingIsAsked(t *testing.T) {
	path, _ := someConfig(t)
	bad := file(t, "bad.yaml", "stateDir: state\nbaselin: v1\ncommand: [app]\nports: 1\nreadiness: {tcp: true}\n")
	for _, c := range []struct{ args, want string }{
		{"run", "usage: soak run CONFIG\n"},
		{"deploy " + path, "usage: soak deploy CONFIG VERSION\n"},
		{"rollback " + path + " v1 v2", "usage: soak rollback CONFIG [VERSION]\n"},
		{"run --log-format=xml " + path, "soak: --log-format: \"xml\" is neither text nor json\n"},
		{"deploy " + path + " ../v2", "soak: \"../v2\" cannot name a release: write letters, digits and . _ + - only, a letter or digit first\n"},
		{"deploy v2 " + path, "soak: v2 is not there, and " + path + " is: the config comes first\n"},
		{"rollback v2 " + path, "soak: v2 is not there, and " + path + " is: the config comes first\n"},
		{"ledger " + bad, bad + ":2: unknown key \"baselin\""},
		{"deploy " + path + " v2", "soak: no supervisor is running for " + path + ": start it with soak run " + path + "\n"},
		{"rollback " + path, "soak: no supervisor is running for " + path + ": start it with soak run " + path + "\n"},
		{"run " + bad, bad + ":2: unknown key \"baselin\", did you mean \"baseline\"?\n" + bad + ":4: ports has one port: "},
		{"status " + bad + ".not", "the config cannot be read: no such file or directory\n"},
	} {
		status, out, err := call("", strings.Fields(c.args)...)
		if status != exitRefused || out != "" || !strings.Contains(err, c.want) {
			t.Errorf("soak %s: %d %q\n%s\nwant %s", c.args, status, out, err, c.want)
		}
	}
}

// TestProgressOfOneThatIsUnderWay: who joins a deploy learns at once how it stands.
func TestProgressOfOneThatIsUnderWay(t *testing.T) {
	var out strings.Builder
	p := newProgress(streams{out: &out}, "v2")
	for range 2 {
		p.status(control.Status{State: "soaking", Current: "v2", WindowMS: 30000, WindowLeftMS: 20400})
	}
	p.status(control.Status{State: "soaking", Current: "v2", LedgerError: "no space"})
	p.end()
	const want = "v2 serves already, on probation for another 20s\nwhat happens from here is judged when the ledger can be written again: no space\n"
	if out.String() != want {
		t.Errorf("said %q", out.String())
	}
}

// TestProgressLine is what a terminal shows.
func TestProgressLine(t *testing.T) {
	p := &progress{version: "v2"}
	for _, c := range []struct {
		st    control.Status
		since time.Duration
		want  string
	}{
		{control.Status{Starting: "v2", Current: "v1"}, 0, "v2  starting, waiting until it is ready; v1 serves"},
		{control.Status{State: "soaking", Current: "v2", WindowMS: 30000, WindowLeftMS: 20000, Restarts: 1, MaxRestarts: 2}, 5 * time.Second,
			"v2  soaking  [##########..........] 15s of 30s left  restarts 1 of 2"},
		{control.Status{State: "soaking", Current: "v2", WindowMS: 30000, WindowLeftMS: 2000}, time.Minute,
			"v2  soaking  [####################] 0s of 30s left  restarts 0 of 0"},
		{control.Status{State: "rolled_back", Current: "v1"}, 0, "v2  rolled_back; v1 serves"},
	} {
		p.last = c.st
		if got := p.line(c.since); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}
