package admin

import (
	"net/http"
	"time"

	"ramjet.dev/ingress/internal/control"
	"ramjet.dev/ingress/internal/generation"
)

func (a *api) generations(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, generationsOf(a.controller.State()))
}

// generationsOf is a state in the words of the interface.
func generationsOf(s *control.State) Generations {
	g := Generations{Version: Version, Serving: s.Serving, Pinned: s.Pinned, Generations: make([]Generation, 0, len(s.Kept))}
	if s.Pinned != nil {
		g.PinnedAt = new(seconds(s.PinnedAt))
	}
	for _, kept := range s.Kept {
		g.Generations = append(g.Generations, generationOf(kept))
	}
	return g
}

func generationOf(g generation.Generation) Generation {
	return Generation{
		Generation: g.Number,
		AppliedAt:  seconds(g.AppliedAt),
		Published:  g.Published,
		Digest:     g.Table.Digest(),
		Routes:     len(g.Table.Routes()),
		Hosts:      len(g.Table.Hosts()),
		Certs:      len(g.Table.Certs()),
		Diff: Diff{
			Summary:         g.Summary,
			RoutesAdded:     list(g.Diff.RoutesAdded),
			RoutesRemoved:   list(g.Diff.RoutesRemoved),
			BackendsChanged: list(g.Diff.BackendsChanged),
			CertsRotated:    list(g.Diff.CertsRotated),
			HostsAdded:      list(g.Diff.HostsAdded),
			HostsRemoved:    list(g.Diff.HostsRemoved),
			MirrorsAdded:    list(g.Diff.MirrorsAdded),
			MirrorsRemoved:  list(g.Diff.MirrorsRemoved),
		},
	}
}

// seconds is a time as the interface has it.
func seconds(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

// list makes an empty list of none, for JSON.
func list(items []string) []string {
	if items == nil {
		return []string{}
	}
	return items
}
