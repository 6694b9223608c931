package sparse

import "math"

// Op is an operation of an SPU on words of 32 bits. Those that accumulate take a
// clean first operand as one that is not there.
type Op uint8

// The operations of the opcode fields.
const (
	OpNone      Op = iota
	OpFirst        // first operand
	OpMulF32       // product
	OpMulU32       // product modulo 2^32
	OpAddSat       // sum, at most 2^32-1
	OpAccF32       // sum; clean first
	OpAccU32       // sum modulo 2^32; clean first
	OpAccMin       // minimum; clean first
	OpKeep         // first operand; the second where that is clean
	OpSubU32       // difference modulo 2^32
	OpSubF32       // difference
	OpAddAbsF32    // first and the absolute second
	OpAddZero      // first and second where Walker3Reg is 0
	OpInc          // first operand and 1
	OpClean        // the clean value
	OpAddConst     // first operand, 0 where it is clean, and the constant latch
	numOps
)

func (o Op) String() string {
	return [numOps]string{"-", "first", "mulf", "mulu", "addsat", "accf", "accu", "accmin", "keep", "subu", "subf", "addabs", "addzero", "inc", "clean", "addconst"}[o]
}

// Type is what a word is.
type Type string

// The types of words.
const (
	F32 Type = "f32"
	U32 Type = "u32" // modulo 2^32: sums do not depend on their order
)

// cleanNaN is the clean value of sums in f32: a quiet NaN that no operation makes.
const cleanNaN = 0x7fc0beef

// Semiring is what an SpM(Sp)V multiplies and adds with.
type Semiring struct {
	Name  string
	Mul   Op     // of a nonzero's value and the input's
	Acc   Op     // of an output and a product
	Clean uint32 // an output that nothing was added to
	Float bool   // the order of additions matters
	ID    bool   // values of the matrix are the numbers of their columns, from 0
}

// Semirings returns the table of semirings by name. An entry more needs no change
// anywhere else.
func Semirings() []Semiring {
	return []Semiring{
		{Name: "plus-times-f32", Mul: OpMulF32, Acc: OpAccF32, Clean: cleanNaN, Float: true},
		{Name: "plus-times-u32", Mul: OpMulU32, Acc: OpAccU32, Clean: 0},
		{Name: "min-plus", Mul: OpAddSat, Acc: OpAccMin, Clean: math.MaxUint32},
		{Name: "min-first", Mul: OpFirst, Acc: OpAccMin, Clean: math.MaxUint32},
		{Name: "min-column", Mul: OpFirst, Acc: OpAccMin, Clean: math.MaxUint32, ID: true},
	}
}

// LookupSemiring returns a semiring by name, the zero value if there is none.
func LookupSemiring(name string) (s Semiring, ok bool) {
	for _, s := range Semirings() {
		if s.Name == name {
			return s, true
		}
	}
	return Semiring{}, false
}

// mul multiplies the value of the input by that of a nonzero.
func mul(op Op, f, a uint32) uint32 {
	switch op {
	case OpMulF32:
		return math.Float32bits(math.Float32frombits(f) * math.Float32frombits(a))
	case OpMulU32:
		return f * a
	case OpAddSat:
		if s := f + a; s >= f {
			return s
		}
		return math.MaxUint32
	}
	return f
}

// acc accumulates v onto an output.
func acc(op Op, clean, old, v uint32) uint32 {
	if old == clean {
		return v
	}
	if v == clean {
		return old
	}
	switch op {
	case OpAccF32:
		return math.Float32bits(math.Float32frombits(old) + math.Float32frombits(v))
	case OpAccU32:
		return old + v
	case OpKeep:
		return old
	}
	return min(old, v)
}
