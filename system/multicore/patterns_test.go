package multicore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// TestPatterns runs one loop for each of the 16 combinations of table II in all configurations,
// compares each with its sequential meaning, and says which compute or write at the L3.
func TestPatterns(t *testing.T) {
	const n = 520
	source := func(loop, body string) string {
		return "#include \"bitsched.h\"\nvoid f(int N, uint32_t k, const int32_t I[N], const int32_t next[N], int32_t A[N], const int32_t B[N], int32_t T[16])\n{\n" +
			"inf_array(I, N); inf_array(next, N); inf_array(A, N); inf_array(B, N); inf_array(T, 16);\nuint32_t s = 0;\n" + loop + " " + body + "\nT[0] = s;\n}\n"
	}
	const affine = "for (int i = 0; i < N; i++)"
	patterns := []struct{ name, loop, element, with string }{
		{"affine", affine, "A[i]", "k"}, {"indirect", affine, "A[I[i]]", "k"}, {"pointer-chasing", "for (int p = 0; p >= 0; p = next[p])", "A[p]", "k"}, {"multi-operand", affine, "A[i]", "B[i]"},
	}
	// What a load computes is smaller than the element and goes to the core.
	kinds := []struct{ name, body string }{
		{"load", "{ uint8_t c = (%[1]s ^ %[2]s) >> 4; s = s * 3 + c; T[s & 15] = 1; }"}, {"store", "%[1]s = %[2]s;"}, {"update", "%[1]s += %[2]s;"}, {"reduce", "s += %[1]s * %[2]s;"},
	}
	// A chain that writes would have to be restored in its middle, and one that hands each element to
	// the core has iterations there.
	stays := []string{"pointer-chasing load", "pointer-chasing store", "pointer-chasing update"}
	var left []string
	for _, x := range patterns {
		for _, k := range kinds {
			g := graphOf(t, "f.c", source(x.loop, fmt.Sprintf(k.body, x.element, x.with)))
			name := x.name + " " + k.name
			args := stream.Args{Symbols: map[string]int64{"N": n, "k": 11}}
			memory := func() stream.Memory {
				r := rand.New(rand.NewPCG(3, 3))
				m := stream.Memory{"I": make([]scalar.Value, n), "next": make([]scalar.Value, n), "A": make([]scalar.Value, n), "B": make([]scalar.Value, n), "T": make([]scalar.Value, 16)}
				order := append([]int{0}, r.Perm(n-1)...)
				for i := range order[1:] {
					order[1+i]++
				}
				for i := range n {
					m["I"][i], m["A"][i], m["B"][i] = uint64(r.IntN(n)), r.Uint64()>>33, r.Uint64()>>33
					m["next"][order[i]] = uint64(uint32(0xffffffff))
					if i+1 < n {
						m["next"][order[i]] = uint64(order[i+1])
					}
				}
				return m
			}
			want := memory()
			_, err := g.Run(context.Background(), want, args)
			require.NoError(t, err, name)
			for _, c := range multicore.Configurations {
				p := &multicore.Program{Graph: g, Memory: memory(), Args: args}
				r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: small(t, "ooo8"), Threads: 1, Config: c.Name, Warm: true, MaxCycles: 1 << 22})
				require.NoError(t, err, "%s in %s", name, c.Name)
				require.NoError(t, sameMemory(p, want), "%s in %s", name, c.Name)
				if c.Name == "ns" && r.Streams.Bank.Writes+r.Streams.Bank.Operations > 0 {
					left = append(left, name)
				}
			}
			if !slices.Contains(left, name) && !slices.Contains(stays, name) {
				t.Log(name, "stays in the core")
			}
		}
	}
	assert.Len(t, left, 16-len(stays), "%v", left)
	for _, name := range stays {
		assert.NotContains(t, left, name)
	}
}
