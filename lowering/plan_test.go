package lowering_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/tdfg"
)

// planOf plans the nodes and outputs of a graph over int8 arrays of 16 elements, whose
// rows follow each other in the order of their names.
func planOf(t *testing.T, arrays string, rows int, body string) *lowering.Plan {
	var b strings.Builder
	b.WriteString("graph g dims 1\n")
	var wl []int
	for i, a := range strings.Fields(arrays) {
		fmt.Fprintf(&b, "array %s int8[16] on 0\n", a)
		wl = append(wl, 8*i)
	}
	b.WriteString("param p int8\n" + body)
	g, err := tdfg.ParseGraph("g", b.String())
	require.NoError(t, err)
	p, err := lowering.NewPlan(context.Background(), g, lowering.Target{Tech: "neural-cache", Rows: rows}, wl, nil)
	require.NoError(t, err)
	return p
}

// steps are the steps of a plan in short: what they do, from which rows to which.
func steps(p *lowering.Plan) (list []string) {
	for _, s := range p.Steps {
		text := s.Kind.String()
		switch s.Kind {
		case lowering.ComputeStep:
			text = strings.TrimPrefix(s.Program.Spec.Op, "int8.")
			for _, a := range s.Args {
				if a.Const {
					text += fmt.Sprintf(" #%d", a.Value)
				} else {
					text += " " + a.Register.String()
				}
			}
		case lowering.FillStep:
		default:
			text += " " + s.Src.String()
		}
		list = append(list, text+" to "+s.Dst.String())
	}
	return list
}

// TestPlan has plans that were worked out by hand. Rows 0 to 7 are array A, and so on;
// registers begin behind the arrays.
func TestPlan(t *testing.T) {
	const a, b = "%0 = tensor A [0,16)\n", "%1 = tensor B [0,16)\n"
	for _, c := range []struct {
		why, arrays, body string
		want              []string
		peak              int // arrays, registers, and what scratch does not find in registers that die
	}{
		{"a sum goes to the array that it is stored to", "A B C",
			a + b + "%2 = cmp add %0 %1\nstore %2 C\n",
			[]string{"add r0:8 r8:8 to r16:8"}, 24},
		{"also if it is an operand, which dies", "A B",
			a + b + "%2 = cmp add %0 %1\nstore %2 A\n",
			[]string{"add r0:8 r8:8 to r0:8"}, 16},
		{"also if it is both", "A",
			a + "%1 = cmp add %0 %0\nstore %1 A\n",
			[]string{"add r0:8 r0:8 to r0:8"}, 8},
		{"arrays change places by way of registers", "A B",
			a + b + "store %0 B\nstore %1 A\n",
			[]string{"copy r0:8 to r16:8", "copy r8:8 to r24:8", "copy r16:8 to r8:8", "copy r24:8 to r0:8"}, 16 + 16},
		{"a part of an array is copied to it", "A B",
			a + "%1 = tensor B [1,16)\n%2 = cmp sub %0 %1\nstore %2 A\n",
			[]string{"sub r0:8 r8:8 to r16:8", "copy r16:8 to r0:8"}, 16 + 8 + 1},
		{"a product cannot replace its factor", "A B",
			a + b + "%2 = cmp neg %0\n%3 = cmp mul %2 %1\nstore %3 B\n",
			[]string{"neg r0:8 to r16:8", "mul r16:8 r8:8 to r24:8", "copy r24:8 to r8:8"}, 16 + 8 + 8},
		{"a difference replaces its operand, and the product goes to an array that nothing reads any more", "A B",
			a + b + "%2 = cmp neg %0\n%3 = cmp sub %1 %2\n%4 = cmp mul %3 %0\nstore %4 B\n",
			[]string{"neg r0:8 to r16:8", "sub r8:8 r16:8 to r16:8", "mul r16:8 r0:8 to r8:8"}, 16 + 8 + 1},
		{"parameters are filled in, constants are folded", "A B",
			a + "%1 = const param p\n%2 = const int8 3\n%3 = cmp add %0 %1\n%4 = cmp mul %3 %2\nstore %4 B\n",
			[]string{"fill to r16:8", "add r0:8 r16:8 to r16:8", "mul r16:8 #3 to r8:8"}, 16 + 8},
		{"shifts count modulo 8", "A B",
			a + "%1 = const int8 9\n%2 = cmp shl %0 %1\nstore %2 B\n",
			[]string{"shl r0:8 #1 to r8:8"}, 16},
		{"an array that is read again is written at the end", "A B",
			a + b + "%2 = cmp sub %0 %1\n%3 = cmp add %2 %0\nstore %2 A\nstore %3 B\n",
			[]string{"sub r0:8 r8:8 to r16:8", "add r16:8 r0:8 to r8:8", "copy r16:8 to r0:8"}, 16 + 8 + 1},
		{"what was moved is used twice, so that only the second sum takes the place of an operand", "A B C",
			"%0 = tensor A [0,12)\n%1 = mv %0 dim 0 dist 4\n%2 = tensor B [0,16)\n%3 = cmp add %2 %1\n%4 = cmp add %3 %1\nstore %4 C\n",
			[]string{"move r0:8 to r24:8", "add r8:8 r24:8 to r32:8", "add r32:8 r24:8 to r32:8", "copy r32:8 to r16:8"}, 24 + 16},
		{"the operand that needs two registers comes first, so that two are enough for all", "A B",
			a + b + "%2 = cmp abs %1\n%3 = cmp neg %0\n%4 = cmp neg %1\n%5 = cmp sub %4 %3\n%6 = cmp sub %2 %5\n%7 = cmp mul %6 %0\nstore %7 B\n",
			[]string{"neg r8:8 to r16:8", "neg r0:8 to r24:8", "sub r16:8 r24:8 to r16:8", "abs r8:8 to r24:8", "sub r24:8 r16:8 to r24:8", "mul r24:8 r0:8 to r8:8"}, 16 + 8 + 8 + 1},
		{"what a change of type takes on the way is free after it", "A B",
			a + "%1 = convert fp16 %0\n%2 = convert int8 %1\nstore %2 B\n",
			[]string{"widen r0:8 to r16:16", "int16.widen r16:16 to r32:32", "fp16.fromint r32:32 to r64:16", "fp16.toint r64:16 to r16:32",
				"int32.min r16:32 #127 to r80:32", "int32.max r80:32 #4294967168 to r112:32", "copy r112:8 to r8:8"}, 0},
	} {
		p := planOf(t, c.arrays, 256, c.body)
		require.Equal(t, c.want, steps(p), c.why)
		require.Zero(t, p.Slots)
		if c.peak > 0 {
			require.Equal(t, c.peak, p.Peak, c.why)
		}
	}
}

// TestPlanUnborn: arrays that are written as a whole and not read lend their rows to others.
func TestPlanUnborn(t *testing.T) {
	p := planOf(t, "A B C D E", 40+2*8+7+2, "%0 = tensor A [0,16)\n%1 = tensor B [0,16)\n%2 = cmp neg %0\n%3 = cmp abs %0\n%4 = cmp sub %2 %3\n"+
		"%5 = cmp not %1\n%6 = cmp sub %5 %2\n%7 = cmp sub %3 %0\nstore %4 C\nstore %6 D\nstore %7 E\n")
	require.Equal(t, []string{"neg r0:8 to r40:8", "abs r0:8 to r48:8", "sub r40:8 r48:8 to r16:8", "not r8:8 to r24:8", "sub r24:8 r40:8 to r24:8", "sub r48:8 r0:8 to r32:8"}, steps(p))
	require.Zero(t, p.Slots)
	require.Equal(t, 40+16+1, p.Peak)
}

// TestPlanSpills has rows for two registers beside the arrays, and a third value: the one
// whose next use is furthest, the negated, makes way (Belady, 1966).
func TestPlanSpills(t *testing.T) {
	p := planOf(t, "A B", 16+2*8+7+2, "%0 = tensor A [0,16)\n%1 = tensor B [0,16)\n%2 = cmp neg %0\n%3 = cmp abs %0\n%4 = cmp sub %2 %3\n"+
		"%5 = cmp not %1\n%6 = cmp sub %5 %2\n%7 = cmp sub %3 %6\n%8 = cmp sub %4 %0\n%9 = cmp sub %8 %1\nstore %7 A\nstore %9 B\n")
	require.Equal(t, []string{"not r8:8 to r16:8", "neg r0:8 to r24:8", "sub r16:8 r24:8 to r16:8", "spill r24:8 to r0:0", "abs r0:8 to r24:8", "sub r24:8 r16:8 to r16:8",
		"spill r16:8 to r0:0", "reload r0:0 to r16:8", "sub r16:8 r24:8 to r16:8", "sub r16:8 r0:8 to r16:8", "sub r16:8 r8:8 to r8:8", "reload r0:0 to r16:8", "copy r16:8 to r0:8"}, steps(p))
	require.Equal(t, 2, p.Slots)
}

// TestPlanErrors has rows that arrays cannot have.
func TestPlanErrors(t *testing.T) {
	ctx := context.Background()
	g, err := tdfg.ParseGraph("g", "graph g dims 1\narray A int8[16] on 0\narray B int8[16] on 0\n%0 = tensor A [0,16)\nstore %0 B\n")
	require.NoError(t, err)
	target := lowering.Target{Tech: "neural-cache", Rows: 34}
	for _, c := range []struct {
		wl   []int
		want string
	}{
		{[]int{0}, "lowering: g: rows for 1 arrays, expected 2"},
		{[]int{0, -1}, "lowering: g: array B has no rows, and tensors are read from it or stored to it"},
		{[]int{0, 7}, "lowering: g: array B takes row 7, which holds another"},
		{[]int{25, 0}, "lowering: g: not enough rows: array A takes rows 25 to 32, expected rows below 32"},
	} {
		_, err := lowering.NewPlan(ctx, g, target, c.wl, nil)
		require.EqualError(t, err, c.want)
	}
	p, err := lowering.NewPlan(ctx, g, target, []int{24, 0}, []lowering.Register{{Row: 8, Bits: 16}})
	require.NoError(t, err)
	require.Equal(t, 32, p.Peak)
	_, err = lowering.NewPlan(ctx, g, target, []int{24, 0}, []lowering.Register{{Row: 7, Bits: 16}})
	require.EqualError(t, err, "lowering: g: array B takes row 7, which holds another")
}

// TestCommandText has a command of each kind as it is printed.
func TestCommandText(t *testing.T) {
	lines, err := lowering.ParsePattern("1:1:3")
	require.NoError(t, err)
	tiles, err := lowering.ParsePattern("0:2:4")
	require.NoError(t, err)
	for want, c := range map[string]lowering.Command{
		"sync":                             {Kind: lowering.Sync, Bitlines: lines, Tiles: tiles},
		"near":                             {Kind: lowering.Near, Bitlines: lines, Tiles: tiles},
		"compute bitlines all tiles 0:2:4": {Kind: lowering.Compute, Whole: true, Bitlines: lines, Tiles: tiles, Dst: 3, Rows: 8},
		"copy bitlines 1:1:3 tiles 0:2:4 rows 5+8 to 20":                                            {Kind: lowering.Copy, Bitlines: lines, Tiles: tiles, Src: 5, Dst: 20, Rows: 8},
		"fill bitlines 1:1:3 tiles 0:2:4 rows 20+8":                                                 {Kind: lowering.Fill, Bitlines: lines, Tiles: tiles, Src: 5, Dst: 20, Rows: 8},
		"shift bitlines all tiles 0:2:4 rows 5+8 to 20 by -7 bitlines":                              {Kind: lowering.ShiftIntra, Whole: true, Tiles: tiles, Src: 5, Dst: 20, Rows: 8, BitlineDist: -7},
		"xshift bitlines 1:1:3 tiles 0:2:4 rows 5+8 to 20 by +1 tiles +0 bitlines":                  {Kind: lowering.ShiftInter, Bitlines: lines, Tiles: tiles, Src: 5, Dst: 20, Rows: 8, TileDist: 1, Copies: 1, TileStride: 1},
		"xshift bitlines 1:1:3 tiles 0:2:4 rows 5+8 to 20 by -2 tiles +9 bitlines x2 every 3 tiles": {Kind: lowering.ShiftInter, Bitlines: lines, Tiles: tiles, Src: 5, Dst: 20, Rows: 8, TileDist: -2, BitlineDist: 9, Copies: 2, TileStride: 3},
	} {
		require.Equal(t, want, c.String())
	}
}
