package figure

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bitsched/bitsched/internal/figuretest"
)

// curve returns points of a path of M, V and C commands, close to each other.
func curve(t figuretest.T, d string) []Point {
	t.Helper()
	numbers := func(s string, n int) []float64 {
		f := strings.Fields(s)
		require.Len(t, f, n, d)
		v := make([]float64, n)
		for i := range v {
			_, err := fmt.Sscan(f[i], &v[i])
			require.NoError(t, err)
		}
		return v
	}
	var at Point
	var points []Point
	for i := 0; i < len(d); {
		end := i + 1
		for end < len(d) && !strings.ContainsRune("MVC", rune(d[end])) {
			end++
		}
		args := d[i+1 : end]
		switch d[i] {
		case 'M':
			v := numbers(args, 2)
			at = Point{v[0], v[1]}
			points = append(points, at)
		case 'V':
			v := numbers(args, 1)
			for k := 1; k <= 20; k++ {
				points = append(points, Point{at.X, at.Y + (v[0]-at.Y)*float64(k)/20})
			}
			at.Y = v[0]
		case 'C':
			v := numbers(args, 6)
			for k := 1; k <= 40; k++ {
				s := float64(k) / 40
				a, b, c, e := (1-s)*(1-s)*(1-s), 3*s*(1-s)*(1-s), 3*s*s*(1-s), s*s*s
				points = append(points, Point{a*at.X + b*v[0] + c*v[2] + e*v[4], a*at.Y + b*v[1] + c*v[3] + e*v[5]})
			}
			at = Point{v[4], v[5]}
		default:
			require.Fail(t, "unknown command", d)
		}
		i = end
	}
	return points
}

// drawnGraph is what a reader of a drawing sees.
type drawnGraph struct {
	boxes  []figuretest.Shape // in the order of the graph
	paths  [][]Point
	arrows int // heads
}

func readGraph(t figuretest.T, g *Graph) drawnGraph {
	t.Helper()
	svg := g.SVG()
	require.Equal(t, string(svg), string(g.SVG()), "the same bytes again")
	var d drawnGraph
	for _, s := range figuretest.Read(t, svg) {
		switch {
		case s.Name == "rect" && s.Attrs["rx"] != "":
			d.boxes = append(d.boxes, s)
		case s.Name == "path" && !s.Def:
			d.paths = append(d.paths, curve(t, s.Attrs["d"]))
			if s.Attrs["marker-end"] != "" {
				d.arrows++
			}
		}
	}
	require.Len(t, d.boxes, len(g.Boxes))
	require.Equal(t, len(g.Arrows), d.arrows)
	return d
}

// TestGraph draws random graphs. No two boxes overlap, texts are in their boxes, no
// arrow crosses a box, and from each box one can follow lines down to those boxes,
// and only those, that its arrows go to.
func TestGraph(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := &Graph{Title: "random", Desc: "A random graph."}
		n := rapid.IntRange(0, 25).Draw(t, "n")
		for i := range n {
			b := Box{Colour: "#eeeeee", Lines: rapid.SliceOfN(rapid.SampledFrom([]string{"add", "a longer line of text", "[0,N)"}), 1, 3).Draw(t, "lines"), Ordered: rapid.Bool().Draw(t, "ordered")}
			g.Boxes = append(g.Boxes, b)
			if i > 0 {
				for _, from := range rapid.SliceOfN(rapid.IntRange(0, i-1), 0, 3).Draw(t, "operands") {
					g.Arrows = append(g.Arrows, Arrow{from, i})
				}
			}
		}
		d := readGraph(t, g)
		type rect struct{ x1, y1, x2, y2 float64 }
		var rects []rect
		for i, b := range d.boxes {
			x, y := b.Num(t, "x"), b.Num(t, "y")
			r := rect{x, y, x + b.Num(t, "width"), y + b.Num(t, "height")}
			for _, line := range g.Boxes[i].Lines {
				require.Less(t, figuretest.Width(line, false)*boxText, r.x2-r.x1, "a text in its box")
			}
			for _, o := range rects {
				require.True(t, r.x1 >= o.x2+4 || o.x1 >= r.x2+4 || r.y1 >= o.y2+4 || o.y1 >= r.y2+4, "boxes apart")
			}
			rects = append(rects, r)
		}
		on := func(p Point) int {
			for i, r := range rects {
				if p.X > r.x1+0.02 && p.X < r.x2-0.02 && p.Y >= r.y1-0.02 && p.Y <= r.y2+0.02 {
					return i
				}
			}
			return -1
		}
		// Lines meet where one ends and another begins.
		next := map[string][]int{}
		key := func(p Point) string { return fmt.Sprintf("%.2f %.2f", p.X, p.Y) }
		var starts []int
		for i, path := range d.paths {
			for _, p := range path[1 : len(path)-1] {
				at := on(p)
				require.True(t, at < 0 || at == on(path[0]) && math.Abs(p.Y-path[0].Y) < 0.03 || at == on(path[len(path)-1]) && math.Abs(p.Y-path[len(path)-1].Y) < 0.03, "a line through box %d", at)
			}
			if on(path[0]) >= 0 {
				starts = append(starts, i)
			} else {
				next[key(path[0])] = append(next[key(path[0])], i)
			}
		}
		var got []Arrow
		var follow func(from, path int)
		follow = func(from, path int) {
			end := d.paths[path][len(d.paths[path])-1]
			if to := on(end); to >= 0 {
				got = append(got, Arrow{from, to})
				return
			}
			require.NotEmpty(t, next[key(end)], "a line that ends nowhere")
			for _, p := range next[key(end)] {
				follow(from, p)
			}
		}
		for _, i := range starts {
			follow(on(d.paths[i][0]), i)
		}
		order := func(a, b Arrow) int { return (a.From-b.From)*1000 + a.To - b.To }
		want := slices.Clone(g.Arrows)
		slices.SortFunc(want, order)
		slices.SortFunc(got, order)
		require.Equal(t, want, got)
	})
}

// TestGraphOrder: operands that must not be exchanged arrive from left to right,
// though their boxes are the other way round; others arrive as they come.
func TestGraphOrder(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		g := &Graph{Title: "order"}
		for _, name := range []string{"a", "b", "a+b", "b-a"} {
			g.Boxes = append(g.Boxes, Box{Lines: []string{name}, Colour: "#ffffff", Ordered: ordered})
		}
		g.Arrows = []Arrow{{0, 2}, {1, 2}, {1, 3}, {0, 3}}
		d := readGraph(t, g)
		ends := map[[2]int]float64{} // from, to
		for i, a := range []Arrow{{0, 2}, {1, 2}, {1, 3}, {0, 3}} {
			path := d.paths[i]
			ends[[2]int{a.From, a.To}] = path[len(path)-1].X
		}
		require.Less(t, d.boxes[0].Num(t, "x"), d.boxes[1].Num(t, "x"))
		require.Less(t, ends[[2]int{0, 2}], ends[[2]int{1, 2}])
		require.Equal(t, ordered, ends[[2]int{1, 3}] < ends[[2]int{0, 3}])
	}
}

// TestGraphTree: a tree is drawn without crossings, with each box over the middle
// of nothing else, and a chain is a straight line.
func TestGraphTree(t *testing.T) {
	g := &Graph{Title: "tree"}
	for i := range 15 { // 8 leaves, then 4, 2, 1
		g.Boxes = append(g.Boxes, Box{Lines: []string{fmt.Sprint(i)}, Colour: "#ffffff"})
	}
	for i := range 14 {
		// Leaves in an order that crosses unless they are put into another one.
		to := 8 + (i*5)%8/2
		if i >= 8 {
			to = 12 + (i-8)/2
		}
		g.Arrows = append(g.Arrows, Arrow{i, to})
	}
	l := newLayout(g)
	l.order()
	position := make([]int, len(l.vertices))
	for _, layer := range l.layers {
		for i, v := range layer {
			position[v] = i
		}
	}
	require.Zero(t, l.crossings(position))

	chain := &Graph{Title: "chain"}
	for i := range 10 {
		chain.Boxes = append(chain.Boxes, Box{Lines: []string{strings.Repeat("x", i)}, Colour: "#ffffff"})
		if i > 0 {
			chain.Arrows = append(chain.Arrows, Arrow{i - 1, i})
		}
	}
	for _, path := range readGraph(t, chain).paths {
		for _, p := range path {
			require.InDelta(t, path[0].X, p.X, 0.02)
		}
	}
}

// TestCrossings counts by definition.
func TestCrossings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.IntRange(1, 6).Draw(t, "above"), rapid.IntRange(1, 6).Draw(t, "below")
		g := &Graph{Boxes: make([]Box, a+b)}
		for i := range b {
			for _, from := range rapid.SliceOfN(rapid.IntRange(0, a-1), 1, 4).Draw(t, "operands") {
				g.Arrows = append(g.Arrows, Arrow{from, a + i})
			}
		}
		l := newLayout(g)
		l.layers = make([][]int, len(l.heights))
		for i := range l.vertices {
			l.layers[l.vertices[i].layer] = append(l.layers[l.vertices[i].layer], i)
		}
		position := make([]int, len(l.vertices))
		for _, layer := range l.layers {
			for i, v := range layer {
				position[v] = i
			}
		}
		want := 0
		for i, p := range g.Arrows {
			for _, q := range g.Arrows[:i] {
				if (position[p.From]-position[q.From])*(position[p.To]-position[q.To]) < 0 {
					want++
				}
			}
		}
		require.Equal(t, want, l.crossings(position))
	})
}

// TestOrder compares with the fewest crossings that any order has, in the sum over
// many graphs of two layers.
func TestOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	sum, least := 0, 0
	for range 60 {
		const n = 5
		g := &Graph{Boxes: make([]Box, 2*n)}
		for i := range n {
			for _, from := range random.Perm(n)[:1+random.IntN(2)] {
				g.Arrows = append(g.Arrows, Arrow{from, n + i})
			}
			g.Arrows = append(g.Arrows, Arrow{i, n + random.IntN(n)}) // none without
		}
		l := newLayout(g)
		l.order()
		position := make([]int, 2*n)
		for _, layer := range l.layers {
			for i, v := range layer {
				position[v] = i
			}
		}
		sum += l.crossings(position)
		best := math.MaxInt
		permutations(n, func(above []int) {
			permutations(n, func(below []int) {
				crossings := 0
				for i, p := range g.Arrows {
					for _, q := range g.Arrows[:i] {
						if (above[p.From]-above[q.From])*(below[p.To-n]-below[q.To-n]) < 0 {
							crossings++
						}
					}
				}
				best = min(best, crossings)
			})
		})
		least += best
	}
	require.GreaterOrEqual(t, sum, least)
	require.Less(t, float64(sum), 1.15*float64(least))
}

// permutations calls f with every order of the numbers below n.
func permutations(n int, f func([]int)) {
	p := make([]int, 0, n)
	var next func()
	next = func() {
		if len(p) == n {
			f(p)
			return
		}
		for i := range n {
			if !slices.Contains(p, i) {
				p = append(p, i)
				next()
				p = p[:len(p)-1]
			}
		}
	}
	next()
}

func TestQuoteDOT(t *testing.T) {
	require.Equal(t, `"a\"b\\c\nd"`, QuoteDOT("a\"b\\c\r\nd"))
}
