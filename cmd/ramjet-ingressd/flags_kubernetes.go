package main

import (
	"fmt"
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// quoting puts the text in front of an error that completes a sentence about it.
func quoting[T any](parse func(string) (T, error)) func(string) (T, error) {
	return func(text string) (T, error) {
		v, err := parse(text)
		if err != nil {
			return v, fmt.Errorf("%q %w", text, err)
		}
		return v, nil
	}
}

// parseObjectName takes what can be the name of an IngressClass.
func parseObjectName(text string) (string, error) {
	if len(validation.IsDNS1123Subdomain(text)) > 0 {
		return "", fmt.Errorf("%q is not the name of an IngressClass: write small letters, digits, dots and dashes", text)
	}
	return text, nil
}

func parseNamespace(text string) (string, error) {
	if len(validation.IsDNS1123Label(text)) > 0 {
		return "", fmt.Errorf("%q is not the name of a namespace: write small letters, digits and -", text)
	}
	return text, nil
}

// parsePublishAddress takes what the status of an Ingress can hold: an IP address or a
// host name.
func parsePublishAddress(text string) (string, error) {
	if ip, err := netip.ParseAddr(text); err == nil {
		if ip.Zone() != "" || ip.IsUnspecified() {
			return "", fmt.Errorf("%q is an address that means nothing to others: write the one that clients connect to", text)
		}
		return ip.String(), nil
	}
	if name := strings.ToLower(text); len(validation.IsDNS1123Subdomain(name)) == 0 && !numeric(name) {
		return name, nil
	}
	return "", fmt.Errorf("%q is neither an IP address nor a host name: write it without scheme, port or path", text)
}

// numeric reports whether a name is an IPv4 address that went wrong.
func numeric(name string) bool { return strings.Trim(name, "0123456789.") == "" }
