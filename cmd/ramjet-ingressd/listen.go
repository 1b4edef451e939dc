package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
)

// listeners are the sockets of the daemon; nil where there is none. They are
// all bound before anything is started, so that a taken port leaves nothing half
// done.
type listeners struct {
	http, https, admin net.Listener
}

// listen binds what c asks for. tls says whether there are certificates:
// without any, the TLS port is bound only if it was asked for by name, because a
// listener that fails every handshake is no useful default.
func listen(c config, tls bool) (l listeners, err error) {
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	for _, one := range []struct {
		flag string
		want listener
		on   bool
		at   *net.Listener
	}{
		{"--http", c.http, c.http.enabled(), &l.http},
		{"--https", c.https, c.https.enabled() && (tls || c.https.explicit), &l.https},
		{"--admin", c.admin, c.admin.enabled(), &l.admin},
	} {
		if !one.on {
			continue
		}
		if *one.at, err = net.Listen(network(one.want.address), one.want.address); err != nil {
			return l, listenError(one.flag, one.want.address, err)
		}
	}
	if l.http == nil && l.https == nil {
		return l, errors.New("nothing to serve on: there are no certificates, so that --https is not bound unless it is given, and --no-http is set: drop --no-http, add certificates, or give --https")
	}
	return l, nil
}

// network keeps an IPv4 address from being bound for IPv6 too: who writes 0.0.0.0 and
// filters IPv4 would not know of the other door.
func network(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return "tcp"
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.Is4() {
		return "tcp4"
	}
	return "tcp"
}

func (l listeners) close() {
	for _, one := range []net.Listener{l.http, l.https, l.admin} {
		if one != nil {
			one.Close()
		}
	}
}

// listenError says in one line why an address cannot be listened at, and what to
// do.
func listenError(flag, address string, err error) error {
	hint := "choose another address with " + flag
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		hint = "stop what uses the port, or " + hint
	case errors.Is(err, syscall.EACCES):
		hint = "run with the right to use ports below 1024, or " + hint
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		err = op.Err
	}
	return fmt.Errorf("%s: cannot listen at %s: %w: %s", flag, address, err, hint)
}

// where a listener really listens, "off" when there is none.
func where(l net.Listener) string {
	if l == nil {
		return "off"
	}
	return l.Addr().String()
}
