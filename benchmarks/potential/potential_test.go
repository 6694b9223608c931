package potential

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/noc"
)

const addC = `#include "bitsched.h"
void add(int n, const float A[n], const float B[n], float C[n], int T)
{
	inf_array(A, n); inf_array(B, n); inf_array(C, n);
	for (int t = 0; t < T; t++) {
		#pragma omp parallel for
		for (int i = 0; i < n; i++)
			C[i] = A[i] + B[i];
	}
}
`

func program(t *testing.T, n, rounds int64) *Program {
	g, err := cfront.CompileWhole(context.Background(), "add.c", addC, cfront.Options{})
	require.NoError(t, err)
	m := stream.Memory{}
	for _, a := range g.Arrays {
		m[a.Name] = make([]scalar.Value, n)
	}
	return &Program{Graph: g, Memory: m, Args: stream.Args{Symbols: map[string]int64{"n": n, "T": rounds}}}
}

// TestAdd: of c = a + b, the loads are load streams, the addition and the store belong to
// the store stream. Arrays begin at the same bank, so that near the L3 nothing moves; a
// cache that holds all is filled once and emptied once, whatever the rounds.
func TestAdd(t *testing.T) {
	o, err := MicroOps(context.Background(), program(t, 1280, 1))
	require.NoError(t, err)
	require.Equal(t, int64(160), o.Load)
	require.Equal(t, int64(160), o.Store)
	require.Equal(t, int64(160), o.Operands, "nobody but the store takes what is loaded")
	require.Greater(t, o.Other, int64(160), "a loop of vectors has three micro-ops more")

	mesh := noc.DefaultConfig(2, 2)
	sys := System{Mesh: mesh, LineBytes: 64, CacheBytes: 1 << 20}
	one, err := Move(context.Background(), program(t, 1280, 1), sys)
	require.NoError(t, err)
	// Each core goes through all banks equally: the mean distance of a 2x2 mesh is 1 link.
	require.Equal(t, int64(3*1280), one.Accesses)
	require.InEpsilon(t, 3*1280*4, one.NoPrivate, 0.01)
	require.Equal(t, one.NoPrivate, one.Private, "no reuse")
	require.Zero(t, one.NearLLC)
	two, err := Move(context.Background(), program(t, 1280, 2), sys)
	require.NoError(t, err)
	require.Equal(t, 2*one.NoPrivate, two.NoPrivate)
	require.Equal(t, one.Private, two.Private)
	require.Zero(t, one.Found)
	require.Equal(t, 2*one.NoPrivate, 3*two.Found, "the loads of the second round")
	sys.CacheBytes = 64
	small, err := Move(context.Background(), program(t, 1280, 2), sys)
	require.NoError(t, err)
	require.Equal(t, small.NoPrivate, small.Private, "what does not fit is gone")
	require.Zero(t, small.Found)
}

// TestFound has accesses of a cache of two elements: loads find what loads have brought, and
// stores take room.
func TestFound(t *testing.T) {
	c := newCache(8)
	for i, x := range []struct {
		addr         int64
		loads, found bool
	}{
		{0, true, false}, {0, true, true}, {4, false, false}, {4, true, false}, {4, true, true}, {0, false, false}, {0, true, true},
		{8, false, false}, {4, true, false}, {8, true, false}, {8, true, true}, {0, true, false},
	} {
		require.Equal(t, x.found, c.load(x.addr, 4, x.loads), "access %d", i)
	}
}

// TestOperands: of three arrays the first is taken by a store alone, the second by a sum
// too, and the third says where an update is.
func TestOperands(t *testing.T) {
	g, err := cfront.CompileWhole(context.Background(), "f.c", `#include "bitsched.h"
void f(int n, const int A[n], const int B[n], const int at[n], int C[n], int H[n], int S[1])
{
	inf_array(A, n); inf_array(B, n); inf_array(at, n); inf_array(C, n); inf_array(H, n); inf_array(S, 1);
	int s = 0;
	#pragma omp parallel for reduction(+: s)
	for (int i = 0; i < n; i++) {
		C[i] = A[i] + B[i];
		s += B[i];
	}
	#pragma omp parallel for
	for (int i = 0; i < n; i++) {
		#pragma omp atomic
		H[at[i]] += 1;
	}
	S[0] = s;
}
`, cfront.Options{})
	require.NoError(t, err)
	const n = 1280
	m := stream.Memory{"S": make([]scalar.Value, 1)}
	for _, name := range []string{"A", "B", "at", "C", "H"} {
		m[name] = make([]scalar.Value, n)
	}
	o, err := MicroOps(context.Background(), &Program{Graph: g, Memory: m, Args: stream.Args{Symbols: map[string]int64{"n": n}}})
	require.NoError(t, err)
	require.Equal(t, int64(n/16+n), o.Operands, "vectors of A, and subscripts one by one")
	require.Greater(t, o.Load, o.Operands+2*n/16, "those of B, and the sum")
}

const chainC = `#include "bitsched.h"
void chain(int n, const int V[n], const int next[n], int S[1])
{
	inf_array(V, n); inf_array(next, n); inf_array(S, 1);
	int s = 0;
	for (int p = 0; p >= 0; p = next[p])
		s += V[p];
	S[0] = s;
}
`

// TestChain: of a list whose elements lie in each bank in turn, only the subscript goes from
// bank to bank, and the value that ends the loop goes nowhere.
func TestChain(t *testing.T) {
	g, err := cfront.CompileWhole(context.Background(), "chain.c", chainC, cfront.Options{})
	require.NoError(t, err)
	const lines = 64
	m := stream.Memory{"V": make([]scalar.Value, 16*lines), "next": make([]scalar.Value, 16*lines), "S": make([]scalar.Value, 1)}
	for i := range int64(16 * lines) {
		m["next"][i] = scalar.FromInt(scalar.Int32, i+16)
		if i+16 >= 16*lines {
			m["next"][i] = scalar.FromInt(scalar.Int32, -1)
		}
	}
	p := &Program{Graph: g, Memory: m, Args: stream.Args{Symbols: map[string]int64{"n": 16 * lines}}}
	got, err := Move(context.Background(), p, System{Mesh: noc.DefaultConfig(2, 2), LineBytes: 64, CacheBytes: 1 << 20})
	require.NoError(t, err)
	// From node 0 to 1, 2, 3 and 0 again there are 1, 2, 1 and 2 links; core 0 is 0, 1, 1 and
	// 2 links from them. The sum goes from node 3 to the store at node 0.
	require.Equal(t, int64(4*(lines/4*(1+2+1+2)-2)+4*2), got.NearLLC)
	require.Equal(t, got.NearLLC-4*2, got.Addresses, "only the sum is no address")
	require.Equal(t, int64(2*4*lines/4*(0+1+1+2)), got.NoPrivate)
}

const leastC = `#include "bitsched.h"
void f(int n, int m, const int32_t I[n], const int32_t A[n], const int32_t B[n], int32_t C[m], int32_t D[n])
{
	inf_array(I, n); inf_array(A, n); inf_array(B, n); inf_array(C, m); inf_array(D, n);
	#pragma omp parallel for
	for (int i = 0; i < n; i++)
		C[I[i]] += 1;
	#pragma omp parallel for
	for (int i = 0; i < n - 16; i++)
		D[i] = A[i + 16] + B[i + 16];
	#pragma omp parallel for
	for (int i = 0; i < n - 16; i++)
		D[i] = A[i + 16] - B[i];
}
`

// TestLeast counts by hand: an update takes its subscript; a sum of two elements of the next
// bank takes one of them; and the third loop takes nothing, as banks have those elements.
func TestLeast(t *testing.T) {
	const n = 1024
	g, err := cfront.CompileWhole(context.Background(), "f.c", leastC, cfront.Options{})
	require.NoError(t, err)
	m := stream.Memory{}
	for _, a := range g.Arrays {
		m[a.Name] = make([]scalar.Value, n)
	}
	mesh := noc.DefaultConfig(2, 2)
	want := int64(0)
	bank := func(i int) int { return i / 16 % 4 }
	for i := range n {
		to := i * 7 % n
		m["I"][i] = scalar.Value(to)
		want += 4 * int64(mesh.Distance(bank(i), bank(to)))
		if i >= 16 {
			want += 4 * int64(mesh.Distance(bank(i), bank(i-16)))
		}
	}
	p := &Program{Graph: g, Memory: m, Args: stream.Args{Symbols: map[string]int64{"n": n, "m": n}}}
	sys := System{Mesh: mesh, LineBytes: 64, CacheBytes: 1 << 20}
	got, err := Least(context.Background(), p, sys)
	require.NoError(t, err)
	require.Equal(t, want, got)
	mem := stream.Memory{}
	for name, list := range m {
		mem[name] = slices.Clone(list)
	}
	all, err := Move(context.Background(), &Program{Graph: g, Memory: mem, Args: p.Args}, sys)
	require.NoError(t, err)
	require.Less(t, got, all.NearLLC, "both elements of a sum")
}

// TestTree: an element takes as many links as its farthest bank is away, and as it has banks.
func TestTree(t *testing.T) {
	l := &least{mover: &mover{s: &System{Mesh: noc.DefaultConfig(4, 4), LineBytes: 64}}, trees: map[int64]*tree{}}
	sum := int64(0)
	for _, bank := range []int{3, 3, 0, 2, 1, 15, 14} { // of bank 0: 3 links, none, none, and as many banks as these reach
		sum += l.grow(0, bank)
	}
	require.Equal(t, int64(6), sum) // to 15 are 6, and 5 banks
	require.Equal(t, int64(0), l.grow(0, 14))
	require.Equal(t, int64(1), l.grow(0, 13)+l.grow(0, 12)) // 7 banks
}
