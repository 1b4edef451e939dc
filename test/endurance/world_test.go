//go:build endurance

package endurance

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"ramjet.dev/ingress/internal/certs/certtest"
	"ramjet.dev/ingress/test/cluster"
	"ramjet.dev/ingress/test/daemon"
)

// The Services, by what happens to their backends.
const (
	steadyService = "steady" // nothing
	crashService  = "crash"  // they die, and come back (mortal)
	rollService   = "roll"   // they are replaced, as in an update
	canaryService = "canary"
	mirrorService = "mirror"
	mirrorName    = mirrorService + "-0"
	h2cService    = "h2c"
	faultyService = "faulty" // they do what they are asked for, and that is nothing good

	refusingService = "refusing" // one of three is not there: it refuses connections
	downService     = "down"     // nobody is there

	// withCertificate is the Ingress that brings the certificate of all hosts.
	withCertificate = steadyService
	// quiets are Services with a backend that closes what is quiet for a second.
	quiets = 8
	// guests are the hosts that come and go.
	guests = 10
)

// world is the daemon with all that is around it.
type world struct {
	t         *testing.T
	ctx       context.Context
	cluster   *cluster.Cluster
	net       *cluster.Network
	proxy     *daemon.Child
	at        daemon.Addresses
	authority *certtest.Authority
	admin     *http.Client
	tally     *tally
	runs      runs
	tunnels   sync.WaitGroup // of backends

	// serial is of the oldest certificate that may be shown; pins counts the times at which
	// older ones were served.
	serial atomic.Int64
	pins   atomic.Int64
	ledger ledger
	guests [guests]guest
	crowd  bool // two hundred hosts are there
	crash  []*mortal
	roll   []*backend
	rolled int          // numbers the backends of rollService
	spare  []netip.Addr // on which their successors listen, in turn
	all    []server     // but for those of roll
}

// guest is a host that is there or not. Its epoch is odd while nobody can say.
type guest struct {
	epoch atomic.Int64
	there atomic.Bool
}

// newWorld starts everything and waits until the daemon serves it.
func newWorld(t *testing.T) *world {
	w := &world{
		t: t, authority: certtest.NewAuthority(t), admin: &http.Client{Timeout: patience},
		tally: &tally{t: t, begun: time.Now()}, runs: runs{of: map[string]int{}}, ledger: ledger{of: map[string][]*attempt{}},
	}
	var cancel context.CancelFunc
	w.ctx, cancel = context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(cancel)
	var err error
	if w.net, err = cluster.NewNetwork(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closing(t, w.net) })
	if w.cluster, err = cluster.Start(w.ctx, cluster.Options{Binaries: binaries}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closing(t, w.cluster) })
	if err := w.populate(); err != nil {
		t.Fatal(err)
	}
	w.proxy = daemon.Start(t, daemon.Setup{
		Args: []string{
			"--engine", *engine, "--http", "127.0.0.1:0", "--https", "127.0.0.1:0", "--admin", "127.0.0.1:0",
			"--log-format", "json", "--client-idle-timeout", "20s",
		},
		Env: []string{"KUBECONFIG=" + w.cluster.Admin.Kubeconfig, "POD_NAMESPACE=default"},
	})
	w.at = w.proxy.Serving()
	if err := w.until(func() error { _, err := w.page("/readyz"); return err }); err != nil {
		t.Fatal("the daemon is not ready: ", err)
	}
	return w
}

func closing(t *testing.T, c io.Closer) {
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func (w *world) api() kubernetes.Interface { return w.cluster.Admin.Client }

// populate makes all objects and backends.
func (w *world) populate() (err error) {
	do := func(f func() error) {
		if err == nil {
			err = f()
		}
	}
	do(w.putClass)
	do(func() error {
		serial, err := w.putCertificate()
		w.serial.Store(serial)
		return err
	})
	exists := func(service string, at ...netip.Addr) {
		do(func() error { return w.putService(service) })
		do(func() error { return w.putEndpoints(service, at) })
	}
	simple := func(service string, backends ...server) {
		w.all = append(w.all, backends...)
		exists(service, addresses(backends)...)
	}
	three := func(service string) (all []*backend) {
		for n := range 3 {
			all = append(all, w.backend(fmt.Sprintf("%s-%d", service, n)))
		}
		return all
	}
	host := func(service string, annotations ...string) {
		do(func() error { return w.putIngress(service, service, []string{service + ".test"}, annotations...) })
	}
	simple(steadyService, servers(three(steadyService))...)
	host(steadyService)
	do(func() error { return w.putIngress("main", steadyService, []string{"main.test"}) })
	for n := range 3 {
		w.crash = append(w.crash, w.mortal(fmt.Sprintf("%s-%d", crashService, n), 0))
	}
	simple(crashService, servers(w.crash)...)
	host(crashService)
	w.roll = three(rollService)
	w.rolled = len(w.roll)
	for range 12 {
		w.spare = append(w.spare, w.net.Address())
	}
	exists(rollService, addresses(w.roll)...)
	host(rollService)
	simple(h2cService, w.backend(h2cService+"-0", func(b *backend) { b.h2c = true }))
	host(h2cService, "nginx.ingress.kubernetes.io/backend-protocol", "GRPC")
	for n := range quiets {
		name := fmt.Sprint("quiet", n)
		simple(name, w.mortal(name+"-0", time.Second))
		host(name)
	}
	simple(mirrorService, w.backend(mirrorName))
	do(func() error {
		return w.putIngress("mirrored", steadyService, []string{"mirrored.test"}, "ramjet.dev/mirror-backend", mirrorService+":80")
	})
	refusing := servers(three(refusingService)[:2])
	w.all = append(w.all, refusing...)
	exists(refusingService, append(addresses(refusing), w.net.Address())...)
	host(refusingService)
	exists(downService, w.net.Address(), w.net.Address())
	host(downService)
	simple(faultyService, w.backend(faultyService+"-0"))
	host(faultyService)
	simple(canaryService, w.backend(canaryService+"-0"))
	do(func() error { return w.putIngress("shared", steadyService, []string{"shared.test"}) })
	do(func() error { return w.putCanary(20) })
	return err
}

// putCanary gives the canary of shared.test a share of those who do not ask.
func (w *world) putCanary(percent int) error {
	const prefix = "nginx.ingress.kubernetes.io/canary"
	return w.putIngress("canary", canaryService, []string{"shared.test"},
		prefix, "true", prefix+"-by-header", "X-Canary", prefix+"-weight", fmt.Sprint(percent))
}

func servers[S server](some []S) (all []server) {
	for _, s := range some {
		all = append(all, s)
	}
	return all
}

func addresses[S server](backends []S) (all []netip.Addr) {
	for _, b := range backends {
		all = append(all, b.address())
	}
	return all
}

// page asks the admin port.
func (w *world) page(path string) (string, error) {
	return w.command(http.MethodGet, path, "")
}

func (w *world) command(method, path, body string) (string, error) {
	r, err := http.NewRequestWithContext(w.ctx, method, "http://"+w.at.Admin+path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	a, err := w.admin.Do(r)
	if err != nil {
		return "", err
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err == nil && a.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %.100s", path, a.Status, text)
	}
	return string(text), err
}

// state is the head of GET /admin/generations.
type state struct {
	Serving     int  `json:"serving"`
	Pinned      *int `json:"pinned"`
	Generations []struct {
		Generation int `json:"generation"`
	} `json:"generations"`
}

func (w *world) state() (s state, err error) {
	text, err := w.page("/admin/generations")
	if err == nil {
		err = json.Unmarshal([]byte(text), &s)
	}
	return s, err
}

// until asks until the answer is nil, and returns the last one when that takes too
// long.
func (w *world) until(ask func() error) error {
	ctx, cancel := context.WithTimeout(w.ctx, 2*patience)
	defer cancel()
	for {
		err := ask()
		if err == nil || ctx.Err() != nil {
			return err
		}
		wait(ctx, 10*time.Millisecond)
	}
}

// wait waits for a moment, or for the end of ctx; it reports whether it was the moment.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func serialOf(t *testing.T, cert []byte) int64 {
	block, _ := pem.Decode(cert)
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return c.SerialNumber.Int64()
}
