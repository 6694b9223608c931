package arith

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/bitsched/bitsched/internal/minifloat"
)

// Format is a format of binary floating-point numbers by its name.
type Format struct {
	Name string
	minifloat.Format
}

// Formats lists the formats that have operations.
var Formats = []*Format{
	{"fp32", minifloat.Format{Exp: 8, Man: 23}},
	{"fp16", minifloat.Format{Exp: 5, Man: 10}},
	{"bf16", minifloat.Format{Exp: 8, Man: 7}},
	{"fp32ftz", minifloat.Format{Exp: 8, Man: 23, FTZ: true}},
	{"fp16ftz", minifloat.Format{Exp: 5, Man: 10, FTZ: true}},
	{"bf16ftz", minifloat.Format{Exp: 8, Man: 7, FTZ: true}},
}

// LookupFormat returns the format of that name: one of Formats, or any other by
// its bits as in e4m3 and e5m2, 3 to 8 of the exponent and 2 to 23 of the
// fraction, each with ftz after it or not. All have infinities and NaNs as IEEE
// 754 has them.
func LookupFormat(name string) (*Format, bool) {
	for _, f := range Formats {
		if f.Name == name {
			return f, true
		}
	}
	bits, ftz := strings.CutSuffix(name, "ftz")
	f := &Format{name, minifloat.Format{FTZ: ftz}}
	if n, err := fmt.Sscanf(bits, "e%dm%d", &f.Exp, &f.Man); n != 2 || err != nil || bits != fmt.Sprintf("e%dm%d", f.Exp, f.Man) {
		return nil, false
	}
	return f, f.Exp >= 3 && f.Exp <= 8 && f.Man >= 2 && f.Man <= 23
}

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
