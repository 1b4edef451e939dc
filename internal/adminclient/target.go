package adminclient

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// Target names a daemon's admin port.
type Target struct {
	// Name is what people see: host:port, or the URL that was given.
	Name string
	// URL is scheme, host and the path before that of the interface, without a
	// slash at its end.
	URL string
}

// defaultPort is that of the admin port.
const defaultPort = "10254"

// ParseTarget reads host:port, host, :port, port or [::1]:port. Without a host it is
// 127.0.0.1, without a port 10254; nothing at all is a variable that was not set, and
// an error.
func ParseTarget(text string) (Target, error) {
	const want = "write host:port, :port, port or [::1]:10254, with a port from 1 to 65535, or a whole address with --url"
	host, port := text, defaultPort
	switch colons := strings.Count(text, ":"); {
	case text == "":
		return Target{}, errors.New("the address of the daemon is empty: " + want)
	case strings.Contains(text, "://"):
		return Target{}, fmt.Errorf("%q is a URL: give it with --url", text)
	case colons == 0 && number(text):
		host, port = "", text
	case colons > 0:
		var err error
		if host, port, err = net.SplitHostPort(text); err != nil {
			return Target{}, fmt.Errorf("%q is no address: %s", text, want)
		}
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return Target{}, fmt.Errorf("%q has no port that could be asked: %s", text, want)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	if strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("/?#@%\\", r) }) && net.ParseIP(host) == nil && !zoned(host) {
		return Target{}, fmt.Errorf("%q has no host that could be asked: %s", text, want)
	}
	address := net.JoinHostPort(host, port)
	return Target{Name: address, URL: (&url.URL{Scheme: "http", Host: address}).String()}, nil
}

// zoned reports whether a host is an IPv6 address with a zone.
func zoned(host string) bool {
	ip, zone, ok := strings.Cut(host, "%")
	return ok && zone != "" && net.ParseIP(ip) != nil
}

func number(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

// ParseURL reads an http or https URL. A path in it is that of a proxy before the
// daemon, like the one of kubectl.
func ParseURL(text string) (Target, error) {
	const want = "write http://host:port or https://host:port, with the path of a proxy if there is one"
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return Target{}, fmt.Errorf("%q is no URL: %s", text, want)
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return Target{}, fmt.Errorf("%q is not the URL of a daemon: %s", text, want)
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || u.User != nil:
		return Target{}, fmt.Errorf("%q has more in it than scheme, host, port and path: %s", u.Redacted(), want)
	}
	whole := strings.TrimRight(u.String(), "/")
	name := whole
	if u.Scheme == "http" && strings.Trim(u.Path, "/") == "" {
		name = u.Host
	}
	return Target{Name: name, URL: whole}, nil
}
