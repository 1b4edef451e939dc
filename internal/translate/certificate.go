package translate

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"ramjet.dev/ingress/internal/certs"
	"ramjet.dev/ingress/internal/route"
)

// secrets are those of type kubernetes.io/tls.
type secrets struct {
	byName map[types.NamespacedName]*corev1.Secret
	unread bool // none could be read
	// pairs are what was read, before what was read earlier.
	pairs, before map[*corev1.Secret]pair
}

// pair is what a Secret says, or why it says nothing.
type pair struct {
	id       route.CertID
	material certs.Material
	fault    string
}

func newSecrets(from Snapshot, before map[*corev1.Secret]pair) *secrets {
	s := &secrets{byName: byName(from.Secrets), unread: from.SecretsUnread, pairs: map[*corev1.Secret]pair{}, before: before}
	for name, secret := range s.byName {
		if secret.Type != corev1.SecretTypeTLS {
			delete(s.byName, name)
		}
	}
	return s
}

// pair returns the contents of a Secret. Each is hashed once, and only if it is used.
func (s *secrets) pair(name types.NamespacedName) pair {
	secret := s.byName[name]
	switch {
	case secret == nil && s.unread:
		return pair{fault: "this controller cannot read Secrets: give it get, list and watch on secrets"}
	case secret == nil:
		return pair{fault: "not found among Secrets of type " + string(corev1.SecretTypeTLS) + " in namespace " + plain(name.Namespace)}
	}
	p, read := s.pairs[secret]
	if !read {
		if p, read = s.before[secret]; !read {
			p = readPair(secret, name)
		}
		s.pairs[secret] = p
	}
	return p
}

func readPair(secret *corev1.Secret, name types.NamespacedName) pair {
	for _, key := range []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey} {
		if len(secret.Data[key]) == 0 {
			return pair{fault: "has nothing under " + key}
		}
	}
	m := certs.Material{
		Namespace: name.Namespace, Name: name.Name,
		Cert: secret.Data[corev1.TLSCertKey], Key: secret.Data[corev1.TLSPrivateKeyKey],
	}
	return pair{id: m.ID(), material: m}
}

// certificates are the claims that were won, and what they use.
type certificates struct {
	specs    []route.CertSpec
	material []certs.Material
	// holders are who won which host.
	holders map[string]certHolder
	// users are who claims something with which material.
	users map[route.CertID][]Ref
	// fallback is whether there is a default certificate.
	fallback bool
}

type certHolder struct {
	plan   *plan
	secret types.NamespacedName
	id     route.CertID
}

// addCertificates settles which Ingress has the certificate of which host: the older. A
// Secret that cannot be read claims nothing.
func (t *translation) addCertificates() {
	t.certs = certificates{holders: map[string]certHolder{}, users: map[route.CertID][]Ref{}}
	for _, p := range t.plans {
		for i := range p.tls {
			t.addTLS(p, i, &p.tls[i])
		}
	}
	t.addDefaultCertificate()
	t.explainBare()
}

// addTLS adds the claims of one entry of spec.tls.
func (t *translation) addTLS(p *plan, index int, entry *networkingv1.IngressTLS) {
	unusable := func(text string) {
		t.note(p, note{reason: ReasonSecretUnusable, text: text})
	}
	name := types.NamespacedName{Namespace: p.ref.Namespace, Name: entry.SecretName}
	switch {
	case entry.SecretName == "":
		unusable(fmt.Sprintf("spec.tls[%d] names no Secret and is not used: add secretName, or remove the entry", index))
		return
	case len(entry.Hosts) == 0:
		unusable(fmt.Sprintf("spec.tls[%d] (%s) names no hosts and is not used, for which names a certificate covers is not looked up: add hosts, or use --default-tls-secret", index, secretText(name)))
		return
	}
	secret := t.secrets.pair(name)
	if secret.fault != "" {
		t.bare = append(t.bare, bareHosts{p, name, secret.fault, entry.Hosts})
		return
	}
	for _, host := range entry.Hosts {
		t.claimCertificate(p, host, name, secret)
	}
}

// hostsHeld is what a Secret means for its hosts whose pair claimed them before anybody
// parsed it: it holds them.
const hostsHeld = "TLS handshakes for these hosts fail until it is repaired"

// secretNote is about a Secret that is of no use to an Ingress, or to a flag; hosts is what
// that means for the hosts of the Ingress.
func secretNote(user Ref, name types.NamespacedName, fault, hosts string) note {
	n := note{object: user, reason: ReasonSecretUnusable, text: secretText(name) + ": " + fault + "; " + hosts}
	if user.Kind == kindSecret {
		n.where, n.text = "--default-tls-secret", secretText(name)+": "+fault+"; serving without a default certificate"
	}
	return n
}

func secretText(name types.NamespacedName) string {
	return plain(name.Namespace) + "/" + plain(name.Name)
}

// claimCertificate settles one host of an entry.
func (t *translation) claimCertificate(p *plan, host string, name types.NamespacedName, secret pair) {
	spec := route.CertSpec{Host: host, ID: secret.id, Created: p.created, Owner: p.owner}
	key, err := spec.Key()
	switch {
	case err != nil:
		t.note(p, note{reason: ReasonIngressRejected, text: "host " + quoted(host) + " of spec.tls " + inner(err) + "; no certificate is served for it"})
		return
	case key == "*":
		t.note(p, note{reason: ReasonIngressRejected, text: "host " + quoted(host) + " of spec.tls is the default certificate, which is not an Ingress's to choose: use --default-tls-secret"})
		return
	}
	holder, taken := t.certs.holders[key]
	switch {
	case !taken:
		t.certs.holders[key] = certHolder{p, name, secret.id}
		t.certs.specs = append(t.certs.specs, spec)
		t.certs.use(secret, p.ref)
	case holder.id == secret.id: // no conflict
		t.certs.use(secret, p.ref)
	default:
		t.note(p, note{reason: ReasonHostConflict, text: fmt.Sprintf("host %s has its certificate from %s (Secret %s); %s is not used for it",
			plain(key), holder.plan.name(), secretText(holder.secret), secretText(name))})
	}
}

// use notes who serves something with a Secret.
func (c *certificates) use(secret pair, user Ref) {
	users, known := c.users[secret.id]
	if !known {
		c.material = append(c.material, secret.material)
	}
	if len(users) == 0 || users[len(users)-1] != user {
		c.users[secret.id] = append(users, user)
	}
}

// addDefaultCertificate adds the certificate of --default-tls-secret.
func (t *translation) addDefaultCertificate() {
	name := t.options.DefaultTLSSecret
	if name == (types.NamespacedName{}) {
		return
	}
	ref := Ref{Kind: kindSecret, Namespace: name.Namespace, Name: name.Name}
	secret := t.secrets.pair(name)
	if secret.fault != "" {
		t.notes = append(t.notes, secretNote(ref, name, secret.fault, ""))
		return
	}
	t.certs.fallback = true
	t.certs.specs = append(t.certs.specs, route.CertSpec{Host: "*", ID: secret.id, Owner: name.String()})
	t.certs.use(secret, ref)
}
