package gen

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/softfloat"
	"github.com/bitsched/bitsched/xmg"
)

// xmgGates is the number of MAJ and XOR gates that a circuit becomes.
func xmgGates(t *testing.T, kind string, o Options) int {
	t.Helper()
	g, err := xmg.FromNetwork(t.Context(), build(t, kind, o), xmg.Options{})
	require.NoError(t, err)
	return g.NumGates()
}

// TestFloatGates has what floating-point circuits cost, as docs/circuits.md says
// too. More is a loss; who needs fewer may lower the figures.
func TestFloatGates(t *testing.T) {
	formats := []softfloat.Format{softfloat.Half, softfloat.BFloat16, softfloat.Single, softfloat.Double}
	for _, c := range []struct {
		kind        string
		ieee, flush [4]int
	}{
		{"fadd", [4]int{388, 363, 841, 1860}, [4]int{382, 355, 828, 1844}},
		{"fcmp", [4]int{84, 90, 154, 288}, [4]int{81, 87, 151, 285}},
		{"fdiv", [4]int{880, 644, 2863, 11001}, [4]int{541, 380, 2068, 9082}},
		{"feq", [4]int{54, 57, 105, 204}, [4]int{58, 64, 112, 214}},
		{"ffma", [4]int{1232, 887, 3331, 10077}, [4]int{1218, 875, 3325, 10097}},
		{"fle", [4]int{59, 65, 113, 215}, [4]int{57, 63, 111, 213}},
		{"flt", [4]int{59, 65, 113, 215}, [4]int{57, 63, 111, 213}},
		{"fmax", [4]int{92, 89, 185, 374}, [4]int{97, 97, 193, 385}},
		{"fmin", [4]int{92, 89, 185, 374}, [4]int{97, 97, 193, 385}},
		{"fmul", [4]int{657, 493, 2168, 7568}, [4]int{470, 321, 1770, 6694}},
		{"fneg", [4]int{0, 0, 0, 0}, [4]int{0, 0, 0, 0}},
		{"fsqrt", [4]int{329, 227, 1207, 5008}, [4]int{260, 184, 1016, 4502}},
		{"fsub", [4]int{388, 363, 841, 1860}, [4]int{382, 355, 828, 1844}},
	} {
		var ieee, flush [4]int
		for i, f := range formats {
			o := formatOptions(f)
			if c.kind == "fneg" {
				o.Extra = nil
			}
			ieee[i] = xmgGates(t, c.kind, o)
			if c.kind != "fneg" {
				o.Extra["flush"] = 1
			}
			flush[i] = xmgGates(t, c.kind, o)
		}
		if ieee != c.ieee || flush != c.flush {
			t.Errorf("%s: %#v, %#v", c.kind, ieee, flush)
		}
	}
}

// TestIntegerGates has what integer circuits and conversions cost.
func TestIntegerGates(t *testing.T) {
	x := func(pairs ...any) map[string]int {
		m := map[string]int{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i].(string)] = pairs[i+1].(int)
		}
		return m
	}
	for _, c := range []struct {
		kind  string
		width int
		extra map[string]int
		want  int
	}{
		{"fconvert", 32, x("width-y", 16), 255},
		{"fconvert", 32, x("width-y", 16, "exponent-y", 8), 108},
		{"fconvert", 32, x("width-y", 64), 335},
		{"fconvert", 16, x("width-y", 32), 157},
		{"fconvert", 16, x("exponent", 8, "width-y", 32), 42},
		{"fconvert", 64, x("width-y", 32), 501},
		{"ffromint", 32, x("width-y", 32, "signed", 1), 443},
		{"ffromint", 8, x("width-y", 16, "signed", 1), 83},
		{"ffromint", 64, x("width-y", 64, "signed", 1), 978},
		{"ftoint", 32, x("signed", 1), 429},
		{"ftoint", 32, x("signed", 1, "round", 1), 492},
		{"ftoint", 16, x("width-y", 8, "signed", 1), 106},
		{"abs", 32, nil, 61},
		{"add", 32, nil, 63},
		{"and", 32, nil, 32},
		{"eq", 32, nil, 63},
		{"isqrt", 32, nil, 376},
		{"le", 32, x("signed", 1), 32},
		{"leading-zeros", 32, nil, 88},
		{"lt", 32, nil, 32},
		{"maximum", 32, x("signed", 1), 96},
		{"minimum", 32, nil, 96},
		{"mul-add", 8, x("width-c", 32, "signed", 1), 239},
		{"mul-add", 32, nil, 2690},
		{"mul-full", 8, nil, 176},
		{"mul-full", 16, nil, 721},
		{"mul-full", 32, nil, 2563},
		{"mul-full", 32, x("signed", 1), 2737},
		{"mul-full", 64, nil, 8448},
		{"mul-high", 32, nil, 2547},
		{"mul-low", 32, nil, 1489},
		{"mul-low", 64, nil, 5667},
		{"neg", 32, nil, 61},
		{"popcount", 32, nil, 62},
		{"quotient", 32, nil, 2046},
		{"quotient", 32, x("signed", 1), 2263},
		{"relu", 32, nil, 31},
		{"remainder", 32, nil, 2141},
		{"remainder", 32, x("signed", 1), 2325},
		{"resize", 32, x("width-y", 64, "signed", 1), 0},
		{"rotate-left", 32, nil, 240},
		{"rotate-right", 32, nil, 240},
		{"select", 32, nil, 64},
		{"shift-left", 32, nil, 240},
		{"shift-right", 32, nil, 240},
		{"shift-right-arithmetic", 32, nil, 235},
		{"sub", 32, nil, 63},
	} {
		if got := xmgGates(t, c.kind, Options{Width: c.width, Extra: c.extra}); got != c.want {
			t.Errorf("%s of width %d, %s: %d gates, expected %d", c.kind, c.width, fmt.Sprint(c.extra), got, c.want)
		}
	}
}
