package route

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ParseText reads the canonical text form into a Spec that compiles to the same text.
// The input need not be canonical: lines may be in any order except that an endpoint,
// canary or mirror belongs to the backend or route above it; empty lines and lines that
// start with "#" are skipped; routes and certs may say created=N and owner=WORD. Where
// they do not, earlier lines are older, which keeps the order that the text shows. An
// error names its line.
func ParseText(text string) (Spec, error) {
	var p parser
	number := 0
	for line := range strings.Lines(text) {
		number++
		if err := p.line(line, int64(number)); err != nil {
			return Spec{}, fmt.Errorf("line %d: %w", number, err)
		}
	}
	return p.spec, nil
}

type parser struct {
	spec  Spec
	words []string // what is left of the line
}

// line reads one line; age is what a route or cert is as old as if it does not say.
func (p *parser) line(line string, age int64) (err error) {
	if p.words, err = splitWords(line); err != nil || len(p.words) == 0 {
		return err
	}
	switch word := p.next(); word {
	case "default-backend":
		p.spec.DefaultBackend, err = p.wanted("a backend")
	case "backend":
		err = p.backend()
	case "endpoint":
		err = p.endpoint()
	case "host":
		var host string
		host, err = p.wanted("a host")
		p.spec.Hosts = append(p.spec.Hosts, host)
	case "route":
		err = p.route(age)
	case "canary":
		err = p.canary()
	case "mirror":
		err = p.mirror()
	case "cert":
		err = p.cert(age)
	default:
		return fmt.Errorf("unknown word %q", word)
	}
	if err == nil && len(p.words) > 0 {
		return fmt.Errorf("unexpected %q", p.words[0])
	}
	return err
}

func (p *parser) backend() error {
	name, err := p.wanted("a name")
	if err != nil {
		return err
	}
	policy, err := ParsePolicy(p.next())
	if err != nil {
		return err
	}
	protocol, err := ParseProtocol(p.next())
	if err != nil {
		return err
	}
	p.spec.Backends = append(p.spec.Backends, BackendSpec{Name: name, Policy: policy, Protocol: protocol})
	return nil
}

func (p *parser) endpoint() error {
	if len(p.spec.Backends) == 0 {
		return errors.New("endpoint without a backend above it")
	}
	address, err := p.wanted("an address")
	if err != nil {
		return err
	}
	e := EndpointSpec{Address: address, Weight: 1}
	err = p.options(map[string]func(string) error{"weight": intInto(&e.Weight)})
	b := &p.spec.Backends[len(p.spec.Backends)-1]
	b.Endpoints = append(b.Endpoints, e)
	return err
}

func (p *parser) route(age int64) (err error) {
	r := RouteSpec{Created: age}
	if r.Host, err = p.wanted("a host"); err != nil {
		return err
	}
	if r.Host == "*" {
		r.Host = ""
	}
	if r.Path, err = p.wanted("a path"); err != nil {
		return err
	}
	if r.PathType, err = ParsePathType(p.next()); err != nil {
		return err
	}
	arrow := p.next()
	if r.Regex = arrow == "regex"; r.Regex {
		arrow = p.next()
	}
	if arrow != "->" {
		return fmt.Errorf(`%q where "->" was expected`, arrow)
	}
	if r.Backend, err = p.wanted("a backend"); err != nil {
		return err
	}
	err = p.options(map[string]func(string) error{"created": int64Into(&r.Created), "owner": stringInto(&r.Owner)})
	p.spec.Routes = append(p.spec.Routes, r)
	return err
}

func (p *parser) canary() error {
	if len(p.spec.Routes) == 0 {
		return errors.New("canary without a route above it")
	}
	name, err := p.wanted("a backend")
	if err != nil {
		return err
	}
	c := &CanarySpec{Backend: name}
	p.spec.Routes[len(p.spec.Routes)-1].Canary = c
	return p.options(map[string]func(string) error{
		"weight": func(s string) error {
			weight, total, hasTotal := strings.Cut(s, "/")
			if err := intInto(&c.Weight)(weight); err != nil || !hasTotal {
				return err
			}
			return intInto(&c.WeightTotal)(total)
		},
		"header":  stringInto(&c.Header),
		"value":   stringInto(&c.HeaderValue),
		"pattern": stringInto(&c.HeaderPattern),
		"cookie":  stringInto(&c.Cookie),
	})
}

func (p *parser) mirror() error {
	if len(p.spec.Routes) == 0 {
		return errors.New("mirror without a route above it")
	}
	name, err := p.wanted("a backend")
	if err != nil {
		return err
	}
	m := &MirrorSpec{Backend: name, Percent: 100}
	p.spec.Routes[len(p.spec.Routes)-1].Mirror = m
	return p.options(map[string]func(string) error{"percent": intInto(&m.Percent), "host": stringInto(&m.Host)})
}

func (p *parser) cert(age int64) (err error) {
	c := CertSpec{Created: age}
	if c.Host, err = p.wanted("a host"); err != nil {
		return err
	}
	if c.ID, err = ParseCertID(p.next()); err != nil {
		return err
	}
	err = p.options(map[string]func(string) error{"created": int64Into(&c.Created), "owner": stringInto(&c.Owner)})
	p.spec.Certs = append(p.spec.Certs, c)
	return err
}

// next takes the next word, "" at the end of the line.
func (p *parser) next() string {
	if len(p.words) == 0 {
		return ""
	}
	word := p.words[0]
	p.words = p.words[1:]
	return word
}

// wanted takes the next word, which may be an empty one in quotes but not missing.
func (p *parser) wanted(what string) (string, error) {
	if len(p.words) == 0 {
		return "", fmt.Errorf("line ends where %s was expected", what)
	}
	return p.next(), nil
}

// options reads the rest of the line as name=value words.
func (p *parser) options(known map[string]func(string) error) error {
	for len(p.words) > 0 {
		name, value, _ := strings.Cut(p.next(), "=")
		set := known[name]
		if set == nil {
			return fmt.Errorf("unknown option %q", name)
		}
		if err := set(value); err != nil {
			return fmt.Errorf("option %s: %w", name, err)
		}
	}
	return nil
}

func stringInto(to *string) func(string) error {
	return func(s string) error { *to = s; return nil }
}

func intInto(to *int) func(string) error {
	return func(s string) (err error) { *to, err = strconv.Atoi(s); return err }
}

func int64Into(to *int64) func(string) error {
	return func(s string) (err error) { *to, err = strconv.ParseInt(s, 10, 64); return err }
}

// splitWords splits a line at its spaces. A quote at the start of a word, or after the
// "=" of an option, goes on to the closing one.
func splitWords(line string) (words []string, err error) {
	for {
		line = strings.TrimLeft(line, " \t\r\n")
		if line == "" || line[0] == '#' {
			return words, nil
		}
		end := strings.IndexAny(line, " \t\r\n\"")
		if end < 0 {
			return append(words, line), nil
		}
		word := line[:end]
		if line[end] == '"' {
			if word != "" && !strings.HasSuffix(word, "=") {
				return nil, fmt.Errorf("quote inside the word %q", word)
			}
			quoted, err := strconv.QuotedPrefix(line[end:])
			if err != nil {
				return nil, fmt.Errorf("quote without an end in %q", line)
			}
			text, err := strconv.Unquote(quoted)
			if err != nil {
				return nil, fmt.Errorf("unquote %s: %w", quoted, err)
			}
			word, end = word+text, end+len(quoted)
		}
		words, line = append(words, word), line[end:]
	}
}
