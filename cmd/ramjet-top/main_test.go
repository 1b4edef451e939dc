package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ramjet.dev/ingress/internal/admin"
	"ramjet.dev/ingress/test/terminal"
)

// selfVariable makes the test binary be ramjet-top.
const selfVariable = "RAMJET_TEST_SELF"

func TestMain(m *testing.M) {
	if os.Getenv(selfVariable) != "" {
		main()
	}
	goleak.VerifyTestMain(m)
}

// port is an admin port that answers the same forever. Spaces, order and unknown keys
// are there to be kept by --json.
type port struct {
	*httptest.Server
	host string // host:port
}

const (
	routesAnswer = `{"version":1,  "generation":7,"routes":[
{"host":"b.test","path":"/","path_type":"Prefix","backend":"ns/web:80","endpoints":2,"requests_total":1200,"errors_5xx_total":3,"upstream_latency_count":1200,"upstream_latency_ms_sum":1500.5,"canary":{"backend":"next","weight_percent":20},"canary_stats":null,"mirror":null},
{"host":"a.test","path":"/x<&>","path_type":"Exact","backend":"ns/api:80","endpoints":1,"requests_total":0,"errors_5xx_total":0,"upstream_latency_count":0,"upstream_latency_ms_sum":0,"canary":null,"canary_stats":null,"mirror":null,"later":{"z":1,"a":[1.0,2e0]}},
{"host":"a.test","path":"/v[0-9]+","path_type":"ImplementationSpecific","regex":true,"backend":"bad\u001b[31m","endpoints":1,"requests_total":5,"errors_5xx_total":0,"upstream_latency_count":5,"upstream_latency_ms_sum":10}]}
`
	generationsAnswer = `{"version":1,"serving":7,"pinned":null, "generations":[]}` + "\n"
	metricsAnswer     = `# TYPE ramjet_requests_total counter
ramjet_requests_total{code="1xx"} 0
ramjet_requests_total{code="2xx"} 1202
ramjet_requests_total{code="3xx"} 0
ramjet_requests_total{code="4xx"} 0
ramjet_requests_total{code="5xx"} 3
ramjet_active_connections 4
ramjet_route_table_generation 7
ramjet_pinned 0
process_start_time_seconds 1.7e+09
`
)

func listen(t *testing.T) port {
	t.Helper()
	answers := map[string]string{admin.PathRoutes: routesAnswer, admin.PathGenerations: generationsAnswer, admin.PathMetrics: metricsAnswer}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, answers[r.URL.Path]) }))
	t.Cleanup(s.Close)
	return port{s, strings.TrimPrefix(s.URL, "http://")}
}

// nobody is an address at which nobody listens.
func nobody(t *testing.T) string {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	return strings.TrimPrefix(s.URL, "http://")
}

// call runs the program without a terminal.
func call(env map[string]string, args ...string) (status int, stdout, stderr string) {
	var out, err bytes.Buffer
	status = run(args, func(name string) (string, bool) { v, ok := env[name]; return v, ok }, strings.NewReader(""), &out, &err)
	return status, out.String(), err.String()
}

// The table is aligned and sorted; two of an idle daemon do not differ; of two
// replicas it is the sum.
func TestOnce(t *testing.T) {
	p, q := listen(t), listen(t)
	want := `HOST    PATH      TYPE    BACKEND    ENDPOINTS  REQUESTS  5XX  MEAN_MS  CANARY
a.test  /v[0-9]+  Regex   bad` + "\uFFFD" + `[31m           1         5    0     2.00  -
a.test  /x<&>     Exact   ns/api:80          1         0    0        -  -
b.test  /         Prefix  ns/web:80          2      1200    3     1.25  20%→next
`
	for range 2 {
		if status, out, errs := call(nil, "--once", p.host); status != 0 || out != want || errs != "" {
			t.Errorf("status %d, %s\n%s\nwant\n%s", status, errs, out, want)
		}
	}
	status, out, _ := call(nil, "--once", "--url", p.URL+"/", q.host)
	if status != 0 || !strings.Contains(out, "2      2400    6     1.25  20%→next") {
		t.Errorf("status %d\n%s", status, out)
	}
}

// The answers come through byte by byte, an object for each daemon.
func TestJSON(t *testing.T) {
	p, q := listen(t), listen(t)
	status, out, errs := call(nil, "--json", p.host, q.host)
	if status != 0 || errs != "" {
		t.Fatalf("status %d, %s", status, errs)
	}
	for _, verbatim := range []string{routesAnswer, generationsAnswer} {
		if strings.Count(out, strings.TrimSpace(verbatim)) != 2 {
			t.Errorf("the output does not hold twice, as it came: %s", verbatim)
		}
	}
	objects := json.NewDecoder(strings.NewReader(out))
	for _, want := range []string{p.host, q.host} {
		var o struct {
			Target      string
			Routes      admin.Routes
			Generations admin.Generations
			Series      map[string]float64
		}
		if err := objects.Decode(&o); err != nil {
			t.Fatal(err)
		}
		if o.Target != want || o.Routes.Generation != 7 || len(o.Routes.Routes) != 3 || o.Generations.Serving != 7 || o.Series[`ramjet_requests_total{code="2xx"}`] != 1202 {
			t.Errorf("decoded %+v", o)
		}
	}
}

// Statuses and the one line that goes with each.
func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p, gone := listen(t), nobody(t)
	for _, c := range []struct {
		args   []string
		env    map[string]string
		status int
		stderr string // a regular expression for all of it
	}{
		{args: []string{"--once", gone}, status: 1, stderr: `ramjet-top: ` + gone + `/metrics: connection refused: is the daemon up, and is this its --admin port\?`},
		{args: []string{"--json", gone}, status: 1, stderr: `ramjet-top: .*connection refused.*`},
		{args: []string{"--once", p.host, gone}, status: 1, stderr: `ramjet-top: ` + gone + `.*connection refused.*`},
		{args: []string{p.host}, status: 2, stderr: `ramjet-top: standard output is no terminal: use --once for a table or --json for the numbers`},
		{args: []string{"--onec"}, status: 2, stderr: `ramjet-top: unknown flag --onec, did you mean --once\?`},
		{args: []string{"-x"}, status: 2, stderr: `ramjet-top: unknown flag -x, see --help`},
		{args: []string{"--interval"}, status: 2, stderr: `ramjet-top: --interval: a value is missing, see --help`},
		{args: []string{"--once", "-i", "0"}, status: 2, stderr: `ramjet-top: --interval: "0" is no time from 100ms to 1h: write 1s, 500ms or bare seconds`},
		{args: []string{"--once", "-i", "1d"}, status: 2, stderr: `ramjet-top: --interval: "1d" is no time .*`},
		{args: []string{"--once", "host:port"}, status: 2, stderr: `ramjet-top: "host:port" has no port that could be asked: .*`},
		{args: []string{"--once", ""}, status: 2, stderr: `ramjet-top: the address of the daemon is empty: .*`},
		{args: []string{"--once", "http://host:1"}, status: 2, stderr: `ramjet-top: "http://host:1" is a URL: give it with --url`},
		{args: []string{"--once", "--url", "ftp://host"}, status: 2, stderr: `ramjet-top: --url: "ftp://host" is not the URL of a daemon: .*`},
		{args: []string{"--once", "10254", "127.0.0.1"}, status: 2, stderr: `ramjet-top: 127.0.0.1:10254 is named twice, and would be counted twice: name it once`},
		{args: []string{"--once", "--token-file", empty, p.host}, status: 2, stderr: `ramjet-top: --token-file: the admin token in .* is empty: .*`},
		{args: []string{"--once", p.host}, env: map[string]string{tokenVariable: filepath.Join(dir, "none")}, status: 2, stderr: `ramjet-top: RAMJET_TOP_TOKEN_FILE: read the admin token: .*`},
		{args: []string{"--once", "--token-file", "", p.host}, status: 2, stderr: `ramjet-top: --token-file: the name of the file is empty`},
		{args: []string{"--once", p.host}, env: map[string]string{tokenVariable: ""}, status: 0},
		{args: []string{"--once", "--interval=250ms", p.host}, status: 0},
		{args: []string{"--version"}, status: 0},
		{args: []string{"--nonsense", "--help"}, status: 0},
		{args: []string{"-h"}, status: 0},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			status, out, errs := call(c.env, c.args...)
			if status != c.status || !regexp.MustCompile(`\A`+c.stderr+`\n?\z`).MatchString(errs) {
				t.Errorf("status %d, %q; want %d and %s", status, errs, c.status, c.stderr)
			}
			if status == 0 && out == "" {
				t.Error("nothing was printed")
			}
		})
	}
}

// start runs the program on a terminal.
func start(t *testing.T, width, height int, env []string, args ...string) (*terminal.Terminal, *terminal.Program) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	term := terminal.New(t, width, height)
	cmd := exec.Command(self, args...)
	cmd.Env = append(append(os.Environ(), selfVariable+"=1", "TERM=xterm-256color", "COLORTERM=", "NO_COLOR="), env...)
	return term, term.Start(cmd)
}

// q, Ctrl-C and SIGTERM end it and give the terminal back; nobody to ask is status 1.
func TestLeaving(t *testing.T) {
	p := listen(t)
	leave := map[string]func(*terminal.Terminal, *terminal.Program){
		"q":      func(term *terminal.Terminal, _ *terminal.Program) { term.Type("q") },
		"Ctrl-C": func(term *terminal.Terminal, _ *terminal.Program) { term.Type("\x03") },
		"SIGTERM": func(_ *terminal.Terminal, p *terminal.Program) {
			if err := p.Process.Signal(syscall.SIGTERM); err != nil {
				t.Error(err)
			}
		},
	}
	for name, do := range leave {
		t.Run(name, func(t *testing.T) {
			term, program := start(t, 80, 24, nil, p.host)
			term.Wait("b.test", "ns/web:80")
			do(term, program)
			if code := program.Exit(); code != 0 {
				t.Errorf("exit status %d, want 0", code)
			}
			if term.WaitFor("the first screen", func(string) bool { return term.Restored() }); strings.Contains(term.Screen(), "b.test") {
				t.Error("the screen was left behind")
			}
		})
	}
	t.Run("nobody answers", func(t *testing.T) {
		term, program := start(t, 80, 24, nil, nobody(t))
		term.Wait("connection refused", "Is the daemon up")
		term.Type("q")
		if code := program.Exit(); code != 1 {
			t.Errorf("exit status %d, want 1", code)
		}
	})
}

// breaking is a terminal that breaks when ! is typed.
type breaking struct{ *os.File }

func (b breaking) Read(p []byte) (int, error) {
	n, err := b.File.Read(p)
	if bytes.Contains(p[:n], []byte("!")) {
		return 0, syscall.EIO
	}
	return n, err
}

// A terminal that breaks while it is watched is no refusal: daemons were asked.
func TestBrokenTerminal(t *testing.T) {
	p := listen(t)
	term := terminal.New(t, 80, 24)
	var errs bytes.Buffer
	status := make(chan int, 1)
	go func() {
		status <- run([]string{p.host}, func(string) (string, bool) { return "", false }, breaking{term.TTY}, term.TTY, &errs)
	}()
	term.Wait("b.test")
	term.Type("!")
	select {
	case got := <-status:
		if got != exitUnreachable || !strings.HasPrefix(errs.String(), "ramjet-top: use the terminal: ") {
			t.Errorf("status %d, %q", got, &errs)
		}
	case <-time.After(terminal.Patience):
		t.Fatal("the program did not end")
	}
}

// Keys come from the terminal also where standard input is something else.
func TestOtherStandardInput(t *testing.T) {
	p := listen(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	term := terminal.New(t, 80, 24)
	cmd := exec.Command(self, p.host)
	cmd.Env = append(os.Environ(), selfVariable+"=1", "TERM=xterm-256color")
	cmd.Stdin = strings.NewReader("qqq")
	program := term.Start(cmd)
	term.Wait("b.test")
	term.Type("?")
	term.Wait("by latency")
	term.Type("q")
	if code := program.Exit(); code != 0 {
		t.Errorf("exit status %d, want 0", code)
	}
}

// A window that changes its size gets a screen of that size.
func TestResize(t *testing.T) {
	p := listen(t)
	term, _ := start(t, 80, 24, nil, p.host)
	term.Wait("b.test", "? help   q quit")
	for _, size := range [][2]int{{132, 40}, {50, 12}, {20, 4}, {100, 30}} {
		term.Resize(size[0], size[1])
		term.WaitFor(fmt.Sprintf("a screen of %dx%d", size[0], size[1]), func(screen string) bool {
			lines := strings.Split(strings.TrimSuffix(screen, "\n"), "\n")
			if size[0] < 40 {
				return strings.Contains(screen, "too small")
			}
			return len(lines) == size[1] && strings.HasPrefix(lines[size[1]-1], " j k move") && strings.Contains(screen, "b.test")
		})
	}
}

// colour is a sequence that sets a colour.
var colour = regexp.MustCompile(`\x1b\[(?:\d*;)*(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])[;m]`)

// Colours are there, and are not where they are not wanted.
func TestColours(t *testing.T) {
	p := listen(t)
	for _, c := range []struct {
		env  []string
		want bool
	}{
		{nil, true},
		{[]string{"NO_COLOR=1"}, false},
		{[]string{"NO_COLOR=please"}, false},
		{[]string{"NO_COLOR=0", "CLICOLOR_FORCE=1"}, false},
		{[]string{"TERM=dumb"}, false},
		{[]string{"TERM=dumb", "CLICOLOR_FORCE=1"}, false},
	} {
		term, program := start(t, 80, 24, c.env, p.host)
		term.Wait("▸ a.test")
		term.Type("\tq")
		program.Exit()
		if got := colour.MatchString(term.Raw()); got != c.want {
			t.Errorf("%q: colours %v, want %v: %q", c.env, got, c.want, colour.FindString(term.Raw()))
		}
	}
}
