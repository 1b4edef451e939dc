package plan

import "fmt"

// skip passes a value that nobody asks for. Its syntax is checked, not its meaning:
// a number may be too large for any type, half of an escaped character may stand
// alone, keys may come twice. How deep it is nested costs a byte a level, no stack.
func (p *parser) skip() error {
	p.open = p.open[:0]
	for {
		entered, err := p.scalar()
		if err != nil {
			return err
		}
		if entered {
			continue
		}
		if more, err := p.leave(); err != nil || !more {
			return err
		}
	}
}

// scalar passes a value up to its end; of an object or array that is not empty it
// passes the beginning, up to the first value in it, and reports that it entered one.
func (p *parser) scalar() (entered bool, err error) {
	switch c := p.peek(); {
	case c == '"':
		_, err = p.skipString()
	case c == '{' || c == '[':
		p.at++
		closing := c + 2 // so it is in ASCII, for both
		if !p.first(closing) {
			return false, nil
		}
		p.open = append(p.open, closing)
		return true, p.skipKey()
	case c == 't':
		err = p.literal("true")
	case c == 'f':
		err = p.literal("false")
	case c == 'n':
		err = p.literal("null")
	case c == '-' || isDigit(c):
		err = p.skipNumber()
	default:
		err = p.unexpected("a value")
	}
	return false, err
}

// leave passes what follows a value: brackets that close, and a comma, after which
// another value comes. Without that the value was the last one.
func (p *parser) leave() (more bool, err error) {
	for n := len(p.open); n > 0; n-- {
		more, err := p.another(p.open[n-1])
		if err != nil {
			return false, err
		}
		if more {
			return true, p.skipKey()
		}
		p.open = p.open[:n-1]
	}
	return false, nil
}

// skipKey passes a key where the innermost open bracket is that of an object.
func (p *parser) skipKey() error {
	if p.open[len(p.open)-1] != '}' {
		return nil
	}
	_, err := p.key((*parser).skipString)
	return err
}

// skipString passes a string. There is no result.
func (p *parser) skipString() ([]byte, error) {
	p.at++
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == '"':
			p.at++
			return nil, nil
		case c == '\\':
			if _, err := p.escape(); err != nil {
				return nil, err
			}
		case c < ' ':
			return nil, p.control()
		default:
			p.at++
		}
	}
	return nil, p.unexpected("the end of a string")
}

// skipNumber passes a number: an integer without a zero in front, and maybe a
// fraction and an exponent.
func (p *parser) skipNumber() error {
	if p.peek() == '-' {
		p.at++
	}
	start := p.at
	if err := p.digits(); err != nil {
		return err
	}
	if p.text[start] == '0' && p.at > start+1 {
		return fmt.Errorf("column %d: a number begins with a zero too many", start+1)
	}
	if p.peek() == '.' {
		p.at++
		if err := p.digits(); err != nil {
			return err
		}
	}
	if p.peek() == 'e' || p.peek() == 'E' {
		p.at++
		if p.peek() == '+' || p.peek() == '-' {
			p.at++
		}
		return p.digits()
	}
	return nil
}

// digits passes one digit or more.
func (p *parser) digits() error {
	if !isDigit(p.peek()) {
		return p.unexpected("a digit")
	}
	for isDigit(p.peek()) {
		p.at++
	}
	return nil
}
