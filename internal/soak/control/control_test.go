package control

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ramjet.dev/ingress/internal/probation"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve listens on a socket of the test and returns its path.
func serve(t *testing.T, h Handler) (path string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "soak") // short, which paths of sockets have to be
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "soak.sock")
	s, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	s.Serve(h)
	t.Cleanup(func() {
		s.Close()
		os.RemoveAll(dir)
	})
	return path
}

// TestAnswer: updates in their order, and then the result; an entry in its own form.
func TestAnswer(t *testing.T) {
	entry := probation.Entry{Kind: probation.EntryPromoted, TS: 7, Version: "v2", Policy: probation.DefaultPolicy}
	path := serve(t, func(_ context.Context, q Request, send func(Reply) error) Result {
		if q != (Request{Do: DoDeploy, Version: "v2", Line: 3, Now: true}) {
			t.Errorf("request %+v", q)
		}
		for _, r := range []Reply{{Line: 12}, {Entry: &Entry{entry}}, {Status: &Status{Current: "v2"}}} {
			if err := send(r); err != nil {
				t.Error(err)
			}
		}
		return Result{OK: true, Message: "done"}
	})
	var got []Reply
	result, err := Ask(t.Context(), path, Request{Do: DoDeploy, Version: "v2", Line: 3, Now: true}, func(r Reply) { got = append(got, r) })
	if err != nil || result != (Result{OK: true, Message: "done"}) {
		t.Errorf("%+v, %v", result, err)
	}
	if len(got) != 3 || got[0].Line != 12 || got[1].Entry == nil || got[1].Entry.Entry != entry || got[2].Status == nil || got[2].Status.Current != "v2" {
		t.Errorf("%+v", got)
	}
}

// TestNobody: without a supervisor nothing was asked, be there no socket or one that was
// left behind; and a socket that was left behind is taken over.
func TestNobody(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	if _, err := Ask(t.Context(), path, Request{}, nil); !errors.Is(err, ErrNobody) {
		t.Errorf("no socket: %v", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false) // as after a kill
	l.Close()
	if _, err := Ask(t.Context(), path, Request{}, nil); !errors.Is(err, ErrNobody) {
		t.Errorf("a socket without a supervisor: %v", err)
	}
	s, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v: not the owner's alone", info.Mode(), err)
	}
	s.Close()
}

// TestSupervisorEnds: Close ends the handlers, and a client learns that it was cut off,
// or the result that the handler had yet.
func TestSupervisorEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	s, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan struct{})
	s.Serve(func(ctx context.Context, _ Request, _ func(Reply) error) Result {
		close(asked)
		<-ctx.Done()
		return Result{Message: "ending"}
	})
	go func() {
		<-asked
		s.Close()
	}()
	if result, err := Ask(t.Context(), path, Request{Do: DoStatus}, nil); err != nil || result.OK || result.Message != "ending" {
		t.Errorf("%+v, %v", result, err)
	}
}

// TestSilentClient: who is connected and asks nothing does not hold up the end.
func TestSilentClient(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	s, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	s.Serve(func(context.Context, Request, func(Reply) error) Result { return Result{OK: true} })
	silent, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	// Connections are taken in their order: after this one the silent one is served.
	if _, err := Ask(t.Context(), path, Request{Do: DoStatus}, nil); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	s.Close()
	if took := time.Since(begun); took >= requestTime-time.Second {
		t.Errorf("the end took %s", took)
	}
}

// TestCut: a supervisor that dies in the middle of a line.
func TestCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = bufio.NewReader(c).ReadString('\n')
		_, _ = io.WriteString(c, `{"line":4}`+"\n"+`{"result":{"ok":tr`)
		c.Close()
	}()
	line := 0
	_, err = Ask(t.Context(), path, Request{Do: DoDeploy}, func(r Reply) { line = r.Line })
	if !errors.Is(err, ErrCut) || line != 4 {
		t.Errorf("%v after line %d", err, line)
	}
}

// TestClientLeaves: its handler is told; and a client that is told to stop stops.
func TestClientLeaves(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan struct{})
	path := serve(t, func(ctx context.Context, _ Request, _ func(Reply) error) Result {
		cancel()
		<-ctx.Done()
		close(left)
		return Result{}
	})
	if _, err := Ask(ctx, path, Request{Do: DoDeploy}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	<-left
}

// TestNoRequests: what is no request is answered, or let go, and never reaches a handler.
func TestNoRequests(t *testing.T) {
	path := serve(t, func(_ context.Context, q Request, _ func(Reply) error) Result {
		t.Errorf("handled: %+v", q)
		return Result{}
	})
	for _, c := range []struct{ sent, want string }{
		{"deploy v2\n", "this is no request"},
		{"[]\n", "this is no request"},
		{"\x00\n", "this is no request"},
		{`{"do":"deploy","version":"` + strings.Repeat("v", maxRequest) + `"}` + "\n", ""},
		{`{"do":"deploy"`, ""},
		{"", ""},
	} {
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		_, _ = io.WriteString(conn, c.sent) // it may be let go before
		_ = conn.(*net.UnixConn).CloseWrite()
		said, _ := io.ReadAll(conn) // a reset is an answer, too
		if c.want == "" && len(said) > 0 || !strings.Contains(string(said), c.want) {
			t.Errorf("%.40q: %q", c.sent, said)
		}
		conn.Close()
	}
}
