package route

import "fmt"

// Key is what makes two routes one: a table holds each key once, and a difference of
// two tables is taken over keys. Whether an ImplementationSpecific path is a regular
// expression is not part of it. Host and Path are in normal form.
type Key struct {
	Host, Path string
	PathType   PathType
}

// Key returns the key that the route has in a table. Two routes of a Spec contradict
// each other exactly when their keys are equal, however they are written. The error says
// why there is none; Compile leaves such a route out. Whether a regular expression can be compiled is not looked at.
func (s RouteSpec) Key() (Key, error) {
	k := Key{PathType: s.PathType}
	if int(s.PathType) >= len(pathTypeWords) {
		return Key{}, fmt.Errorf("unknown path type %s", s.PathType)
	}
	var err error
	if s.Host != "" {
		if k.Host, err = ruleHost(s.Host); err != nil {
			return Key{}, fmt.Errorf("host %q %w", s.Host, err)
		}
	}
	if k.Path, err = rulePath(s.Path, kindOf(s.PathType, s.Regex)); err != nil {
		return Key{}, fmt.Errorf("path %q: %w", s.Path, err)
	}
	return k, nil
}

// Key returns the host that the claim has in a table, in normal form, "*" for the
// default certificate. The error says why there is none; Compile ignores such a claim.
func (s CertSpec) Key() (host string, err error) {
	if s.Host == "" || s.Host == defaultCertHost {
		return defaultCertHost, nil
	}
	if host, err = ruleHost(s.Host); err != nil {
		return "", fmt.Errorf("host %q %w", s.Host, err)
	}
	return host, nil
}
