package tdfg_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/figuretest"
	"github.com/bitsched/bitsched/tdfg"
)

// TestDraw counts what stands in the drawings: constants are inside of the boxes
// that use them.
func TestDraw(t *testing.T) {
	p, err := tdfg.ParseProgram("example.tdfg", text)
	require.NoError(t, err)
	g := p.Regions()[0].Graph
	arrows, boxes := len(g.Outputs), len(g.Outputs)
	for i := range g.Nodes {
		if g.Nodes[i].Kind == tdfg.Const {
			continue
		}
		boxes++
		for _, a := range g.Nodes[i].Args {
			if g.Nodes[a].Kind != tdfg.Const {
				arrows++
			}
		}
	}
	dot := g.DOT()
	require.Equal(t, arrows, strings.Count(dot, " -> "))
	require.Equal(t, boxes, strings.Count(dot, "fillcolor="))
	require.Contains(t, dot, `label="mv dim 1 dist -k\nfp32 [0,N)x[0,1)"`)

	texts, heads, rects := 0, 0, 0
	for _, s := range figuretest.Read(t, []byte(g.SVG())) {
		switch {
		case s.Name == "text" && s.Attrs["text-anchor"] == "middle":
			texts++
		case s.Attrs["marker-end"] != "":
			heads++
		case s.Name == "rect" && s.Attrs["rx"] != "":
			rects++
		}
	}
	require.Equal(t, 2*boxes-len(g.Outputs), texts)
	require.Equal(t, arrows, heads)
	require.Equal(t, boxes, rects)
}

// TestDrawOperands: constants stand where they are among the operands, a dot for
// each arrow; results and constants that are results have boxes.
func TestDrawOperands(t *testing.T) {
	p, err := tdfg.ParseProgram("operands.tdfg", `program operands
symbol N in [4,inf)
array A fp32[N] on 0
array B fp32[N] on 0
scalar k fp32 input
scalar r fp32 = 0
region all dims 1 {
  array A fp32[N] on 0
  array B fp32[N] on 0
  param k fp32
  param r fp32
  %0 = tensor A [0,N)
  %1 = const fp32 0.5
  %2 = const fp32 0.25
  %3 = cmp sub %2 %0
  %4 = const param k
  %5 = cmp fma %0 %4 %3
  %6 = cmp mul %5 %5
  store %6 B
  result %1 r
}
`)
	require.NoError(t, err)
	g := p.Regions()[0].Graph
	all := figuretest.Texts(figuretest.Read(t, []byte(g.SVG())))
	for _, want := range []string{"cmp sub(0.25, ·)", "cmp fma(·, k, ·)", "cmp mul", "const fp32 0.5", "tensor A", "r", "B", "data", "computation", "constant", "result"} {
		require.Contains(t, all, want)
	}
	dot := g.DOT()
	require.Equal(t, 2+2+1+2, strings.Count(dot, " -> "), "mul, fma, sub, results")
	require.Equal(t, 2, strings.Count(dot, "ordering=in"), "sub and fma")
}
