// Package connect finds the API server and makes a client for it.
//
// Guarantees: an error is one line that says what was looked for, where, and what to
// do; nothing is sent before the client is used; what the client library would write
// to standard error goes to the log that it is given, at level debug, at a bounded
// rate; the client slows nobody down (those who write pace themselves).
//
// The package never knows which objects are read or written.
package connect

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// dialTimeout bounds an attempt to connect: an API server that takes longer is
	// asked again rather than waited for.
	dialTimeout = 5 * time.Second
	// keepAlive is the interval of the probes on idle connections.
	keepAlive = 15 * time.Second
	// protobuf is the encoding that costs both sides least.
	protobuf = "application/vnd.kubernetes.protobuf"
)

// ErrNoCluster says that nothing says where an API server is.
var ErrNoCluster = errors.New("no API server to talk to")

// Config finds out how to reach the API server: the environment of a pod, else the
// file or files that $KUBECONFIG names, else ~/.kube/config.
func Config() (*rest.Config, error) {
	c, err := rest.InClusterConfig()
	switch {
	case err == nil:
		return c, nil
	case !errors.Is(err, rest.ErrNotInCluster):
		return nil, fmt.Errorf("read the configuration of the pod: %s", oneLine(err))
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.WarnIfAllMissing = false
	// The defaults of the library would be an API server on localhost:8080.
	c, err = clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{}).ClientConfig()
	switch {
	case err == nil:
		return c, nil
	case clientcmd.IsEmptyConfig(err):
		return nil, fmt.Errorf("%w: this is no pod, and there is no configuration in %s: set KUBECONFIG", ErrNoCluster, places(rules))
	}
	return nil, fmt.Errorf("read the configuration in %s: %s", places(rules), oneLine(err))
}

// places are the files that were looked at.
func places(rules *clientcmd.ClientConfigLoadingRules) string {
	return strings.Join(rules.GetLoadingPrecedence(), ", ")
}

// oneLine is the text of an error of the library, which may have several.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// namespaceFile is where a pod finds the name of its namespace.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// PodNamespace is the namespace of the pod, or "default" outside of one.
func PodNamespace() string {
	text, err := os.ReadFile(namespaceFile)
	if name := strings.TrimSpace(string(text)); err == nil && name != "" {
		return name
	}
	return "default"
}

// Client talks to one API server. It is safe for concurrent use.
type Client struct {
	kubernetes.Interface
	// Host is where it is, for messages.
	Host string

	http *http.Client
}

// New makes a client. It changes nothing in c. agent is the user agent that the API
// server sees.
func New(c *rest.Config, agent string, log *slog.Logger) (*Client, error) {
	c = rest.CopyConfig(c)
	c.UserAgent = agent
	c.QPS = -1 // those who write pace themselves, and reading is a handful of streams
	c.ContentType, c.AcceptContentTypes = protobuf, protobuf+",application/json"
	c.WarningHandler = warnings{log}
	if c.Dial == nil && c.Transport == nil {
		c.Dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive}).DialContext
	}
	h, err := rest.HTTPClientFor(c)
	if err != nil {
		return nil, fmt.Errorf("make a client for %s: %s", c.Host, oneLine(err))
	}
	set, err := kubernetes.NewForConfigAndClient(c, h)
	if err != nil {
		return nil, fmt.Errorf("make a client for %s: %s", c.Host, oneLine(err))
	}
	return &Client{Interface: set, Host: c.Host, http: h}, nil
}

// Close lets go of the idle connections, once nobody uses the client any more.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// warnings takes the remarks that the API server adds to answers.
type warnings struct{ log *slog.Logger }

func (w warnings) HandleWarningHeader(code int, _, text string) {
	if code == 299 && text != "" { // the one code in use (RFC 7234, section 5.5)
		w.log.Debug("the API server remarks", "text", text)
	}
}
