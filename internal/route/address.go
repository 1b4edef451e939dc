package route

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"
)

// CheckAddress reports what is wrong with the address of an endpoint, nil for
// nothing. It accepts host:port with a name, an IPv4 address, or an IPv6 address in
// brackets, and a port from 1 to 65535. The error completes a sentence that begins with
// the address: "has no port: write …".
func CheckAddress(address string) error {
	if ip, err := netip.ParseAddrPort(address); err == nil && ip.Port() != 0 && ip.Addr().Zone() == "" {
		return nil // nearly every address, and quickly
	}
	cut := strings.LastIndexByte(address, ':')
	switch {
	case strings.Contains(address, "://"):
		return wrongAddress("is a URL")
	case cut < 0 || strings.HasSuffix(address, "]"):
		return wrongAddress("has no port")
	}
	host, port := address[:cut], address[cut+1:]
	if host == "" {
		return wrongAddress("has no host")
	}
	if !strings.HasPrefix(host, "[") && strings.Contains(host, ":") {
		return wrongAddress("needs brackets around its IPv6 host")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return errors.New("has a port that is not a number from 1 to 65535")
	}
	if isMachineName(host) {
		return nil
	}
	inner, _ := strings.CutPrefix(host, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	ip, err := netip.ParseAddr(inner)
	switch {
	case err != nil || !closed || !ip.Is6():
		return wrongAddress("has a host that is neither an IP address nor a name")
	case ip.Zone() != "":
		return wrongAddress("has an IPv6 zone, which means something on one machine only")
	}
	return nil
}

func wrongAddress(fault string) error {
	return errors.New(fault + ": write host:port, as in 127.0.0.1:9001 or [::1]:9001")
}

// isMachineName reports whether host can be the name of a machine, or an IPv4 address.
func isMachineName(host string) bool {
	if len(host) > maxHost {
		return false
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(host, "."), ".") {
		if label == "" || len(label) > maxLabel || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") {
			return false
		}
		for i := range len(label) {
			if !isLabelByte[label[i]] {
				return false
			}
		}
	}
	return true
}

// maxLabel is the longest label of a name (RFC 1035 §2.3.4).
const maxLabel = 63
