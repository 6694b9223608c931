package cfront_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/ctest"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/interp"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// compiled is a kernel void k(int N, arrays...) that is compared with what a C
// compiler makes of it.
type compiled struct {
	source string
	n      int64
	bound  bool // compiled for the value of N only
	fill   func(r *rand.Rand, t scalar.Type) scalar.Value
}

// againstGCC executes kernels on the interpreter and as gcc compiled them, on the same
// random arguments, and compares all bits of all arrays, a NaN as any other. It
// returns the programs.
func againstGCC(t *testing.T, list []compiled, flags ...string) []*tdfg.Program {
	t.Helper()
	files := map[string]string{"bitsched.h": cfront.Header}
	var include, main strings.Builder
	var input bytes.Buffer
	var programs []*tdfg.Program
	var results []*memory.Memory
	for i, c := range list {
		sizes := map[string]int64{"N": c.n}
		p, err := cfront.Compile(context.Background(), "k.c", c.source, cfront.Options{})
		least := int64(1)
		if err == nil && len(p.Sizes) > 0 {
			least, _ = p.Sizes[0].Lo.Const()
		}
		if err != nil || c.n < least || c.bound { // perhaps for this size
			p, err = cfront.Compile(context.Background(), "k.c", c.source, cfront.Options{Defines: sizes})
		}
		require.NoError(t, err, c.source)
		m := memory.New()
		require.NoError(t, m.Allocate(p.Arrays, sizes))
		r := rand.New(rand.NewPCG(uint64(i), 29))
		name := fmt.Sprintf("k%d", i)
		files[name+".c"] = strings.Replace(c.source, "void k(", "void "+name+"(", 1)
		fmt.Fprintf(&include, "#define pick pick%d\n#include \"%s.c\"\n#undef pick\n", i, name)
		call, write := fmt.Sprint(c.n), ""
		main.WriteString("\t{\n")
		for _, a := range p.Arrays {
			x := m.Arrays[a.Name]
			for j := range x.Elems {
				v := r.Uint64() >> r.IntN(a.Type.Bits()) & a.Type.Mask()
				if a.Type.Float() {
					v = scalar.FromFloat(a.Type, float64(r.IntN(64)-32)/8)
				}
				if c.fill != nil {
					v = c.fill(r, a.Type)
				}
				x.Elems[j] = v
				var word [8]byte
				binary.NativeEndian.PutUint64(word[:], v)
				input.Write(word[:a.Type.Bytes()])
			}
			bytes := len(x.Elems) * a.Type.Bytes()
			fmt.Fprintf(&main, "\t\tvoid *%s = malloc(%d);\n\t\tif (fread(%[1]s, 1, %[2]d, stdin) != %[2]d) return 1;\n", a.Name, bytes)
			write += fmt.Sprintf("\t\tfwrite(%s, 1, %d, stdout);\n", a.Name, bytes)
			call += ", " + a.Name
		}
		fmt.Fprintf(&main, "\t\t%s(%s);\n%s\t}\n", name, call, write)
		require.NoError(t, interp.Run(context.Background(), p, sizes, m, interp.Options{}), c.source)
		programs, results = append(programs, p), append(results, m)
	}
	files["main.c"] = "#include <stdio.h>\n#include <stdlib.h>\n" + include.String() + "int main(void)\n{\n" + main.String() + "\treturn 0;\n}\n"
	out := ctest.Run(t, files, input.Bytes(), flags...)
	for i, p := range programs {
		for _, a := range p.Arrays {
			for j, v := range results[i].Arrays[a.Name].Elems {
				var word [8]byte
				copy(word[:], out[:a.Type.Bytes()])
				out = out[a.Type.Bytes():]
				got := scalar.Value(binary.NativeEndian.Uint64(word[:]))
				if a.Type.Float() {
					got = scalar.FromFloat(a.Type, scalar.ToFloat(a.Type, got))
				}
				require.Equal(t, scalar.Format(a.Type, got), scalar.Format(a.Type, v), "kernel %d: %s, element %d\n%s\n%s", i, a.Name, j, list[i].source, p)
			}
		}
	}
	require.Empty(t, out)
	return programs
}

// words makes expressions of C over elements of typed arrays.
type words struct {
	*rand.Rand
	elems []string
}

func (w *words) pick(list ...string) string { return list[w.IntN(len(list))] }

// expr returns an expression whose value C defines, if signed integers wrap.
func (w *words) expr(depth int) string {
	if depth == 0 || w.IntN(5) == 0 {
		if w.IntN(4) == 0 {
			return w.pick("3", "-7", "200u", "0x80000000", "40000", "-1", "1u", "65535", "5000000000", "0xffffffffffffffff")
		}
		return w.pick(w.elems...)
	}
	a, b := w.expr(depth-1), w.expr(depth-1)
	switch w.IntN(9) {
	case 0:
		return fmt.Sprintf("(%s %s %s ? %s : %s)", a, w.pick("<", "<=", ">", ">=", "==", "!="), b, w.expr(depth-1), w.expr(depth-1))
	case 1:
		return fmt.Sprintf("((%s)%s)", w.pick("uint8_t", "int8_t", "uint16_t", "int16_t", "uint32_t", "int32_t", "uint64_t", "int64_t", "unsigned"), a)
	case 2:
		return fmt.Sprintf("(%s %s (%s & 7))", a, w.pick("<<", ">>"), b)
	case 3:
		return fmt.Sprintf("(%s %s (%s | 1))", a, w.pick("/", "%"), w.pick("3", "7u", "(uint8_t)"+b, "9"))
	case 4:
		return w.pick("-", "~", "!") + "(" + a + ")"
	}
	return fmt.Sprintf("(%s %s %s)", a, w.pick("+", "-", "*", "&", "|", "^", "+", "<", ">="), b)
}

var allInts = []string{"int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t"}

// TestUnsignedCompiled compares random arithmetic of signed and unsigned integers of
// all widths, and conversions between them.
func TestUnsignedCompiled(t *testing.T) {
	var list []compiled
	for seed := range uint64(30) {
		w := &words{Rand: rand.New(rand.NewPCG(seed, 3))}
		params, arrays, body := "", "", ""
		for i := range 4 {
			name := string(rune('A' + i))
			params += fmt.Sprintf(", %s %s[N]", allInts[w.IntN(8)], name)
			arrays += fmt.Sprintf("\tinf_array(%s, N);\n", name)
			w.elems = append(w.elems, name+"[i]")
		}
		for range 3 {
			body += fmt.Sprintf("\t\t%s %s %s;\n", w.pick(w.elems...), w.pick("=", "=", "+=", "^=", "*="), w.expr(3))
		}
		list = append(list, compiled{source: "#include \"bitsched.h\"\nvoid k(int N" + params + ")\n{\n" + arrays +
			"#pragma bitsched region\n\tfor (" + w.pick("int", "unsigned", "size_t") + " i = 0; i < N; i++) {\n" + body + "\t}\n}\n", n: 40})
	}
	tensors := 0
	for _, p := range againstGCC(t, list, "-fwrapv", "-w") {
		for _, r := range p.Regions() {
			if len(r.Graph.Nodes) > 0 && r.Graph.Nodes[len(r.Graph.Nodes)-1].Stream == nil {
				tensors++
			}
		}
	}
	require.Greater(t, tensors, 25)
}

// TestDoubleCompiled compares arithmetic of double.
func TestDoubleCompiled(t *testing.T) {
	againstGCC(t, []compiled{{source: `#include "bitsched.h"
void k(int N, double A[N], float B[N], double C[N], int I[N], uint64_t U[N])
{
	inf_array(A, N); inf_array(B, N); inf_array(C, N); inf_array(I, N); inf_array(U, N);
#pragma bitsched region
	for (int i = 0; i < N; i++) {
		C[i] = A[i] * 0.1 + B[i] / (A[i] + 100) - I[i];
		B[i] = A[i] < 0.5 ? A[i] * 1e-3 : U[i];
		A[i] = U[i];
	}
}
`, n: 100}}, "-ffp-contract=off")
}
