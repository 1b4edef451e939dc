//go:build linux

package cluster

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Network is a network namespace with addresses on which the backends of a test
// listen: an EndpointSlice may name neither loopback nor link-local addresses. Its
// addresses are of 198.18.N.0/24 and fd18:N::/64, N being free on this machine.
// The rest of the machine reaches it through a pair of virtual
// interfaces.
//
// Its methods may be used by several goroutines.
type Network struct {
	name  string
	n     int
	space *os.File // the namespace; open for as long as it is used

	next atomic.Int32
}

// networks numbers the networks of this process.
var networks atomic.Int32

// HasNetworks says why this process cannot make a Network, or nil.
func HasNetworks() error {
	if os.Geteuid() != 0 {
		return errors.New("network namespaces need root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		return errors.New("network namespaces need ip(8), in Debian's package iproute2")
	}
	return nil
}

// NewNetwork makes a Network. Close removes it.
func NewNetwork() (*Network, error) {
	if err := HasNetworks(); err != nil {
		return nil, err
	}
	if err := Sweep(); err != nil {
		return nil, fmt.Errorf("remove what a killed test left behind: %w", err)
	}
	n := &Network{name: fmt.Sprintf("ramjet-%d-%d", os.Getpid(), networks.Add(1))}
	if err := n.build(); err != nil {
		return nil, errors.Join(fmt.Errorf("make the network of a test: %w", err), n.Close())
	}
	return n, nil
}

// Name is that of the network namespace, for ip netns exec.
func (n *Network) Name() string { return n.name }

func namespacePath(name string) string { return filepath.Join("/run/netns", name) }

func (n *Network) build() (err error) {
	if _, err := ip("netns", "add", n.name); err != nil {
		return err
	}
	if n.space, err = os.Open(namespacePath(n.name)); err != nil {
		return err
	}
	if err := n.claim(); err != nil {
		return err
	}
	for _, command := range [][]string{
		{"link", "set", n.near(), "up"},
		{"-6", "addr", "add", n.v6(1).String() + "/64", "dev", n.near(), "nodad"},
		{"-n", n.name, "link", "set", "lo", "up"},
		{"-n", n.name, "link", "set", "eth0", "up"},
		// Every IPv4 address is there without being added one by one. The way back to
		// this side is more specific and leads through eth0.
		{"-n", n.name, "addr", "add", n.v4(2).String() + "/24", "dev", "eth0"},
		{"-n", n.name, "route", "add", "local", n.v4(0).String() + "/24", "dev", "lo"},
		{"-n", n.name, "route", "add", n.v4(1).String(), "dev", "eth0", "src", n.v4(2).String()},
	} {
		if _, err := ip(command...); err != nil {
			return err
		}
	}
	return nil
}

// near is the interface on this side.
func (n *Network) near() string { return fmt.Sprintf("rj%d", n.n) }

func (n *Network) v4(host byte) netip.Addr { return netip.AddrFrom4([4]byte{198, 18, byte(n.n), host}) }

func (n *Network) v6(host byte) netip.Addr {
	return netip.AddrFrom16([16]byte{0xfd, 0x18, 0, byte(n.n), 15: host})
}

// claim takes the first N that nobody has: the kernel refuses a second interface
// of one name, so two processes cannot take the same.
func (n *Network) claim() (err error) {
	for n.n = 1; n.n < 255; n.n++ {
		if _, err = net.InterfaceByName(n.near()); err == nil {
			err = errors.New("every N of 198.18.N.0/24 is taken")
			continue
		}
		if _, err = ip("link", "add", n.near(), "type", "veth", "peer", "name", "eth0", "netns", n.name); err == nil {
			_, err = ip("addr", "add", n.v4(1).String()+"/24", "dev", n.near())
			return err
		}
	}
	return err
}

// Close removes the network; what listens in it hears nothing any more.
func (n *Network) Close() error {
	var errs []error
	if n.space != nil {
		errs = append(errs, n.space.Close())
	}
	if _, err := ip("netns", "delete", n.name); err != nil && exists(namespacePath(n.name)) {
		errs = append(errs, err)
	}
	// The kernel takes the namespace down later; the interface shall not be seen
	// by the next test.
	if n.n > 0 && n.n < 255 {
		_, _ = ip("link", "delete", n.near())
	}
	return errors.Join(errs...)
}

// Address returns an IPv4 address that none of the last 244 calls returned.
func (n *Network) Address() netip.Addr { return n.v4(n.host()) }

// host is the last byte of the next address. The first is 10: 1 is this side, and people
// count from there. 255 is nobody's.
func (n *Network) host() byte {
	const first, count = 10, 245
	return byte(first + (n.next.Add(1)-1)%count)
}

// Address6 is Address for IPv6.
func (n *Network) Address6() (netip.Addr, error) {
	a := n.v6(n.host())
	// Unlike IPv4, nobody answers for an address that is there by a route only.
	_, err := ip("-n", n.name, "-6", "addr", "replace", a.String()+"/64", "dev", "eth0", "nodad")
	return a, err
}

// Listen listens on an address of the network, port 0 for a free one. The
// listener is used from anywhere; its connections come from this side.
func (n *Network) Listen(at netip.AddrPort) (l net.Listener, err error) {
	inside := n.inside(func() { l, err = net.Listen("tcp", at.String()) })
	return l, errors.Join(inside, err)
}

// threads lets one thread at a time be in another namespace, so that a fault here
// cannot strand many.
var threads sync.Mutex

// inside runs f on a thread that is in the network. What f opens stays there.
func (n *Network) inside(f func()) error {
	threads.Lock()
	defer threads.Unlock()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	home, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return err
	}
	defer home.Close()
	if err := unix.Setns(int(n.space.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter the network %s: %w", n.name, err)
	}
	f()
	if err := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); err != nil {
		panic(fmt.Sprintf("a thread cannot leave the network %s: %v", n.name, err)) // it would listen in the wrong place
	}
	return nil
}
