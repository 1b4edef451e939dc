package certs

import (
	"crypto/x509"
)

// checkLinks turns those of entries into problems in whose chain something after the leaf is
// no certificate. We only pass these links on, but a client that needs the one would find
// the chain broken, and some give up at what they cannot read.
//
// The same few authorities sign nearly everything that one cluster has: what stands in many
// chains is parsed once for all of them.
func (each Each) checkLinks(entries []entry) {
	numbers := make(map[string]int) // by DER
	var distinct [][]byte
	for _, e := range entries {
		for _, der := range e.links() {
			if _, known := numbers[string(der)]; !known {
				numbers[string(der)] = len(distinct)
				distinct = append(distinct, der)
			}
		}
	}
	errs := make([]error, len(distinct))
	each(len(distinct), func(i int) { errs[i] = checkLink(distinct[i]) })
	for i := range entries {
		e := &entries[i]
		for n, der := range e.links() {
			if err := errs[numbers[string(der)]]; err != nil {
				e.fail(faultf(ReasonGarbledCertificate,
					"certificate block %d does not parse: copy the chain again from whoever issued it: %v", n+2, err))
				break
			}
		}
	}
}

// links is the chain without its leaf, as DER.
func (e *entry) links() [][]byte {
	if e.cert == nil {
		return nil
	}
	return e.cert.Certificate[1:]
}

// checkLink says why der is no certificate.
func checkLink(der []byte) error {
	if _, err := x509.ParseCertificate(der); err != nil && !foreign(der) {
		return err
	}
	return nil
}

// foreign reports whether der is a whole certificate that only our parser refuses, and that
// clients may know all the same: one of a curve that is not ours, with a negative serial
// number or a name in letters that its type does not have, as some old authorities wrote
// them against RFC 5280.
func foreign(der []byte) bool {
	_, whole := readCertificate(der)
	return whole
}
