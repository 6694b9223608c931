package scalar

import "fmt"

// Op is an operation on elements.
type Op uint8

// The operations. All operands and the result are of one type, but that the
// result of a comparison is a Bool, and so is the first operand of Select.
const (
	NoOp Op = iota
	Add
	Sub
	Mul    // the low word of an integer product
	Div    // integers towards zero; by zero gives all ones
	Rem    // of integers, with the sign of the dividend; by zero gives the dividend
	Min    // the number beside a NaN; -0 is less than 0
	Max    // the number beside a NaN
	And    // of integers and Bools, bit by bit
	Or     //
	Xor    //
	Not    //
	Shl    // of integers, by the second operand modulo the width
	Shr    // likewise, copies of the sign move in, or zeros if there is none
	Neg    //
	Abs    //
	ReLU   // negative numbers, -0 and NaN become 0
	Sqrt   // of floating-point numbers
	FMA    // a*b+c, rounded once
	Eq     // a NaN is equal to nothing
	Ne     //
	Lt     //
	Le     //
	Gt     //
	Ge     //
	Select // the second operand where the first is true, else the third
	numOps
)

// kinds of types that an operation is defined for.
const (
	onInt = 1 << iota
	onFloat
	onBool
)

// opInfo is what is known of an operation by itself.
type opInfo struct {
	name        string
	arity       int
	on          uint8
	commutative bool
	associative bool // for integers; of floating-point types only min and max are
	compares    bool
}

var ops = [numOps]opInfo{
	NoOp:   {name: "noop"},
	Add:    {"add", 2, onInt | onFloat, true, true, false},
	Sub:    {"sub", 2, onInt | onFloat, false, false, false},
	Mul:    {"mul", 2, onInt | onFloat, true, true, false},
	Div:    {"div", 2, onInt | onFloat, false, false, false},
	Rem:    {"rem", 2, onInt, false, false, false},
	Min:    {"min", 2, onInt | onFloat, true, true, false},
	Max:    {"max", 2, onInt | onFloat, true, true, false},
	And:    {"and", 2, onInt | onBool, true, true, false},
	Or:     {"or", 2, onInt | onBool, true, true, false},
	Xor:    {"xor", 2, onInt | onBool, true, true, false},
	Not:    {"not", 1, onInt | onBool, false, false, false},
	Shl:    {"shl", 2, onInt, false, false, false},
	Shr:    {"shr", 2, onInt, false, false, false},
	Neg:    {"neg", 1, onInt | onFloat, false, false, false},
	Abs:    {"abs", 1, onInt | onFloat, false, false, false},
	ReLU:   {"relu", 1, onInt | onFloat, false, false, false},
	Sqrt:   {"sqrt", 1, onFloat, false, false, false},
	FMA:    {"fma", 3, onInt | onFloat, false, false, false},
	Eq:     {"eq", 2, onInt | onFloat, true, false, true},
	Ne:     {"ne", 2, onInt | onFloat, true, false, true},
	Lt:     {"lt", 2, onInt | onFloat, false, false, true},
	Le:     {"le", 2, onInt | onFloat, false, false, true},
	Gt:     {"gt", 2, onInt | onFloat, false, false, true},
	Ge:     {"ge", 2, onInt | onFloat, false, false, true},
	Select: {"select", 3, onInt | onFloat | onBool, false, false, false},
}

// Ops lists the operations.
func Ops() []Op {
	list := make([]Op, 0, numOps-1)
	for o := NoOp + 1; o < numOps; o++ {
		list = append(list, o)
	}
	return list
}

func (o Op) String() string {
	if o < numOps {
		return ops[o].name
	}
	return fmt.Sprintf("Op(%d)", uint8(o))
}

// ParseOp returns the operation of that name.
func ParseOp(name string) (Op, error) {
	for o := NoOp + 1; o < numOps; o++ {
		if ops[o].name == name {
			return o, nil
		}
	}
	return NoOp, fmt.Errorf("scalar: unknown operation %q", name)
}

// Arity returns the number of operands.
func (o Op) Arity() int { return ops[o].arity }

// Compares reports whether the result is a Bool for operands of another type.
func (o Op) Compares() bool { return ops[o].compares }

// Result returns the type of the result for operands of type t.
func (o Op) Result(t Type) Type {
	if o.Compares() {
		return Bool
	}
	return t
}

// ArgType returns the type of an operand of the operation on t.
func (o Op) ArgType(t Type, arg int) Type {
	if o == Select && arg == 0 {
		return Bool
	}
	return t
}

// Supports reports whether the operation is defined for operands of type t; for
// Select t is the type of what is chosen from.
func (o Op) Supports(t Type) bool {
	switch {
	case o == NoOp || o >= numOps:
		return false
	case t.Int():
		return ops[o].on&onInt != 0
	case t.Float():
		return ops[o].on&onFloat != 0
	}
	return t == Bool && ops[o].on&onBool != 0
}

// Commutative reports whether the first two operands may be exchanged without
// any bit of the result changing.
func (o Op) Commutative() bool { return ops[o].commutative }

// Associative reports whether (a o b) o c is a o (b o c) for all elements of
// the type, bit by bit.
func (o Op) Associative(t Type) bool {
	return ops[o].associative && (!t.Float() || o == Min || o == Max)
}

// Identity returns the element that leaves others as they are, such as 0 for
// Add. ok is false where there is none.
func (o Op) Identity(t Type) (v Value, ok bool) {
	switch o {
	case Add:
		if t.Float() {
			return 1 << (t.Bits() - 1), true // -0: 0 would turn -0 into 0
		}
		return 0, true
	case Or, Xor:
		return 0, true
	case And:
		return t.Mask(), true
	case Mul:
		return FromInt(t, 1), true
	case Min:
		switch {
		case t.Float():
			return nan(t), true
		case t.Unsigned():
			return t.Mask(), true
		}
		return t.Mask() >> 1, true
	case Max:
		switch {
		case t.Float():
			return nan(t), true
		case t.Unsigned():
			return 0, true
		}
		return 1 << (t.Bits() - 1), true
	}
	return 0, false
}
