package interp_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/tdfgtest"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/interp"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// products is a program whose tensors have all products of the elements of its arrays.
const products = `program products
symbol N in [1,inf)
array A int32[N] on 0
array B int32[N] on 1
array C int32[N] on 2
array S int32[N] on 1
region products dims 3 {
  array A int32[N] on 0
  array B int32[N] on 1
  array C int32[N] on 2
  array S int32[N] on 1
  %0 = tensor A [0,N)x[0,1)x[0,1)
  %1 = tensor B [0,1)x[0,N)x[0,1)
  %2 = tensor C [0,1)x[0,1)x[0,N)
  %3 = bc %0 dim 1 dist 0 count N
  %4 = bc %1 dim 0 dist 0 count N
  %5 = cmp mul %3 %4
  %6 = bc %5 dim 2 dist 0 count N
  %7 = bc %2 dim 0 dist 0 count N
  %8 = bc %7 dim 1 dist 0 count N
  %9 = cmp mul %6 %8
  %10 = reduce add %9 dim 0 group 4
  %11 = final add %10 dim 0
  %12 = reduce add %11 dim 2 group 0
  %13 = final add %12 dim 2
  store %13 S
}
`

func TestLive(t *testing.T) {
	p, err := tdfg.ParseProgram("products", products)
	require.NoError(t, err)
	g := p.Regions()[0].Graph
	opt := interp.Options{Group: func(int) int { return 8 }}
	for _, c := range []struct{ n, want int64 }{
		// Products of two arrays, and of three; the former live until then.
		{16, 16*16 + 16*16*16 + 0},
		{100, 100*100 + 100*100*100},
		{1 << 20, 1<<40 + 1<<60},
		{1 << 24, math.MaxInt64},
		{1 << 40, math.MaxInt64},
	} {
		live, err := interp.Live(g, map[string]int64{"N": c.n}, opt)
		require.NoError(t, err)
		// The groups of 4 of the sum of all products are there with these, at the end.
		if c.n <= 100 {
			c.want = max(c.want, c.n*c.n*c.n+c.n*c.n*((c.n+3)/4))
		} else if c.n == 1<<20 {
			c.want = 1<<60 + 1<<58
		}
		require.Equal(t, c.want, live, "N=%d", c.n)
	}

	m := memory.New()
	sizes := map[string]int64{"N": 16}
	require.NoError(t, m.Allocate(p.Arrays, sizes))
	want := int64(16*16*16 + 16*16*4)
	opt.MaxLive = want
	var told []int64
	opt.Progress = func(n int64) { told = append(told, n) }
	require.NoError(t, interp.Run(context.Background(), p, sizes, m, opt))
	require.Equal(t, []int64{1}, told)
	opt.MaxLive--
	err = interp.Run(context.Background(), p, sizes, m, opt)
	require.ErrorIs(t, err, interp.ErrTooLarge)
	require.ErrorContains(t, err, "5120 elements at a time, expected at most 5119")
}

// TestLiveBounds compares with what any order of freeing gives: the greatest result
// from below, all results together from above.
func TestLiveBounds(t *testing.T) {
	less := 0
	for seed := range uint64(200) {
		g := tdfgtest.Graph(rand.New(rand.NewPCG(seed, 9)), tdfgtest.Options{Type: scalar.Int16, Nodes: 16, Reuse: true})
		var greatest, all int64
		for i := range g.Nodes {
			n := &g.Nodes[i]
			if n.Domain.Everywhere() {
				all++
				continue
			}
			box, err := n.Domain.Box(nil)
			require.NoError(t, err)
			switch n.Kind {
			case tdfg.Compute, tdfg.Convert:
				greatest = max(greatest, box.Size())
			case tdfg.Tensor, tdfg.Const:
				continue
			}
			all += box.Size()
		}
		for _, o := range g.Outputs {
			if box, err := g.Nodes[o.Node].Domain.Box(nil); err == nil {
				all += box.Size()
			}
		}
		live, err := interp.Live(g, nil, interp.Options{})
		require.NoError(t, err)
		require.GreaterOrEqual(t, live, greatest, "seed %d", seed)
		require.LessOrEqual(t, live, all, "seed %d", seed)
		if live < all/2 {
			less++
		}
	}
	require.Greater(t, less, 20, "results are freed")
}

// TestStopsWithin ends the context in the middle of a node: after an element count
// that one node alone has.
func TestStopsWithin(t *testing.T) {
	p, err := tdfg.ParseProgram("products", products)
	require.NoError(t, err)
	sizes := map[string]int64{"N": 128}
	m := memory.New()
	require.NoError(t, m.Allocate(p.Arrays, sizes))
	looks := 0
	ctx := countedContext{context.Background(), &looks, 20}
	require.ErrorIs(t, interp.Run(ctx, p, sizes, m, interp.Options{}), context.Canceled)
	require.Equal(t, 20, looks, "14 nodes and the program look less often than that")
}

// countedContext ends when it was looked at so many times.
type countedContext struct {
	context.Context
	looks *int
	most  int
}

func (c countedContext) Err() error {
	if *c.looks >= c.most {
		return context.Canceled
	}
	*c.looks++
	return nil
}
