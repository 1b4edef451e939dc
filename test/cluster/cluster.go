//go:build linux

// Package cluster runs a real control plane for tests: etcd, kube-apiserver, on
// request kube-controller-manager, with kubectl to talk to it and addresses on
// which backends can listen.
//
// It guarantees that nothing outlives its process: programs die with their
// parent, and folders and network namespaces of a killed process are removed by
// the next one. It knows nothing of the daemon and nothing of package testing,
// so that a person can play with the same cluster (see play).
//
// There is no kubelet and no kube-proxy: a test plays them by writing
// EndpointSlices, and by reaching backends directly.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// Patience bounds the start of one program. It is long: ten times what a busy
// machine needs.
const Patience = 2 * time.Minute

// grace is how long a program may take to end before it is killed.
const grace = 10 * time.Second

// Options say what to start. The zero value is etcd and an API server.
type Options struct {
	// Binaries is what the function of this name returned.
	Binaries string
	// Controllers are those of kube-controller-manager that are to run, by the
	// names of its flag --controllers; none = it is not started.
	Controllers []string
	// APIServer are more flags of kube-apiserver.
	APIServer []string
}

// Cluster is a running control plane. Its methods may be used by several
// goroutines, but one thing is started, stopped or killed at a time.
type Cluster struct {
	// Admin may do everything.
	Admin *Access

	o                            Options
	dir                          string // everything it writes
	id                           *identity
	etcdAt, etcdPeerAt, serverAt string // host:port, the same for its whole life

	mu                    sync.Mutex
	etcd, server, manager *process
	accounts              int // numbers kubeconfigs
}

// Start starts a control plane and returns when it answers and has its default
// namespaces and roles. Close ends it; so does the end of the process.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	if err := Sweep(); err != nil {
		return nil, fmt.Errorf("remove what a killed test left behind: %w", err)
	}
	dir, err := os.MkdirTemp("", FolderPattern())
	if err != nil {
		return nil, err
	}
	c := &Cluster{o: o, dir: dir}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) (err error) {
	if c.id, err = newIdentity(c.dir); err != nil {
		return err
	}
	for _, at := range []*string{&c.etcdAt, &c.etcdPeerAt, &c.serverAt} {
		port, err := freePort()
		if err != nil {
			return err
		}
		*at = loopback(port)
	}
	if c.Admin, err = c.access("admin", c.id.adminToken, ""); err != nil {
		return err
	}
	if err := c.StartEtcd(ctx); err != nil {
		return err
	}
	if err := c.StartAPIServer(ctx); err != nil {
		return err
	}
	if len(c.o.Controllers) == 0 {
		return nil
	}
	return c.startControllers(ctx)
}

// Address is where the API server listens, host:port.
func (c *Cluster) Address() string { return c.serverAt }

// StartEtcd starts etcd on the data that it had, and waits until it answers.
func (c *Cluster) StartEtcd(ctx context.Context) (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	url, peer := "http://"+c.etcdAt, "http://"+c.etcdPeerAt
	c.etcd, err = launch(c.dir, c.program("etcd"),
		"--data-dir="+c.dataDir(), "--unsafe-no-fsync",
		"--listen-client-urls="+url, "--advertise-client-urls="+url,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=default="+peer,
		"--log-level=error")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	return c.etcd.ready(ctx, func(ctx context.Context) error {
		return answers(ctx, http.DefaultClient, url+"/health")
	})
}

// StartAPIServer starts kube-apiserver on its port, and waits until it is ready.
func (c *Cluster) StartAPIServer(ctx context.Context) (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, port, _ := net.SplitHostPort(c.serverAt)
	args := append([]string{
		"--etcd-servers=http://" + c.etcdAt,
		"--bind-address=127.0.0.1", "--secure-port=" + port,
		// Nobody reads it; the address of an interface would be looked for.
		"--advertise-address=198.51.100.1", "--endpoint-reconciler-type=none",
		"--tls-cert-file=" + c.id.cert, "--tls-private-key-file=" + c.id.key,
		"--token-auth-file=" + c.id.adminTokensFile,
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.id.serviceAccounts, "--service-account-signing-key-file=" + c.id.serviceAccounts,
		"--authorization-mode=RBAC",
		"--service-cluster-ip-range=10.96.0.0/16,fd00:96::/112",
		"--profiling=false",
	}, c.o.APIServer...)
	if c.server, err = launch(c.dir, c.program("kube-apiserver"), args...); err != nil {
		return err
	}
	client, err := rest.HTTPClientFor(c.Admin.Config)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	return c.server.ready(ctx, func(ctx context.Context) error {
		return errors.Join(
			answers(ctx, client, c.Admin.Config.Host+"/readyz"),
			answers(ctx, client, c.Admin.Config.Host+"/api/v1/namespaces/default"))
	})
}

func (c *Cluster) startControllers(ctx context.Context) (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	port, err := freePort()
	if err != nil {
		return err
	}
	c.manager, err = launch(c.dir, c.program("kube-controller-manager"),
		"--kubeconfig="+c.Admin.Kubeconfig, "--controllers="+strings.Join(c.o.Controllers, ","),
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port), "--cert-dir="+filepath.Join(c.dir, "controllers"),
		"--authentication-skip-lookup", "--leader-elect=false")
	if err != nil {
		return err
	}
	// Its health is asked for over TLS with a certificate of its own making; that
	// it listens is enough to know.
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	return c.manager.ready(ctx, func(ctx context.Context) error {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", loopback(port))
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

// KillAPIServer kills kube-apiserver with SIGKILL. StartAPIServer brings it back.
func (c *Cluster) KillAPIServer() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.server.kill()
}

// StopAPIServer ends kube-apiserver with SIGTERM.
func (c *Cluster) StopAPIServer() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.server.stop(grace)
}

// KillEtcd kills etcd with SIGKILL. StartEtcd brings it back with its data.
func (c *Cluster) KillEtcd() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.etcd.kill()
}

// ForgetEtcd removes the data of etcd, which was killed: started again it is empty, and
// its versions begin anew.
func (c *Cluster) ForgetEtcd() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return os.RemoveAll(filepath.Join(c.dir, "etcd"))
}

// Close ends everything and removes what it wrote.
func (c *Cluster) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.manager != nil {
		c.manager.stop(grace)
	}
	// The data are thrown away: there is nothing that it could finish.
	for _, p := range []*process{c.server, c.etcd} {
		if p != nil {
			p.kill()
		}
	}
	return os.RemoveAll(c.dir)
}

// Logs is the end of what each program complained about, for the report of a
// failed test.
func (c *Cluster) Logs() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all strings.Builder
	for _, p := range []*process{c.etcd, c.server, c.manager} {
		if p != nil {
			fmt.Fprintf(&all, "-- the end of the log of %s\n%s", p.name, infoLine.ReplaceAll(p.tail(), nil))
		}
	}
	return all.String()
}

// infoLine is a line of klog of which nobody has to think anything.
var infoLine = regexp.MustCompile(`(?m)^I\d{4} .*\n`)

func (c *Cluster) program(name string) string { return filepath.Join(c.o.Binaries, name) }

// answers asks for a URL and is content with 200.
func answers(ctx context.Context, client *http.Client, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	r, err := client.Do(request)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, r.Status)
	}
	return nil
}
