package nearstream_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/kernels"
	"github.com/bitsched/bitsched/lowering/nearstream"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// TestTableII: the 16 combinations of address patterns and computations of table II are
// found, each near the L3.
func TestTableII(t *testing.T) {
	const params, arrays = "const int32_t I[N], const int32_t next[N], int32_t A[N], const int32_t B[N], int32_t T[16]", "I,N;next,N;A,N;B,N;T,16"
	const affine, list = "for (int i = 0; i < N; i++) %s", "for (int p = 0; p >= 0; p = next[p]) %s"
	for _, p := range []struct {
		pattern, loop, element, with string
	}{
		{"affine", affine, "A[i]", "k"}, {"indirect", affine, "A[I[i]]", "k"}, {"pointer-chasing", list, "A[p]", "k"}, {"multi-operand", affine, "A[i]", "B[i]"},
	} {
		for _, k := range []struct {
			kind stream.Kind
			body string
		}{
			{stream.Load, "{ uint8_t c = (%[1]s ^ %[2]s) >> 4; s = s * 3 + c; T[s & 15] = 1; }"}, {stream.Store, "%[1]s = %[2]s;"},
			{stream.RMW, "%[1]s += %[2]s;"}, {stream.Reduce, "s += %[1]s * %[2]s;"},
		} {
			body := "uint32_t s = 0; " + fmt.Sprintf(p.loop, fmt.Sprintf(k.body, p.element, p.with)) + " T[0] = s;"
			plan := analyze(t, "t", source("t", params+", int32_t k", arrays, body))
			found := false
			for _, s := range plan.Streams {
				found = found || s.Kind == k.kind && s.Pattern() == p.pattern && s.Place == nearstream.Near && (len(s.Ops) > 0 || k.kind == stream.Store)
			}
			assert.True(t, found, "%s %s: %s\n%s", p.pattern, k.kind, describe(plan), plan.Graph)
		}
	}
}

// TestWorkloads: each of the 14 workloads of table VI has the address and compute pattern
// that the table names, near the L3, with the exceptions that are named.
func TestWorkloads(t *testing.T) {
	want := map[string]string{
		"pathfinder": "multi-operand store", "srad": "multi-operand store", "hotspot": "multi-operand store", "hotspot3D": "multi-operand store", "histogram": "affine load",
		"scluster": "multi-operand reduce", "svm": "multi-operand reduce", "bfs_push": "indirect rmw", "pr_push": "indirect rmw", "bin_tree": "pointer-chasing load",
		"hash_join": "pointer-chasing reduce",
		// The search ends in the middle of a row, which the core decides: its front is an
		// affine update, as in the table's in-core remark (section VII.B).
		"bfs_pull": "affine load",
		// C adds floats in their order, so that the sum stays in the core; the share does not.
		"pr_pull": "multi-operand store",
		// Weights are an array of their own, so that distances take two streams (section II.B).
		"sssp": "indirect store",
	}
	for _, k := range kernels.NearStream() {
		g, err := cfront.CompileWhole(context.Background(), k.File, k.Source, cfront.Options{})
		require.NoError(t, err)
		p, err := nearstream.Analyze(g)
		require.NoError(t, err)
		found := false
		for _, s := range p.Streams {
			found = found || s.Place == nearstream.Near && s.Pattern()+" "+s.Kind.String() == want[k.Name]
			if s.Place != nearstream.Near {
				continue
			}
			assert.LessOrEqual(t, len(s.Inputs), nearstream.MaxInputs, "%s: %s", k.Name, s.Name)
			for _, in := range s.Inputs {
				assert.NotEqual(t, nearstream.NoPattern, in.Address, "%s: %s takes %s", k.Name, s.Name, in.Name)
			}
		}
		assert.True(t, found, "%s: %s", k.Name, describe(p))
	}
}

// TestTableIV: an affine pattern is 450 bits, an indirect one adds 60; a simple computation
// is in the type, another one adds the pointer of its function, and a load also says where
// its elements go.
func TestTableIV(t *testing.T) {
	p := analyze(t, "t", source("t", "const int32_t I[N], int32_t A[N], float B[N], float C[N]", "I,N;A,N;B,N;C,N",
		"for (int i = 0; i < N; i++) A[I[i]] += 1; for (int i = 0; i < N; i++) C[i] = B[i] / 3.0f;"))
	const affine, indirect, compute = 6 + 4 + 48 + 3*48 + 48 + 48 + 8 + 3*48, 4 + 48 + 8, 4 + 3 + 8*(4+3)
	want := []int{affine, indirect + compute, affine + affine, affine + compute + 48}
	for i, s := range p.Streams {
		assert.Equal(t, want[i], s.ConfigBits(p), s.Name)
	}
}

// TestValues: what a loop does not change is an argument of the function, also where it is computed in front
// of the loop; a constant is in the function.
func TestValues(t *testing.T) {
	for factor, want := range map[string]int{"3": 0, "c": 8, "(c + 3)": 8, "(t + 3)": 8, "c * t": 8} {
		p := analyze(t, "t", source("t", "int c, const int32_t A[N], int32_t B[N]", "A,N;B,N", "for (int t = 0; t < 4; t++) for (int i = 0; i < N; i++) B[i] += A[i] * ("+factor+");"))
		n := 0
		for _, s := range p.Streams {
			n += s.ValueBytes()
		}
		assert.Equal(t, want, n, "%s: %s", factor, describe(p))
	}
}

// TestPE: what graphs and pointers compute is simple enough for the PE of an engine, but for the scores of
// pr (section VII.C). Ours differs by the division of a share among the edges, which is the other half of scores.
func TestPE(t *testing.T) {
	others := map[string][]string{"pr_push": {"score", "score"}, "pr_pull": {"share"}}
	for _, k := range kernels.NearStream() {
		switch k.Name {
		case "bfs_push", "bfs_pull", "pr_push", "pr_pull", "sssp", "bin_tree", "hash_join":
		default:
			continue
		}
		g, err := cfront.CompileWhole(context.Background(), k.File, k.Source, cfront.Options{})
		require.NoError(t, err)
		p, err := nearstream.Analyze(g)
		require.NoError(t, err)
		var list []string
		for _, s := range p.Streams {
			if s.Place == nearstream.Near && !s.OnPE() {
				list = append(list, s.Array)
			}
		}
		assert.Equal(t, others[k.Name], list, k.Name)
	}
}
