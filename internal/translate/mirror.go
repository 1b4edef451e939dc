package translate

import (
	"ramjet.dev/ingress/internal/route"
)

// addMirrors adds the mirror of an Ingress to all of its routes.
func (t *translation) addMirrors() {
	backends := map[*plan]*backend{}
	for _, p := range t.plans {
		if b := t.mirrorOf(p); b != nil {
			backends[p] = b
		}
	}
	if len(backends) == 0 {
		return
	}
	for _, c := range t.routes {
		if b := backends[c.plan]; b != nil {
			b.used = true
			c.mirror = b
			c.Mirror = &route.MirrorSpec{Backend: b.name, Percent: c.plan.mirror.percent, Host: c.plan.mirror.host}
		}
	}
}

// mirrorOf finds the backend of the copies, nil for none.
func (t *translation) mirrorOf(p *plan) *backend {
	if p.mirror.backend.IsZero() || p.mirror.broken {
		return nil
	}
	if p.canary.on {
		t.note(p, note{reason: ReasonMirrorRejected, text: "a canary has no mirror of its own; nothing is mirrored: put " + keyMirror + " on the production Ingress"})
		return nil
	}
	to := target{BackendRef: p.mirror.backend}
	if to.Namespace == "" {
		to.Namespace = p.ref.Namespace
	}
	b := t.services.resolve(&to)
	if b.fault != "" {
		t.note(p, note{reason: ReasonMirrorRejected, text: "annotation " + keyMirror + ": " + b.fault + "; nothing is mirrored"})
		return nil
	}
	return b
}
