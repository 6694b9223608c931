package cfront_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/ctest"
	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/egraph"
	"github.com/bitsched/bitsched/tdfg/interp"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// TestRandomCompiled compares what the statements of random kernels do, by which
// TestRandom judges, with what a C compiler makes of them.
func TestRandomCompiled(t *testing.T) {
	seeds := invariants.Draws(15, 40)
	files := map[string]string{"bitsched.h": cfront.Header}
	var include, main strings.Builder
	var input bytes.Buffer
	var programs []*program
	for seed := range uint64(seeds) {
		r := rand.New(rand.NewPCG(seed, 11))
		p := generate(r.IntN, seed)
		programs = append(programs, p)
		name := fmt.Sprintf("k%d", seed)
		files[name+".c"] = strings.Replace(p.source, "void k(", "void "+name+"(", 1)
		fmt.Fprintf(&include, "#include \"%s.c\"\n", name)
		call := fmt.Sprintf("%d, %d, %sf", p.sizes["N"], p.sizes["M"], strconv.FormatFloat(float64(p.s), 'x', -1, 32))
		var write strings.Builder
		main.WriteString("\t{\n")
		for _, a := range p.arrays {
			n := len(a.data) * a.t.typ.Bytes()
			fmt.Fprintf(&main, "\t\tvoid *%s = malloc(%d);\n\t\tif (fread(%[1]s, 1, %[2]d, stdin) != %[2]d) return 1;\n", a.name, n)
			fmt.Fprintf(&write, "\t\tfwrite(%s, 1, %d, stdout);\n", a.name, n)
			call += ", " + a.name
			for _, v := range a.data {
				input.Write(encode(a.t, bits(a.t, v)))
			}
		}
		fmt.Fprintf(&main, "\t\t%s(%s);\n%s\t}\n", name, call, write.String())
		p.run()
	}
	files["main.c"] = "#include <stdio.h>\n#include <stdlib.h>\n" + include.String() + "int main(void)\n{\n" + main.String() + "\treturn 0;\n}\n"
	out := ctest.Run(t, files, input.Bytes())
	for i, p := range programs {
		for _, a := range p.arrays {
			for j, v := range a.data {
				n := a.t.typ.Bytes()
				var word [8]byte
				copy(word[:], out[:n])
				out = out[n:]
				got := scalar.Value(binary.NativeEndian.Uint64(word[:]))
				if f := math.Float32frombits(uint32(got)); a.t.bits == 0 && f != f {
					got = 0x7fc00000
				}
				require.Equal(t, bits(a.t, v), got, "kernel %d: %s, element %d\n%s", i, a.name, j, p.source)
			}
		}
	}
	require.Empty(t, out)
}

// TestHalfCompiled compares arithmetic of fp16, of random bits, with what a C compiler
// makes of it that rounds every operation to its type.
func TestHalfCompiled(t *testing.T) {
	const n = 2048
	source := `#include "bitsched.h"
void half(int N, const fp16 A[N], const fp16 B[N], fp16 C[N], fp16 D[N], float E[N])
{
	inf_array(A, N); inf_array(B, N); inf_array(C, N); inf_array(D, N); inf_array(E, N);
#pragma bitsched region
	for (int i = 0; i < N; i++) {
		C[i] = A[i] * B[i] + A[i];
		D[i] = A[i] < B[i] ? A[i] - B[i] : A[i] / B[i];
		E[i] = A[i] * B[i] + 1.5f;
	}
}
`
	p, err := compile(source, nil)
	require.NoError(t, err)
	sizes := map[string]int64{"N": n}
	m := memory.New()
	require.NoError(t, m.Allocate(p.Arrays, sizes))
	r := rand.New(rand.NewPCG(3, 17))
	var input bytes.Buffer
	for _, name := range []string{"A", "B"} {
		for i := range m.Arrays[name].Elems {
			v := uint16(r.Uint32())
			if i%2 == 0 {
				v = v&0x83ff | uint16(r.IntN(6)+12)<<10 // of like magnitude
			}
			m.Arrays[name].Elems[i] = scalar.Value(v)
			require.NoError(t, binary.Write(&input, binary.NativeEndian, v))
		}
	}
	require.NoError(t, interp.Run(context.Background(), p, sizes, m, interp.Options{}))
	out := ctest.Run(t, map[string]string{"bitsched.h": cfront.Header, "half.c": source, "main.c": fmt.Sprintf(`#include <stdio.h>
#include "half.c"
#define N %d
static fp16 a[N], b[N], c[N], d[N];
static float e[N];
int main(void)
{
	if (fread(a, 2, N, stdin) != N || fread(b, 2, N, stdin) != N) return 1;
	half(N, a, b, c, d, e);
	fwrite(c, 2, N, stdout); fwrite(d, 2, N, stdout); fwrite(e, 4, N, stdout);
	return 0;
}
`, n)}, input.Bytes(), "-fexcess-precision=16")
	var c, d [n]uint16
	var e [n]uint32
	for _, x := range []any{&c, &d, &e} {
		read := bytes.NewReader(out)
		require.NoError(t, binary.Read(read, binary.NativeEndian, x))
		out = out[len(out)-read.Len():]
	}
	for i := range n {
		for _, x := range []struct {
			array    string
			typ      scalar.Type
			compiled scalar.Value
		}{{"C", scalar.FP16, scalar.Value(c[i])}, {"D", scalar.FP16, scalar.Value(d[i])}, {"E", scalar.FP32, scalar.Value(e[i])}} {
			got, a, b := m.Arrays[x.array].Elems[i], m.Arrays["A"].Elems[i], m.Arrays["B"].Elems[i]
			if f := scalar.ToFloat(x.typ, x.compiled); f != f {
				require.True(t, math.IsNaN(scalar.ToFloat(x.typ, got)), "%s[%d] of %#x, %#x: %#x", x.array, i, a, b, got)
				continue
			}
			require.Equal(t, x.compiled, got, "%s[%d] of %#x, %#x", x.array, i, a, b)
		}
	}
}

func encode(t gtype, v scalar.Value) []byte {
	var word [8]byte
	binary.NativeEndian.PutUint64(word[:], v)
	return word[:t.typ.Bytes()]
}

// TestRandomOptimized compares what random kernels compute after optimisation with
// what their statements do.
func TestRandomOptimized(t *testing.T) {
	cheaper := 0
	for seed := range uint64(25) {
		r := rand.New(rand.NewPCG(seed, 13))
		p := generate(r.IntN, seed)
		m := p.memory()
		q, err := cfront.Compile(context.Background(), "k.c", p.source, cfront.Options{})
		if err != nil {
			require.True(t, allowed(err), err)
			continue
		}
		q, stats, err := egraph.OptimizeProgram(context.Background(), q, egraph.Options{Cost: egraph.DefaultCost(1 << 22), Nodes: 800, Effort: 200, Sizes: p.sizes})
		require.NoError(t, err, p.source)
		for _, s := range stats {
			if !s.Kept {
				cheaper++
			}
		}
		p.run()
		require.NoError(t, interp.Run(context.Background(), q, p.sizes, m, interp.Options{}), p.source)
		require.Empty(t, p.differs(m), "%s%s", p.source, q)
	}
	require.NotZero(t, cheaper)
}
