package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"ramjet.dev/ingress/internal/kube"
	"ramjet.dev/ingress/internal/translate"
)

// TestClusterOptions gives every flag of Kubernetes mode a value of its own, and wants
// each in its field. A field of which nothing is said here fails.
func TestClusterOptions(t *testing.T) {
	c := flagsOf(t, "--ingress-class=c1", "--watch-namespace=n2", "--publish-service=n3/s3", "--publish-address=192.0.2.4",
		"--no-status-update", "--default-backend=n2/s5:80", "--default-tls-secret=n2/s6")
	elsewhere := map[string]bool{"Client": true, "Server": true, "Pod": true, "Serving": true, "Log": true} // of the process, not of flags
	got := clusterOptions(c)
	want := kube.Options{
		Class: "c1", Namespace: "n2", PublishService: types.NamespacedName{Namespace: "n3", Name: "s3"},
		PublishAddress: "192.0.2.4", ReadOnlyIngresses: true,
	}
	for i := range reflect.TypeFor[kube.Options]().NumField() {
		name := reflect.TypeFor[kube.Options]().Field(i).Name
		if elsewhere[name] {
			continue
		}
		if w := reflect.ValueOf(want).Field(i); w.IsZero() {
			t.Errorf("kube.Options.%s has no source here: give it its flag", name)
		} else if g := reflect.ValueOf(got).Field(i).Interface(); g != w.Interface() {
			t.Errorf("%s is %v, want %v", name, g, w)
		}
	}
	backend, err := translate.ParseBackendRef("n2/s5:80")
	if err != nil {
		t.Fatal(err)
	}
	build := translate.Options{Class: "c1", DefaultBackend: backend, DefaultTLSSecret: types.NamespacedName{Namespace: "n2", Name: "s6"}}
	if got := translateOptions(c); got != build {
		t.Errorf("got %+v, want %+v", got, build)
	}
	for i := range reflect.TypeFor[translate.Options]().NumField() {
		if reflect.ValueOf(build).Field(i).IsZero() {
			t.Errorf("translate.Options.%s has no source here: give it its flag", reflect.TypeFor[translate.Options]().Field(i).Name)
		}
	}
}

// TestThisPod: what the pod was told about itself counts.
func TestThisPod(t *testing.T) {
	t.Setenv("POD_NAME", "pod-a")
	t.Setenv("POD_NAMESPACE", "ramjet")
	if got := thisPod(); got != (types.NamespacedName{Namespace: "ramjet", Name: "pod-a"}) {
		t.Error(got)
	}
	t.Setenv("POD_NAME", "")
	t.Setenv("POD_NAMESPACE", "")
	if got := thisPod(); got.Name == "" || got.Namespace == "" {
		t.Errorf("%q", got)
	}
}

// TestStartWithoutServer: the daemon starts although there is no API server, answers on
// all its ports that it is not ready, and stops without one, leaving nothing behind.
func TestStartWithoutServer(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer gone.Close() // it accepts, and never answers
	file := filepath.Join(t.TempDir(), "config")
	contents := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"x",
"clusters":[{"name":"c","cluster":{"server":"http://%s"}}],"contexts":[{"name":"x","context":{"cluster":"c"}}]}`, gone.Addr())
	if err := os.WriteFile(file, []byte(contents), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	t.Setenv("KUBECONFIG", file)

	var log text
	d, err := start(flagsOf(t, "--http=127.0.0.1:0", "--https=127.0.0.1:0", "--admin=127.0.0.1:0"), slog.New(slog.NewJSONHandler(&log, nil)), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	at := banner(t, log.String())
	for url, want := range map[string]string{
		"http://" + at.Admin + "/healthz": "200",
		"http://" + at.Admin + "/readyz":  "503",
		"http://" + at.HTTP + "/":         "503 Service Unavailable: this proxy has no configuration yet",
		"http://" + at.Admin + "/metrics": `ramjet_watch_up{resource="secrets"} 0`,
	} {
		status, body := get(t, client(t), url)
		if got := fmt.Sprint(status, " ", body); !strings.Contains(got, want) {
			t.Errorf("%s: %.200s, want %q in it", url, got, want)
		}
	}
	if at.HTTPS == "off" {
		t.Error("TLS is not bound")
	}
	grace, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	d.stop(grace)
}

// TestNoCluster: what cannot work is refused, and nothing is left running.
func TestNoCluster(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "absent"))
	_, err := start(flagsOf(t, "--http=127.0.0.1:0", "--admin=127.0.0.1:0"), slog.New(slog.DiscardHandler), t.Output())
	if err == nil || !strings.HasSuffix(err.Error(), "set KUBECONFIG; or give --static-routes FILE, or --demo to try it") {
		t.Errorf("%v", err)
	}
}
