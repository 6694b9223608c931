package scalar

import (
	"fmt"
	"math"
	"strconv"

	"github.com/bitsched/bitsched/internal/minifloat"
)

// Type is the type of an element.
type Type uint8

// The types. Integers are two's complement.
const (
	Invalid Type = iota
	Bool         // 1 bit: the result of a comparison
	Int8
	Int16
	Int32
	Int64
	UInt8 // unsigned
	UInt16
	UInt32
	UInt64
	FP16 // IEEE 754 binary16
	BF16 // the upper half of an fp32
	FP32 // IEEE 754 binary32
	FP64 // IEEE 754 binary64
	numTypes
)

var types = [numTypes]struct {
	name string
	bits int
}{
	{"invalid", 0}, {"bool", 1}, {"int8", 8}, {"int16", 16}, {"int32", 32}, {"int64", 64}, {"uint8", 8}, {"uint16", 16}, {"uint32", 32}, {"uint64", 64},
	{"fp16", 16}, {"bf16", 16}, {"fp32", 32}, {"fp64", 64},
}

// Types lists the types that arrays in memory may have.
func Types() []Type {
	return []Type{Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64, FP16, BF16, FP32, FP64}
}

func (t Type) String() string {
	if int(t) < len(types) {
		return types[t].name
	}
	return fmt.Sprintf("Type(%d)", uint8(t))
}

// Bits returns the width of an element.
func (t Type) Bits() int { return types[t].bits }

// Bytes returns the size of an element in memory; a Bool is not in memory.
func (t Type) Bytes() int { return types[t].bits / 8 }

// Valid reports whether t is a type of elements.
func (t Type) Valid() bool { return t > Invalid && t < numTypes }

// Float reports whether t is a floating-point type.
func (t Type) Float() bool { return t >= FP16 && t <= FP64 }

// Int reports whether t is an integer type, Bool not included.
func (t Type) Int() bool { return t >= Int8 && t <= UInt64 }

// Signed reports whether t is an integer type with negative numbers.
func (t Type) Signed() bool { return t >= Int8 && t <= Int64 }

// Unsigned reports whether t is an integer type without negative numbers.
func (t Type) Unsigned() bool { return t >= UInt8 && t <= UInt64 }

// Integer returns the integer type of a width of 8, 16, 32 or 64 bits.
func Integer(bits int, signed bool) Type {
	t := Int8
	if !signed {
		t = UInt8
	}
	for n := 8; n < bits; n *= 2 {
		t++
	}
	return t
}

// Holds reports whether every value of an integer type is one of t too.
func (t Type) Holds(from Type) bool {
	switch {
	case !t.Int() || !from.Int():
		return t == from
	case t.Signed() == from.Signed():
		return t.Bits() >= from.Bits()
	}
	return t.Signed() && t.Bits() > from.Bits()
}

// ParseType returns the type of that name.
func ParseType(name string) (Type, error) {
	for t := Bool; t < numTypes; t++ {
		if types[t].name == name {
			return t, nil
		}
	}
	return Invalid, fmt.Errorf("scalar: unknown type %q, expected int8 to int64, uint8 to uint64, fp16, bf16, fp32, fp64 or bool", name)
}

// Value is an element as its bits, those above the width of its type zero.
type Value = uint64

// Mask returns the bits that a value of the type may have.
func (t Type) Mask() Value { return 1<<t.Bits() - 1 } // a shift by 64 gives 0, and 0-1 all ones

// FromInt returns the value of an integer: wrapped for an integer type, rounded
// for a floating-point one.
func FromInt(t Type, v int64) Value {
	switch {
	case t.Int():
		return Value(v) & t.Mask()
	case t == FP32:
		return Value(math.Float32bits(float32(v)))
	case t == FP64:
		return math.Float64bits(float64(v))
	case t.Float():
		return roundInt(t, v)
	}
	return Value(v) & 1
}

// ToInt returns an integer value with its sign extended; an uint64 above those of
// int64 wraps.
func ToInt(t Type, v Value) int64 {
	if t == Bool || t.Unsigned() {
		return int64(v & t.Mask())
	}
	s := 64 - t.Bits()
	return int64(v<<s) >> s
}

// The formats that the processor does not have.
var (
	half   = minifloat.Format{Exp: 5, Man: 10}
	bfloat = minifloat.Format{Exp: 8, Man: 7}
)

// FromFloat returns the value of a floating-point type nearest to v.
func FromFloat(t Type, v float64) Value {
	switch t {
	case FP64:
		return canonical64(v)
	case FP32:
		return canonical32(float32(v))
	case FP16:
		return half.Round(v)
	case BF16:
		return bfloat.Round(v)
	}
	panic("scalar: FromFloat of " + t.String())
}

// ToFloat returns the number that a value of a floating-point type is, exactly.
func ToFloat(t Type, v Value) float64 {
	switch t {
	case FP64:
		return math.Float64frombits(v)
	case FP32:
		return float64(math.Float32frombits(uint32(v)))
	case FP16:
		return half.Float64(v)
	case BF16:
		return float64(math.Float32frombits(uint32(v) << 16))
	}
	panic("scalar: ToFloat of " + t.String())
}

// Format returns a value as a number in the shortest form that Parse reads back.
func Format(t Type, v Value) string {
	switch {
	case t == Bool:
		return strconv.FormatBool(v&1 != 0)
	case t.Unsigned():
		return strconv.FormatUint(v&t.Mask(), 10)
	case t.Int():
		return strconv.FormatInt(ToInt(t, v), 10)
	case t == FP64:
		return strconv.FormatFloat(ToFloat(t, v), 'g', -1, 64)
	}
	return strconv.FormatFloat(ToFloat(t, v), 'g', -1, 32)
}

// Parse reads a number as a value of the type. An integer that the type cannot
// hold is an error; a floating-point number is rounded.
func Parse(t Type, s string) (Value, error) {
	switch {
	case t == Bool:
		b, err := strconv.ParseBool(s)
		if err != nil {
			return 0, fmt.Errorf("scalar: %q, expected true or false", s)
		}
		if b {
			return 1, nil
		}
		return 0, nil
	case t.Unsigned():
		i, err := strconv.ParseUint(s, 0, t.Bits())
		if err != nil {
			return 0, fmt.Errorf("scalar: %q, expected an integer of %d bits from 0 on", s, t.Bits())
		}
		return i, nil
	case t.Int():
		i, err := strconv.ParseInt(s, 0, t.Bits())
		if err != nil {
			return 0, fmt.Errorf("scalar: %q, expected an integer of %d bits", s, t.Bits())
		}
		return FromInt(t, i), nil
	case t.Float():
		f, err := strconv.ParseFloat(s, 64)
		if err != nil && !math.IsInf(f, 0) {
			return 0, fmt.Errorf("scalar: %q, expected a number", s)
		}
		return FromFloat(t, f), nil
	}
	return 0, fmt.Errorf("scalar: no values of type %s", t)
}
