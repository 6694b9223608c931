package micro

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/lowering/nearstream"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/se"
)

const stepsC = `#include "bitsched.h"
void f(int n, float a, const float A[n], const float B[n], float C[n], int D[n], unsigned char E[n], double S[1])
{
	inf_array(A, n); inf_array(B, n); inf_array(C, n); inf_array(D, n); inf_array(E, n); inf_array(S, 1);
	for (int i = 0; i < n; i++)
		C[i] = (A[i] - B[i]) * (A[i] - B[i]) / (1.0f + a * A[i]);
	for (int i = 0; i < n; i++)
		D[i] += (E[i] * 3 + E[i]) ^ 5;
	for (int i = 0; i < n; i++)
		if (A[i] > a)
			C[i] = A[i] * a + B[i] * a;
	double s = 0;
	for (int i = 0; i < n; i++)
		s += (double)A[i] * B[i];
	S[0] = s;
}
`

// TestSteps counts by hand the operations of functions at the L3, and how long each chain is: two
// cycles for floats and conversions, three for a product of integers, twelve for a quotient, one for others.
func TestSteps(t *testing.T) {
	g, err := cfront.CompileWhole(context.Background(), "f.c", stepsC, cfront.Options{})
	require.NoError(t, err)
	plan, err := nearstream.Analyze(g)
	require.NoError(t, err)
	args, mem := stream.Args{Symbols: map[string]int64{"n": 500}, Params: map[string]scalar.Value{}}, stream.Memory{}
	for _, p := range g.Params {
		args.Params[p.Name] = scalar.FromFloat(p.Type, 0.5)
	}
	for _, a := range g.Arrays {
		n, err := a.Size[0].Eval(args.Symbols)
		require.NoError(t, err)
		mem[a.Name] = make([]scalar.Value, n)
	}
	p, err := New(g, mem, args, Options{Threads: 1, Vector: 64, Streams: &Streams{Plan: plan, Level: Compute, Range: 8, Ahead: 32, Banks: 16}})
	require.NoError(t, err)
	var got [][3]int
	for _, l := range p.near {
		if l == nil {
			continue
		}
		for i := range l.streams {
			s := &l.streams[i]
			if s.value == nil {
				continue
			}
			steps := s.steps()
			require.Len(t, steps, s.ops, s.name)
			end, longest := make([]int, len(steps)), 0
			for k, x := range steps {
				for _, arg := range x.Args {
					require.Less(t, arg, k, s.name)
					end[k] = max(end[k], end[arg])
				}
				end[k] += x.Latency
				longest = max(longest, end[k])
			}
			require.Equal(t, s.depth, longest, s.name)
			sum := 0
			for _, x := range steps {
				sum += x.Latency
			}
			got = append(got, [3]int{len(steps), sum, longest})
		}
	}
	require.Equal(t, [][3]int{
		{6, 2 + 2 + 2 + 2 + 2 + 12, 2 + 2 + 12}, // the source has the difference twice
		{4, 3 + 1 + 1 + 1, 3 + 1 + 1 + 1},
		{4, 2 + 2 + 2 + 2, 2 + 2 + 2}, // B[i] is loaded under the condition
		{4, 2 + 2 + 2 + 2, 2 + 2 + 2}, // two conversions
	}, got)
	require.Equal(t, 7, se.Chain(3, 7)[0].Latency+se.Chain(3, 7)[1].Latency+se.Chain(3, 7)[2].Latency)
}
