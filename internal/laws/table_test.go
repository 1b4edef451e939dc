package laws

// rule is what one package may be and do.
type rule struct {
	// layer is its height: 0 kernels, 1 compilers, 2 engines and shells, 3 what
	// ties them together, 4 programs. Nothing imports from a higher layer.
	layer int
	// kernel packages are pure: no socket, file, clock, logger or goroutine.
	kernel bool
	// testOnly packages help tests and are not part of any program.
	testOnly bool
	// program packages wire the others together and may import them all.
	program bool
	// imports are the packages of this module and the modules of others (with all
	// their packages) that it may import, each with the reason.
	imports because
	// except lists what a kernel may import although kernels may not.
	except because
}

// because maps an import path to the reason for it, in words.
type because map[string]string

// table has every package outside tests. Packages of this module are written
// from its root.
var table = map[string]rule{
	// Layer 0: kernels.
	"internal/route": {layer: 0, kernel: true},
	"internal/certs": {
		layer: 0, kernel: true,
		imports: because{
			"internal/route": "CertID is the name under which a table knows a certificate",
		},
		except: because{
			"crypto/tls":  "its result is the value that a handshake takes",
			"crypto/x509": "it parses certificates and keys",
		},
	},
	"internal/http1":      {layer: 0, kernel: true},
	"internal/proxyproto": {layer: 0, kernel: true},
	"internal/audit": {
		layer: 0, kernel: true,
		imports: because{
			"internal/route": "an event carries the diff of two tables",
		},
		except: because{
			"log/slog": "an event lists its fields as attributes, and LogSink writes them",
			"context":  "LogSink: slog wants one with a record that carries attributes",
		},
	},
	"internal/plain": {
		layer: 0, kernel: true,
		imports: because{
			"github.com/charmbracelet/x/ansi": "the width of characters, and cutting beside escape sequences of our own",
		},
	},
	"internal/deadline":  {layer: 0, kernel: true},
	"internal/nearest":   {layer: 0, kernel: true},
	"internal/probation": {layer: 0, kernel: true},
	"internal/strictyaml": {
		layer: 0, kernel: true,
		imports: because{
			"internal/nearest":   "a misspelt key is answered with the one that was meant",
			"go.yaml.in/yaml/v3": "the files are YAML, and faults need line numbers",
		},
	},

	"internal/probation/plan": {
		layer: 0, kernel: true,
		imports: because{
			"internal/probation": "a line of a plan is an event",
		},
	},
	"internal/kube/pace":    {layer: 0, kernel: true},
	"internal/kube/backlog": {layer: 0, kernel: true},

	// Layer 1: compilers.
	"internal/generation": {
		layer: 1, kernel: true,
		imports: because{
			"internal/audit": "recording, pinning and releasing answer with events",
			"internal/certs": "a generation names the set of its certificates",
			"internal/route": "a generation is a table",
		},
		except: because{
			"crypto/tls": "the live holder is what a handshake asks for a certificate",
		},
	},
	"internal/staticfile": {
		layer: 1, kernel: true,
		imports: because{
			"internal/certs":      "a pair that no handshake could use is a fault of the file",
			"internal/nearest":    "a misspelt word is answered with the one that was meant",
			"internal/route":      "a route file compiles to a route.Spec",
			"internal/strictyaml": "it reads the file, and finds what is wrong with its form",
			"go.yaml.in/yaml/v3":  "a route and an endpoint are read from their nodes",
		},
		except: because{
			"os": "it reads the route file and the PEM files that it names",
		},
	},

	"internal/translate": {
		layer: 1, kernel: true,
		imports: because{
			"internal/certs":      "the material of certificates is part of the result",
			"internal/route":      "Kubernetes objects translate to a route.Spec",
			"k8s.io/api":          "the types of the objects",
			"internal/nearest":    "a misspelt annotation is answered with the one that was meant",
			"k8s.io/apimachinery": "the types inside of them",
		},
	},

	"internal/soak/config": {
		layer: 1, kernel: true,
		imports: because{
			"internal/nearest":    "a misspelt placeholder is answered with the one that was meant",
			"internal/strictyaml": "it reads the file, and finds what is wrong with its form",
			"go.yaml.in/yaml/v3":  "the sections of the file are read from their nodes",
		},
		except: because{
			"os": "it reads the config",
		},
	},

	"internal/soak/decide": {
		layer: 1, kernel: true,
		imports: because{
			"internal/probation": "what comes next depends on where the kernel stands",
		},
	},

	// Layer 2: engines and shells.
	"internal/accesslog": {layer: 2},
	"internal/engine": {
		layer: 2,
		imports: because{
			"internal/route": "the plan of a request begins with its route",
		},
	},
	"internal/upstream": {
		layer: 2,
		imports: because{
			"internal/deadline": "an idle connection's deadline is moved only when it matters",
			"internal/progress": "writes to endpoints last as long as bytes move",
		},
	},
	"internal/engine/mirror": {
		layer: 2,
		imports: because{
			"internal/engine": "it counts copies in the engines' metrics",
			"internal/route":  "a copy goes to an endpoint of the mirror's backend",
		},
	},
	"internal/logsink": {layer: 2},
	"internal/progress": {
		layer: 2,
		imports: because{
			"internal/deadline": "the deadline of a write is moved only when it matters",
		},
	},
	"internal/engine/nethttp": {
		layer: 2,
		imports: because{
			"internal/progress":      "writes to clients last as long as bytes move",
			"golang.org/x/sys/unix":  "poll(2) tells of a client that left bytes unread behind",
			"internal/engine/mirror": "copies are sent beside the exchange, never in it",
			"internal/deadline":      "deadlines of clients are moved only when it matters",
			"internal/engine":        "the rules that all engines share",
			"internal/http1":         "the gate reads heads strictly before net/http sees them",
			"internal/proxyproto":    "a connection may have to begin with a PROXY header",
			"internal/route":         "it asks the table for the route of a request",
			"internal/upstream":      "it takes its connections from the pools",
		},
	},
	"internal/engine/reactor": {
		layer: 2,
		imports: because{
			"golang.org/x/sys/unix":   "epoll(7), and sockets without package net",
			"internal/engine":         "the rules that all engines share",
			"internal/engine/mirror":  "copies are sent beside the loops",
			"internal/engine/nethttp": "it serves what is handed over: HTTP/2 on either side",
			"internal/http1":          "messages are read by the kernel",
			"internal/proxyproto":     "a connection may have to begin with a PROXY header",
			"internal/route":          "it asks the table for the route of a request",
			"internal/upstream":       "its idle connections follow the table as those of the pools do",
		},
	},
	"internal/webhook": {
		layer: 2,
		imports: because{
			"internal/audit": "it is a sink of events",
			"internal/route": "the body of the POST is the diff",
		},
	},

	"internal/kube": {
		layer: 2,
		imports: because{
			"internal/audit":         "changes of the configuration are told on the IngressClass",
			"internal/kube/events":   "it is the part that writes Events",
			"internal/kube/lead":     "it decides who writes",
			"internal/kube/observed": "it is the part that says which generation has an edit",
			"internal/kube/pace":     "what is to be written is not looked at all the time",
			"internal/kube/status":   "it is the part that publishes addresses",
			"internal/kube/watch":    "it is the part that reads",
			"internal/kube/write":    "writes wait in its queues",
			"internal/translate":     "what it emits is a snapshot, and what it tells are warnings",
			"k8s.io/api":             "references to objects",
			"k8s.io/apimachinery":    "the names of objects",
			"k8s.io/client-go":       "the client that its parts share",
		},
	},
	"internal/kube/events": {
		layer: 2,
		imports: because{
			"internal/audit":      "an event of the audit trail becomes one of the API",
			"internal/kube/pace":  "Events have a budget",
			"internal/kube/write": "warnings wait in its queue",
			"internal/translate":  "warnings are what it tells",
			"k8s.io/api":          "the type of an Event",
			"k8s.io/apimachinery": "errors of the API, and times as it writes them",
			"k8s.io/client-go":    "the client that creates them",
		},
	},
	"internal/kube/lead": {
		layer: 2,
		imports: because{
			"k8s.io/apimachinery": "errors of the API, and the name of the Lease",
			"k8s.io/client-go":    "leader election by a Lease",
		},
	},
	"internal/kube/observed": {
		layer: 2,
		imports: because{
			"internal/kube/watch": "which two versions of an Ingress are the same to compiling",
			"k8s.io/api":          "the type of an Ingress",
			"k8s.io/apimachinery": "patches",
			"k8s.io/client-go":    "the client that patches",
		},
	},
	"internal/kube/status": {
		layer: 2,
		imports: because{
			"internal/kube/watch": "whether a status is ours",
			"internal/translate":  "the controller of our IngressClasses",
			"k8s.io/api":          "Ingresses, and the Service with the addresses",
			"k8s.io/apimachinery": "equality as the API means it",
			"k8s.io/client-go":    "the client that applies",
		},
	},
	"internal/kube/write": {
		layer: 2,
		imports: because{
			"internal/kube/backlog": "what waits to be written",
			"internal/kube/pace":    "how fast it is",
			"k8s.io/apimachinery":   "which errors pass by themselves",
		},
	},
	"internal/kube/connect": {
		layer: 2,
		imports: because{
			"internal/kube/pace": "what the library logs is rationed",
			"k8s.io/client-go":   "the configuration of a pod and of kubectl, and the client",
			"k8s.io/klog/v2":     "what the library logs goes through it",
		},
	},
	"internal/kube/watch": {
		layer: 2,
		imports: because{
			"internal/translate":  "what it keeps is handed out as the snapshot that is translated",
			"k8s.io/api":          "the objects that it keeps",
			"k8s.io/apimachinery": "names, selectors and errors of the API",
			"k8s.io/client-go":    "reflectors list and watch",
		},
	},

	"internal/soak/control": {
		layer: 2,
		imports: because{
			"internal/probation": "clients are told what was written into the ledger, and how the kernel stands",
		},
	},
	"internal/soak/ledger": {
		layer: 2,
		imports: because{
			"internal/probation":    "the lines of a ledger are the kernel's entries",
			"golang.org/x/sys/unix": "fallocate(2), to see whether a full disk has room again",
		},
	},
	"internal/soak/process": {
		layer: 2,
		imports: because{
			"golang.org/x/sys/unix": "process descriptors, and pipes with a name",
		},
	},
	"internal/soak/readiness": {
		layer: 2,
		imports: because{
			"internal/soak/config":  "it says how to ask a release",
			"golang.org/x/sys/unix": "waitid(2), to sweep up behind a program before its number is free",
		},
	},

	// Layer 3: what ties them together.
	"internal/soak/supervise": {
		layer: 3,
		imports: because{
			"internal/probation":      "it feeds the kernel, and writes what that says",
			"internal/soak/config":    "it supervises what the config says",
			"internal/soak/control":   "it answers the commands of operators",
			"internal/soak/decide":    "it makes the moves that decide says",
			"internal/soak/ledger":    "nothing is done that is not written first",
			"internal/soak/process":   "it starts and stops releases",
			"internal/soak/readiness": "it waits until a release is ready",
			"golang.org/x/sys/unix":   "the lock of the state folder",
		},
	},
	"internal/rebuild": {
		layer: 3,
		imports: because{
			"internal/certs":      "it builds the set of certificates",
			"internal/control":    "it offers what it made, and takes what is kept from there",
			"internal/generation": "what it makes is one",
			"internal/kube/pace":  "when to compile next",
			"internal/route":      "it compiles the table",
			"internal/translate":  "it begins with a translation",
		},
	},
	"internal/control": {
		layer: 3,
		imports: because{
			"internal/audit":      "it hands events to the sinks",
			"internal/certs":      "a compiler finds the certificates of the kept generations here",
			"internal/generation": "it is the single writer of the history and of what is live",
			"internal/route":      "it tells the pools what the serving table names",
		},
	},
	"internal/admin": {
		layer: 3,
		imports: because{
			"internal/control":                    "it shows the state of the control loop and sends it commands",
			"internal/engine":                     "it exposes the engines' metrics",
			"internal/generation":                 "it shows the kept generations",
			"internal/route":                      "it shows the routes with their numbers",
			"github.com/prometheus/client_golang": "the exposition format, and the numbers of the Go runtime and the process",
		},
	},

	"internal/adminclient": {
		layer: 3,
		imports: because{
			"internal/admin":                     "the answers of the interface",
			"internal/plain":                     "what a stranger answers goes into errors, which are shown on terminals",
			"github.com/prometheus/client_model": "what the parser of the exposition answers with",
			"github.com/prometheus/common":       "the parser of the exposition",
		},
	},
	"internal/top/tally": {
		layer: 3, kernel: true,
		imports: because{
			"internal/admin":       "the routes and generations of a reading",
			"internal/adminclient": "readings are what it compares",
			"internal/plain":       "names of routes are cleaned when they come in",
		},
	},
	"internal/top": {
		layer: 3,
		imports: because{
			"internal/admin":                        "the answer to a pin, and the lines of a diff",
			"internal/adminclient":                  "readings, and the reasons why there is none",
			"internal/plain":                        "texts are cut to the columns they have",
			"internal/top/tally":                    "what there is to draw",
			"charm.land/bubbles/v2":                 "table, help, text input, scrolling text",
			"charm.land/bubbletea/v2":               "the loop, the keys and the terminal",
			"charm.land/lipgloss/v2":                "styles",
			"github.com/charmbracelet/colorprofile": "no colours where none are wanted",
			"github.com/charmbracelet/x/ansi":       "wrapping long lines, and dimming styled ones",
		},
	},

	// Layer 4: programs.
	"cmd/ramjet-ingressd": {
		layer: 4, program: true,
		imports: because{
			"github.com/spf13/pflag": "the syntax of flags",
			"k8s.io/apimachinery":    "what can be the name of an object",
		},
	},
	"cmd/soak": {
		layer: 4, program: true,
		imports: because{
			"github.com/charmbracelet/x/term": "whether what is printed is seen on a terminal",
			"github.com/spf13/pflag":          "the syntax of flags",
		},
	},

	"cmd/ramjet-top": {
		layer: 4, program: true,
		imports: because{
			"github.com/charmbracelet/x/term": "whether standard output is a terminal",
			"github.com/spf13/pflag":          "the syntax of flags",
			"golang.org/x/sys/unix":           "the clock that counts on while a laptop sleeps",
		},
	},

	// Beside the product.
	"examples/soak/demo": {
		layer: 4, program: true,
		imports: because{
			"golang.org/x/sys/unix": "it takes the last connections of its listener, to stop without a gap",
		},
	},
	"bench/gauge":   {layer: 4, program: true},
	"bench/mirrors": {layer: 4, program: true},
	"bench/plans":   {layer: 4, program: true},

	// Only for tests.
	"test/terminal": {
		layer: 0, testOnly: true,
		imports: because{
			"github.com/charmbracelet/x/vt": "what a program writes is read as a terminal shows it",
			"github.com/creack/pty":         "a real pseudo-terminal",
		},
	},
	"test/daemon": {
		layer: 4, testOnly: true,
		imports: because{
			"internal/certs/certtest": "route files of tests name certificates",
		},
	},
	"test/cluster": {
		layer: 4, testOnly: true,
		imports: because{
			"golang.org/x/sys":    "entering a network namespace",
			"k8s.io/api":          "ServiceAccounts and their rights",
			"k8s.io/apimachinery": "the metadata of objects",
			"k8s.io/client-go":    "the clients that tests get",
		},
	},
	"test/cluster/play":       {layer: 4, testOnly: true, program: true},
	"internal/certs/certtest": {layer: 0, testOnly: true},
	"internal/engine/enginetest": {
		layer: 2, testOnly: true,
		imports: because{
			"internal/certs":             "the suite serves real certificates",
			"internal/certs/certtest":    "it issues them",
			"internal/engine":            "the suite runs engines with their options and reads their metrics",
			"internal/generation":        "the suite publishes real generations",
			"internal/route":             "the suite compiles real tables",
			"internal/upstream":          "the suite makes the pools of the engine under test",
			"golang.org/x/net":           "HPACK, to send HTTP/2 frames that no client library sends",
			"github.com/coder/websocket": "a real WebSocket through an upgrade",
			"google.golang.org/grpc":     "a gRPC server and client that are not ours",
		},
	},
}

// impure are the standard packages that no kernel imports, with what to do
// instead. A path that ends in a slash stands for all below it.
var impure = because{
	"net":           "a kernel knows no sockets: take and give bytes, or net/netip values",
	"net/http":      "a kernel knows no requests of a server: take the strings it needs",
	"net/http/":     "a kernel knows no requests of a server: take the strings it needs",
	"net/rpc":       "a kernel knows no sockets",
	"crypto/tls":    "a kernel knows no handshakes: take and give values",
	"crypto/x509":   "only the certificate kernel parses certificates",
	"os":            "a kernel touches no files, environment or process: take the contents",
	"os/":           "a kernel touches no files, environment or process: take the contents",
	"syscall":       "a kernel makes no system calls",
	"unsafe":        "a kernel has no need of it",
	"log":           "a kernel never logs: return a diagnostic or an event",
	"log/slog":      "a kernel never logs: return a diagnostic or an event",
	"context":       "a kernel neither waits nor is cancelled",
	"sync":          "a kernel is a value: its owner decides who may use it at a time",
	"testing":       "test helpers belong in test files or test-only packages",
	"expvar":        "a kernel counts in values that it returns",
	"runtime/debug": "a kernel does not steer the runtime",
}
