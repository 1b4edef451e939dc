package watch

import "sync"

// bell wakes all who listen. The zero value is ready. It is safe for concurrent use.
type bell struct {
	mu   sync.Mutex
	next chan struct{}
}

// listen returns what is closed when the bell rings next.
func (b *bell) listen() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		b.next = make(chan struct{})
	}
	return b.next
}

// ring wakes those who have listened so far.
func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next != nil {
		close(b.next)
		b.next = nil
	}
}
