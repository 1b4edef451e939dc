package plan

import (
	"bytes"
	"errors"
	"fmt"
	"math"

	"ramjet.dev/ingress/internal/probation"
)

// parser reads one line at a time. It is strict where encoding/json is lenient:
// keys are compared with case, none that counts may come twice, an escape must be a
// character, and a number is an integer if it is written as one.
type parser struct {
	text    []byte
	at      int
	scratch []byte // a string without its escapes
	open    []byte // brackets that are open in a value that is skipped
	seen    [4]string
	turn    int
}

// The fields of an event.
const (
	fieldTS = 1 << iota
	fieldEvent
	fieldVersion
)

// event reads a whole line. Besides an object with the three fields it takes an
// array of them in the order ts, event, version, as the original does.
func (p *parser) event(line []byte) (e probation.Event, err error) {
	p.text, p.at = line, 0
	p.space()
	switch p.peek() {
	case '{':
		err = p.object(&e)
	case '[':
		err = p.array(&e)
	default:
		err = p.unexpected("an object")
		if bytes.HasPrefix(line, []byte("\uFEFF")) {
			err = errors.New("begins with a byte order mark, which has to go")
		}
	}
	if err != nil {
		return probation.Event{}, err
	}
	p.space()
	if p.at < len(p.text) {
		return probation.Event{}, p.unexpected("the end of the line")
	}
	return e, nil
}

func (p *parser) object(e *probation.Event) error {
	p.at++
	have := 0
	for more := p.first('}'); more; {
		column := p.at + 1
		key, err := p.key((*parser).str)
		if err != nil {
			return err
		}
		field := 0
		switch string(key) {
		case "ts":
			field = fieldTS
		case "event":
			field = fieldEvent
		case "version":
			field = fieldVersion
		}
		if have&field != 0 {
			return fmt.Errorf("column %d: %s comes twice", column, nameOf(field))
		}
		have |= field
		if err = p.field(e, field); err == nil {
			more, err = p.another('}')
		}
		if err != nil {
			return err
		}
	}
	if missing := (fieldTS | fieldEvent) &^ have; missing != 0 {
		return errors.New(nameOf(missing) + " is missing")
	}
	return nil
}

// nameOf is the name of the first of some fields.
func nameOf(fields int) string {
	switch {
	case fields&fieldTS != 0:
		return "ts"
	case fields&fieldEvent != 0:
		return "event"
	}
	return "version"
}

func (p *parser) array(e *probation.Event) error {
	p.at++
	p.space()
	for field := fieldTS; field <= fieldVersion; field <<= 1 {
		if err := p.field(e, field); err != nil {
			return err
		}
		more, err := p.another(']')
		if err != nil {
			return err
		}
		if more != (field != fieldVersion) {
			return errors.New("an array has to be ts, event, version")
		}
	}
	return nil
}

// field reads the value of a field; 0 is one that nobody asks for.
func (p *parser) field(e *probation.Event, field int) (err error) {
	switch field {
	case fieldTS:
		e.TS, err = p.ts()
	case fieldEvent:
		var name []byte
		if name, err = p.named("event"); err == nil {
			e.Kind = probation.PlanKind(string(name))
		}
	case fieldVersion:
		if p.peek() == 'n' {
			return p.literal("null")
		}
		var name []byte
		if name, err = p.named("version"); err == nil {
			e.Version = p.intern(name)
		}
	default:
		err = p.skip()
	}
	return err
}

// ts reads an integer from 0 to 2^64-1: digits alone, without a zero in front.
func (p *parser) ts() (uint64, error) {
	start := p.at
	bad := func() (uint64, error) {
		return 0, fmt.Errorf("column %d: ts has to be an integer from 0 to %d", start+1, uint64(math.MaxUint64))
	}
	var n uint64
	for ; isDigit(p.peek()); p.at++ {
		d := uint64(p.peek() - '0')
		if n > (math.MaxUint64-d)/10 {
			return bad()
		}
		n = n*10 + d
	}
	digits := p.at - start
	if digits == 0 || digits > 1 && p.text[start] == '0' {
		return bad()
	}
	switch p.peek() {
	case '.', 'e', 'E':
		return bad()
	}
	return n, nil
}

// intern makes a string of a version. The same few come again and again, so that
// the last ones are kept at hand.
func (p *parser) intern(name []byte) string {
	for _, s := range p.seen {
		if s == string(name) {
			return s
		}
	}
	s := string(name)
	p.seen[p.turn] = s
	p.turn = (p.turn + 1) % len(p.seen)
	return s
}
