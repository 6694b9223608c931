package lattice

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Expr is an affine expression: a constant and multiples of symbols. The zero
// value is 0. An Expr is not changed by its methods, and two that are equal have
// equal text.
type Expr struct {
	k     int64
	terms []term // by symbol, no coefficient zero
}

type term struct {
	sym  string
	coef int64
}

// Const returns a constant.
func Const(k int64) Expr { return Expr{k: k} }

// Sym returns a symbol.
func Sym(name string) Expr { return Expr{terms: []term{{name, 1}}} }

// Plus returns x + k.
func (x Expr) Plus(k int64) Expr { x.k += k; return x }

// Add returns x + y.
func (x Expr) Add(y Expr) Expr { return x.addScaled(y, 1) }

// Sub returns x - y.
func (x Expr) Sub(y Expr) Expr { return x.addScaled(y, -1) }

// Scale returns x times m.
func (x Expr) Scale(m int64) Expr { return Expr{}.addScaled(x, m) }

func (x Expr) addScaled(y Expr, m int64) Expr {
	r := Expr{k: x.k + m*y.k}
	if len(y.terms) == 0 {
		r.terms = x.terms
		return r
	}
	i, j := 0, 0
	for i < len(x.terms) || j < len(y.terms) {
		switch {
		case j == len(y.terms) || i < len(x.terms) && x.terms[i].sym < y.terms[j].sym:
			r.terms = append(r.terms, x.terms[i])
			i++
		case i == len(x.terms) || y.terms[j].sym < x.terms[i].sym:
			if c := m * y.terms[j].coef; c != 0 {
				r.terms = append(r.terms, term{y.terms[j].sym, c})
			}
			j++
		default:
			if c := x.terms[i].coef + m*y.terms[j].coef; c != 0 {
				r.terms = append(r.terms, term{x.terms[i].sym, c})
			}
			i++
			j++
		}
	}
	return r
}

// Mul returns x times y. ok is false where the product is not affine.
func (x Expr) Mul(y Expr) (r Expr, ok bool) {
	if k, is := x.Const(); is {
		return y.Scale(k), true
	}
	if k, is := y.Const(); is {
		return x.Scale(k), true
	}
	return Expr{}, false
}

// Const returns the value of an expression without symbols.
func (x Expr) Const() (k int64, ok bool) { return x.k, len(x.terms) == 0 }

// Offset returns the constant of the expression.
func (x Expr) Offset() int64 { return x.k }

// Coef returns the multiple of a symbol, 0 if it does not occur.
func (x Expr) Coef(sym string) int64 {
	for _, t := range x.terms {
		if t.sym == sym {
			return t.coef
		}
	}
	return 0
}

// Symbols returns the symbols, in order of their names.
func (x Expr) Symbols() []string {
	names := make([]string, len(x.terms))
	for i, t := range x.terms {
		names[i] = t.sym
	}
	return names
}

// Equal reports whether x and y are the same for all values of their symbols.
func (x Expr) Equal(y Expr) bool { return x.k == y.k && slices.Equal(x.terms, y.terms) }

// Subst returns x with y in the place of a symbol.
func (x Expr) Subst(sym string, y Expr) Expr {
	c := x.Coef(sym)
	if c == 0 {
		return x
	}
	return x.addScaled(Sym(sym), -c).addScaled(y, c)
}

// Bind returns x with the values of the symbols that values has.
func (x Expr) Bind(values map[string]int64) Expr {
	for _, t := range x.terms {
		if v, ok := values[t.sym]; ok {
			x = x.Subst(t.sym, Const(v))
		}
	}
	return x
}

// Eval returns the value of x, or an error that names a symbol without one.
func (x Expr) Eval(values map[string]int64) (int64, error) {
	k := x.k
	for _, t := range x.terms {
		v, ok := values[t.sym]
		if !ok {
			return 0, fmt.Errorf("lattice: no value for %s", t.sym)
		}
		k += t.coef * v
	}
	return k, nil
}

// String returns the expression as "2*N-k+1".
func (x Expr) String() string {
	if len(x.terms) == 0 {
		return strconv.FormatInt(x.k, 10)
	}
	var b strings.Builder
	for i, t := range x.terms {
		switch {
		case t.coef == 1 && i > 0:
			b.WriteByte('+')
		case t.coef == 1:
		case t.coef == -1:
			b.WriteByte('-')
		default:
			if t.coef > 0 && i > 0 {
				b.WriteByte('+')
			}
			b.WriteString(strconv.FormatInt(t.coef, 10))
			b.WriteByte('*')
		}
		b.WriteString(t.sym)
	}
	if x.k > 0 {
		b.WriteByte('+')
	}
	if x.k != 0 {
		b.WriteString(strconv.FormatInt(x.k, 10))
	}
	return b.String()
}

// ParseExpr reads what String writes: terms joined by + and -, each a number, a
// symbol or number*symbol.
func ParseExpr(s string) (Expr, error) {
	var x Expr
	rest := strings.TrimSpace(s)
	if rest == "" {
		return x, fmt.Errorf("lattice: empty expression, expected for example N-1")
	}
	for first := true; rest != ""; first = false {
		sign := int64(1)
		switch {
		case rest[0] == '-':
			sign, rest = -1, strings.TrimSpace(rest[1:])
		case rest[0] == '+' && !first:
			rest = strings.TrimSpace(rest[1:])
		case !first:
			return x, fmt.Errorf("lattice: %q, expected + or - before %q", s, rest)
		}
		end := strings.IndexAny(rest, "+-")
		if end < 0 {
			end = len(rest)
		}
		part := strings.TrimSpace(rest[:end])
		rest = rest[end:]
		num, sym, product := strings.Cut(part, "*")
		num, sym = strings.TrimSpace(num), strings.TrimSpace(sym)
		if !product && part != "" && !isDigit(part[0]) {
			num, sym, product = "1", part, true
		}
		k, err := strconv.ParseInt(num, 10, 64)
		if err != nil || product && !isName(sym) {
			return x, fmt.Errorf("lattice: %q in %q, expected a number, a name or number*name", part, s)
		}
		if product {
			x = x.addScaled(Sym(sym), sign*k)
		} else {
			x.k += sign * k
		}
	}
	return x, nil
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isName(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !(c == '_' || c == '.' || c|0x20 >= 'a' && c|0x20 <= 'z' || i > 0 && isDigit(c)) {
			return false
		}
	}
	return s != ""
}
