package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"ramjet.dev/ingress/internal/engine/reactor"
	"ramjet.dev/ingress/internal/nearest"
	"ramjet.dev/ingress/internal/webhook"
)

// setter checks a text and stores what it means.
type setter = func(text string) error

// to makes a setter of a parser and the place of its result.
func to[T any](field *T, parse func(string) (T, error)) setter {
	return func(text string) error {
		v, err := parse(text)
		if err == nil {
			*field = v
		}
		return err
	}
}

func onOff(field *bool) setter { return to(field, parseSwitch) }

func parseSwitch(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "1", "yes", "on":
		return true, nil
	case "false", "0", "no", "off":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither true, 1, yes, on nor false, 0, no, off", text)
}

func file(field *string) setter { return to(field, parseFile) }

func parseFile(text string) (string, error) {
	switch {
	case text == "":
		return "", errors.New("the name of the file is empty")
	case strings.HasPrefix(text, "--"):
		return "", fmt.Errorf("%q looks like a flag: the name of a file is missing before it (write ./%s for a file of that name)", text, text)
	case strings.ContainsRune(text, 0):
		return "", fmt.Errorf("%q has a zero byte: it cannot be the name of a file", text)
	}
	return text, nil
}

// number takes whole numbers from low to high.
func number(field *int, low, high int) setter {
	return to(field, func(text string) (int, error) {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil || n < uint64(low) || n > uint64(high) {
			return 0, fmt.Errorf("%q is not a whole number from %d to %d", text, low, high)
		}
		return int(n), nil
	})
}

// zero says whether a duration may be 0.
type zero bool

const (
	positive zero = false
	zeroToo  zero = true
)

const (
	// maxDuration is where a wait can only be a slip of the keyboard.
	maxDuration = 8760 * time.Hour
	// minDuration keeps a slip like 5ns from being a timeout that always fires.
	minDuration = time.Millisecond
)

// duration takes Go durations and bare seconds, also with a fraction.
func duration(field *time.Duration, z zero) setter {
	return to(field, func(text string) (time.Duration, error) {
		d, err := parseDuration(text)
		switch {
		case err != nil:
			return 0, fmt.Errorf("%q is not a duration: write 5s, 500ms, 1h30m or bare seconds", text)
		case d == 0 && z == positive:
			return 0, fmt.Errorf("%q would never let anything happen: write a duration from %s to %dh", text, minDuration, maxDuration/time.Hour)
		case d != 0 && d < minDuration, d > maxDuration:
			return 0, fmt.Errorf("%q is out of range: write a duration from %s to %dh", text, minDuration, maxDuration/time.Hour)
		}
		return d, nil
	})
}

func parseDuration(text string) (time.Duration, error) {
	if text != "" && strings.Trim(text, "-0123456789.") == "" {
		text += "s"
	}
	return time.ParseDuration(text)
}

// address takes host:port, :port, port and [v6]:port.
func address(field *listener) setter {
	return to(&field.address, parseAddress)
}

func parseAddress(text string) (string, error) {
	const want = "write host:port, :port, port or [::1]:8443, with a port from 0 (any free one) to 65535"
	if strings.Contains(text, "://") {
		return "", fmt.Errorf("%q is a URL, not an address: %s", text, want)
	}
	host, port := "", text
	if strings.Contains(text, ":") {
		var err error
		if host, port, err = net.SplitHostPort(text); err != nil {
			return "", fmt.Errorf("%q is not an address: %s", text, want)
		}
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", fmt.Errorf("%q is not an address: %s", text, want)
	} else if port = strconv.FormatUint(n, 10); !listenHost(host) {
		return "", fmt.Errorf("%q is not an address: its host is not a name or an IP address: %s", text, want)
	}
	return net.JoinHostPort(host, port), nil
}

// listenHost reports whether host can be listened at: empty, an IP address, or
// something that has the form of a name (whether it resolves is found out when
// it is bound).
func listenHost(host string) bool {
	if strings.Contains(host, ":") {
		_, err := netip.ParseAddr(host)
		return err == nil
	}
	return !strings.ContainsFunc(host, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '.' && r != '_'
	})
}

// prefixes takes CIDRs separated by commas; a bare address is that one only.
func prefixes(field *[]netip.Prefix) setter {
	return to(field, func(text string) ([]netip.Prefix, error) {
		var all []netip.Prefix
		for item := range strings.SplitSeq(text, ",") {
			p, err := parsePrefix(strings.TrimSpace(item))
			if err != nil {
				return nil, fmt.Errorf("%q is not a CIDR: write 10.0.0.0/8,192.168.1.7,fd00::/8", strings.TrimSpace(item))
			}
			all = append(all, p)
		}
		return all, nil
	})
}

func parsePrefix(text string) (netip.Prefix, error) {
	if !strings.Contains(text, "/") {
		a, err := netip.ParseAddr(text)
		if err != nil || a.Zone() != "" {
			return netip.Prefix{}, errors.New("not an address")
		}
		a = a.Unmap()
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, err
	}
	// A peer's address is compared as IPv4 where it is one, so the mapped form
	// would never match.
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p.Masked(), nil
}

func webhookURL(field *string) setter {
	return to(field, func(text string) (string, error) { return text, webhook.CheckURL(text) })
}

func engineName(field *string) setter {
	return to(field, func(text string) (string, error) {
		switch text {
		case "nethttp":
			return text, nil
		case "reactor":
			if !reactor.Available {
				return "", fmt.Errorf("%q needs epoll, which only Linux has: leave the flag out or give nethttp", text)
			}
			return text, nil
		}
		return "", fmt.Errorf("%q is not an engine: give nethttp or reactor", text)
	})
}

// oneOf takes one of a few words.
func oneOf(field *string, words ...string) setter {
	return to(field, func(text string) (string, error) {
		if !slices.Contains(words, text) {
			return "", fmt.Errorf("%q is not known: give %s%s", text, strings.Join(words, " or "), nearest.Hint(text, words))
		}
		return text, nil
	})
}

func logLevel(field *slog.Level) setter {
	return to(field, func(text string) (slog.Level, error) {
		switch strings.ToLower(text) {
		case "debug":
			return slog.LevelDebug, nil
		case "info":
			return slog.LevelInfo, nil
		case "warn", "warning":
			return slog.LevelWarn, nil
		case "error":
			return slog.LevelError, nil
		}
		return 0, fmt.Errorf("%q is not a level: give debug, info, warn or error", text)
	})
}
