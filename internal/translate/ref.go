package translate

import (
	"errors"
	"strconv"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
)

// BackendRef names a port of a Service.
type BackendRef struct {
	Namespace, Name string
	// Port has a name or a number.
	Port networkingv1.ServiceBackendPort
}

// IsZero reports whether the reference names nothing.
func (r BackendRef) IsZero() bool { return r == BackendRef{} }

// String returns "namespace/name:port", which is also the name of the backend.
func (r BackendRef) String() string { return r.Namespace + "/" + r.Name + ":" + portText(r.Port) }

// service names the Service in a message.
func (r BackendRef) service() string { return "Service " + plain(r.Namespace) + "/" + plain(r.Name) }

// portText writes a port as it was asked for; "-" is none.
func portText(p networkingv1.ServiceBackendPort) string {
	switch {
	case p.Name != "":
		return p.Name
	case p.Number != 0:
		return strconv.Itoa(int(p.Number))
	}
	return "-"
}

// ParseBackendRef reads "namespace/name:port", where port is a name or a number from 1
// to 65535. The error completes a sentence that begins with the text.
func ParseBackendRef(s string) (BackendRef, error) {
	owner, port, found := strings.Cut(s, ":")
	if !found {
		return BackendRef{}, errors.New("has no port: write NAMESPACE/NAME:PORT")
	}
	name, err := ParseNamespacedName(owner)
	if err != nil {
		return BackendRef{}, errors.New("is not NAMESPACE/NAME:PORT")
	}
	r := BackendRef{Namespace: name.Namespace, Name: name.Name}
	if r.Port, err = parsePort(port); err != nil {
		return BackendRef{}, err
	}
	return r, nil
}

// ParseNamespacedName reads "namespace/name". The error completes a sentence that begins
// with the text.
func ParseNamespacedName(s string) (types.NamespacedName, error) {
	namespace, name, _ := strings.Cut(s, "/")
	if !isObjectName(namespace) || !isObjectName(name) {
		return types.NamespacedName{}, errors.New("is not NAMESPACE/NAME")
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}

// errPort is what is wrong with the port of a reference.
var errPort = errors.New("has a port that is neither a name nor a number from 1 to 65535")

// parsePort reads a port name or a number.
func parsePort(s string) (networkingv1.ServiceBackendPort, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	switch {
	case err == nil && n != 0:
		return networkingv1.ServiceBackendPort{Number: int32(n)}, nil
	case !isPortName(s):
		return networkingv1.ServiceBackendPort{}, errPort
	}
	return networkingv1.ServiceBackendPort{Name: s}, nil
}

// isPortName accepts a DNS label that has a letter in it, as the API does.
func isPortName(s string) bool {
	return isObjectName(s) && !strings.Contains(s, ".") && strings.Trim(s, "-") == s &&
		strings.ContainsFunc(s, func(r rune) bool { return 'a' <= r && r <= 'z' })
}

// isObjectName accepts what can be the name of an object or namespace. It is no full
// check: a name that no object has is found out when it is looked up.
func isObjectName(s string) bool {
	return s != "" && len(s) <= maxObjectName && !strings.ContainsFunc(s, func(r rune) bool { return !isNameRune(r) })
}

// maxObjectName is the longest name of an object (a DNS subdomain, RFC 1123).
const maxObjectName = 253

func isNameRune(r rune) bool {
	return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-' || r == '.'
}
