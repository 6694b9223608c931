package micro_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/lowering/micro"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/uop"
)

// TestSumsBegin follows values from operation to operation: a sum of a row waits for
// nothing of the row before, and one of all rows waits for all.
func TestSumsBegin(t *testing.T) {
	const rows, cols = 12, 64
	for _, c := range []struct {
		name, before, inner string
		grows               bool
	}{
		{"of a row", "", "float sum = 0;", false},
		{"of a row, from what was loaded", "", "float sum = B[i];", false},
		{"of all rows", "float sum = 0;", "", true},
	} {
		g, err := cfront.CompileWhole(context.Background(), "f.c", `#include "bitsched.h"
void f(int m, int n, const float A[m][n], float B[m])
{
	inf_array(A, m, n); inf_array(B, m);
	`+c.before+`
	for (int i = 0; i < m; i++) {
		`+c.inner+`
#pragma omp simd reduction(+: sum)
		for (int j = 0; j < n; j++)
			sum += A[i][j];
		B[i] = sum;
	}
}
`, cfront.Options{})
		require.NoError(t, err)
		for _, reassociate := range []bool{false, true} {
			mem := stream.Memory{"A": make([]uint64, rows*cols), "B": make([]uint64, rows)}
			p, err := micro.New(g, mem, stream.Args{Symbols: map[string]int64{"m": rows, "n": cols}}, micro.Options{Threads: 1, Vector: 64, Reassociate: reassociate})
			require.NoError(t, err)
			m := newMachine(p)
			depth := map[uop.Reg]int{} // additions and shuffles behind each other
			var stored []int
			var b uop.Batch
			for status := uop.More; status != uop.Done; {
				b.Reset()
				status, err = p.Threads()[0].Next(&b, 77)
				require.NoError(t, err)
				for i := range b.Ops {
					o := &b.Ops[i]
					_, err := m.perform(&b, o)
					require.NoError(t, err)
					d := 0
					for _, r := range o.Src {
						if r != 0 {
							d = max(d, depth[r])
						}
					}
					if o.Kind == uop.FPAdd || o.Kind == uop.Shuffle {
						d++
					}
					if o.Kind == uop.Store {
						stored = append(stored, d)
					}
					if o.Dst != 0 {
						depth[o.Dst] = d
					}
				}
			}
			require.Len(t, stored, rows, c.name)
			one := cols/16 + 2*16 // groups, then shuffles and additions lane by lane
			if reassociate {
				one = cols/16 + 2*4
			}
			for i, d := range stored {
				want := one
				if c.grows {
					want = one * (i + 1)
				}
				require.Equal(t, want, d, "%s, row %d, reassociate %v", c.name, i, reassociate)
			}
		}
	}
}
