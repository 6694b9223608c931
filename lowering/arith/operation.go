package arith

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/bitsched/bitsched/sram"
)

// Value is the result of an operation: a word of up to 128 bits.
type Value struct{ Lo, Hi uint64 }

// Type is what an operation works on: integers of a width or a format of
// floating-point numbers.
type Type struct {
	Width int // bits of a word, 1 to 64
	Float *Format
}

// Operation is an operation of the table.
type Operation struct {
	ID   ID
	Doc  string
	Args []string // names of the operands

	// Published are latencies that papers and simulators charge for it.
	Published []Formula

	argWidth func(t Type, arg int) int // nil: all as wide as the type
	resWidth func(t Type) int          // nil: as wide as the type
	argInt   func(arg int) bool        // nil: an operand is of the type
	result   func(t Type) *Format      // nil: the result is of the type; it may give nil for an integer
	check    func(t Type) error        // nil: there is a program for every type
	ref      func(t Type, a []uint64) Value
	circuit  func(c *circuit, t Type, args [][]lit) []lit // the operation as gates, whatever the technology
}

// Formula is a published latency in cycles.
type Formula struct {
	Source string
	Text   string // as a formula of the width n
	Cycles func(n int) int
}

// IsFloat reports whether o is an operation on floating-point numbers.
func (o *Operation) IsFloat() bool { return strings.HasPrefix(string(o.ID), "fp.") }

// ArgWidth returns the width of an operand in bits.
func (o *Operation) ArgWidth(t Type, arg int) int {
	if o.argWidth == nil {
		return t.Width
	}
	return o.argWidth(t, arg)
}

// ResultWidth returns the width of the result in bits.
func (o *Operation) ResultWidth(t Type) int {
	if o.resWidth == nil {
		return t.Width
	}
	return o.resWidth(t)
}

// ArgFormat returns the format of an operand, nil for an integer.
func (o *Operation) ArgFormat(t Type, arg int) *Format {
	if o.argInt == nil || !o.argInt(arg) {
		return t.Float
	}
	return nil
}

// ResultFormat returns the format of the result, nil for an integer.
func (o *Operation) ResultFormat(t Type) *Format {
	if o.result != nil {
		return o.result(t)
	}
	return t.Float
}

// Signed reports whether an integer result is a signed number.
func (o *Operation) Signed() bool {
	switch o.ID {
	case IntMulWide, IntWiden, IntNarrow, FloatToInt:
		return true
	}
	return strings.HasPrefix(string(o.ID), "int.") && o.resWidth == nil
}

// ArgSigned reports whether an integer operand is a signed number.
func (o *Operation) ArgSigned(t Type, arg int) bool {
	return !strings.HasPrefix(string(o.ID), "uint.") && o.ArgWidth(t, arg) > 1
}

// Supports reports whether there is a program of o for the technology.
func (o *Operation) Supports(t *sram.Technology) bool {
	b := backends[t]
	return b != nil && b.supports(o)
}

// Eval computes the operation on the processor: the reference of every
// program. Bits of the operands beyond their width are ignored.
func (o *Operation) Eval(t Type, args ...uint64) Value {
	var buf [4]uint64
	a := buf[:len(args)]
	for i, x := range args {
		a[i] = x & mask(o.ArgWidth(t, i))
	}
	v := o.ref(t, a)
	w := o.ResultWidth(t)
	return Value{v.Lo & mask(min(w, 64)), v.Hi & mask(max(w-64, 0))}
}

// Operations lists every operation.
var Operations = append(integerOperations(), floatOperations()...)

// ErrNoOperation is wrapped by the errors of operations that there are not, and of those
// that a technology has no program for.
var ErrNoOperation = errors.New("no operation")

// noProgram is an error of an operation without a program.
type noProgram struct{ error }

func (noProgram) Is(target error) bool { return target == ErrNoOperation }
func (e noProgram) Unwrap() error      { return e.error }

// Resolve finds an operation by the name of a command line: "int.add" with the
// width given, "int8.add", or "fp32.mul", "fp16.mul", "bf16.mul", with ftz
// after the format ("fp32ftz.mul") where subnormal numbers count as zero.
func Resolve(name string, width int) (*Operation, Type, error) {
	prefix, rest, ok := strings.Cut(name, ".")
	if !ok {
		return nil, Type{}, fmt.Errorf("arith: operation %q, expected a type, a point and an operation as in int32.add; bitsched ops lists them", name)
	}
	t := Type{Width: width}
	if f, ok := LookupFormat(prefix); ok {
		t = Type{Width: f.Width(), Float: f}
		prefix = "fp"
	} else if i := strings.IndexAny(prefix, "0123456789"); i > 0 {
		n, err := strconv.Atoi(prefix[i:])
		if err != nil {
			return nil, Type{}, fmt.Errorf("arith: operation %q: no type %q", name, prefix)
		}
		t.Width, prefix = n, prefix[:i]
	}
	for i := range Operations {
		o := &Operations[i]
		if o.ID != ID(prefix+"."+rest) {
			continue
		}
		if o.IsFloat() && t.Float == nil {
			break
		}
		if t.Width < 1 || t.Width > 64 {
			return nil, Type{}, fmt.Errorf("arith: %s of width %d, expected 1 to 64", name, t.Width)
		}
		return o, t, nil
	}
	var meant []string // those of other types
	for i := range Operations {
		other, op, _ := strings.Cut(string(Operations[i].ID), ".")
		switch {
		case op != rest:
		case Operations[i].IsFloat():
			meant = append(meant, "fp32."+op)
		default:
			meant = append(meant, other+"32."+op)
		}
	}
	if len(meant) > 0 {
		return nil, Type{}, fmt.Errorf("arith: %w %q, expected one such as %s, or one of those that bitsched ops lists", ErrNoOperation, name, strings.Join(meant, ", "))
	}
	return nil, Type{}, fmt.Errorf("arith: %w %q, expected one of those that bitsched ops lists", ErrNoOperation, name)
}

// TypeName returns the prefix of the name of an operation on t.
func (o *Operation) TypeName(t Type) string {
	if t.Float != nil {
		return t.Float.Name
	}
	prefix, _, _ := strings.Cut(string(o.ID), ".")
	return prefix + strconv.Itoa(t.Width)
}

// FullName returns the name of o on t, as "int32.add".
func (o *Operation) FullName(t Type) string {
	_, rest, _ := strings.Cut(string(o.ID), ".")
	return o.TypeName(t) + "." + rest
}

// mask returns n ones.
func mask(n int) uint64 {
	if n >= 64 {
		return ^uint64(0)
	}
	return 1<<n - 1
}

// signed returns the low n bits of x as a signed number.
func signed(x uint64, n int) int64 { return int64(x<<(64-n)) >> (64 - n) }
