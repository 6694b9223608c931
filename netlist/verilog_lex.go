package netlist

import "math/big"

// Kinds of Verilog token beside punctuation, which is its own kind: the byte,
// or one of the two-byte operators below.
const (
	tokEOF = iota
	tokName
	tokEscaped // a name that is never a keyword
	tokNumber
	tokAndAnd
	tokOrOr
	tokXnor // ~^ or ^~
)

// verilogLexer splits Verilog (IEEE 1364-2005, chapter 3) into tokens and skips
// comments, attributes and the compiler directives that mean nothing here.
type verilogLexer struct {
	*scanner
	kind int    // of the current token
	at   pos    // where it begins
	text []byte // of a name, valid until the next token

	value uint64 // of a number
	width int32  // of a number, 0 if it has none
}

// skippedDirectives are the compiler directives that say nothing about a
// structural netlist.
var skippedDirectives = [...]string{"timescale", "default_nettype", "celldefine", "endcelldefine",
	"resetall", "unconnected_drive", "nounconnected_drive", "line", "begin_keywords", "end_keywords", "pragma"}

// advance reads the next token.
func (x *verilogLexer) advance() error {
	for {
		c := x.peek()
		switch c {
		case ' ', '\t', '\r', '\n', '\f', '\v':
			x.next()
			continue
		case '/':
			at := x.here()
			switch x.second() {
			case '/':
				x.skipLine()
				continue
			case '*':
				if err := x.skipTo('*', '/', at, "comment"); err != nil {
					return err
				}
				continue
			}
		case '(':
			if x.second() == '*' {
				at := x.here()
				if err := x.skipTo('*', ')', at, "attribute"); err != nil {
					return err
				}
				continue
			}
		case '`':
			if err := x.directive(); err != nil {
				return err
			}
			continue
		}
		break
	}
	x.at = x.here()
	c := x.peek()
	switch {
	case c < 0:
		x.kind = tokEOF
		return nil
	case isNameStart(c):
		x.kind = tokName
		x.name()
		return nil
	case c == '\\':
		x.kind = tokEscaped
		x.skip(1)
		x.text = x.text[:0]
		for {
			c := x.peek()
			if c <= ' ' || x.tooLong(x.text, x.at, "name") { // white space or the end
				break
			}
			x.text = append(x.text, byte(c))
			x.skip(1)
		}
		if len(x.text) == 0 {
			return x.errAt(x.at, "backslash without a name, expected an escaped name")
		}
		return nil
	case isDigit(c) || c == '\'':
		return x.number()
	case c < ' ' || c > '~':
		return x.errAt(x.at, "%s, expected Verilog", describe(c))
	}
	x.next()
	x.kind = c
	two := x.peek()
	switch {
	case c == '~' && two == '^', c == '^' && two == '~':
		x.kind = tokXnor
	case c == '&' && two == '&':
		x.kind = tokAndAnd
	case c == '|' && two == '|':
		x.kind = tokOrOr
	default:
		return nil
	}
	x.next()
	return nil
}

func isNameStart(c int) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}

func isDigit(c int) bool { return c >= '0' && c <= '9' }

func isNamePart(c int) bool { return isNameStart(c) || isDigit(c) || c == '$' }

func (x *verilogLexer) name() {
	x.text = x.text[:0]
	for {
		for x.p < x.n && isNamePart(int(x.buf[x.p])) {
			x.text = append(x.text, x.buf[x.p])
			x.p++
		}
		if x.p < x.n || x.tooLong(x.text, x.at, "name") || !x.more() {
			return
		}
	}
}

// skipTo consumes a comment or an attribute, which begins with two bytes and
// ends with the bytes a and b.
func (x *verilogLexer) skipTo(a, b int, at pos, what string) error {
	x.skip(2)
	for {
		c := x.next()
		if c < 0 {
			return x.errAt(at, "%s without an end, expected %c%c", what, a, b)
		}
		for c == a {
			if c = x.peek(); c == b {
				x.next()
				return nil
			} else if c == a {
				x.next()
			}
		}
	}
}

func (x *verilogLexer) directive() error {
	at := x.here()
	x.skip(1)
	x.name()
	for _, d := range skippedDirectives {
		if string(x.text) == d {
			x.skipLine()
			return nil
		}
	}
	return unsupported(x.errAt(at, "directive or macro `%s is not supported, expected plain Verilog", clip(x.text)))
}

// number reads 12, 4'b1010, 8'hff, 'd3. Values have at most 64 bits.
func (x *verilogLexer) number() error {
	x.kind = tokNumber
	x.width = 0
	readDigits := func() {
		x.text = x.text[:0]
		for {
			c := x.peek()
			if !isNamePart(c) && c != '?' || x.tooLong(x.text, x.at, "number") {
				return
			}
			if c != '_' {
				x.text = append(x.text, byte(c))
			}
			x.skip(1)
		}
	}
	parse := func(base int) error {
		if len(x.text) > 64 {
			return x.errAt(x.at, "number of %d digits, expected one of at most 64 bits", len(x.text))
		}
		for _, c := range x.text {
			digit := int(c) - '0'
			if c > '9' {
				digit = int(c|0x20) - 'a' + 10
			}
			switch {
			case c == '?' || c|0x20 == 'x' || c|0x20 == 'z':
				return unsupported(x.errAt(x.at, "digit %c of a number is not supported, expected 0 and 1 only", c))
			case digit < 0 || digit >= base:
				return x.errAt(x.at, "digit %q in a number of base %d, expected smaller digits", string(rune(c)), base)
			}
		}
		v, ok := new(big.Int).SetString(string(x.text), base)
		if len(x.text) == 0 || !ok || !v.IsUint64() {
			return x.errAt(x.at, "malformed number, expected one of at most 64 bits")
		}
		x.value = v.Uint64()
		return nil
	}
	if x.peek() != '\'' {
		readDigits()
		if err := parse(10); err != nil {
			return err
		}
		if x.peek() != '\'' {
			return nil
		}
		if x.value < 1 || x.value > 64 {
			return x.errAt(x.at, "number of %d bits, expected 1 to 64", x.value)
		}
		x.width = int32(x.value)
	}
	x.skip(1)
	if c := x.peek(); c == 's' || c == 'S' {
		x.skip(1)
	}
	base := 0
	switch x.peek() {
	case 'b', 'B':
		base = 2
	case 'o', 'O':
		base = 8
	case 'd', 'D':
		base = 10
	case 'h', 'H':
		base = 16
	default:
		return x.errHere("%s, expected the base of a number (b, o, d or h)", x.found())
	}
	x.skip(1)
	for x.peek() == ' ' {
		x.skip(1)
	}
	readDigits()
	if err := parse(base); err != nil {
		return err
	}
	if w := x.width; w > 0 && w < 64 && x.value>>w != 0 {
		return x.errAt(x.at, "number %d does not fit its %d bits, expected a smaller one", x.value, w)
	}
	return nil
}

// token describes the current token for a message.
func (x *verilogLexer) token() string {
	switch x.kind {
	case tokEOF:
		return "end of file"
	case tokName, tokEscaped:
		return clip(x.text)
	case tokNumber:
		return "a number"
	case tokAndAnd:
		return "&&"
	case tokOrOr:
		return "||"
	case tokXnor:
		return "~^"
	}
	return describe(x.kind)
}
