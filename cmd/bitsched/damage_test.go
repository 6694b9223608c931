package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/lowering/arith"
	"github.com/bitsched/bitsched/masim"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/xmg"
)

// TestDamage spoils the result of each command that checks its own: one bit of one
// element, one operand of one instruction, one output of a graph, the program of an
// operation. The exit code is 1 then, and 0 without. What is given by users is spoiled in scripts.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	circuit := filepath.Join(dir, "add.blif")
	a, _, _ := testApp()
	require.Zero(t, a.run([]string{"gen", "adder", "--width", "4", "-o", circuit}))
	product := filepath.Join(dir, "mul.aig")
	a, _, _ = testApp()
	require.Zero(t, a.run([]string{"gen", "multiplier", "--width", "4", "-o", product}))
	kernel := filepath.Join(dir, "k.c")
	require.NoError(t, os.WriteFile(kernel, []byte(nineOrders), 0o666))
	flip := func(name string) func(any) {
		return func(result any) { result.(*memory.Memory).Arrays[name].Elems[7] ^= 1 << 20 }
	}
	for _, c := range []struct {
		args   []string
		damage func(any)
	}{
		{[]string{"run", "vec_add", "-D", "N=1024"}, flip("C")},
		{[]string{"run", "vec_add", "-D", "N=1024", "--fidelity", "gate"}, flip("A")},
		{[]string{"run", "vec_add", "-D", "N=100"}, flip("C")}, // near the memory
		{[]string{"run", kernel, "-D", "N=32", "-D", "M=32"}, flip("B")},
		{[]string{"run", kernel, "-D", "N=32", "-D", "M=32", "--optimize"}, flip("B")},
		{[]string{"tdfg", "run", "vec_add"}, flip("C")},
		{[]string{"schedule", circuit, "--rows", "64", "--effort", "fast"}, func(result any) { dishonest(result.(*masim.Scheduler)) }},
		{[]string{"synth", product, "--effort", "fast"}, func(result any) {
			row := result.([]*xmg.Graph)
			o := &row[len(row)-1].Outputs()[0]
			o.Lit = o.Lit.Not()
		}},
		{[]string{"compare", circuit, "--rows", "64", "--effort", "fast"}, func(result any) {
			dishonest(&result.([]masim.Scheduler)[0])
		}},
		{[]string{"eval", "int8.add", "--random", "1000"}, subtract},
		{[]string{"verify", "int8.add"}, subtract},
		{[]string{"verify", "int8.add", "--exhaustive"}, subtract},
	} {
		a, _, stderr := testApp()
		require.Equal(t, exitOK, a.run(c.args), "%v: %s", c.args, stderr)
		a, _, stderr = testApp()
		a.damage = c.damage
		require.Equal(t, exitCheck, a.run(c.args), "%v: %s", c.args, stderr)
		require.NotEmpty(t, stderr.String())
	}
}

// dishonest has a scheduler make programs that are wrong.
func dishonest(s *masim.Scheduler) {
	run := s.Run
	s.Run = func(ctx context.Context, p masim.Problem, o masim.Options) (*masim.Result, error) {
		r, err := run(ctx, p, o)
		if err == nil {
			spoil(r.Program)
		}
		return r, err
	}
}

// subtract has the program of an addition of bytes subtract.
func subtract(result any) {
	p := result.(*arith.Program)
	q, err := arith.Build(context.Background(), arith.Spec{Op: "int8.sub", Tech: p.Spec.Tech, Rows: p.Spec.Rows})
	if err != nil {
		panic(err)
	}
	op := p.Op
	*p = *q
	p.Op = op
}

// spoil negates an operand of an instruction.
func spoil(p *sram.Program) {
	i := slices.IndexFunc(p.Instrs, func(in sram.Instr) bool { return in.Op == sram.Xor && !in.Src[0].IsConst() })
	src := &p.Instrs[i].Src[0]
	*src = sram.Row(src.Row(), !src.Negated())
}

// nineOrders is a stencil of three weights, whose sum the optimiser takes in another
// order.
const nineOrders = `#include "bitsched.h"
void nine(int N, int M, const float A[N][M], float B[N][M])
{
	inf_array(A, N, M);
	inf_array(B, N, M);
#pragma bitsched region reassociate
	for (int i = 1; i < N - 1; i++)
		for (int j = 1; j < M - 1; j++)
			B[i][j] = 0.25f * A[i][j] + 0.125f * (A[i - 1][j] + A[i + 1][j] + A[i][j - 1] + A[i][j + 1])
				+ 0.0625f * A[i - 1][j - 1] + 0.0625f * A[i - 1][j + 1] + 0.0625f * A[i + 1][j - 1] + 0.0625f * A[i + 1][j + 1];
}
`

// TestReassociated: with --optimize sums are of another order than the kernel's, which is
// no failure. The bits are those of the optimised graphs.
func TestReassociated(t *testing.T) {
	kernel := filepath.Join(t.TempDir(), "k.c")
	require.NoError(t, os.WriteFile(kernel, []byte(nineOrders), 0o666))
	a, stdout, stderr := testApp()
	require.Equal(t, exitOK, a.run([]string{"run", kernel, "-D", "N=64", "-D", "M=64", "--optimize"}), "%s", stderr)
	require.Regexp(t, `all bits of all arrays agree with the interpreter's on the optimised graphs: 8192 elements of 2 arrays
checked +sums of another order, within [\d.]+e-\d+ of the greatest element: as the interpreter's on the graphs of the kernel: 8192 elements`, stdout.String())
}
