package route

import (
	"cmp"
	"slices"
	"strings"
)

// certTable is the map from server names to certificates. Generations in which no
// certificate changed share it, others share the claims that did not.
type certTable struct {
	list     []*CertSpec // in effect, sorted by host; not modified
	names    names[*CertSpec]
	fallback *CertSpec // the default certificate; nil when there is none
}

// defaultCertHost is how the default certificate is written.
const defaultCertHost = "*"

func (t *certTable) find(name string) (CertID, bool) {
	claim, ok := t.names.exact[name]
	if !ok {
		if claim, ok = t.names.find(strings.TrimSuffix(name, ".")); !ok {
			claim = t.fallback
		}
	}
	if claim == nil {
		return 0, false
	}
	return claim.ID, true
}

// rule returns the claim on a host itself, nil when there is none.
func (t *certTable) rule(host string) *CertSpec {
	if host == defaultCertHost {
		return t.fallback
	}
	return t.names.rule(host)
}

// compileCerts settles who holds which name.
func (c *compiler) compileCerts() *certTable {
	holders := make(map[string]int, len(c.spec.Certs)) // host to index in the Spec
	var losers []int
	for i := range c.spec.Certs {
		host, ok := c.certHost(i)
		if !ok {
			continue
		}
		holder, taken := holders[host]
		if taken && compareCertClaim(&c.spec.Certs[holder], &c.spec.Certs[i]) <= 0 {
			losers = append(losers, i)
			continue
		}
		if taken {
			losers = append(losers, holder)
		}
		holders[host] = i
	}
	for _, i := range losers {
		host, _ := c.certHost(i)
		c.reportCert(host, i, &c.spec.Certs[holders[host]])
	}
	return c.certTable(holders)
}

// certTable builds the table of the claims that won, or finds the kept one with the
// same claims.
func (c *compiler) certTable(holders map[string]int) *certTable {
	list := make([]*CertSpec, 0, len(holders))
	for host, i := range holders {
		list = append(list, c.certClaim(host, &c.spec.Certs[i]))
	}
	slices.SortFunc(list, func(a, b *CertSpec) int { return strings.Compare(a.Host, b.Host) })
	for _, t := range c.kept {
		if slices.Equal(t.certs.list, list) {
			return t.certs
		}
	}
	return newCertTable(list)
}

// certClaim returns the kept claim that is equal, or a new one.
func (c *compiler) certClaim(host string, spec *CertSpec) *CertSpec {
	claim := *spec
	claim.Host = host
	for _, t := range c.kept {
		if k := t.certs.rule(host); k != nil && *k == claim {
			return k
		}
	}
	return &claim
}

// certHost returns the name that a claim is for, in the form of the table.
func (c *compiler) certHost(i int) (string, bool) {
	host, err := c.spec.Certs[i].Key()
	if err != nil {
		c.report(KindCert, i, ReasonInvalidHost, "%v; no certificate is served for it", err)
		return "", false
	}
	return host, true
}

// compareCertClaim puts the claim that keeps the host first: the older. Equal age and
// owner are settled by content, so that the order of the list cannot matter.
func compareCertClaim(a, b *CertSpec) int {
	return cmp.Or(compareAge(a.Created, a.Owner, b.Created, b.Owner), cmp.Compare(a.ID, b.ID))
}

// reportCert tells a claim that it lost, and to whom. Two claims with the same contents
// are no conflict, and nobody needs to hear of them.
func (c *compiler) reportCert(host string, i int, holder *CertSpec) {
	if c.spec.Certs[i].ID == holder.ID {
		return
	}
	c.report(KindCert, i, ReasonDuplicateCert, "host %s already has its certificate from %s; this one is ignored",
		host, ownerOf(holder.Owner, "another entry"))
}

func newCertTable(list []*CertSpec) *certTable {
	t := &certTable{list: list, names: newNames[*CertSpec](len(list))}
	for _, claim := range list {
		if claim.Host == defaultCertHost {
			t.fallback = claim
			continue
		}
		t.names.put(claim.Host, claim)
	}
	return t
}
