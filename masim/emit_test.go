package masim

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

// A value may lie in two rows of an array; overwriting one of them leaves the
// other.
func TestEmitTwiceInAnArray(t *testing.T) {
	g := xmg.New("")
	a, b, c := g.AddInput("a"), g.AddInput("b"), g.AddInput("c")
	m := g.Maj(a, b, c)
	x := g.Xor(m, a, b)
	g.AddOutput("y", m.Not())
	g.AddOutput("x", x)
	p := Problem{g, sram.Geometry{Arrays: 2, Rows: 8, Cols: 256}}
	gate, parity := int32(m.Node()), int32(x.Node())
	for _, lost := range []uint16{0, 1} {
		prog, err := emit(p, []step{
			{value: gate, array: 0, row: 5, from: computed},
			{value: gate, array: 1, row: 0, from: 0},
			{value: gate, array: 1, row: 1, from: 0},
			{value: 1, array: 1, row: lost, from: 0}, // an input over one of the two
			{value: parity, array: 0, row: 5, from: computed},
		})
		require.NoError(t, err)
		_, err = Check(g, prog, CheckOptions{})
		require.NoError(t, err, "row %d overwritten", lost)
		require.Equal(t, sram.Output{Name: "y", Array: 1, Operand: sram.Row(int(1-lost), true)}, prog.Outputs[0])
	}
}

// Random steps, with values in several rows and arrays, give a program that
// computes what a replay of the steps by value says, or an error where a value
// is missing.
func TestEmitRandomSteps(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	programs, refused := 0, 0
	for range 400 {
		g := xmg.New("")
		lits := []xmg.Lit{xmg.False}
		for range 3 + rng.IntN(4) {
			lits = append(lits, g.AddInput(""))
		}
		pick := func() xmg.Lit { return lits[rng.IntN(len(lits))].NotIf(rng.IntN(2) == 0) }
		for range 4 + rng.IntN(12) {
			if l := g.Maj(pick(), pick(), pick()); rng.IntN(2) == 0 {
				lits = append(lits, l)
			} else {
				lits = append(lits, g.Xor(pick(), pick(), pick()))
			}
		}
		geo := sram.Geometry{Arrays: 2 + rng.IntN(2), Rows: 9 + rng.IntN(3), Cols: 64}
		type cell struct{ array, row int }
		held := map[cell]int{}
		has := func(node, array int) bool {
			for at, n := range held {
				if at.array == array && n == node {
					return true
				}
			}
			return node == 0
		}
		for i := range g.NumInputs() {
			held[cell{0, i}] = i + 1
		}
		free := func(array int) int { // any row that is not an input's
			if array == 0 {
				return g.NumInputs() + rng.IntN(geo.Rows-g.NumInputs())
			}
			return rng.IntN(geo.Rows)
		}
		var steps []step
		do := func(node, array, from int) {
			at := cell{array, free(array)}
			steps = append(steps, step{int32(node), uint16(array), uint16(at.row), int32(from)})
			held[at] = node
		}
		for id := g.FirstGate(); id < g.NumNodes(); id++ {
			for range rng.IntN(12) {
				node, from, to := 1+rng.IntN(id-1), rng.IntN(geo.Arrays), rng.IntN(geo.Arrays)
				if from != to && has(node, from) {
					do(node, to, from)
				}
			}
			array := rng.IntN(geo.Arrays)
			fits := true
			for _, l := range g.Fanins(id) {
				fits = fits && has(l.Node(), array)
			}
			if fits {
				do(id, array, computed)
			}
		}
		missing := false
		for range 3 {
			l := pick()
			g.AddOutput("", l)
			found := l.Node() == 0
			for a := range geo.Arrays {
				found = found || has(l.Node(), a)
			}
			missing = missing || !found
		}
		prog, err := emit(Problem{g, geo}, steps)
		if missing {
			refused++
			require.ErrorContains(t, err, "in no array at the end")
			continue
		}
		programs++
		require.NoError(t, err)
		require.NoError(t, equalsGraph(g, prog))
	}
	require.Greater(t, programs, 50)
	require.Greater(t, refused, 50)
}

func TestEmitErrors(t *testing.T) {
	g := xmg.New("")
	a, b := g.AddInput("a"), g.AddInput("b")
	y := g.And(a, b)
	g.AddOutput("y", y)
	p := Problem{g, sram.Geometry{Arrays: 2, Rows: 4, Cols: 256}}
	gate := int32(y.Node())
	for _, c := range []struct {
		steps []step
		want  string
	}{
		{[]step{{gate, 1, 0, computed}}, "masim: step 0 computes gate 3 in array 1, which does not hold its fanin 1"},
		{[]step{{1, 0, 3, 1}}, "masim: step 0 copies value 1 from array 1, which does not hold it"},
		{nil, "masim: output y: value 3 is in no array at the end"},
	} {
		_, err := emit(p, c.steps)
		require.EqualError(t, err, c.want)
	}
}

// A large geometry of which little is used takes little memory.
func TestEmitLargestGeometry(t *testing.T) {
	g := xmg.New("")
	g.AddOutput("y", g.AddInput("a").Not())
	prog, err := emit(Problem{g, sram.Geometry{Arrays: sram.MaxArrays, Rows: sram.MaxRows, Cols: 256}}, nil)
	require.NoError(t, err)
	_, err = Check(g, prog, CheckOptions{})
	require.NoError(t, err)
}
