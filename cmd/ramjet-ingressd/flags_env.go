package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"ramjet.dev/ingress/internal/nearest"
)

// envPrefix begins every environment twin.
const envPrefix = "RAMJET_"

// unknownVariables returns a warning for each entry of environ ("NAME=value")
// that looks like one of ours and is none: a misspelt variable would otherwise
// be silence. Values are never shown. Variables of the other programs of this
// project and those that Kubernetes sets for a Service whose name begins with
// "ramjet" are left alone.
func unknownVariables(environ []string) []string {
	var known []string
	for _, o := range options(new(config)) {
		known = append(known, o.variables()...)
	}
	var warnings []string
	for _, entry := range environ {
		name, text, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(strings.ToUpper(name), envPrefix) || slices.Contains(known, name) {
			continue
		}
		if strings.HasPrefix(name, "RAMJET_TOP_") || serviceVariable(name, text) {
			continue
		}
		warnings = append(warnings, fmt.Sprintf("environment variable %s is not known and has no effect%s",
			shown(name), nearest.Hint(name, known)))
	}
	slices.Sort(warnings)
	return warnings
}

// serviceNames are the variables that Kubernetes derives from a Service.
var serviceNames = regexp.MustCompile(`^RAMJET(_[A-Z0-9_]+)?_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$`)

// servicePort is the one of them that a person could have made up, too; it is
// told apart by its value.
var servicePort = regexp.MustCompile(`^RAMJET(_[A-Z0-9_]+)?_PORT$`)

func serviceVariable(name, text string) bool {
	if serviceNames.MatchString(name) {
		return true
	}
	scheme, _, isURL := strings.Cut(text, "://")
	return servicePort.MatchString(name) && isURL && slices.Contains([]string{"tcp", "udp", "sctp"}, scheme)
}
