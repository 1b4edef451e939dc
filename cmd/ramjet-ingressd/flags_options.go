package main

import (
	"slices"
	"strings"

	"ramjet.dev/ingress/internal/translate"
)

// option is one flag with its environment twin.
type option struct {
	name     string // the flag, without dashes
	arg      string // what its value is called in the help; "" = a switch
	def      string // the default, as it could be given; "" = the zero value
	help     string
	list     bool                    // repeated flags add up
	opposite string                  // a variable that says the opposite of a switch, without the prefix
	set      func(text string) error // checks and stores
}

// variable is the name of the environment twin.
func (o option) variable() string {
	return envPrefix + strings.ReplaceAll(strings.ToUpper(o.name), "-", "_")
}

// variables are all variables of an option.
func (o option) variables() []string {
	if o.opposite == "" {
		return []string{o.variable()}
	}
	return []string{o.variable(), envPrefix + o.opposite}
}

func (o option) isSwitch() bool { return o.arg == "" }

// group is a part of the help.
type group struct {
	title   string
	options []option
}

// groups is the table of all flags of this build, in the order of the help, each
// with a setter into c. A flag that is not here is unknown, even when a later
// version will have it: a setting that is accepted and does nothing is worse than
// one that is refused.
func groups(c *config) []group {
	return []group{
		{"What to serve", []option{
			{
				name: "static-routes", arg: "FILE",
				help: "serve the routes of this YAML file; Kubernetes is not contacted",
				set:  file(&c.staticRoutes),
			},
			{
				name: "demo",
				help: "serve built-in routes, upstreams and a self-signed certificate: needs nothing else on the machine",
				set:  onOff(&c.demo),
			},
		}},
		{"Kubernetes (the default)", []option{
			{
				name: "ingress-class", arg: "NAME", def: "ramjet",
				help: "value of the annotation kubernetes.io/ingress.class that makes an Ingress ours; classes are ours by their controller",
				set:  to(&c.ingressClass, parseObjectName),
			},
			{
				name: "watch-namespace", arg: "NS",
				help: "read this namespace only (default all of them)",
				set:  to(&c.watchNamespace, parseNamespace),
			},
			{
				name: "default-backend", arg: "NS/NAME:PORT",
				help: "Service for requests that no route takes (default none: 404)",
				set:  to(&c.defaultBackend, quoting(translate.ParseBackendRef)),
			},
			{
				name: "default-tls-secret", arg: "NS/NAME",
				help: "certificate for names that no Ingress claims (default none: the handshake fails)",
				set:  to(&c.defaultTLSSecret, quoting(translate.ParseNamespacedName)),
			},
			{
				name: "publish-service", arg: "NS/NAME",
				help: "write the addresses of this Service into the status of Ingresses; beats --publish-address",
				set:  to(&c.publishService, quoting(translate.ParseNamespacedName)),
			},
			{
				name: "publish-address", arg: "ADDR",
				help: "write this IP address or host name into the status of Ingresses",
				set:  to(&c.publishAddress, parsePublishAddress),
			},
			{
				name: "no-status-update", opposite: "UPDATE_STATUS",
				help: "never write to an Ingress (variable: RAMJET_UPDATE_STATUS=false)",
				set:  onOff(&c.noStatusUpdate),
			},
		}},
		{"Where to listen", []option{
			{
				name: "http", arg: "ADDR", def: "0.0.0.0:8080",
				help: "plain HTTP",
				set:  address(&c.http),
			},
			{
				name: "https", arg: "ADDR", def: "0.0.0.0:8443",
				help: "TLS; of a route file without certificates only when given",
				set:  address(&c.https),
			},
			{
				name: "admin", arg: "ADDR", def: "0.0.0.0:10254",
				help: "probes, metrics, generations and rollback",
				set:  address(&c.admin),
			},
			{
				name: "no-http",
				help: "do not listen for HTTP",
				set:  onOff(&c.http.off),
			},
			{
				name: "no-https",
				help: "do not listen for TLS",
				set:  onOff(&c.https.off),
			},
			{
				name: "no-admin",
				help: "do not listen for the admin API",
				set:  onOff(&c.admin.off),
			},
		}},
		{"Emergency brake and audit", []option{
			{
				name: "admin-token-file", arg: "PATH",
				help: "rollback needs the bearer token in this file; without it anyone who reaches the admin port may roll back",
				set:  file(&c.adminTokenFile),
			},
			{
				name: "history-size", arg: "N", def: "10",
				help: "generations kept to roll back to; 0 reads as 1",
				set:  number(&c.historySize, 0, 10000),
			},
			{
				name: "audit-webhook", arg: "URL",
				help: "POST every configuration change to this http:// URL",
				set:  webhookURL(&c.auditWebhook),
			},
		}},
		{"Upstreams", []option{
			{
				name: "connect-timeout", arg: "TIME", def: "5s",
				help: "to connect to an endpoint",
				set:  duration(&c.connectTimeout, positive),
			},
			{
				name: "response-timeout", arg: "TIME", def: "60s",
				help: "from the request to the first byte of the answer",
				set:  duration(&c.responseTimeout, positive),
			},
			{
				name: "stream-idle-timeout", arg: "TIME", def: "5m",
				help: "between two bytes of a body; 0 = none",
				set:  duration(&c.streamIdleTimeout, zeroToo),
			},
			{
				name: "tunnel-idle-timeout", arg: "TIME", def: "1h",
				help: "an upgraded connection idle both ways; 0 = none",
				set:  duration(&c.tunnelIdleTimeout, zeroToo),
			},
			{
				name: "max-connect-attempts", arg: "N", def: "3",
				help: "endpoints to try for a request; 0 reads as 1",
				set:  number(&c.maxConnectAttempts, 0, 1000),
			},
			{
				name: "upstream-pool-idle", arg: "N", def: "128",
				help: "idle connections kept for each endpoint",
				set:  number(&c.upstreamPoolIdle, 0, 65536),
			},
		}},
		{"Clients", []option{
			{
				name: "proxy-protocol",
				help: "every connection to the data ports begins with a PROXY header, v1 or v2",
				set:  onOff(&c.proxyProtocol),
			},
			{
				name: "proxy-protocol-timeout", arg: "TIME", def: "5s",
				help: "for that header to arrive",
				set:  duration(&c.proxyProtocolTimeout, positive),
			},
			{
				name: "trusted-proxies", arg: "CIDR,...",
				help: "peers whose X-Forwarded-* headers are believed (default none)", list: true,
				set: prefixes(&c.trustedProxies),
			},
			{
				name: "underscores-in-headers",
				help: "pass on header fields whose name has an underscore",
				set:  onOff(&c.underscoresInHeaders),
			},
			{
				name: "mirror-max-body", arg: "N", def: "262144",
				help: "size up to which request bodies are mirrored; 0 = none",
				set:  number(&c.mirrorMaxBody, 0, 16<<20),
			},
			{
				name: "max-header-bytes", arg: "N", def: "65536",
				help: "size of a header block",
				set:  number(&c.maxHeaderBytes, 1024, 16<<20),
			},
			{
				name: "client-header-timeout", arg: "TIME", def: "10s",
				help: "for the whole header of a request",
				set:  duration(&c.clientHeaderTimeout, positive),
			},
			{
				name: "client-idle-timeout", arg: "TIME", def: "75s",
				help: "between two requests of a connection",
				set:  duration(&c.clientIdleTimeout, positive),
			},
		}},
		{"Process", []option{
			{
				name: "access-log", arg: "FORMAT", def: "off",
				help: "one line a request to standard output: json, text or off",
				set:  oneOf(&c.accessLog, "off", "json", "text"),
			},
			{
				name: "engine", arg: "NAME", def: "nethttp",
				help: "data plane: nethttp, or reactor (Linux)",
				set:  engineName(&c.engine),
			},
			{
				name: "worker-threads", arg: "N", def: "0",
				help: "threads that serve; 0 = one for each core",
				set:  number(&c.workerThreads, 0, 1024),
			},
			{
				name: "log-level", arg: "LEVEL", def: "info",
				help: "debug, info, warn or error",
				set:  logLevel(&c.logLevel),
			},
			{
				name: "log-format", arg: "FORMAT", def: "text",
				help: "text or json, to standard error",
				set:  oneOf(&c.logFormat, "text", "json"),
			},
			{
				name: "shutdown-grace", arg: "TIME", def: "30s",
				help: "for requests in flight when asked to stop; 0 = close at once",
				set:  duration(&c.shutdownGrace, zeroToo),
			},
		}},
		{"About", []option{
			{
				name: "version",
				help: "print the version and exit",
				set:  onOff(&c.version),
			},
			{
				name: "help",
				help: "print this and exit (also -h)",
				set:  onOff(&c.help),
			},
		}},
	}
}

// options are the flags of groups without the groups.
func options(c *config) []option {
	var all []option
	for _, g := range groups(c) {
		all = append(all, g.options...)
	}
	return all
}

// kubernetesOptions are the names of the flags of Kubernetes mode.
func kubernetesOptions() []string {
	var names []string
	for _, g := range groups(new(config)) {
		if strings.HasPrefix(g.title, "Kubernetes") {
			for _, o := range g.options {
				names = append(names, o.name)
			}
		}
	}
	return names
}

// optionNames are the names of all flags.
func optionNames() []string {
	var names []string
	for _, o := range options(new(config)) {
		names = append(names, o.name)
	}
	return names
}

// optionNamed returns the option of a name that is in the table.
func optionNamed(name string) option {
	all := options(new(config))
	return all[slices.IndexFunc(all, func(o option) bool { return o.name == name })]
}

// defaults is the config of somebody who gave nothing. The texts in the table
// are parsed like given ones, so the help cannot say anything else than is done.
func defaults() config {
	var c config
	for _, o := range options(&c) {
		if o.def == "" {
			continue
		}
		if err := o.set(o.def); err != nil {
			panic("flags: default of --" + o.name + ": " + err.Error())
		}
	}
	return c
}
