package system_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/system"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/interp"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tile"
)

// nearCounts are programs that mix tensors with streams and last steps of reductions,
// what of them is executed near the memory, and how many elements that asks for,
// counted by hand: one for each element of a transposed array in the box that the
// streams access, and one for each of the box that they may have written.
var nearCounts = []struct {
	name, text                   string
	tile                         lowering.Shape
	ops, elements, finals, steps int64
	rows                         int   // of an array, 0 for 256
	dram                         int64 // transfers of arrays between memory and cells
}{
	{
		// A changes in its cells first. The subscripts of A are data, so that all of it may
		// be asked for; of B eight elements are, and written back. I is never transposed.
		name: "gather", tile: lowering.Shape{64}, ops: 8, elements: 128 + 8 + 8, steps: 1, dram: 4,
		text: `program gather
array A int32[128] on 0
array B int32[128] on 0
array I int32[16] on 0
region change dims 1 {
  array A int32[128] on 0
  %0 = tensor A [0,128)
  %1 = const int32 3
  %2 = cmp add %0 %1
  store %2 A
}
region take dims 1 {
  array A int32[128] on 0
  array B int32[128] on 0
  array I int32[16] on 0
  %0 = tensor A [0,64)
  %1 = tensor B [0,64)
  %2 = cmp add %0 %1
  %3 = strm int32 B {
    graph g
    array A int32[128]
    array B int32[128]
    array I int32[16]
    for i in [2,10) {
      load x: I[i]
      load a: A[x]
      rmw b: B[12-i] = add(@, a)
    }
  }
  store %2 A
  store %3 B
}
`,
	},
	{
		// The result is stored to another array, so that B keeps what it has: the streams
		// work on B[3] to B[10].
		name: "copy", tile: lowering.Shape{64}, ops: 8 + 8, elements: 8 + 8, steps: 1, dram: 4,
		text: `program copy
array B int32[128] on 0
array C int32[128] on 0
region change dims 1 {
  array B int32[128] on 0
  %0 = tensor B [0,128)
  %1 = cmp neg %0
  store %1 B
}
region more dims 1 {
  array B int32[128] on 0
  array C int32[128] on 0
  %0 = tensor B [0,128)
  %1 = strm int32 B {
    graph g
    array B int32[128]
    for i in [2,10) {
      rmw b: B[i+1] = mul(add(@, int32(2)), @)
    }
  }
  %2 = cmp sub %0 %1
  store %1 C
  store %2 B
}
`,
	},
	{
		// The operand, 64 points of A, takes the place of part of it. Even elements up to
		// A[30] are updated: the streams ask for A[0] to A[30], then for the operand, and
		// write both.
		name: "operand", tile: lowering.Shape{64}, ops: 16, elements: 2 * (31 + 64), steps: 1, dram: 2,
		text: `program operand
array A int32[128] on 0
region r dims 1 {
  array A int32[128] on 0
  %0 = tensor A [0,64)
  %1 = mv %0 dim 0 dist 24
  %2 = strm int32 A A=%1 {
    graph g
    array A int32[128]
    for i in [0,16) {
      rmw a: A[2*i] = add(@, int32(1))
    }
  }
  store %2 A
}
`,
	},
	{
		// A value that a stream gives goes on in tensors and to the host.
		name: "value", tile: lowering.Shape{64}, ops: 16, elements: 16, steps: 3, dram: 2,
		text: `program value
array A int32[128] on 0
scalar p int32 input
scalar total int32 = 0
scalar one int32 = 0
region r dims 1 {
  array A int32[128] on 0
  param p int32
  param total int32
  param one int32
  %0 = tensor A [0,128)
  %1 = strm int32 s {
    graph g
    array A int32[128]
    param p int32
    for i in [4,20) {
      reduce s: A[i] over i from p = add(s, @)
    }
  }
  %2 = cmp add %0 %1
  %3 = shrink %2 dim 0 to [7,8)
  result %1 total
  result %3 one
  store %2 A
}
`,
	},
	{
		// K is in memory only: 64 elements of A are counted there, and the next streams, which
		// get K in the place of what it was, take 16 elements of B and write them.
		name: "histogram", tile: lowering.Shape{64}, ops: 64 + 16, elements: 64 + 16 + 16, steps: 2, dram: 4,
		text: `program histogram
array K int32[512] on 0
array A int32[128] on 0
array B int32[128] on 0
region r dims 1 {
  array K int32[512] on 0
  array A int32[128] on 0
  array B int32[128] on 0
  %0 = tensor A [0,128)
  %1 = tensor B [0,128)
  %2 = cmp add %0 %1
  %3 = strm int32 K {
    graph count
    array A int32[128]
    array K int32[512]
    for i in [0,64) {
      load a: A[i]
      rmw k: K[a] = add(@, int32(1))
    }
  }
  %4 = strm int32 B K=%3 {
    graph use
    array B int32[128]
    array K int32[512]
    for i in [0,16) {
      load k: K[i]
      rmw b: B[i] = add(@, k)
    }
  }
  store %2 A
  store %3 K
  store %4 B
}
`,
	},
	{
		// How far the first loop goes depends on data, I[0] is 3, and on a condition in the
		// second: all of B and C may be asked for, and the operand is all of B once more.
		name: "unknown", tile: lowering.Shape{64}, ops: 3 + 4, elements: 2*(128+128) + 2*128, steps: 2, dram: 4,
		text: `program unknown
array B int32[128] on 0
array C int32[128] on 0
array I int32[16] on 0
region r dims 1 {
  array B int32[128] on 0
  array C int32[128] on 0
  array I int32[16] on 0
  %0 = tensor B [0,128)
  %1 = tensor C [0,128)
  %2 = cmp add %0 %1
  %3 = cmp sub %0 %1
  %4 = strm int32 B B=%2 {
    graph data
    array B int32[128]
    array I int32[16]
    load x: I[0]
    for i in [0,x) {
      rmw b: B[i] = add(@, int32(7))
    }
  }
  %5 = strm int32 C {
    graph open
    array C int32[128]
    for n in [0,inf) while lt(n, int64(4)) {
      rmw c: C[n] = add(@, int32(7))
    }
  }
  store %4 B
  store %5 C
}
`,
	},
	{
		// Elements 5 to 20 of three rows lie in three tiles of 8, and in five groups of 4: two
		// and four last steps a row. Along the other dimension all is in one tile.
		name: "final", tile: lowering.Shape{8, 8}, ops: 3*2 + 3*4, finals: 3*2 + 3*4, steps: 3 + 1, dram: 4,
		text: `program final
array A int32[8][24] on 1 0
array B int32[8][24] on 1 0
scalar total int32 = 0
region r dims 2 {
  array A int32[8][24] on 1 0
  array B int32[8][24] on 1 0
  param total int32
  %0 = tensor A [5,21)x[1,4)
  %1 = reduce add %0 dim 0 group 0
  %2 = final add %1 dim 0
  %3 = reduce max %0 dim 0 group 4
  %4 = final max %3 dim 0
  %5 = reduce add %2 dim 1 group 0
  %6 = final add %5 dim 1
  store %2 B
  store %4 A
  result %6 total
}
`,
	},
	{
		// The streams of the second region read A in memory, where it must be again, changed;
		// the third has it in its cells once more. All of B is an operand.
		name: "away", tile: lowering.Shape{64}, ops: 64, elements: 2 * (64 + 128), steps: 1, dram: 6,
		text: `program away
array A int32[128] on 0
array B int32[128] on 0
region r1 dims 1 {
  array A int32[128] on 0
  %0 = tensor A [0,128)
  %1 = cmp neg %0
  store %1 A
}
region r2 dims 1 {
  array A int32[128] on 0
  array B int32[128] on 0
  %0 = tensor B [0,128)
  %1 = cmp neg %0
  %2 = strm int32 B B=%1 {
    graph g
    array A int32[128]
    array B int32[128]
    for i in [0,64) {
      load a: A[2*i]
      rmw b: B[i] = add(@, a)
    }
  }
  store %2 B
}
region r3 dims 1 {
  array A int32[128] on 0
  %0 = tensor A [0,128)
  %1 = cmp neg %0
  store %1 A
}
`,
	},
	{
		// A and C are in no region together, but A is used again behind C and stays.
		name: "between", tile: lowering.Shape{64}, dram: 4,
		text: shareText,
	},
	{
		// In 100 rows C and two registers have room only without A: each makes way for the other.
		name: "share", tile: lowering.Shape{64}, rows: 102, dram: 6,
		text: shareText,
	},
	{
		// A stays where it is while B alone is used, in a region that names A and in one that
		// does not.
		name: "stay", tile: lowering.Shape{64}, dram: 4,
		text: `program stay
array A int32[128] on 0
array B int32[128] on 0
region r1 dims 1 {
  array A int32[128] on 0
  array B int32[128] on 0
  %0 = tensor A [0,128)
  %1 = tensor B [0,128)
  %2 = cmp add %0 %1
  store %2 A
}
region r2 dims 1 {
  array A int32[128] on 0
  array B int32[128] on 0
  %0 = tensor B [0,128)
  %1 = cmp neg %0
  store %1 B
}
region r3 dims 1 {
  array B int32[128] on 0
  %0 = tensor B [0,128)
  %1 = cmp neg %0
  store %1 B
}
region r4 dims 1 {
  array A int32[128] on 0
  %0 = tensor A [0,128)
  %1 = cmp neg %0
  store %1 A
}
`,
	},
	{
		// K is in memory. The first streams change it, for tensors and for the store at the end.
		// The others read K as it was: with an operand in the place of 16 elements, and as it
		// is. B is where the results are added, element by element, and then K is.
		name: "old", tile: lowering.Shape{64}, ops: 128 + 16 + 128, elements: 128 + 16 + 128 + 128, steps: 3, dram: 4,
		text: `program old
array A int32[128] on 0
array B int32[128] on 0
array K int32[128] on 0
region r dims 1 {
  array A int32[128] on 0
  array B int32[128] on 0
  array K int32[128] on 0
  %0 = tensor A [0,128)
  %1 = strm int32 K {
    graph more
    array K int32[128]
    for i in [0,128) {
      rmw k: K[i] = add(@, int32(5))
    }
  }
  %2 = shrink %0 dim 0 to [16,32)
  %3 = strm int32 s K=%2 {
    graph sum
    array K int32[128]
    for i in [16,32) {
      reduce s: K[i] over i from int32(0) = add(s, @)
    }
  }
  %4 = strm int32 B {
    graph add
    array B int32[128]
    array K int32[128]
    for i in [0,128) {
      load k: K[i]
      rmw b: B[i] = add(@, k)
    }
  }
  %5 = cmp add %4 %3
  %6 = cmp add %5 %1
  store %1 K
  store %6 B
}
`,
	},
	{
		// In round k the streams read and write B[k] to B[k+7], and tensors all of it.
		name: "rounds", tile: lowering.Shape{64}, ops: 4 * 8, elements: 4 * (8 + 8), steps: 4, dram: 2,
		text: `program rounds
array B int32[128] on 0
for k in [0,4) step 1 {
  region r dims 1 {
    array B int32[128] on 0
    %0 = tensor B [0,128)
    %1 = strm int32 B {
      graph g
      symbol k in [0,4)
      array B int32[128]
      for i in [0,8) {
        rmw b: B[i+k] = add(@, int32(1))
      }
    }
    %2 = cmp add %0 %1
    store %2 B
  }
}
`,
	},
	{
		// The streams get a sum that the host computes in the place of p.
		name: "host", tile: lowering.Shape{64}, ops: 8, elements: 8 + 8, steps: 1, dram: 2,
		text: `program host
array B int32[128] on 0
scalar p int32 input
region r dims 1 {
  array B int32[128] on 0
  param p int32
  %0 = tensor B [0,128)
  %1 = const param p
  %2 = const int32 1000
  %3 = cmp add %1 %2
  %4 = strm int32 B p=%3 {
    graph g
    array B int32[128]
    param p int32
    for i in [0,8) {
      rmw b: B[i] = add(@, p)
    }
  }
  %5 = cmp sub %0 %4
  store %5 B
}
`,
	},
	{
		// A scalar of the host begins with its value.
		name: "initial", tile: lowering.Shape{64}, dram: 2,
		text: `program initial
array B int32[128] on 0
scalar c int32 = 7
region r dims 1 {
  array B int32[128] on 0
  param c int32
  %0 = tensor B [0,128)
  %1 = const param c
  %2 = cmp add %0 %1
  store %2 B
}
`,
	},
	{
		// In 100 rows, the second region has room for C and two registers only without B, which
		// makes way as A does, whose rows C has. Nothing is spilled.
		name: "alone", tile: lowering.Shape{64}, rows: 102, dram: 6,
		text: `program alone
array A int32[128] on 0
array B int32[128] on 0
array C int32[128] on 0
region r1 dims 1 {
  array A int32[128] on 0
  array B int32[128] on 0
  %0 = tensor A [0,128)
  %1 = tensor B [0,128)
  %2 = cmp add %0 %1
  store %2 B
}
region r2 dims 1 {
  array C int32[128] on 0
  %0 = tensor C [0,128)
  %1 = mv %0 dim 0 dist 1
  %2 = mv %0 dim 0 dist 2
  %3 = cmp add %1 %2
  %4 = cmp add %3 %0
  store %4 C
}
`,
	},
	{
		// The streams ask for all between B[0] and B[31], and write B[0] to B[7].
		name: "read more", tile: lowering.Shape{64}, ops: 8 + 12, elements: 32 + 8, steps: 2, dram: 2,
		text: `program wide
array B int32[128] on 0
scalar last int32 = 0
region r dims 1 {
  array B int32[128] on 0
  param last int32
  %0 = tensor B [0,128)
  %1 = strm int32 B {
    graph g
    array B int32[128]
    for i in [0,8) {
      rmw b: B[i] = add(@, int32(1))
    }
    for i in [20,32) {
      load c: B[i] = neg(@)
    }
  }
  %2 = cmp sub %0 %1
  %3 = shrink %2 dim 0 to [3,4)
  store %2 B
  result %3 last
}
`,
	},
}

// shareText has C used between two uses of A.
const shareText = `program share
array A int32[128] on 0
array C int32[128] on 0
region r1 dims 1 {
  array A int32[128] on 0
  %0 = tensor A [0,128)
  %1 = cmp neg %0
  store %1 A
}
region r2 dims 1 {
  array C int32[128] on 0
  %0 = tensor C [0,128)
  %1 = mv %0 dim 0 dist 1
  %2 = mv %0 dim 0 dist 2
  %3 = cmp add %1 %2
  %4 = cmp add %3 %0
  store %4 C
}
region r3 dims 1 {
  array A int32[128] on 0
  %0 = tensor A [0,128)
  %1 = cmp neg %0
  store %1 A
}
`

// TestNearCounts runs programs that need the memory at both fidelities and holds arrays
// against the interpreter, and counters against those counted by hand.
func TestNearCounts(t *testing.T) {
	ctx := context.Background()
	for _, c := range nearCounts {
		p, err := tdfg.ParseProgram(c.name, c.text)
		require.NoError(t, err)
		require.NoError(t, p.Check())
		before := memory.New()
		require.NoError(t, before.Allocate(p.Arrays, nil))
		for j, a := range p.Arrays {
			for i := range before.Arrays[a.Name].Elems {
				before.Arrays[a.Name].Elems[i] = uint64(7*i*(j%2+1)+i/16+3) % 16
			}
		}
		for _, s := range p.Scalars {
			if s.Input {
				before.Scalars[s.Name] = scalar.FromInt(s.Type, 5)
			}
		}
		want := before.Clone()
		require.NoError(t, interp.Run(ctx, p, nil, want, interp.Options{Group: func(d int) int { return int(c.tile[d]) }}))
		for _, f := range []system.Fidelity{system.Gate, system.Word} {
			got := before.Clone()
			m := small(t)
			if c.rows > 0 {
				m.Array.Rows = c.rows
			}
			rep, err := system.Run(ctx, p, nil, got, system.Options{Machine: m, Fidelity: f, Tile: c.tile, Check: 1})
			require.NoError(t, err, c.name)
			require.Empty(t, want.Diff(got), "%s %v", c.name, f)
			require.Zero(t, rep.NearRegions, "%s %v", c.name, rep.Reasons)
			require.Equal(t, []int64{c.ops, 4 * c.elements, c.finals, c.steps}, []int64{rep.NearOps, rep.NearBytes, rep.FinalOps, rep.NearSteps}, "%s %v", c.name, f)
			// Arrays in cells are all of one size.
			one := int64(128)
			if c.name == "final" {
				one = 8 * 24
			}
			require.Equal(t, c.dram*4*one, rep.DRAMBytes, c.name)
			require.EqualValues(t, one/64, rep.Arrays, c.name)
		}
	}
}

// TestMissing runs without what the program asks for.
func TestMissing(t *testing.T) {
	ctx := context.Background()
	for _, c := range nearCounts {
		if c.name != "value" {
			continue
		}
		p, err := tdfg.ParseProgram(c.name, c.text)
		require.NoError(t, err)
		m := memory.New()
		_, err = system.Run(ctx, p, nil, m, system.Options{Machine: small(t)})
		require.EqualError(t, err, "system: value: no value for p")
		m.Scalars["p"] = 0
		_, err = system.Run(ctx, p, nil, m, system.Options{Machine: small(t)})
		require.EqualError(t, err, "system: no array A in memory")
		_, err = system.Run(ctx, p, nil, nil, system.Options{Machine: small(t), TimingOnly: true})
		require.NoError(t, err)
	}
}

// TestFragments has rows where C beside A, of 8 bits, leaves no adjacent rows for two registers: both
// have the same then, and nothing is spilled.
func TestFragments(t *testing.T) {
	p, err := tdfg.ParseProgram("fragments", strings.ReplaceAll(shareText, "array A int32", "array A int8"))
	require.NoError(t, err)
	for rows, first := range map[int]int{102: 0, 256: 8} {
		m := *tile.Default()
		m.Array.Rows = rows
		made, err := system.Prepare(context.Background(), p, nil, system.Options{Machine: &m})
		require.NoError(t, err)
		require.Equal(t, first, made.Rows["C"].Row, rows)
		require.Len(t, made.Plans, 3)
		for _, plan := range made.Plans {
			require.Zero(t, plan.Slots, rows)
		}
	}
}
