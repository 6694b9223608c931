package arith

import (
	"errors"
	"strconv"
)

// Format is a format of binary floating-point numbers as IEEE 754 has them: a
// sign, Exp bits of a biased exponent, Man bits of a fraction.
type Format struct {
	Name string
	Exp  int
	Man  int
	FTZ  bool // subnormal operands and results count as zero of the same sign
}

// Formats lists the formats that have operations.
var Formats = []*Format{
	{Name: "fp32", Exp: 8, Man: 23},
	{Name: "fp16", Exp: 5, Man: 10},
	{Name: "bf16", Exp: 8, Man: 7},
	{Name: "fp32ftz", Exp: 8, Man: 23, FTZ: true},
	{Name: "fp16ftz", Exp: 5, Man: 10, FTZ: true},
	{Name: "bf16ftz", Exp: 8, Man: 7, FTZ: true},
}

// LookupFormat returns the format of that name.
func LookupFormat(name string) (*Format, bool) {
	for _, f := range Formats {
		if f.Name == name {
			return f, true
		}
	}
	return nil, false
}

// Width returns the bits of a number.
func (f *Format) Width() int { return 1 + f.Exp + f.Man }

// Parse returns the number of the format nearest to a decimal number.
func (f *Format) Parse(s string) (uint64, error) {
	if f.Man == 23 { // from decimal to the format in one rounding
		v, err := strconv.ParseFloat(s, 32)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return 0, err
		}
		return f.Round(v), nil
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, err
	}
	return f.Round(v), nil
}
