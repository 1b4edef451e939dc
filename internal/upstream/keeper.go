package upstream

// Keeper is somebody who keeps idle connections of his own, beside those of the Pools,
// and whom the table concerns as much. Its methods are called from any goroutine and
// must not block.
type Keeper interface {
	// Retain closes the idle connections to every endpoint whose address is not named,
	// and keeps none from then on. The map is not changed any more.
	Retain(named map[string]bool)
	// Idle counts the idle connections to one endpoint.
	Idle(address string) int
}

// Join makes k hear of what the serving table names, the present one first, until the
// Pools are closed. Its connections count in Idle.
func (p *Pools) Join(k Keeper) {
	p.keeping.Lock()
	defer p.keeping.Unlock()
	p.keepers = append(p.keepers, k)
	if named := p.named.Load(); named != nil {
		k.Retain(*named)
	}
}

// Options are those that the Pools were made with.
func (p *Pools) Options() Options { return p.options }

// tellKeepers passes on what the table names.
func (p *Pools) tellKeepers(named map[string]bool) {
	p.keeping.Lock()
	defer p.keeping.Unlock()
	for _, k := range p.keepers {
		k.Retain(named)
	}
}

// keptElsewhere counts the idle connections that keepers have.
func (p *Pools) keptElsewhere(address string) (n int) {
	p.keeping.Lock()
	defer p.keeping.Unlock()
	for _, k := range p.keepers {
		n += k.Idle(address)
	}
	return n
}
