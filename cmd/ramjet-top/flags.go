package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"ramjet.dev/ingress/internal/adminclient"
	"ramjet.dev/ingress/internal/nearest"
)

// config is everything that flags and environment decide, checked.
type config struct {
	help, version bool

	targets     []adminclient.Target // at least one
	interval    time.Duration
	readOnly    bool
	tokenFile   string // "" = none
	tokenSource string // the flag or the variable that names it
	token       string // its contents
	once, json  bool
}

const helpText = `ramjet-top shows what ramjet-ingressd serves, as it happens: requests, errors and
latency by route, and the timeline of generations with the emergency brake.

usage: ramjet-top [flags] [HOST:PORT ...]

HOST:PORT is the admin port of a daemon: host:port, host, :port, port or
[::1]:10254 (default 127.0.0.1:10254). Several are taken for replicas: their sum is
shown, and a row for each.

flags:
      --url URL           a daemon behind a proxy, or with https; can be repeated
  -i, --interval TIME     how often to ask: 1s, 500ms or bare seconds (default 1s)
      --read-only         refuse to pin and to release
      --token-file PATH   the admin token, sent with pin and release only
      --once              print totals by route, sorted by host and path, and end
      --json              print the answers of the daemon and the series read, and
                          end; an object for each daemon
      --version           print the version and end
  -h, --help              print this and end

RAMJET_TOP_TOKEN_FILE is --token-file from the environment; the flag beats it.
With NO_COLOR set to anything, and with TERM=dumb, there are no colours.

Exit status: 0 when all went well, 1 when a daemon could not be reached or the
terminal broke, 2 when a flag, a variable or the terminal is refused: nothing was
asked then.

Examples:
  ramjet-top
  ramjet-top --token-file token 10.0.0.7 10.0.0.8 10.0.0.9
  ramjet-top --once | grep checkout
  ramjet-top --json | jq '.routes.routes[] | select(.errors_5xx_total > 0)'
`

// tokenVariable is the environment twin of --token-file.
const tokenVariable = "RAMJET_TOP_TOKEN_FILE"

// parseFlags reads the arguments, without the name of the program. The error is one
// line that names the flag or the variable and says what is accepted.
func parseFlags(args []string, getenv func(string) (string, bool)) (config, error) {
	var c config
	var urls []string
	interval := "1s"
	set := pflag.NewFlagSet("ramjet-top", pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.Usage = func() {}
	set.StringArrayVar(&urls, "url", nil, "")
	set.StringVarP(&interval, "interval", "i", interval, "")
	set.BoolVar(&c.readOnly, "read-only", false, "")
	set.StringVar(&c.tokenFile, "token-file", "", "")
	set.BoolVar(&c.once, "once", false, "")
	set.BoolVar(&c.json, "json", false, "")
	set.BoolVar(&c.version, "version", false, "")
	set.BoolVarP(&c.help, "help", "h", false, "")
	if err := set.Parse(args); err != nil {
		if asksForHelp(args) {
			return config{help: true}, nil
		}
		return config{}, explain(err, set)
	}
	if c.help || c.version {
		return c, nil
	}
	var err error
	if c.interval, err = parseInterval(interval); err != nil {
		return config{}, fmt.Errorf("--interval: %w", err)
	}
	c.tokenSource = "--token-file"
	switch text, ok := getenv(tokenVariable); {
	case set.Changed("token-file") && c.tokenFile == "":
		return config{}, errors.New("--token-file: the name of the file is empty")
	case !set.Changed("token-file") && ok:
		c.tokenFile, c.tokenSource = text, tokenVariable
	}
	c.targets, err = parseTargets(set.Args(), urls)
	return c, err
}

// parseTargets reads the daemons to watch, the local one if none is named.
func parseTargets(addresses, urls []string) ([]adminclient.Target, error) {
	if len(addresses)+len(urls) == 0 {
		addresses = []string{"127.0.0.1"}
	}
	var all []adminclient.Target
	for _, text := range addresses {
		t, err := adminclient.ParseTarget(text)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	for _, text := range urls {
		t, err := adminclient.ParseURL(text)
		if err != nil {
			return nil, fmt.Errorf("--url: %w", err)
		}
		all = append(all, t)
	}
	for i, t := range all {
		if slices.ContainsFunc(all[:i], func(other adminclient.Target) bool { return other.URL == t.URL }) {
			return nil, fmt.Errorf("%s is named twice, and would be counted twice: name it once", t.Name)
		}
	}
	return all, nil
}

// Bounds of the interval: a screen that changes faster is not read, one that changes
// slower is not watched.
const (
	shortestInterval = 100 * time.Millisecond
	longestInterval  = time.Hour
)

func parseInterval(text string) (time.Duration, error) {
	bare := text
	if text != "" && strings.Trim(text, "0123456789.") == "" {
		text += "s"
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < shortestInterval || d > longestInterval {
		return 0, fmt.Errorf("%q is no time from 100ms to 1h: write 1s, 500ms or bare seconds", bare)
	}
	return d, nil
}

func asksForHelp(args []string) bool {
	return slices.Contains(args, "--help") || slices.Contains(args, "-h")
}

// explain turns a complaint of pflag into ours.
func explain(err error, set *pflag.FlagSet) error {
	var unknown *pflag.NotExistError
	var bare *pflag.ValueRequiredError
	var value *pflag.InvalidValueError
	switch {
	case errors.As(err, &bare):
		return fmt.Errorf("--%s: a value is missing, see --help", bare.GetFlag().Name)
	case errors.As(err, &unknown):
		var names []string
		set.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		name, dashes := unknown.GetSpecifiedName(), "--"
		if unknown.GetSpecifiedShortnames() != "" {
			name, dashes = unknown.GetSpecifiedShortnames(), "-"
		}
		if near, ok := nearest.Word(name, names); ok {
			return fmt.Errorf("unknown flag %s%s, did you mean --%s?", dashes, shown(name), near)
		}
		return fmt.Errorf("unknown flag %s%s, see --help", dashes, shown(name))
	case errors.As(err, &value):
		return fmt.Errorf("--%s: %q is neither true nor false", value.GetFlag().Name, value.GetValue())
	}
	return fmt.Errorf("%w, see --help", err)
}

// shown makes a word of the user fit for one line of a terminal.
func shown(word string) string { return strings.Trim(strconv.Quote(word), `"`) }
