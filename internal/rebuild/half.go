package rebuild

import (
	"ramjet.dev/ingress/internal/route"
	"ramjet.dev/ingress/internal/translate"
)

// half reports whether a compile found half of a change: a route that came in without
// endpoints, or a certificate that is newly missed. Who applies an Ingress with its
// Service, endpoints and Secret wants all of it served, and the API server tells of each kind
// on a watch of its own, in no order. was is nil for the first compile.
func half(before, now translate.Translation, was, is *route.Table) bool {
	return !shared(before.Spec.Routes, now.Spec.Routes) && halfRoute(was, is) ||
		!shared(before.Warnings, now.Warnings) && halfCertificate(before.Warnings, now.Warnings)
}

// halfRoute reports whether a route came in that has no endpoints. One that lost them is
// whole: a Service that was scaled to zero.
func halfRoute(was, is *route.Table) bool {
	lacking := map[*route.Counters]bool{} // which are the identity of a route
	for _, r := range is.Routes() {
		if len(r.Backend.Endpoints) == 0 {
			lacking[r.Counters] = true
		}
	}
	if len(lacking) == 0 {
		return false
	}
	for _, r := range was.Routes() {
		delete(lacking, r.Counters)
	}
	return len(lacking) > 0
}

// halfCertificate reports whether there is a Secret of which it was not known that it is
// missing.
func halfCertificate(before, now []translate.Warning) bool {
	known := map[translate.Warning]bool{}
	for _, w := range before {
		known[w] = w.Reason == translate.ReasonSecretUnusable
	}
	for _, w := range now {
		if w.Reason == translate.ReasonSecretUnusable && !known[w] {
			return true
		}
	}
	return false
}
