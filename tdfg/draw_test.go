package tdfg_test

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tdfg"
)

// TestDraw counts what stands in the drawings, and reads the SVG as XML.
func TestDraw(t *testing.T) {
	p, err := tdfg.ParseProgram("example.tdfg", text)
	require.NoError(t, err)
	g := p.Regions()[0].Graph
	arrows := len(g.Outputs)
	for i := range g.Nodes {
		arrows += len(g.Nodes[i].Args)
	}
	dot := g.DOT()
	require.Equal(t, arrows, strings.Count(dot, " -> "))
	require.Equal(t, len(g.Nodes)+len(g.Outputs), strings.Count(dot, "fillcolor="))
	require.Contains(t, dot, `label="mv dim 1 dist -k\nfp32 [0,N)x[0,1)"`)

	svg := g.SVG()
	require.Equal(t, arrows, strings.Count(svg, "<line "))
	d := xml.NewDecoder(strings.NewReader(svg))
	texts := 0
	for {
		tok, err := d.Token()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		if s, ok := tok.(xml.StartElement); ok && s.Name.Local == "text" {
			texts++
		}
	}
	require.Equal(t, 2*len(g.Nodes)+len(g.Outputs), texts)
}
