package reproduce

import (
	"context"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/system/fused"
)

// TestAutoPrograms compiles each program with its sizes.
func TestAutoPrograms(t *testing.T) {
	for i := range autoPrograms {
		own := &autoPrograms[i]
		_, _, err := own.load(context.Background(), 1)
		require.NoError(t, err, "%s %s", own.name, own.sizeText())
		require.False(t, slices.ContainsFunc(autoPrograms[:i], func(b ownProgram) bool {
			return b.name == own.name && b.machine == own.machine && b.sizeText() == own.sizeText()
		}), "%s %s twice", own.name, own.sizeText())
	}
}

// TestCompareAuto compares the entry with runs of their own, and means with those by hand.
func TestCompareAuto(t *testing.T) {
	ctx := context.Background()
	env := &Env{Size: Small, Seed: 1}
	list := []ownProgram{
		{name: "vec_add", sizes: map[string]int64{"N": 512}, machine: slice},
		{name: "array_sum", sizes: map[string]int64{"N": 512}, machine: slice, threads: 2},
	}
	m, err := compareAuto(ctx, env, list)
	require.NoError(t, err)
	require.Empty(t, m.Failed)
	require.Len(t, m.Tables[0].Rows, 2)
	product, product2 := 1.0, 1.0
	for i, own := range list {
		k, args, err := own.load(ctx, 1)
		require.NoError(t, err)
		row := m.Tables[0].Rows[i]
		require.Equal(t, []string{own.name, "N=512", slice}, row[:3])
		var cycles []float64
		for _, text := range row[3:11] {
			c, err := strconv.ParseFloat(text, 64)
			require.NoError(t, err)
			cycles = append(cycles, c)
		}
		for j, config := range []string{"inf-s", fused.AutoPredicted, fused.Auto, fused.Oracle} {
			r, err := runInfinity(ctx, env, k, args, slice, config, nil, func(o *fused.Options) {
				o.Decide = j == 0
				if own.threads > 0 {
					o.Threads = own.threads
				}
			})
			require.NoError(t, err)
			require.Equal(t, float64(r.Cycles), cycles[4+j], config)
		}
		require.LessOrEqual(t, cycles[6], slices.Min(cycles[:4]))
		require.LessOrEqual(t, cycles[7], cycles[6])
		product *= cycles[6] / slices.Min(cycles[:4])
		product2 *= cycles[4] / cycles[6]
	}
	require.InEpsilon(t, 2, value(t, m, "kernels and sizes compared"), 1e-9)
	x := value(t, m, "auto over the fastest, cycles")
	require.InEpsilon(t, product, x*x, 1e-9)
	x = value(t, m, "speedup of auto over inf-s with Eq. 2")
	require.InEpsilon(t, product2, x*x, 1e-9)
}

func value(t *testing.T, m *Measured, name string) float64 {
	t.Helper()
	i := slices.IndexFunc(m.Values, func(v Value) bool { return v.Name == name })
	require.GreaterOrEqual(t, i, 0, name)
	return m.Values[i].Value
}
