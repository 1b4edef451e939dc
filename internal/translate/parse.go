package translate

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"ramjet.dev/ingress/internal/route"
)

// The parsers of annotation values. Each error completes a sentence that begins with the
// value.

// parseSwitch takes true and false in any case. Nothing else enables or disables.
func parseSwitch(s string) (bool, error) {
	switch {
	case strings.EqualFold(s, "true"):
		return true, nil
	case strings.EqualFold(s, "false"):
		return false, nil
	}
	return false, errors.New("is neither true nor false")
}

// parseProtocol takes the protocols of ingress-nginx in any case, as it does.
func parseProtocol(s string) (route.Protocol, error) {
	upper := strings.ToUpper(s)
	p, err := route.ParseProtocol(upper)
	switch {
	case err == nil:
		return p, nil
	case slices.Contains([]string{"HTTPS", "GRPCS"}, upper):
		return 0, unsupported{"is not honoured: there is no TLS to backends"}
	case slices.Contains([]string{"AUTO_HTTP", "FCGI"}, upper):
		return 0, unsupported{"is not honoured: backends speak HTTP/1.1 or GRPC"}
	}
	return 0, errors.New("is neither HTTP nor GRPC")
}

// parseCount takes the digits of a number from 0 to what fits 31 bits.
func parseCount(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("is not a number from 0 to %d", math.MaxInt32)
	}
	return int(n), nil
}

func parsePositive(s string) (int, error) {
	n, err := parseCount(s)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("is not a number from 1 to %d", math.MaxInt32)
	}
	return n, nil
}

func parsePercent(s string) (int, error) {
	n, err := parseCount(s)
	if err != nil || n > 100 {
		return 0, errors.New("is not a number from 0 to 100")
	}
	return n, nil
}

// maxText bounds a value that is compared with what requests have. No header is longer.
const maxText = 8 << 10

func parseText(s string) (string, error) {
	if len(s) > maxText {
		return "", fmt.Errorf("is longer than %d bytes", maxText)
	}
	return s, nil
}

// parseToken takes the name of a header field or cookie (RFC 9110 §5.6.2), or nothing.
func parseToken(s string) (string, error) {
	if len(s) > maxToken || strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 || !strings.ContainsRune(tokenRunes, r) }) {
		return "", errors.New("is not a name that a header or cookie can have")
	}
	return s, nil
}

const maxToken = 256 // bytes

const tokenRunes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~"

// parsePattern takes an RE2 expression of a reasonable size.
func parsePattern(s string) (string, error) {
	if err := route.CheckHeaderPattern(s); err != nil {
		return "", fmt.Errorf("is of no use: %w", err)
	}
	return s, nil
}

func parseHost(s string) (string, error) {
	if _, ok := route.NormalizeHost(s); s != "" && !ok || len(s) > maxObjectName {
		return "", errors.New("is not a host")
	}
	return s, nil
}

// parseMirrorBackend takes "[namespace/]service:port".
func parseMirrorBackend(s string) (BackendRef, error) {
	own := !strings.Contains(s, "/")
	if own {
		s = "own/" + s
	}
	r, err := ParseBackendRef(s)
	if err != nil {
		return r, errors.New("is not [namespace/]service:port, with the name of a port or a number from 1 to 65535")
	}
	if own {
		r.Namespace = ""
	}
	return r, nil
}

// parseInterval takes a duration as Go writes it, or bare seconds.
func parseInterval(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if n, bare := strconv.ParseUint(s, 10, 31); bare == nil {
		d, err = time.Duration(n)*time.Second, nil
	}
	if err != nil || d < time.Second {
		return 0, errors.New("is not a duration of at least 1s")
	}
	return d, nil
}

// maxSteps bounds a list of steps before it is looked at.
const maxSteps = 1000

// parseSteps takes percentages; the result is sorted and has each once.
func parseSteps(s string) ([]int, error) {
	var steps []int
	for text := range strings.SplitSeq(s, ",") {
		n, err := parsePercent(strings.TrimSpace(text))
		if err != nil || n == 0 || len(steps) == maxSteps {
			return nil, errors.New("is not a list of percentages from 1 to 100")
		}
		steps = append(steps, n)
	}
	slices.Sort(steps)
	return slices.Compact(steps), nil
}

func parseShare(s string) (float64, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f >= 0 && f <= 100) { // NaN is neither
		return 0, errors.New("is not a percentage from 0 to 100")
	}
	return f, nil
}

func parseFactor(s string) (float64, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f >= 1) || math.IsInf(f, 0) {
		return 0, errors.New("is not a factor of at least 1.0")
	}
	return f, nil
}
