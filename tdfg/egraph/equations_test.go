package egraph

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tdfg"
)

// TestEquations has an example of each equation in each direction: a rule alone, at
// most with the same one at another place, makes the nodes l and r one class. They
// were two before.
func TestEquations(t *testing.T) {
	const (
		a    = "%0 = tensor A [0,N)x[0,M)\n"
		ab   = a + "%1 = tensor A [1,N)x[0,M)\n"
		abc  = ab + "%2 = tensor A [0,N-1)x[0,M)\n"
		line = "%0 = tensor A [2,3)x[0,M)\n"
		spot = "%0 = tensor A [2,3)x[1,2)\n"
	)
	covered := map[string]bool{}
	for _, c := range []struct {
		rule, nodes string
		l, r        int
	}{
		{"expand", "%0 = tensor A [0,N-2)x[0,M)\n%1 = tensor A [0,N)x[0,M)\n%2 = shrink %1 dim 0 to [0,N-2)\n", 0, 2},
		{"narrow tensor", a + "%1 = shrink %0 dim 0 to [1,3)\n%2 = tensor A [1,3)x[0,M)\n", 1, 2},
		{"lift shrink over move", a + "%1 = shrink %0 dim 0 to [0,3)\n%2 = mv %1 dim 1 dist 1\n%3 = mv %0 dim 1 dist 1\n%4 = shrink %3 dim 0 to [0,3)\n", 2, 4},
		{"lift shrink over move", a + "%1 = shrink %0 dim 0 to [0,3)\n%2 = mv %1 dim 0 dist 1\n%3 = mv %0 dim 0 dist 1\n%4 = shrink %3 dim 0 to [1,4)\n", 2, 4},
		{"sink shrink under move", a + "%1 = shrink %0 dim 0 to [0,3)\n%2 = mv %1 dim 1 dist 1\n%3 = mv %0 dim 1 dist 1\n%4 = shrink %3 dim 0 to [0,3)\n", 4, 2},
		{"sink shrink under move", a + "%1 = shrink %0 dim 0 to [0,3)\n%2 = mv %1 dim 0 dist 1\n%3 = mv %0 dim 0 dist 1\n%4 = shrink %3 dim 0 to [1,4)\n", 4, 2},
		{"lift shrink over broadcast", line + "%1 = shrink %0 dim 1 to [0,2)\n%2 = bc %1 dim 0 dist -2 count N\n%3 = bc %0 dim 0 dist -2 count N\n%4 = shrink %3 dim 1 to [0,2)\n", 2, 4},
		{"sink shrink under broadcast", line + "%1 = shrink %0 dim 1 to [0,2)\n%2 = bc %1 dim 0 dist -2 count N\n%3 = bc %0 dim 0 dist -2 count N\n%4 = shrink %3 dim 1 to [0,2)\n", 4, 2},
		{"sink shrink under broadcast", line + "%1 = bc %0 dim 0 dist -2 count N\n%2 = shrink %1 dim 0 to [1,4)\n%3 = bc %0 dim 0 dist -1 count 3\n", 2, 3},
		{"merge broadcasts", line + "%1 = bc %0 dim 0 dist -2 count N\n%2 = bc %0 dim 0 dist -1 count 3\n%3 = shrink %1 dim 0 to [1,4)\n", 2, 3},
		{"lift shrink over compute", ab + "%2 = shrink %0 dim 0 to [0,3)\n%3 = cmp sub %2 %1\n%4 = cmp sub %0 %1\n%5 = shrink %4 dim 0 to [1,3)\n", 3, 5},
		{"lift shrink over compute", a + "%1 = shrink %0 dim 0 to [0,3)\n%2 = convert int8 %1\n%3 = convert int8 %0\n%4 = shrink %3 dim 0 to [0,3)\n", 2, 4},
		{"sink shrink under compute", ab + "%2 = cmp sub %0 %1\n%3 = shrink %2 dim 0 to [2,3)\n%4 = shrink %0 dim 0 to [2,3)\n%5 = shrink %1 dim 0 to [2,3)\n%6 = cmp sub %4 %5\n", 3, 6},
		{"lift move", ab + "%2 = mv %0 dim 0 dist 1\n%3 = mv %1 dim 0 dist 1\n%4 = cmp sub %2 %3\n%5 = cmp sub %0 %1\n%6 = mv %5 dim 0 dist 1\n", 4, 6},
		{"lift move", a + "%1 = const param k\n%2 = mv %0 dim 0 dist 1\n%3 = cmp sub %1 %2\n%4 = cmp sub %1 %0\n%5 = mv %4 dim 0 dist 1\n", 3, 5},
		{"sink move", ab + "%2 = mv %0 dim 0 dist 1\n%3 = mv %1 dim 0 dist 1\n%4 = cmp sub %2 %3\n%5 = cmp sub %0 %1\n%6 = mv %5 dim 0 dist 1\n", 6, 4},
		{"lift move", a + "%1 = mv %0 dim 0 dist 1\n%2 = convert int8 %1\n%3 = convert int8 %0\n%4 = mv %3 dim 0 dist 1\n", 2, 4},
		{"sink move", a + "%1 = mv %0 dim 0 dist 1\n%2 = convert int8 %1\n%3 = convert int8 %0\n%4 = mv %3 dim 0 dist 1\n", 4, 2},
		{"lift broadcast", line + "%1 = const param k\n%2 = bc %0 dim 0 dist -2 count N\n%3 = cmp sub %1 %2\n%4 = cmp sub %1 %0\n%5 = bc %4 dim 0 dist -2 count N\n", 3, 5},
		{"sink broadcast", line + "%1 = const param k\n%2 = bc %0 dim 0 dist -2 count N\n%3 = cmp sub %1 %2\n%4 = cmp sub %1 %0\n%5 = bc %4 dim 0 dist -2 count N\n", 5, 3},
		{"move-move", a + "%1 = mv %0 dim 0 dist 1\n%2 = mv %1 dim 0 dist 2\n%3 = mv %0 dim 0 dist 3\n", 2, 3},
		{"exchange moves", a + "%1 = mv %0 dim 0 dist 1\n%2 = mv %1 dim 1 dist 2\n%3 = mv %0 dim 1 dist 2\n%4 = mv %3 dim 0 dist 1\n", 2, 4},
		{"move-broadcast", line + "%1 = bc %0 dim 0 dist -2 count 3\n%2 = mv %1 dim 0 dist 1\n%3 = bc %0 dim 0 dist -1 count 3\n", 2, 3},
		{"move-broadcast", line + "%1 = bc %0 dim 0 dist -2 count 3\n%2 = mv %1 dim 1 dist 1\n%3 = mv %0 dim 1 dist 1\n%4 = bc %3 dim 0 dist -2 count 3\n", 2, 4},
		{"broadcast-move", line + "%1 = mv %0 dim 0 dist -1\n%2 = bc %1 dim 0 dist -1 count 3\n%3 = bc %0 dim 0 dist -2 count 3\n", 2, 3},
		{"broadcast-move", line + "%1 = bc %0 dim 0 dist -2 count 3\n%2 = mv %1 dim 1 dist 1\n%3 = mv %0 dim 1 dist 1\n%4 = bc %3 dim 0 dist -2 count 3\n", 4, 2},
		{"broadcast-broadcast", spot + "%1 = bc %0 dim 0 dist -2 count 3\n%2 = bc %1 dim 1 dist -1 count M\n%3 = bc %0 dim 1 dist -1 count M\n%4 = bc %3 dim 0 dist -2 count 3\n", 2, 4},
		{"broadcast to one", line + "%1 = bc %0 dim 0 dist -1 count 1\n%2 = mv %0 dim 0 dist -1\n", 1, 2},
		{"lift over reduction", a + "%1 = shrink %0 dim 1 to [0,2)\n%2 = reduce add %1 dim 0 group 0\n%3 = final add %2 dim 0\n%4 = reduce add %0 dim 0 group 0\n%5 = final add %4 dim 0\n%6 = shrink %5 dim 1 to [0,2)\n", 3, 6},
		{"lift over reduction", a + "%1 = mv %0 dim 1 dist 1\n%2 = reduce add %1 dim 0 group 4\n%3 = final add %2 dim 0\n%4 = reduce add %0 dim 0 group 4\n%5 = final add %4 dim 0\n%6 = mv %5 dim 1 dist 1\n", 3, 6},
		{"fold", "%0 = const int32 5\n%1 = const int32 -7\n%2 = cmp mul %0 %1\n%3 = const int32 -35\n", 2, 3},
		{"fold", "%0 = const int32 300\n%1 = convert int8 %0\n%2 = const int8 44\n", 1, 2},
		{"identity", a + "%1 = const int32 0\n%2 = cmp add %0 %1\n", 2, 0},
		{"identity", a + "%1 = const int32 1\n%2 = cmp mul %1 %0\n", 2, 0},
		{"factor", abc + "%3 = const param k\n%4 = cmp mul %3 %0\n%5 = cmp mul %2 %3\n%6 = cmp sub %4 %5\n%7 = cmp sub %0 %2\n%8 = cmp mul %7 %3\n", 6, 8},
		{"factor", ab + "%2 = cmp neg %0\n%3 = cmp neg %1\n%4 = cmp add %2 %3\n%5 = cmp add %0 %1\n%6 = cmp neg %5\n", 4, 6},
		{"distribute", abc + "%3 = const param k\n%4 = cmp mul %3 %0\n%5 = cmp mul %2 %3\n%6 = cmp sub %4 %5\n%7 = cmp sub %0 %2\n%8 = cmp mul %7 %3\n", 8, 6},
		{"distribute", ab + "%2 = cmp neg %0\n%3 = cmp neg %1\n%4 = cmp add %2 %3\n%5 = cmp add %0 %1\n%6 = cmp neg %5\n", 6, 4},
		{"subtract", ab + "%2 = cmp sub %0 %1\n%3 = cmp neg %1\n%4 = cmp add %0 %3\n", 2, 4},
		{"add negative", ab + "%2 = cmp sub %0 %1\n%3 = cmp neg %1\n%4 = cmp add %3 %0\n", 4, 2},
		{"associate", abc + "%3 = cmp add %0 %1\n%4 = cmp add %3 %2\n%5 = cmp add %1 %2\n%6 = cmp add %0 %5\n", 4, 6},
		{"associate", abc + "%3 = cmp add %0 %1\n%4 = cmp add %3 %2\n%5 = cmp add %2 %0\n%6 = cmp add %1 %5\n", 6, 4},
		{"regroup", abc + "%3 = mv %0 dim 0 dist 1\n%4 = mv %2 dim 0 dist 1\n%5 = cmp max %3 %1\n%6 = cmp max %5 %4\n%7 = cmp max %0 %2\n%8 = mv %7 dim 0 dist 1\n%9 = cmp max %8 %1\n", 6, 9},
		{"regroup", abc + "%3 = const param k\n%4 = cmp mul %3 %0\n%5 = cmp mul %2 %3\n%6 = cmp add %4 %1\n%7 = cmp add %6 %5\n%8 = cmp add %0 %2\n%9 = cmp mul %8 %3\n%10 = cmp add %9 %1\n", 7, 10},
		{"regroup", abc + "%3 = const param k\n%4 = cmp shl %0 %3\n%5 = cmp shl %2 %3\n%6 = cmp add %4 %1\n%7 = cmp add %6 %5\n%8 = cmp add %0 %2\n%9 = cmp shl %8 %3\n%10 = cmp add %9 %1\n", 7, 10},
	} {
		t.Run(fmt.Sprintf("%s %d to %d", c.rule, c.l, c.r), func(t *testing.T) {
			text := "graph equation dims 2\nsymbol N in [6,inf)\nsymbol M in [6,inf)\narray A int32[M][N] on 1 0\nparam k int32\n" + c.nodes
			from, err := tdfg.ParseGraph("equation", text)
			require.NoError(t, err)
			s := newSaturation(from, Options{Cost: weights}, &Stats{})
			of := make([]classID, len(from.Nodes))
			for i := range from.Nodes {
				n := &from.Nodes[i]
				args := make([]classID, len(n.Args))
				for k, a := range n.Args {
					args[k] = of[a]
				}
				of[i] = s.readNode(n, args)
			}
			// The right side of a rule must be found by rewriting l alone.
			only := s.classOf(s.each(of[c.l])[0])
			require.NotEqual(t, s.find(of[c.l]), s.find(of[c.r]))
			s.now++
			for i := range s.rules {
				r := &s.rules[i]
				if r.name != c.rule {
					continue
				}
				covered[r.name] = true
				s.stat, s.budget = &s.stats.Rules[i], 100
				for _, n := range append([]nodeID(nil), s.each(only)...) {
					for _, kind := range r.kinds {
						if s.headOf(n).kind == kind {
							r.find(&s.search, n)
						}
					}
				}
			}
			s.merge()
			s.checkInvariants(t)
			require.Equal(t, s.find(of[c.l]), s.find(of[c.r]), strings.TrimSpace(c.nodes))
		})
	}
	for _, r := range rules() {
		if r.name != "shrink-shrink" { // the normal form has it, see TestNormalForms
			require.True(t, covered[r.name], r.name)
		}
	}
}
