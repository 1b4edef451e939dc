//go:build cluster

package kube

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"ramjet.dev/ingress/test/cluster"
	"ramjet.dev/ingress/test/daemon"
)

// controller is a running daemon, with a client.
type controller struct {
	*daemon.Child
	daemon.Addresses
	t      *testing.T
	client *http.Client
}

// controller starts the daemon with the rights of the administrator, and waits
// until it is ready.
func (w *world) controller(flags ...string) *controller {
	w.t.Helper()
	c := w.launch(w.Admin, flags...)
	c.ready()
	return c
}

// onEach runs a test once with each data plane. What moves bytes while the configuration
// changes differs between them; what is watched, compiled and written does not.
func onEach(t *testing.T, test func(t *testing.T, engine string)) {
	for _, engine := range []string{"nethttp", "reactor"} {
		t.Run(engine, func(t *testing.T) { test(t, engine) })
	}
}

// launch starts the daemon under an identity and waits until it listens.
func (w *world) launch(as *cluster.Access, flags ...string) *controller {
	w.t.Helper()
	return w.launchAs(as, daemon.Setup{}, flags...)
}

func (w *world) launchAs(as *cluster.Access, setup daemon.Setup, flags ...string) *controller {
	w.t.Helper()
	setup.Args = append([]string{
		"--http", "127.0.0.1:0", "--https", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--log-format", "json",
	}, flags...)
	setup.Env = append([]string{"KUBECONFIG=" + as.Kubeconfig, "POD_NAMESPACE=default"}, setup.Env...)
	c := &controller{Child: daemon.Start(w.t, setup), t: w.t, client: newClient()}
	w.t.Cleanup(c.client.CloseIdleConnections)
	c.Addresses = c.Serving()
	return c
}

func newClient() *http.Client {
	return &http.Client{
		Timeout:       daemon.Patience,
		Transport:     &http.Transport{MaxIdleConnsPerHost: 64},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// ready waits until /readyz says so.
func (c *controller) ready() {
	c.t.Helper()
	if err := within(context.Background(), daemon.Patience, c.isReady); err != nil {
		c.t.Fatal("the daemon is not ready:", err)
	}
}

func (c *controller) isReady() error {
	r, err := c.client.Get("http://" + c.Admin + "/readyz")
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return fmt.Errorf("/readyz: %s", r.Status)
	}
	return nil
}

// answer is what a client got.
type answer struct {
	status  int
	backend string // its X-Backend
	body    string
	header  http.Header
}

func (a answer) String() string { return fmt.Sprintf("%d %s", a.status, strings.TrimSpace(a.body)) }

// get asks over HTTP.
func (c *controller) get(host, path string) (answer, error) {
	return c.ask(context.Background(), http.MethodGet, "http://"+c.HTTP+path, host, nil)
}

func (c *controller) ask(ctx context.Context, method, url, host string, body io.Reader) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return answer{}, err
	}
	request.Host = host
	return send(c.client, request)
}

func send(client *http.Client, request *http.Request) (answer, error) {
	r, err := client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	return answer{r.StatusCode, r.Header.Get("X-Backend"), string(text), r.Header}, err
}

// gives asks once and says what is wrong with the answer, if it is not as wanted:
// the name of a backend, or a status of the proxy's own.
func (c *controller) gives(host, path string, want any) error {
	a, err := c.get(host, path)
	switch want := want.(type) {
	case string:
		if err == nil && (a.status != http.StatusOK || a.backend != want) {
			err = fmt.Errorf("%s%s: %s, want an answer of %s", host, path, a, want)
		}
	case int:
		if err == nil && (a.status != want || a.backend != "") {
			err = fmt.Errorf("%s%s: %s, want %d of the proxy itself", host, path, a, want)
		}
	}
	return err
}

// comes waits until the answer is as wanted.
func (c *controller) comes(host, path string, want any) {
	c.t.Helper()
	if err := within(context.Background(), daemon.Patience, func() error { return c.gives(host, path, want) }); err != nil {
		c.t.Fatal(err)
	}
}

// is checks that the answer is as wanted now.
func (c *controller) is(host, path string, want any) {
	c.t.Helper()
	if err := c.gives(host, path, want); err != nil {
		c.t.Error(err)
	}
}

// leaf makes a full handshake with a server name and returns the certificate that
// it was shown.
func (c *controller) leaf(name string) (*x509.Certificate, error) {
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: daemon.Patience}, "tcp", c.HTTPS,
		&tls.Config{ServerName: name, InsecureSkipVerify: true}) //nolint:gosec // the caller compares the certificate
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0], nil
}

// shows waits until a handshake with a server name shows this certificate, nil for
// none.
func (c *controller) shows(name string, want *x509.Certificate) {
	c.t.Helper()
	if err := within(context.Background(), daemon.Patience, func() error { return c.isShown(name, want) }); err != nil {
		c.t.Fatal(err)
	}
}

func (c *controller) isShown(name string, want *x509.Certificate) error {
	leaf, err := c.leaf(name)
	switch {
	case want == nil && err == nil:
		return fmt.Errorf("SNI %s: a certificate for %s, want a refusal", name, leaf.DNSNames)
	case want == nil:
		return nil
	case err != nil:
		return fmt.Errorf("SNI %s: %w", name, err)
	case !leaf.Equal(want):
		return fmt.Errorf("SNI %s: number %s for %s, want %s for %s", name, leaf.SerialNumber, leaf.DNSNames, want.SerialNumber, want.DNSNames)
	}
	return nil
}

// generations is the answer of GET /admin/generations.
type generations struct {
	Serving     int  `json:"serving"`
	Pinned      *int `json:"pinned"`
	Generations []struct {
		Generation int    `json:"generation"`
		Published  bool   `json:"published"`
		Digest     string `json:"digest"`
		Routes     int    `json:"routes"`
		Certs      int    `json:"certs"`
		Diff       struct {
			Summary string `json:"summary"`
		} `json:"diff"`
	} `json:"generations"`
}

func (c *controller) generations() (g generations) {
	c.t.Helper()
	a, err := c.ask(context.Background(), http.MethodGet, "http://"+c.Admin+"/admin/generations", "", nil)
	if err == nil {
		err = json.Unmarshal([]byte(a.body), &g)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return g
}

// endpoints waits until the first route of a host has so many endpoints.
func (c *controller) endpoints(host string, want int) {
	c.t.Helper()
	if err := within(context.Background(), daemon.Patience, func() error {
		var all struct {
			Routes []struct {
				Host      string `json:"host"`
				Endpoints int    `json:"endpoints"`
			} `json:"routes"`
		}
		a, err := c.ask(context.Background(), http.MethodGet, "http://"+c.Admin+"/admin/routes", "", nil)
		if err == nil {
			err = json.Unmarshal([]byte(a.body), &all)
		}
		if err != nil {
			return err
		}
		for _, r := range all.Routes {
			if r.Host == host && r.Endpoints == want {
				return nil
			}
		}
		return fmt.Errorf("%s has not %d endpoints: %s", host, want, a.body)
	}); err != nil {
		c.t.Fatal(err)
	}
}

// rollback pins a generation.
func (c *controller) rollback(generation int) {
	c.t.Helper()
	c.admin(http.MethodPost, fmt.Sprintf(`{"generation":%d}`, generation))
}

// release lets the newest generation through.
func (c *controller) release() {
	c.t.Helper()
	c.admin(http.MethodDelete, "")
}

func (c *controller) admin(method, body string) {
	c.t.Helper()
	a, err := c.ask(context.Background(), method, "http://"+c.Admin+"/admin/rollback", "", strings.NewReader(body))
	if err != nil || a.status != http.StatusOK {
		c.t.Fatalf("%s /admin/rollback %s: %s, %v", method, body, a, err)
	}
}

// contextFor is a context that ends by itself.
func contextFor(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	context.AfterFunc(ctx, cancel)
	return ctx
}
