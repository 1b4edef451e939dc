package route

import (
	"math"
	"strings"
)

// compileCanary builds the canary of a route. A canary that cannot be honoured is
// inert, and the route serves on: a canary is an experiment, the route is the service.
func (c *compiler) compileCanary(d *draft) *Canary {
	spec := d.spec.Canary
	if spec == nil {
		return nil
	}
	report := func(reason, format string, args ...any) {
		c.report(KindRoute, d.index, reason, "canary of %s "+format, append([]any{d.where()}, args...)...)
	}
	b, known := c.described[spec.Backend]
	if !known {
		report(ReasonUnknownBackend, "leads to backend %q, which is not known; it gets no requests", spec.Backend)
		return nil
	}
	if !isToken(spec.Header) || !isToken(spec.Cookie) {
		report(ReasonInvalidCanary, "names a header %q or cookie %q that no request can have; it gets no requests", spec.Header, spec.Cookie)
		return nil
	}
	canary := &Canary{Backend: b, Header: spec.Header, Cookie: spec.Cookie}
	canary.Weight, canary.WeightTotal = checkShare(spec, report)
	if spec.Header == "" {
		if spec.HeaderValue != "" || spec.HeaderPattern != "" {
			report(ReasonInvalidCanary, "has a header value or pattern but no header; these are ignored")
		}
		return canary
	}
	canary.HeaderValue = spec.HeaderValue
	if spec.HeaderPattern != "" && spec.HeaderValue == "" {
		re, err := c.headerPattern(spec.HeaderPattern)
		if err != nil {
			report(ReasonInvalidCanary, "gets no requests: header %v", err)
			return nil
		}
		canary.HeaderPattern = re
	}
	return canary
}

// checkShare returns the weight and its total. A total below 100 means 100, a weight
// above the total means all, and a weight that makes no sense means nothing.
func checkShare(spec *CanarySpec, report func(reason, format string, args ...any)) (weight, total int) {
	weight, total = spec.Weight, max(spec.WeightTotal, 100)
	if total > math.MaxInt32 {
		report(ReasonInvalidCanary, "has weight total %d, at most %d are possible; its weight is taken as 0", total, math.MaxInt32)
		return 0, 100
	}
	if weight < 0 {
		report(ReasonInvalidCanary, "has weight %d, which is below 0; it is taken as 0", weight)
		weight = 0
	}
	return min(weight, total), total
}

// compileMirror builds the mirror of a route, or none when it cannot be honoured.
func (c *compiler) compileMirror(d *draft) *Mirror {
	spec := d.spec.Mirror
	if spec == nil {
		return nil
	}
	report := func(reason, format string, args ...any) *Mirror {
		c.report(KindRoute, d.index, reason, "mirror of %s "+format+"; nothing is mirrored", append([]any{d.where()}, args...)...)
		return nil
	}
	b, known := c.described[spec.Backend]
	if !known {
		return report(ReasonUnknownBackend, "leads to backend %q, which is not known", spec.Backend)
	}
	if spec.Percent < 0 || spec.Percent > 100 {
		return report(ReasonInvalidMirror, "has percent %d, which is not between 0 and 100", spec.Percent)
	}
	if _, ok := NormalizeHost(spec.Host); spec.Host != "" && !ok {
		return report(ReasonInvalidMirror, "has host %q, which is not a host", spec.Host)
	}
	return &Mirror{Backend: b, Percent: spec.Percent, Host: spec.Host}
}

// isTokenByte is the set of RFC 9110 §5.6.2.
var isTokenByte = byteSet("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~")

// isToken accepts names of header fields and cookies, and no name at all.
func isToken(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 || !isTokenByte[r] })
}
