//go:build endurance

package endurance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"slices"
	"time"
)

// changes is what was changed so far.
type changes struct {
	certificates, guests, weights, rolls, bursts, pins, crashes int
}

func (c changes) String() string {
	return fmt.Sprintf("%d certificates, %d hosts that came or went, %d canary weights, %d backends replaced, %d bursts of 200 hosts, %d pins, %d backends killed",
		c.certificates, c.guests, c.weights, c.rolls, c.bursts, c.pins, c.crashes)
}

// change changes the configuration, about once a second, one thing at a time, until
// the end of ctx. Each change is waited for: it has to be in effect.
func (w *world) change(ctx context.Context, done *changes) {
	chance := rand.New(rand.NewPCG(*seed, 1))
	for wait(ctx, time.Duration(200+chance.IntN(1000))*time.Millisecond) {
		var err error
		switch n := chance.IntN(100); {
		case n < 25:
			done.certificates++
			err = w.rotate()
		case n < 60:
			done.guests++
			err = w.toggle(chance.IntN(guests))
		case n < 70:
			done.weights++
			err = w.putCanary(chance.IntN(101))
		case n < 80:
			done.rolls++
			err = w.replace(chance.IntN(len(w.roll)))
		case n < 95:
			done.bursts++
			err = w.burst()
		default:
			done.pins++
			err = w.pin(ctx)
		}
		if err != nil {
			w.tally.fault("change", err)
		}
	}
}

// rotate brings a new certificate, and waits until it is the one that is shown.
func (w *world) rotate() error {
	serial, err := w.putCertificate()
	if err != nil {
		return err
	}
	return w.shows(serial)
}

// shows waits until new handshakes are shown a certificate.
func (w *world) shows(serial int64) error {
	err := w.until(func() error {
		w.serial.Store(0) // either may be shown
		c, err := w.dialTLS()
		if err != nil {
			return err
		}
		defer c.Close()
		if shown := c.serial(); shown != serial {
			return fmt.Errorf("certificate number %d is shown, want %d", shown, serial)
		}
		return nil
	})
	if err == nil {
		w.serial.Store(serial)
	}
	return err
}

// toggle lets a host come or go, and waits until it did.
func (w *world) toggle(n int) (err error) {
	g, name := &w.guests[n], fmt.Sprintf("guest%d", n)
	g.epoch.Add(1)
	there := !g.there.Load()
	q := query{host: name + ".test", size: 10, from: steadyService}
	if there {
		err = w.putIngress(name, steadyService, []string{q.host})
	} else {
		q.from, q.status = "", http.StatusNotFound
		err = w.deleteIngress(name)
	}
	if err == nil {
		err = w.until(func() error { return w.once(q) })
	}
	g.there.Store(there)
	g.epoch.Add(1)
	return err
}

// once asks on a connection of its own.
func (w *world) once(q query) error {
	c, err := w.dial()
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.ask(q, "change")
	return err
}

// replace takes one of the backends away and gives another, as an update does: the
// new one is ready, the old one is leaving; it serves what it was asked for, and
// goes when nobody asks any more.
func (w *world) replace(n int) error {
	before, err := w.state()
	if err != nil {
		return err
	}
	old := w.roll[n]
	successor, err := w.successor()
	if err != nil {
		return err
	}
	w.roll[n] = successor
	if err := w.putEndpoints(rollService, addresses(w.roll), old.address()); err != nil {
		return err
	}
	if err := w.newer(before.Serving); err != nil {
		return err
	}
	wait(w.ctx, 2*time.Second) // what was decided by the old table has been asked by then
	old.leave()
	return w.putEndpoints(rollService, addresses(w.roll))
}

// successor is a new backend of rollService, on the address that was not used for longest.
func (w *world) successor() (*backend, error) {
	free := slices.IndexFunc(w.spare, func(a netip.Addr) bool {
		return !slices.ContainsFunc(w.roll, func(b *backend) bool { return b.at.Addr() == a })
	})
	at := w.spare[free]
	w.spare = append(slices.Delete(w.spare, free, free+1), at)
	w.rolled++
	b := &backend{place: place{w, fmt.Sprintf("%s-%d", rollService, w.rolled), netip.AddrPortFrom(at, backendPort)}}
	return b, b.start()
}

// newer waits until a generation serves that came after another.
func (w *world) newer(than int) error {
	return w.until(func() error {
		s, err := w.state()
		if err == nil && s.Serving <= than {
			err = fmt.Errorf("generation %d serves, want a newer one", s.Serving)
		}
		return err
	})
}

// burst lets two hundred hosts come or go at once.
func (w *world) burst() error {
	before, err := w.state()
	if err != nil {
		return err
	}
	if w.crowd = !w.crowd; w.crowd {
		var hosts []string
		for n := range 200 {
			hosts = append(hosts, fmt.Sprintf("crowd%d.test", n))
		}
		err = w.putIngress("crowd", steadyService, hosts)
	} else {
		err = w.deleteIngress("crowd")
	}
	if err != nil {
		return err
	}
	return w.newer(before.Serving)
}

// pin goes back to a generation of before for two seconds. What is served then is
// what was: hosts that came since are gone, and certificates are old.
func (w *world) pin(ctx context.Context) error {
	s, err := w.state()
	if err != nil {
		return err
	}
	back := 0
	for _, g := range s.Generations {
		if g.Generation < s.Serving {
			back = max(back, g.Generation)
		}
	}
	if back == 0 {
		return nil
	}
	newest := w.serial.Load()
	w.pins.Add(1)
	for n := range w.guests {
		w.guests[n].epoch.Add(1)
	}
	if _, err := w.command(http.MethodPost, "/admin/rollback", fmt.Sprintf(`{"generation":%d}`, back)); err != nil {
		return err
	}
	if s, err = w.state(); err != nil || s.Serving != back {
		return fmt.Errorf("generation %d serves, want the pinned %d, %w", s.Serving, back, err)
	}
	wait(ctx, 2*time.Second)
	if _, err := w.command(http.MethodDelete, "/admin/rollback", ""); err != nil {
		return err
	}
	if err := w.shows(newest); err != nil {
		return err
	}
	w.pins.Add(1)
	for n := range w.guests {
		w.guests[n].epoch.Add(1)
	}
	return nil
}

// kill lets backends die and come back, one at a time, until the end of ctx.
func (w *world) kill(ctx context.Context, done *changes) {
	chance := rand.New(rand.NewPCG(*seed, 2))
	for wait(ctx, time.Duration(1000+chance.IntN(2000))*time.Millisecond) {
		done.crashes++
		b := w.crash[chance.IntN(len(w.crash))]
		b.kill()
		wait(ctx, time.Duration(chance.IntN(1000))*time.Millisecond)
		if err := b.start(); err != nil {
			w.tally.fault("change", err)
		}
	}
}
