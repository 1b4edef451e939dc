//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ramjet.dev/ingress/test/daemon"
)

// promptly is what a person who tries the demo may have to wait, from starting it
// to the answer of the last command it prints, beyond what the commands take.
const promptly = time.Second

// TestDemo does what the demo tells a person to do, and wants the answers it
// promises. The time is that of the best of a few starts, less what the same commands
// take again: it is about the daemon, not about the machine and what else it does.
func TestDemo(t *testing.T) {
	best := daemon.Patience
	for range 5 {
		t.Run("start", func(t *testing.T) { best = min(best, demo(t)) })
		if best <= promptly || t.Failed() {
			break
		}
	}
	t.Logf("all commands were answered %v after the start, beyond what they take", best)
	if best > promptly {
		t.Errorf("the commands were answered %v late, want at most %v", best, promptly)
	}
}

// printed is a line of the demo that can be pasted into a shell.
var printed = regexp.MustCompile(`(?m)^ +(curl .*)$`)

func demo(t *testing.T) (took time.Duration) {
	c := daemon.Start(t, daemon.Setup{Args: append([]string{"--demo"}, loopback...)})
	c.Out.Wait(t, "Ctrl-C")
	commands := printed.FindAllStringSubmatch(c.Out.String(), -1)
	wants := [][]string{{"web-"}, {"next-1 answers GET / "}, {"api-1 answers", "/api/items", "over https"}, {"next-1 answers", "/version", "HTTP/2"},
		{"shadow-1 got copies: 1, the last one of GET /api/items"}}
	if len(commands) != len(wants) {
		t.Fatalf("the demo prints %d commands, want %d: %s", len(commands), len(wants), c.Out)
	}
	for i, command := range commands {
		answer := paste(t, command[1])
		for tries := 0; strings.Contains(command[1], "shadow") && !strings.Contains(answer, "got") && tries < 100; tries++ {
			answer = paste(t, command[1]) // a copy comes when it comes
		}
		for _, want := range wants[i] {
			if !strings.Contains(answer, want) {
				t.Errorf("%s\nanswers %q, want %q in it", command[1], answer, want)
			}
		}
	}
	up := time.Now()
	for _, command := range commands {
		paste(t, command[1])
	}
	took = max(0, up.Sub(c.Started)-time.Since(up))

	a := c.Serving()
	checkOnlyGeneration(t, a.Admin, `6 routes added, 4 hosts added, `, `default backend now fallback (gen 0→0)`)
	c.Signal(syscall.SIGINT)
	if code := c.Exit(); code != 0 {
		t.Errorf("exit status %d after an interrupt, want 0", code)
	}
	return took
}

// paste runs a command line that the demo printed: with curl where there is one,
// else as the same request by hand. It is what the command would print.
func paste(t *testing.T, command string) string {
	t.Helper()
	if _, err := exec.LookPath("curl"); err == nil {
		out, err := exec.Command("sh", "-c", command+" -sS").CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", command, err, out)
		}
		return string(out)
	}
	words := strings.Fields(command)
	url := words[slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "http") })]
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!slices.Contains(words, "--http2"))
	protocols.SetHTTP2(slices.Contains(words, "--http2"))
	transport := &http.Transport{
		Protocols:       protocols,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // as -k does: the demo's certificate signs itself
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			_, port, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			return new(net.Dialer).DialContext(ctx, network, "127.0.0.1:"+port)
		},
	}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequest("GET", url, nil)
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	if i := slices.Index(words, "-H"); i >= 0 {
		name, value, _ := strings.Cut(words[i+1], ":")
		request.Header.Set(name, value)
	}
	r, err := (&http.Client{Transport: transport, Timeout: daemon.Patience}).Do(request)
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return fmt.Sprintf("%sHTTP/%d\n", body, r.ProtoMajor)
}

// checkOnlyGeneration wants one generation, number 0, whose summary has all of
// these texts.
func checkOnlyGeneration(t *testing.T, admin string, summary ...string) {
	t.Helper()
	_, body := ask(t, "GET", "http://"+admin+"/admin/generations", "", "")
	var answer struct {
		Version     int
		Serving     *uint64
		Pinned      *uint64
		Generations []struct {
			Generation uint64
			Published  bool
			Digest     string
			Diff       struct{ Summary string }
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	if answer.Version != 1 || answer.Serving == nil || *answer.Serving != 0 || answer.Pinned != nil || len(answer.Generations) != 1 {
		t.Fatalf("want version 1, serving 0, no pin and one generation, got %s", body)
	}
	g := answer.Generations[0]
	if g.Generation != 0 || !g.Published || len(g.Digest) != 16 {
		t.Errorf("want generation 0, published, with a digest of 16 digits, got %s", body)
	}
	for _, want := range summary {
		if !strings.Contains(g.Diff.Summary, want) {
			t.Errorf("the summary is %q, want %q in it", g.Diff.Summary, want)
		}
	}
}

// ask sends a request and returns the whole answer. token "" sends none.
func ask(t *testing.T, method, url, body, token string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	client := &http.Client{Timeout: daemon.Patience, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(text)
}
