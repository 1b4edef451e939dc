package connect

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://192.0.2.1:6443"}}]
users: [{name: u, user: {token: secret}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`

// TestConfig: the file that KUBECONFIG names; and one line that says what to do where there
// is none, or a bad one.
func TestConfig(t *testing.T) {
	for intent, c := range map[string]struct {
		contents string // "" = no such file
		want     string // the server, or an error
	}{
		"a file":               {kubeconfig, "https://192.0.2.1:6443"},
		"none":                 {"", "error: no API server to talk to: this is no pod, and there is no configuration in {file}: set KUBECONFIG"},
		"an empty one":         {"\n", "error: no API server to talk to: this is no pod, and there is no configuration in {file}: set KUBECONFIG"},
		"no YAML":              {"a: [\n", "error: read the configuration in {file}: error loading config file"},
		"a context that lacks": {strings.Replace(kubeconfig, "current-context: x", "current-context: y", 1), "error: read the configuration in {file}: "},
	} {
		file := filepath.Join(t.TempDir(), "config")
		t.Setenv("KUBERNETES_SERVICE_HOST", "")
		t.Setenv("KUBECONFIG", file)
		if c.contents != "" {
			if err := os.WriteFile(file, []byte(c.contents), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got := ""
		config, err := Config()
		if err != nil {
			got = "error: " + err.Error()
		} else {
			got = config.Host
		}
		want := strings.ReplaceAll(c.want, "{file}", file)
		if !strings.HasPrefix(got, want) || strings.ContainsAny(got, "\r\n") {
			t.Errorf("%s: got %q, want %q", intent, got, want)
		}
		if errors.Is(err, ErrNoCluster) != strings.Contains(want, "no API server") {
			t.Errorf("%s: %v", intent, err)
		}
	}
}

// TestPod: in a pod its own cluster is meant, whatever KUBECONFIG says.
func TestPod(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "192.0.2.9")
	t.Setenv("KUBERNETES_SERVICE_PORT", "443")
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "config"))
	// There is no token here, which a pod has.
	if _, err := Config(); err == nil || !strings.HasPrefix(err.Error(), "read the configuration of the pod: ") || strings.ContainsAny(err.Error(), "\r\n") {
		t.Errorf("%v", err)
	}
}

// TestNew: a configuration that cannot work is refused in one line, and the caller's is
// not changed.
func TestNew(t *testing.T) {
	good := &rest.Config{Host: "https://192.0.2.1:6443"}
	c, err := New(good, "agent", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if good.UserAgent != "" || good.Dial != nil || good.QPS != 0 {
		t.Errorf("%+v", good)
	}
	_, err = New(&rest.Config{Host: "https://192.0.2.1:6443", TLSClientConfig: rest.TLSClientConfig{CAFile: "absent.pem"}}, "agent", slog.New(slog.DiscardHandler))
	if err == nil || strings.ContainsAny(err.Error(), "\r\n") || !strings.HasPrefix(err.Error(), "make a client for https://192.0.2.1:6443: ") {
		t.Errorf("%v", err)
	}
}

// TestLibraryLog: what the library logs is debug, whatever it thinks of it, at a bounded
// rate; and what it would say only when asked for everything is never taken, because that
// is where it shows requests and answers, private keys and all.
func TestLibraryLog(t *testing.T) {
	var out bytes.Buffer
	t.Cleanup(klog.ClearLogger)
	RouteLibraryLog(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
	klog.Background().Error(errors.New("no route"), "Failed to watch", "type", "Secret")
	for level := 1; level <= 10; level++ {
		klog.Background().V(level).Info("Response Body", "body", "PRIVATE KEY")
		klog.V(klog.Level(level)).Infof("body %s", "PRIVATE KEY")
	}
	if text := out.String(); strings.Contains(text, "PRIVATE KEY") || strings.Count(text, "\n") != 1 || !strings.Contains(text, "level=DEBUG") || !strings.Contains(text, "source=client-go") {
		t.Errorf("%s", text)
	}
	for i := range 1000 {
		klog.Background().Info(fmt.Sprint(i))
	}
	if n := strings.Count(out.String(), "\n"); n > 25 {
		t.Errorf("%d lines", n)
	}

	out.Reset()
	RouteLibraryLog(slog.New(slog.NewTextHandler(&out, nil)))
	klog.Background().Error(errors.New("no route"), "Failed to watch")
	if out.Len() > 0 {
		t.Errorf("at the usual level: %s", out.String())
	}
}
