package translate

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"ramjet.dev/ingress/internal/route"
)

// bareHosts is an entry of spec.tls whose Secret is of no use, and so claimed nothing.
type bareHosts struct {
	plan   *plan
	secret types.NamespacedName
	fault  string
	hosts  []string
}

// maxFailing bounds the hosts that a message names.
const maxFailing = 5

// explainBare says what clients see instead of a certificate that is missing. It comes
// after all claims were settled.
func (t *translation) explainBare() {
	for _, b := range t.bare {
		t.notes = append(t.notes, secretNote(b.plan.ref, b.secret, b.fault, "serving these hosts without it"+t.certs.instead(b.hosts)))
	}
}

// instead says what the handshakes for hosts end with that claimed nothing. Where there is
// a default certificate, none fails.
func (c *certificates) instead(hosts []string) string {
	var failing []string
	fallback, other := false, false
	for _, host := range hosts {
		key, err := route.CertSpec{Host: host}.Key()
		switch {
		case err != nil || key == "*": // no name of a handshake
		case c.covers(key):
			other = true
		case c.fallback:
			fallback = true
		default:
			failing = append(failing, plain(key))
		}
	}
	switch {
	case len(failing) > maxFailing:
		return fmt.Sprintf(": TLS handshakes fail for %s and %d more", strings.Join(failing[:maxFailing], ", "), len(failing)-maxFailing)
	case len(failing) > 0:
		return ": TLS handshakes fail for " + strings.Join(failing, ", ")
	case fallback && other:
		return ": TLS handshakes get another certificate or the default one"
	case fallback:
		return ": TLS handshakes get the default certificate"
	case other:
		return ": TLS handshakes get another certificate"
	}
	return ""
}

// covers reports whether somebody claimed a certificate for a host, or for all names beside
// it.
func (c *certificates) covers(host string) bool {
	_, exact := c.holders[host]
	_, parent, _ := strings.Cut(host, ".")
	_, beside := c.holders["*."+parent]
	return exact || beside
}
