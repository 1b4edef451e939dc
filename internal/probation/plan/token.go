package plan

import (
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// peek is the next byte, 0 at the end of the line. A zero byte on the line is taken
// for the end too, which it is nowhere allowed to be.
func (p *parser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

// space passes what JSON calls white space.
func (p *parser) space() {
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case ' ', '\t', '\r', '\n':
			p.at++
		default:
			return
		}
	}
}

// unexpected is the error for a character that is not what is wanted here.
func (p *parser) unexpected(wanted string) error {
	if p.at >= len(p.text) {
		return fmt.Errorf("ends where %s is expected", wanted)
	}
	r, _ := utf8.DecodeRune(p.text[p.at:])
	return fmt.Errorf("column %d: %q where %s is expected", p.at+1, r, wanted)
}

// control is the error for a character that a string has only as an escape.
func (p *parser) control() error {
	return fmt.Errorf("column %d: a string has the control character %q, which needs an escape", p.at+1, p.text[p.at])
}

// first passes the white space behind an opening bracket and reports whether
// anything comes before the closing one, which it passes too.
func (p *parser) first(closing byte) bool {
	p.space()
	if p.peek() == closing {
		p.at++
		return false
	}
	return true
}

// another passes a comma, and reports true, or the closing bracket.
func (p *parser) another(closing byte) (bool, error) {
	p.space()
	switch p.peek() {
	case ',':
		p.at++
		p.space()
		return true, nil
	case closing:
		p.at++
		return false, nil
	}
	return false, p.unexpected(fmt.Sprintf("',' or '%c'", closing))
}

// key reads a key with the given reader of strings, and its colon.
func (p *parser) key(read func(*parser) ([]byte, error)) ([]byte, error) {
	if p.peek() != '"' {
		return nil, p.unexpected("a key in quotes")
	}
	key, err := read(p)
	if err != nil {
		return nil, err
	}
	p.space()
	if p.peek() != ':' {
		return nil, p.unexpected("':'")
	}
	p.at++
	p.space()
	return key, nil
}

// named reads the string that is the value of a field.
func (p *parser) named(field string) ([]byte, error) {
	if p.peek() != '"' {
		return nil, fmt.Errorf("column %d: %s has to be a string", p.at+1, field)
	}
	return p.str()
}

// str reads a string. The result is valid until the next one is read.
func (p *parser) str() ([]byte, error) {
	p.at++
	start := p.at
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == '"':
			p.at++
			return p.text[start : p.at-1], nil
		case c == '\\':
			return p.escaped(start)
		case c < ' ':
			return nil, p.control()
		default:
			p.at++
		}
	}
	return nil, p.unexpected("the end of a string")
}

// escaped reads on at the first backslash of a string that began at start.
func (p *parser) escaped(start int) ([]byte, error) {
	out := append(p.scratch[:0], p.text[start:p.at]...)
	defer func() { p.scratch = out }()
	for p.at < len(p.text) {
		c := p.text[p.at]
		switch {
		case c == '"':
			p.at++
			return out, nil
		case c < ' ':
			return nil, p.control()
		case c != '\\':
			out = append(out, c)
			p.at++
			continue
		}
		r, err := p.escape()
		if err != nil {
			return nil, err
		}
		if utf16.IsSurrogate(r) {
			if r, err = p.pair(r); err != nil {
				return nil, err
			}
		}
		out = utf8.AppendRune(out, r)
	}
	return nil, p.unexpected("the end of a string")
}

// pair reads the second half of a character that is escaped as two.
func (p *parser) pair(high rune) (rune, error) {
	at := p.at
	if p.peek() == '\\' {
		low, err := p.escape()
		if err != nil {
			return 0, err
		}
		if r := utf16.DecodeRune(high, low); r != utf8.RuneError {
			return r, nil
		}
	}
	return 0, fmt.Errorf("column %d: half of an escaped character stands alone", at+1)
}

// escape reads a backslash and what it makes special: one character, or one half of it.
func (p *parser) escape() (rune, error) {
	p.at++
	c := p.peek()
	switch c {
	case '"', '\\', '/':
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'u':
		p.at++
		return p.hex()
	default:
		return 0, p.unexpected("an escape")
	}
	p.at++
	return rune(c), nil
}

// hex reads four hexadecimal digits.
func (p *parser) hex() (rune, error) {
	var r rune
	for range 4 {
		c := p.peek()
		switch {
		case isDigit(c):
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, p.unexpected("a hexadecimal digit")
		}
		r = r<<4 | rune(c)
		p.at++
	}
	return r, nil
}

// literal reads null, true or false.
func (p *parser) literal(word string) error {
	for i := range len(word) {
		if p.peek() != word[i] {
			return p.unexpected(word)
		}
		p.at++
	}
	return nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
