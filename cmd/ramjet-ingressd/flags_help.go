package main

import (
	"fmt"
	"strings"
)

const (
	helpWidth  = 82 // columns of the help
	helpIndent = 30 // where the explanations begin
)

const helpHead = `ramjet-ingressd serves HTTP and HTTPS from one immutable route table: a change
of configuration is a single pointer store, and so is going back to an older one.

usage: ramjet-ingressd [flags]
       ramjet-ingressd --static-routes FILE [flags]
       ramjet-ingressd --demo [flags]

Without --static-routes and --demo it serves the Ingresses of a cluster: that of
the pod it runs in, else that of $KUBECONFIG or ~/.kube/config.
`

const helpTail = `
ADDR is host:port, :port, port or [::1]:8443; port 0 takes any free one. 0.0.0.0
is all of IPv4; without a host it is all addresses of both versions.
TIME is 5s, 500ms, 1h30m, or bare seconds.

Every flag has an environment twin: RAMJET_ and the name in capitals, with
underscores for dashes (RAMJET_CONNECT_TIMEOUT is --connect-timeout). A flag beats
the environment, the environment beats the default; an empty variable counts as
not set. Switches in the environment: true, 1, yes, on or false, 0, no, off.

Exit status: 0 after a stop that was asked for (SIGTERM or SIGINT), 1 when a
second signal ended it at once, 2 when a flag, a variable, the route file, the
configuration of the cluster or a port is refused: nothing was started then.

Examples:
  ramjet-ingressd --publish-service ramjet-system/ramjet-ingress
  ramjet-ingressd --demo
  ramjet-ingressd --static-routes routes.yaml --http :80 --https :443
  ramjet-ingressd --static-routes routes.yaml --trusted-proxies 10.0.0.0/8
  curl localhost:10254/admin/generations
`

// helpText is what --help prints.
func helpText() string {
	var b strings.Builder
	b.WriteString(helpHead)
	for _, g := range groups(new(config)) {
		fmt.Fprintf(&b, "\n%s:\n", g.title)
		for _, o := range g.options {
			writeOption(&b, o)
		}
	}
	b.WriteString(helpTail)
	return b.String()
}

// writeOption writes one flag with its explanation wrapped beside it.
func writeOption(b *strings.Builder, o option) {
	text := o.help
	if o.def != "" {
		text += " (default " + o.def + ")"
	}
	line := fmt.Sprintf("%-*s", helpIndent, strings.TrimRight("  --"+o.name+" "+o.arg, " ")+" ")
	start := len(line)
	for _, word := range strings.Fields(text) {
		if len(line) > start && len(line)+len(word) >= helpWidth {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			line, start = strings.Repeat(" ", helpIndent), helpIndent
		}
		line += word + " "
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
}
