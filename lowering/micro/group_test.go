package micro_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/lowering/micro"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/uop"
)

const groupsC = `#include "bitsched.h"
void groups(int n, const int A[2 * n], int B[2 * n], double D[n], int8_t C[n], long long S[2])
{
	inf_array(A, 2 * n); inf_array(B, 2 * n); inf_array(D, n); inf_array(C, n); inf_array(S, 2);
	for (int i = 0; i < n; i++)
		B[2 * i] = A[2 * i + 1] * 3;
	for (int i = n - 1; i >= 0; i--)
		D[i] = D[i] * 0.5 + A[i];
	for (int i = 0; i < n; i++)
		C[i] += A[n - 1 - i];
	long long s = 0;
	for (int i = 1; i < n; i += 3)
		s += A[i] ^ C[i];
	S[0] = s;
}
`

// TestGroups executes SIMD loops whose elements lie apart, backwards, or are narrow or
// wide, and counts their accesses: each element once.
func TestGroups(t *testing.T) {
	g, err := cfront.CompileWhole(context.Background(), "groups.c", groupsC, cfront.Options{})
	require.NoError(t, err)
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 4))
		n := int64(1 + r.IntN(200))
		args := stream.Args{Symbols: map[string]int64{"n": n}}
		mem := stream.Memory{}
		for _, a := range g.Arrays {
			k, err := a.Size[0].Eval(args.Symbols)
			require.NoError(t, err)
			for range k {
				v := scalar.FromInt(scalar.Int8, int64(r.IntN(90)))
				if a.Type.Float() {
					v = scalar.FromFloat(a.Type, float64(r.IntN(90)))
				}
				mem[a.Name] = append(mem[a.Name], v)
			}
		}
		want := clone(mem)
		_, err := g.Run(context.Background(), want, args)
		require.NoError(t, err)
		p, err := micro.New(g, mem, args, micro.Options{Threads: 1, Vector: 64})
		require.NoError(t, err)
		m := newMachine(p)
		var b uop.Batch
		lanes := map[bool]int64{}
		for status := uop.More; status != uop.Done; {
			b.Reset()
			status, err = p.Threads()[0].Next(&b, 77)
			require.NoError(t, err)
			require.NoError(t, b.Check())
			for i := range b.Ops {
				_, err := m.perform(&b, &b.Ops[i])
				require.NoError(t, err)
				switch o := &b.Ops[i]; o.Kind {
				case uop.Store, uop.Scatter:
					lanes[true] += int64(o.Lanes)
				case uop.Load, uop.Gather:
					lanes[false] += int64(o.Lanes)
				}
			}
		}
		m.compare(t, p, g, want)
		third := (n + 1) / 3
		require.Equal(t, 3*n+1, lanes[true], "elements written, n=%d", n)
		require.Equal(t, n+2*n+2*n+2*third, lanes[false], "elements read, n=%d", n)
	}
}
