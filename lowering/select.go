package lowering

import (
	"fmt"
	"math"

	"github.com/bitsched/bitsched/lowering/arith"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// micro is an operation of package arith that is part of the lowering of a node:
// its operands are those of the node, results of earlier micros of the node, or
// constants.
type micro struct {
	op   string // as arith.Resolve takes it
	args []source
	bits int // of the result
}

// source is an operand of a micro.
type source struct {
	kind  sourceKind
	index int          // of the node's operand, or of the micro
	low   int          // only so many of its low bits, 0 for all
	value scalar.Value // of a constant
}

type sourceKind uint8

const (
	fromArg sourceKind = iota
	fromMicro
	fromConst
)

func arg(i int) source                   { return source{kind: fromArg, index: i} }
func prev(i int) source                  { return source{kind: fromMicro, index: i} }
func imm(v scalar.Value) source          { return source{kind: fromConst, value: v} }
func (s source) bits(n int) source       { s.low = n; return s }
func intOp(bits int, name string) string { return fmt.Sprintf("int%d.%s", bits, name) }

// name returns the operation of package arith for an operation on elements.
func name(t scalar.Type, op string) string {
	switch {
	case t == scalar.Bool:
		return intOp(1, op)
	case t.Float():
		return t.String() + "." + op
	case t.Unsigned() && ofUnsigned[op]:
		return fmt.Sprintf("uint%d.%s", t.Bits(), op)
	}
	return intOp(t.Bits(), op)
}

// ofUnsigned are the operations that have another program for unsigned integers; all
// others are the same for both.
var ofUnsigned = map[string]bool{
	"lt": true, "le": true, "gt": true, "ge": true, "min": true, "max": true, "shr": true, "div": true, "rem": true, "widen": true,
}

// undefined says that arrays have no program for something. It is an
// [arith.ErrNoOperation].
type undefined string

func (u undefined) Error() string        { return string(u) }
func (u undefined) Is(target error) bool { return target == arith.ErrNoOperation }

// choose returns the micros of a computation on operands of type t.
func choose(op scalar.Op, t scalar.Type) ([]micro, error) {
	w := op.Result(t).Bits()
	one := func(name string, args ...source) []micro { return []micro{{name, args, w}} }
	plain := func(n string) []micro {
		args := make([]source, op.Arity())
		for i := range args {
			args[i] = arg(i)
		}
		return one(name(t, n), args...)
	}
	switch {
	case op == scalar.Select:
		return one(intOp(t.Bits(), "select"), arg(0), arg(1), arg(2)), nil
	case (op == scalar.Shl || op == scalar.Shr) && t.Int():
		// The amount counts modulo the width, a power of two.
		n := int(math.Log2(float64(t.Bits())))
		return one(name(t, op.String()), arg(0), arg(1).bits(n)), nil
	case op == scalar.FMA && t.Int():
		return plain("mac"), nil
	case (op == scalar.Abs || op == scalar.ReLU) && t.Unsigned():
		return one(name(t, "or"), arg(0), imm(0)), nil
	case op == scalar.ReLU && t.Float():
		return one(name(t, "max"), arg(0), imm(0)), nil
	case op.Supports(t):
		return plain(op.String()), nil
	}
	return nil, undefined(fmt.Sprintf("%s of %s is not defined", op, t))
}

// convert returns the micros of a change of type. There are none where the result
// is the low bits of the operand.
func convert(from, to scalar.Type) ([]micro, error) {
	var list []micro
	add := func(bits int, op string, args ...source) source {
		list = append(list, micro{op, args, bits})
		return prev(len(list) - 1)
	}
	// widen extends an integer by its sign, or by zeros.
	widen := func(x source, bits, to int) source {
		for ; bits < to; bits *= 2 {
			x = add(2*bits, name(scalar.Integer(bits, !from.Unsigned()), "widen"), x)
		}
		return x
	}
	switch {
	case from == to:
	case from == scalar.Bool:
		add(to.Bits(), intOp(to.Bits(), "select"), arg(0), imm(scalar.FromInt(to, 1)), imm(0))
	case to == scalar.Bool && from.Float():
		x := add(1, name(from, "eq"), arg(0), imm(0))
		add(1, intOp(1, "not"), x)
	case to == scalar.Bool:
		add(1, name(from, "ne"), arg(0), imm(0))
	case from.Int() && to.Int():
		widen(arg(0), from.Bits(), to.Bits())
	case from.Float() && to.Float():
		add(to.Bits(), name(from, "to"+to.String()), arg(0))
	case from.Bits() == 64 || to.Bits() == 64, from == scalar.UInt32 || to == scalar.UInt32:
		return nil, undefined(fmt.Sprintf("conversion from %s to %s in memory, expected integers of at most 31 bits and a sign", from, to))
	case from.Int():
		x := widen(arg(0), from.Bits(), 32)
		add(to.Bits(), to.String()+".fromint", x)
	default: // to an integer: it saturates at 32 bits, and again at the width it has
		x := add(32, from.String()+".toint", arg(0))
		if to != scalar.Int32 {
			high := int64(1)<<(to.Bits()-1) - 1
			low := -high - 1
			if to.Unsigned() {
				low, high = 0, 2*high+1
			}
			x = add(32, "int32.min", x, imm(scalar.FromInt(scalar.Int32, high)))
			add(32, "int32.max", x, imm(scalar.FromInt(scalar.Int32, low)))
			list[len(list)-1].bits = 32
		}
	}
	return list, nil
}

// microsOf returns the micros of a Compute or Convert node.
func microsOf(g *tdfg.Graph, n *tdfg.Node) ([]micro, error) {
	from := g.Nodes[n.Args[len(n.Args)-1]].Type
	if n.Kind == tdfg.Convert {
		return convert(from, n.Type)
	}
	return choose(n.Op, from)
}
