package pace

import "time"

// Bucket lets Burst through at once and then one each Every. It refills by one each
// Every, up to Burst. The zero value lets nothing through. It belongs to one
// goroutine, and its fields must not be changed once it was used.
type Bucket struct {
	// Burst is how many may happen at once after a quiet period.
	Burst int
	// Every is the time in which one more becomes possible.
	Every time.Duration

	used int       // of Burst, at since
	from time.Time // when the oldest of the used began to come back
}

// Wait is how long it is until one may happen. 0 = now. Negative = never: the bucket
// has no burst.
func (b *Bucket) Wait(now time.Time) time.Duration {
	if b.Burst <= 0 {
		return -1
	}
	b.refill(now)
	if b.used < b.Burst {
		return 0
	}
	return b.Every - now.Sub(b.from)
}

// Take uses one up. Whoever takes without asking Wait first goes into debt by one.
func (b *Bucket) Take(now time.Time) {
	b.refill(now)
	if b.used == 0 {
		b.from = now
	}
	b.used++
}

// Full reports whether nothing is used up: it is as good as a new one.
func (b *Bucket) Full(now time.Time) bool {
	b.refill(now)
	return b.used == 0
}

// refill gives back what time has earned.
func (b *Bucket) refill(now time.Time) {
	if now.Before(b.from) {
		b.from = now // the clock was set back
	}
	if b.Every <= 0 {
		b.used = 0
	}
	for b.used > 0 && now.Sub(b.from) >= b.Every {
		b.used--
		b.from = b.from.Add(b.Every)
	}
}
