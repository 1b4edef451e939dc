package upstream

import (
	"maps"
	"testing"
)

// notes is a Keeper that writes down what it is told.
type notes struct {
	named []map[string]bool
	idle  int
}

func (n *notes) Retain(named map[string]bool) { n.named = append(n.named, named) }
func (n *notes) Idle(string) int              { return n.idle }

func TestKeepers(t *testing.T) {
	p := New(Options{IdlePerEndpoint: 1})
	defer p.Close()
	early, late := &notes{idle: 2}, &notes{idle: 3}
	p.Join(early)
	if len(early.named) != 0 {
		t.Errorf("told of %v before there was a table", early.named)
	}
	p.Retain([]string{"a:1", "b:2"})
	p.Join(late)
	p.Retain([]string{"b:2"})
	first, second := map[string]bool{"a:1": true, "b:2": true}, map[string]bool{"b:2": true}
	for name, k := range map[string]*notes{"early": early, "late": late} {
		if len(k.named) != 2 || !maps.Equal(k.named[0], first) || !maps.Equal(k.named[1], second) {
			t.Errorf("the %s one was told of %v", name, k.named)
		}
	}
	if got := p.Idle("a:1"); got != 5 {
		t.Errorf("%d idle connections counted, want those of both keepers, 5", got)
	}
}
