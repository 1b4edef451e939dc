package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"

	"ramjet.dev/ingress/internal/nearest"
	"ramjet.dev/ingress/internal/translate"
)

// config is everything that flags and environment decide, checked and with
// defaults filled in. Nothing below cmd/ reads a flag or a variable.
type config struct {
	help    bool // the help is printed: nothing more to do
	version bool // only the version is asked for

	staticRoutes string // path of the route file
	demo         bool   // neither: Kubernetes mode

	ingressClass     string
	watchNamespace   string // "" = all
	defaultBackend   translate.BackendRef
	defaultTLSSecret types.NamespacedName
	publishService   types.NamespacedName
	publishAddress   string // "" = none
	noStatusUpdate   bool

	http, https, admin listener
	adminTokenFile     string // "" = no token

	historySize  int    // at least 1
	auditWebhook string // http:// URL, "" = none

	connectTimeout    time.Duration // > 0
	responseTimeout   time.Duration // > 0
	streamIdleTimeout time.Duration // 0 = none
	tunnelIdleTimeout time.Duration // 0 = none

	proxyProtocol        bool
	proxyProtocolTimeout time.Duration // > 0

	trustedProxies       []netip.Prefix // whose forwarding headers are believed; masked
	underscoresInHeaders bool

	mirrorMaxBody int // bytes; 0 = no request with a body is mirrored

	maxConnectAttempts int // at least 1
	upstreamPoolIdle   int // per endpoint; 0 = keep none

	engine        string // "nethttp"
	workerThreads int    // 0 = one per core

	maxHeaderBytes      int
	clientHeaderTimeout time.Duration // > 0
	clientIdleTimeout   time.Duration // > 0

	accessLog     string // "off", "json" or "text"
	logLevel      slog.Level
	logFormat     string        // "text" or "json"
	shutdownGrace time.Duration // 0 = close what is left at once
}

// listener is one of the three places to listen at.
type listener struct {
	address  string // host:port as net.Listen takes it; "" host = all addresses, port 0 = any
	off      bool   // asked not to listen
	explicit bool   // the address was given, so it is bound even where the default would not be
}

// enabled reports whether there may be a listener at all.
func (l listener) enabled() bool { return !l.off }

// parseFlags reads the arguments (without the program's name) and the
// environment twins of the flags: flag beats environment beats default. An empty
// variable counts as not set. The error is one line that names the flag or the
// variable and says what is accepted.
//
// --help is printed to out and reported as config.help; --version is only
// reported. Both win over everything else that is wrong, so that a person who is
// lost gets an answer.
func parseFlags(args []string, getenv func(string) (string, bool), out io.Writer) (config, error) {
	given, err := collect(args, getenv)
	if asked := questions(args, given, err); asked.help || asked.version {
		if asked.help {
			_, err := io.WriteString(out, helpText())
			return asked, err
		}
		return asked, nil
	}
	if err != nil {
		return config{}, err
	}
	c := defaults()
	for _, o := range options(&c) {
		v, ok := given[o.name]
		if !ok {
			continue
		}
		if err := o.set(v.text); err != nil {
			return config{}, fmt.Errorf("%s: %w", v.source, err)
		}
	}
	// 0 generations and 0 attempts have no meaning and read as 1.
	c.historySize = max(c.historySize, 1)
	c.maxConnectAttempts = max(c.maxConnectAttempts, 1)
	if err := settleListeners(&c, given); err != nil {
		return config{}, err
	}
	if err := checkTogether(c, given); err != nil {
		return config{}, err
	}
	return c, nil
}

// value is the text given for one option, and the name under which it was given.
type value struct {
	text     string
	source   string // "--http" or "RAMJET_HTTP"
	fromFlag bool
}

// collect gathers the text of every option that was given, unchecked. With an
// error the values found up to there are returned too.
func collect(args []string, getenv func(string) (string, bool)) (map[string]value, error) {
	given := make(map[string]value)
	for _, o := range options(new(config)) {
		for _, variable := range o.variables() {
			text, ok := getenv(variable)
			if !ok || text == "" {
				continue
			}
			if variable != o.variable() {
				text = opposite(text)
			}
			given[o.name] = value{text: text, source: variable}
		}
	}
	set := flagSet()
	err := set.ParseAll(args, func(f *pflag.Flag, text string) error {
		name := f.Name
		if before := given[name]; before.fromFlag && optionNamed(name).list {
			text = before.text + "," + text
		}
		given[name] = value{text: text, source: "--" + name, fromFlag: true}
		return nil
	})
	if err != nil {
		return given, explain(err, args)
	}
	if set.NArg() > 0 {
		return given, strayArgument(set.Arg(0))
	}
	return given, nil
}

// opposite turns a switch around; what is none is left to be refused.
func opposite(text string) string {
	on, err := parseSwitch(text)
	if err != nil {
		return text
	}
	return strconv.FormatBool(!on)
}

// flagSet declares the options to pflag, which does the syntax only: the
// declared values stay unset.
func flagSet() *pflag.FlagSet {
	set := pflag.NewFlagSet("ramjet-ingressd", pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.Usage = func() {}
	for _, o := range options(new(config)) {
		short := ""
		if o.name == "help" {
			short = "h"
		}
		set.StringP(o.name, short, "", "")
		if o.isSwitch() {
			set.Lookup(o.name).NoOptDefVal = "true"
		}
	}
	return set
}

// explain turns a complaint of pflag about the syntax into ours.
func explain(err error, args []string) error {
	var unknown *pflag.NotExistError
	var bare *pflag.ValueRequiredError
	var syntax *pflag.InvalidSyntaxError
	switch {
	case errors.As(err, &bare):
		o := optionNamed(bare.GetFlag().Name)
		return fmt.Errorf("--%s: a value is missing: give --%s %s", o.name, o.name, o.arg)
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		return oneDash(unknown.GetSpecifiedShortnames(), args)
	case errors.As(err, &unknown):
		name := unknown.GetSpecifiedName()
		if near, ok := nearest.Word(name, optionNames()); ok {
			return fmt.Errorf("unknown flag %s, did you mean --%s?", shown("--"+name), near)
		}
		return fmt.Errorf("unknown flag %s, see --help", shown("--"+name))
	case errors.As(err, &syntax):
		return fmt.Errorf("%s is not the form of a flag, see --help", shown(syntax.GetSpecifiedFlag()))
	}
	return fmt.Errorf("%w, see --help", err)
}

// oneDash is the refusal of a group of one-letter flags, of which there is only
// -h, so that a dash is missing most likely. rest is what pflag had not read yet.
func oneDash(rest string, args []string) error {
	word := "-" + rest
	for _, a := range args {
		if strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && strings.HasSuffix(a, rest) {
			word = a
			break
		}
	}
	name, _, _ := strings.Cut(word[1:], "=")
	if full, ok := nearest.Word(name, optionNames()); ok {
		return fmt.Errorf("unknown flag %s: flags are written with two dashes, did you mean --%s?", shown(word), full)
	}
	return fmt.Errorf("unknown flag %s: flags are written with two dashes, see --help", shown(word))
}

// shown makes a word of the user fit for one line of a terminal.
func shown(word string) string { return strings.Trim(strconv.Quote(word), `"`) }

func strayArgument(arg string) error {
	if _, err := parseSwitch(arg); err == nil {
		return fmt.Errorf("unexpected argument %q: a switch takes its value with an equals sign, as in --demo=%s", arg, arg)
	}
	return fmt.Errorf("unexpected argument %q: only flags are taken, see --help", arg)
}

// questions reports whether help or version is asked for: by a flag, by the
// plain word where the arguments could not be read to their end, or by the
// environment. cut is the error at which reading ended: a group of letters like
// -http may have been read as -h before it.
func questions(args []string, given map[string]value, cut error) config {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	asked := func(name string, words ...string) bool {
		v := given[name]
		if cut != nil && v.fromFlag {
			v = value{}
		}
		if !v.fromFlag && slices.ContainsFunc(args, func(a string) bool { return slices.Contains(words, a) }) {
			return true
		}
		yes, err := parseSwitch(v.text)
		return yes && err == nil
	}
	if asked("help", "--help", "-h") {
		return config{help: true}
	}
	return config{version: asked("version", "--version")}
}

// settleListeners decides between --http and --no-http, and so on for the other
// two: a flag beats a variable here too, and two of the same rank contradict.
func settleListeners(c *config, given map[string]value) error {
	listeners := map[string]*listener{"http": &c.http, "https": &c.https, "admin": &c.admin}
	for _, name := range []string{"http", "https", "admin"} {
		l := listeners[name]
		address, ok := given[name]
		l.explicit = ok
		off := given["no-"+name]
		if !ok || !l.off {
			continue
		}
		if address.fromFlag == off.fromFlag {
			return fmt.Errorf("%s: contradicts %s: leave one of them out", off.source, address.source)
		}
		l.off = off.fromFlag
		l.explicit = !l.off
	}
	return nil
}

// checkTogether refuses values that are good alone and senseless together.
func checkTogether(c config, given map[string]value) error {
	source := func(name string) string { return given[name].source }
	switch {
	case c.demo && c.staticRoutes != "":
		return fmt.Errorf("%s: cannot be combined with %s: the demo brings its own routes", source("demo"), source("static-routes"))
	case c.watchNamespace != "" && c.defaultBackend.Name != "" && c.defaultBackend.Namespace != c.watchNamespace:
		return outOfSight(given, "default-backend")
	case c.watchNamespace != "" && c.defaultTLSSecret.Name != "" && c.defaultTLSSecret.Namespace != c.watchNamespace:
		return outOfSight(given, "default-tls-secret")
	case c.http.off && c.https.off && c.admin.off:
		return fmt.Errorf("%s, %s and %s: leave nothing to listen on: drop one of them",
			source("no-http"), source("no-https"), source("no-admin"))
	case c.admin.off && c.adminTokenFile != "":
		return fmt.Errorf("%s: has no use with %s: drop one of them", source("admin-token-file"), source("no-admin"))
	}
	return checkMode(c, given)
}

// outOfSight refuses an object outside of the one namespace that is read.
func outOfSight(given map[string]value, name string) error {
	return fmt.Errorf("%s: is not in the namespace of %s, and no other is read: name one in it", given[name].source, given["watch-namespace"].source)
}

// checkMode refuses what only Kubernetes mode understands where there is none.
func checkMode(c config, given map[string]value) error {
	mode := "static-routes"
	switch {
	case c.kubernetes():
		return nil
	case c.demo:
		mode = "demo"
	}
	for _, name := range kubernetesOptions() {
		if v, ok := given[name]; ok {
			return fmt.Errorf("%s: has no use with %s, which reads nothing from Kubernetes: drop one of them", v.source, given[mode].source)
		}
	}
	return nil
}

// kubernetes reports whether what is served comes from a cluster.
func (c config) kubernetes() bool { return !c.demo && c.staticRoutes == "" }
