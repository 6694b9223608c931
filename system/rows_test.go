package system

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tdfg"
)

// using makes a program of regions that use arrays of 8 bits: "AB+ (C D)" is one with A and B, which it
// stores to, then a loop around one with C and one with D.
func using(t *testing.T, list string) *tdfg.Program {
	t.Helper()
	var body, arrays strings.Builder
	seen := map[rune]bool{}
	for i, w := range strings.Fields(list) {
		if strings.HasPrefix(w, "(") {
			fmt.Fprintf(&body, "for i%d in [0,2) step 1 {\n", i)
		}
		names := strings.Trim(w, "()")
		fmt.Fprintf(&body, "region r%d dims 1 {\n", i)
		for _, c := range names {
			if c != '+' {
				fmt.Fprintf(&body, "  array %c int8[64] on 0\n", c)
			}
			if c != '+' && !seen[c] {
				seen[c] = true
				fmt.Fprintf(&arrays, "array %c int8[64] on 0\n", c)
			}
		}
		node := 0
		for k, c := range names {
			if c == '+' {
				continue
			}
			fmt.Fprintf(&body, "  %%%d = tensor %c [0,64)\n", node, c)
			if node++; k+1 < len(names) && names[k+1] == '+' {
				fmt.Fprintf(&body, "  %%%d = cmp neg %%%d\n  store %%%d %c\n", node, node-1, node, c)
				node++
			}
		}
		body.WriteString("}\n")
		if strings.HasSuffix(w, ")") {
			body.WriteString("}\n")
		}
	}
	p, err := tdfg.ParseProgram("uses", "program uses\n"+arrays.String()+body.String())
	require.NoError(t, err, body.String())
	return p
}

// TestRowsBetween gives arrays rows by hand: each stays where it is while it is in use, and, as far as
// there are rows, what was stored stays in any case.
func TestRowsBetween(t *testing.T) {
	for _, c := range []struct {
		program string
		most    int
		rows    map[string]int
	}{
		{"AB C A", 24, map[string]int{"A": 0, "B": 8, "C": 8}},   // B is not used again
		{"AB+ C A", 24, map[string]int{"A": 0, "B": 8, "C": 16}}, // and need not go to memory first
		{"AB+ C A", 16, map[string]int{"A": 0, "B": 8, "C": 8}},  // but A comes back
		{"AB+ C A", 15, map[string]int{"A": 0, "B": 8, "C": 0}},  // no room
		{"A B", 16, map[string]int{"A": 0, "B": 0}},              // one after the other
		{"(A B)", 16, map[string]int{"A": 0, "B": 8}},            // and around again
		{"(A B) C", 16, map[string]int{"A": 0, "B": 8, "C": 0}},  // not behind the loop
		{"A (B C) D", 24, map[string]int{"A": 0, "B": 0, "C": 8, "D": 0}},
		{"A B (C A)", 24, map[string]int{"A": 0, "B": 8, "C": 8}},    // A from its first use to the end of the loop
		{"A+ B+ C+ AC", 32, map[string]int{"A": 0, "B": 8, "C": 16}}, // all apart
		{"A+ B+ C+ AC", 16, map[string]int{"A": 0, "B": 8, "C": 8}},  // B goes
	} {
		p := using(t, c.program)
		var graphs []*tdfg.Graph
		for _, r := range p.Regions() {
			graphs = append(graphs, r.Graph)
		}
		arrays, _, _ := arraysOf(graphs)
		l, _ := lives(p.Body)
		rows, _ := rowsOf(arrays, graphs, l, c.most)
		require.Equal(t, c.rows, rows, "%s in %d rows", c.program, c.most)
	}
}

// TestKept lists by hand what should stay on bitlines in each region, what is used soonest first.
func TestKept(t *testing.T) {
	for _, c := range []struct {
		program string
		kept    []string // of each region
	}{
		{"A B C AB", []string{"", "A", "AB", ""}},
		{"A B C B A", []string{"", "A", "BA", "A", ""}}, // B is needed sooner; C is as in memory
		{"A+ B C", []string{"", "A", "A"}},              // it would have to go there
		{"(A B C) D", []string{"BC", "CA", "AB", ""}},   // around again
		{"D+ (A B)", []string{"", "BD", "AD"}},          // the loop comes back to A
		{"A+ (B C) D+ B", []string{"", "CA", "BA", "BA", "AD"}},
	} {
		p := using(t, c.program)
		r := newRunner(p, nil, nil, Options{})
		var graphs []*tdfg.Graph
		for _, g := range p.Regions() {
			graphs = append(graphs, g.Graph)
		}
		r.arrays, _, _ = arraysOf(graphs)
		r.lives, r.number = lives(p.Body)
		rows := map[string]int{}
		for i, a := range r.arrays {
			rows[a.Name] = 8 * i
		}
		for i, want := range c.kept {
			got := ""
			for _, a := range r.kept(graphs[i], rows, wordlines(graphs[i], rows)) {
				got += a.Name
			}
			require.Equal(t, want, got, "%s, region %d", c.program, i)
		}
	}
}
