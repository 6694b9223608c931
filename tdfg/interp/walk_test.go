package interp

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// TestWalk walks graphs of all kinds of loops and streams, and compares memory, values
// and errors with those of compiled streams, which have an oracle of their own.
func TestWalk(t *testing.T) {
	ctx := context.Background()
	for name, body := range map[string]string{
		"loads":      "for i in [0,N) {\nload a: A[i]\nload b: B[a]\nstore o: O[i] = add(a, b)\n}",
		"backward":   "for i in [0,N) step -1 {\nload a: A[i]\nrmw b: B[a] = add(@, a)\n}",
		"stride":     "for i in [1,N) step -3 {\nload a: A[i]\nstore o: O[i] = neg(a)\n}\nfor j in [0,N) step 2 {\nload c: B[N-1-j]\nstore q: O[j] = c\n}",
		"outer":      "for i in [0,N) step -2 {\nload a: A[i]\nfor j in [0,i) step 3 {\nrmw o: O[j] = add(@, a)\n}\n}\nfor i in [1,N) step 3 {\nfor j in [0,2) {\nrmw q: B[i] = sub(@, k)\n}\n}",
		"triangle":   "for i in [0,N) {\nload a: A[i]\nfor j in [a,N) {\nload b: B[j]\nrmw o: O[i] = max(@, b)\n}\n}",
		"condition":  "for i in [0,N) {\nload a: A[i]\nload b: B[i] if lt(a, int32(4))\nstore o: O[b] = a if gt(b, int32(2))\n}",
		"reductions": "for i in [0,N) {\nfor j in [0,i) {\nload a: A[j]\nreduce s: B[j] over j from int32(3) = add(s, mul(@, a))\nreduce m: A[j] over i from int32(-9) = max(m, @)\n}\nstore o: O[i] = s\n}",
		"pointer":    "for n in [0,inf) while lt(n, int64(5)) {\nreduce p: A[p] over n from int32(1)\nstore o: O[n] = p\n}",
		"while":      "for i in [0,N) while lt(i, int64(3)) {\nload a: A[i]\nstore o: O[i] = sub(a, k)\n}",
		"types":      "for i in [0,N) {\nload a: A[i]\nstore o: O[i] = int32(mul(fp32(a), fp32(1.5)))\n}",
		"bounds":     "for i in [0,N) {\nfor j in [2,5) {\nload a: A[i+j]\nstore o: O[i] = a\n}\n}",
		"empty":      "for i in [3,3) {\nload a: A[i]\nstore o: O[i] = a\n}",
	} {
		text := "graph g\nsymbol N in [1,inf)\narray A int32[N]\narray B int32[N]\narray O int32[N]\nparam k int32\n" + body + "\n"
		g, err := stream.Parse(text, name)
		require.NoError(t, err, name)
		const n = 8
		r := rand.New(rand.NewPCG(1, 1))
		mem := stream.Memory{}
		for _, a := range []string{"A", "B", "O"} {
			for range n {
				mem[a] = append(mem[a], scalar.Value(r.IntN(n)))
			}
		}
		args := stream.Args{Symbols: map[string]int64{"N": n}, Params: map[string]scalar.Value{"k": 7}}
		want := stream.Memory{}
		for a, list := range mem {
			want[a] = slices.Clone(list)
		}
		result, wrong := g.Run(ctx, want, args)
		values, ops, err := walk(ctx, g, mem, args)
		if wrong != nil {
			require.EqualError(t, err, wrong.Error(), name)
			require.Equal(t, "bounds", name)
			continue
		}
		require.NoError(t, err, name)
		require.True(t, maps.EqualFunc(want, mem, slices.Equal), "%s: %v, expected %v", name, mem, want)
		total := int64(0)
		for _, c := range result.Streams {
			total += c.Ops
			if v, ok := result.Value(c.Stream.Name); ok && c.Executed > 0 {
				require.Equal(t, v, values[c.Stream.Name], "%s: %s", name, c.Stream.Name)
			}
		}
		require.Equal(t, total, ops, name)
	}
	g, err := stream.Parse("graph g\nfor n in [0,inf) while bool(true) {\n}\n", "endless")
	require.NoError(t, err)
	stopped, stop := context.WithCancel(ctx)
	stop()
	_, _, err = walk(stopped, g, stream.Memory{}, stream.Args{})
	require.ErrorIs(t, err, context.Canceled)
}
