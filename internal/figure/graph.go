package figure

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// Graph is a drawing of boxes and arrows without cycles: operands above what uses
// them.
type Graph struct {
	Title, Desc string
	Legend      []Entry
	Boxes       []Box
	Arrows      []Arrow // for each box that they go to in the order of its operands
}

// Box is a box with lines of text.
type Box struct {
	Lines   []string
	Colour  string
	Hint    string
	Ordered bool // arrows arrive from left to right in the order of the operands
	Line    int  // of a source that it is of; 0 = none, else pages link it
}

// Arrow goes from one box to a later one; both are numbers of boxes.
type Arrow struct{ From, To int }

// The measures of a drawing of a graph.
const (
	boxText    = 11.0
	boxLine    = 14.0
	boxPadding = 9.0
	boxGap     = 16.0 // between neighbours of a layer
	leastGap   = 30.0 // between layers
	mostGap    = 110.0
	arrowColor = "#5b6770"
)

// SVG draws the graph.
func (g *Graph) SVG() []byte {
	l := newLayout(g)
	l.order()
	l.place()
	c := New(max(l.width, 480), 0, g.Title, g.Desc)
	top := c.Heading()
	if len(g.Legend) > 0 {
		top = c.Legend(top, g.Legend)
	}
	l.draw(c, (c.Width-l.width)/2, top)
	return c.Bytes()
}

// vertex is a box of a layout, or a place where an arrow passes a layer.
type vertex struct {
	box   int // -1 where an arrow passes
	layer int
	width float64
	x     float64   // of the middle
	above []int     // vertices of the layer above, in the order of operands
	below []int     // vertices of the layer below
	ports []float64 // where the arrows from above arrive, relative to x
	pulls []float64 // how much it counts that these are straight
}

// layout is the places of boxes. All arrows from a box that pass a layer pass it at
// one place: they carry the same value.
type layout struct {
	g        *Graph
	vertices []vertex
	layers   [][]int   // vertices from left to right
	heights  []float64 // of layers
	width    float64
}

// newLayout gives each box a layer, and makes the vertices.
func newLayout(g *Graph) *layout {
	l := &layout{g: g}
	n := len(g.Boxes)
	to := make([][]int, n) // boxes that a box has arrows to
	layer := make([]int, n)
	for _, a := range g.Arrows {
		to[a.From] = append(to[a.From], a.To)
	}
	for i := range n {
		for _, j := range to[i] {
			layer[j] = max(layer[j], layer[i]+1)
		}
	}
	depth := slices.Clone(layer) // the longest way to a box
	// As low as possible, so that operands stand near to what uses them first; but
	// results stand below what gives them.
	for i := n - 1; i >= 0; i-- {
		low := math.MaxInt
		for _, j := range to[i] {
			if len(to[j]) > 0 {
				low = min(low, layer[j]-1)
			}
		}
		if low < math.MaxInt {
			layer[i] = low
		}
	}
	for i := range n {
		if len(to[i]) == 0 {
			layer[i] = 0
		}
	}
	for _, a := range g.Arrows {
		if len(to[a.To]) == 0 {
			layer[a.To] = max(layer[a.To], layer[a.From]+1)
		}
	}
	for i, b := range g.Boxes {
		w := 0.0
		for _, t := range b.Lines {
			w = max(w, TextWidth(t, boxText, false))
		}
		l.vertices = append(l.vertices, vertex{box: i, layer: layer[i], width: math.Ceil(w) + 2*boxPadding})
		for len(l.heights) <= layer[i] {
			l.heights = append(l.heights, 0)
		}
		l.heights[layer[i]] = max(l.heights[layer[i]], float64(len(b.Lines))*boxLine+8)
	}
	last := make([]int, n) // vertex of a box in the lowest layer that it has one in
	passes := make([][]int, n)
	for i := range n {
		last[i] = i
	}
	for _, a := range g.Arrows {
		for l.vertices[last[a.From]].layer < layer[a.To]-1 {
			v := len(l.vertices)
			l.vertices = append(l.vertices, vertex{box: -1, layer: l.vertices[last[a.From]].layer + 1, width: 2, above: []int{last[a.From]}})
			last[a.From] = v
			passes[a.From] = append(passes[a.From], v)
		}
		from := a.From
		if d := layer[a.To] - 1 - layer[a.From]; d > 0 {
			from = passes[a.From][d-1]
		}
		l.vertices[a.To].above = append(l.vertices[a.To].above, from)
	}
	for i := range l.vertices {
		for _, a := range l.vertices[i].above {
			l.vertices[a].below = append(l.vertices[a].below, i)
		}
	}
	l.pull(depth)
	return l
}

// pull says how much it counts that arrows are straight: those along the longest
// way to a box much more than others, so that chains of operations stand upright
// with their operands beside them; where arrows pass layers yet more.
func (l *layout) pull(depth []int) {
	source := make([]int, len(l.vertices)) // depth of the box that an arrow comes from
	for i := range l.vertices {
		v := &l.vertices[i]
		if v.box < 0 {
			source[i] = source[v.above[0]]
		} else {
			source[i] = depth[v.box]
		}
	}
	for i := range l.vertices {
		v := &l.vertices[i]
		deepest, second := -1, -1
		for _, a := range v.above {
			switch d := source[a]; {
			case d > deepest:
				deepest, second = d, deepest
			case d > second:
				second = d
			}
		}
		for _, a := range v.above {
			pull := 1.0
			if source[a] == deepest && deepest > second && second >= 0 {
				pull = 40
			}
			if l.vertices[a].box < 0 {
				pull *= 4
			}
			if v.box < 0 {
				pull *= 4
			}
			v.pulls = append(v.pulls, pull)
		}
	}
}

// order brings the vertices of each layer into an order in which few arrows cross:
// that of a walk from the results first, then sweeps down and up that sort each
// layer by the mean places of its neighbours in the layer before, and exchange
// neighbours where that helps.
func (l *layout) order() {
	l.layers = make([][]int, len(l.heights))
	seen := make([]bool, len(l.vertices))
	var visit func(v int)
	visit = func(v int) {
		if seen[v] {
			return
		}
		seen[v] = true
		for _, a := range l.vertices[v].above {
			visit(a)
		}
		at := l.vertices[v].layer
		l.layers[at] = append(l.layers[at], v)
	}
	for i := range l.g.Boxes {
		if len(l.vertices[i].below) == 0 {
			visit(i)
		}
	}
	position := make([]int, len(l.vertices))
	number := func(layer []int) {
		for i, v := range layer {
			position[v] = i
		}
	}
	for _, layer := range l.layers {
		number(layer)
	}
	best, least := cloneLayers(l.layers), l.crossings(position)
	// Sweeps end in an order that they cannot make better. Small graphs take more of
	// them, from other orders too; all are drawn within seconds.
	const sweepsAStart = 8
	starts := max(1, min(12, 40_000/(len(l.vertices)+1)))
	random := rand.New(rand.NewPCG(1, 1))
	mean := make([]float64, len(l.vertices))
	for start := 0; start < starts && least > 0; start++ {
		if start > 0 {
			for _, layer := range l.layers {
				random.Shuffle(len(layer), func(i, j int) { layer[i], layer[j] = layer[j], layer[i] })
				number(layer)
			}
		}
		for sweep := 0; sweep < sweepsAStart && least > 0; sweep++ {
			for k := range l.layers {
				down := sweep%2 == 0
				if !down {
					k = len(l.layers) - 1 - k
				}
				for _, v := range l.layers[k] {
					neighbours := l.vertices[v].above
					if !down {
						neighbours = l.vertices[v].below
					}
					mean[v] = float64(position[v])
					if len(neighbours) > 0 {
						mean[v] = 0
						for _, u := range neighbours {
							mean[v] += float64(position[u]) / float64(len(neighbours))
						}
					}
				}
				slices.SortStableFunc(l.layers[k], func(a, b int) int { return cmp.Compare(mean[a], mean[b]) })
				number(l.layers[k])
			}
			l.exchange(position)
			if n := l.crossings(position); n < least {
				best, least = cloneLayers(l.layers), n
			}
		}
	}
	l.layers = best
}

// exchange exchanges neighbours in layers as long as fewer arrows cross, within
// limits.
func (l *layout) exchange(position []int) {
	// crossed counts the pairs of arrows, one of each of two neighbours, that cross
	// if the neighbours stand as they do, and if they are exchanged.
	crossed := func(a, b []int) (now, then int) {
		for _, u := range a {
			for _, v := range b {
				switch {
				case position[u] > position[v]:
					now++
				case position[u] < position[v]:
					then++
				}
			}
		}
		return now, then
	}
	better := true
	for round := 0; better && round < 8; round++ {
		better = false
		for _, layer := range l.layers {
			for i := 1; i < len(layer); i++ {
				a, b := &l.vertices[layer[i-1]], &l.vertices[layer[i]]
				if (len(a.above)+len(a.below))*(len(b.above)+len(b.below)) > 2000 {
					continue // it would take too long
				}
				now1, then1 := crossed(a.above, b.above)
				now2, then2 := crossed(a.below, b.below)
				if then1+then2 < now1+now2 {
					layer[i-1], layer[i] = layer[i], layer[i-1]
					position[layer[i-1]], position[layer[i]] = i-1, i
					better = true
				}
			}
		}
	}
}

func cloneLayers(layers [][]int) [][]int {
	c := make([][]int, len(layers))
	for i := range layers {
		c[i] = slices.Clone(layers[i])
	}
	return c
}

// crossings counts the pairs of arrows between neighbouring layers that cross.
func (l *layout) crossings(position []int) int {
	total := 0
	for _, layer := range l.layers {
		// Arrows by their upper ends: each crosses those before that end further
		// right, which a Fenwick tree counts.
		type arrow struct{ from, to int }
		var arrows []arrow
		for _, v := range layer {
			for _, b := range l.vertices[v].below {
				arrows = append(arrows, arrow{position[v], position[b]})
			}
		}
		slices.SortFunc(arrows, func(a, b arrow) int {
			if a.from != b.from {
				return a.from - b.from
			}
			return a.to - b.to
		})
		most := 0
		for _, a := range arrows {
			most = max(most, a.to)
		}
		tree := make([]int, most+2)
		for i, a := range arrows {
			before := 0
			for k := a.to + 1; k > 0; k -= k & -k {
				before += tree[k]
			}
			total += i - before
			for k := a.to + 1; k < len(tree); k += k & -k {
				tree[k]++
			}
		}
	}
	return total
}

// place gives each vertex its x: as near as possible, by squares, to the mean of
// those it is connected with, and boxes apart.
func (l *layout) place() {
	for _, layer := range l.layers {
		x := 0.0
		for i, v := range layer {
			if i > 0 {
				x += l.apart(layer[i-1], v)
			}
			l.vertices[v].x = x
		}
		for _, v := range layer {
			l.vertices[v].x -= x / 2
		}
	}
	l.port()
	rounds := max(4, min(60, 300_000/(len(l.vertices)+1)))
	for round := range rounds {
		for k := range l.layers {
			if round%2 == 1 {
				k = len(l.layers) - 1 - k
			}
			up := round%2 == 0 || round >= rounds/2
			down := round%2 == 1 || round >= rounds/2
			l.relax(l.layers[k], up, down)
		}
		l.port()
	}
	left, right := math.Inf(1), math.Inf(-1)
	for i := range l.vertices {
		v := &l.vertices[i]
		left, right = min(left, v.x-v.width/2), max(right, v.x+v.width/2)
	}
	if len(l.vertices) == 0 {
		left, right = 0, 0
	}
	for i := range l.vertices {
		l.vertices[i].x += Margin - left
	}
	l.width = right - left + 2*Margin
}

// apart is the least distance of the middles of neighbours.
func (l *layout) apart(a, b int) float64 {
	gap := boxGap
	if l.vertices[a].box < 0 || l.vertices[b].box < 0 {
		gap = 10
	}
	return (l.vertices[a].width+l.vertices[b].width)/2 + gap
}

// port says where arrows arrive at boxes: spread over the middle of the upper side,
// in the order of the operands where that matters, else in that of where they come
// from.
func (l *layout) port() {
	for i := range l.vertices {
		v := &l.vertices[i]
		n := len(v.above)
		v.ports = make([]float64, n)
		if v.box < 0 || n < 2 {
			continue
		}
		turn := make([]int, n)
		for j := range turn {
			turn[j] = j
		}
		if !l.g.Boxes[v.box].Ordered {
			slices.SortStableFunc(turn, func(a, b int) int { return cmp.Compare(l.vertices[v.above[a]].x, l.vertices[v.above[b]].x) })
		}
		step := min(28, (v.width-12)/float64(n-1))
		for at, j := range turn {
			v.ports[j] = (float64(at) - float64(n-1)/2) * step
		}
	}
}

// relax moves the vertices of a layer towards their neighbours above, below, or
// both. Without the distances this would be a mean for each; with them it is an
// isotonic regression, which pooling adjacent violators solves.
func (l *layout) relax(layer []int, up, down bool) {
	type pool struct {
		sum, weight float64 // of wanted places, less what lies left of them
		n           int
	}
	var pools []pool
	offset := 0.0
	for i, id := range layer {
		v := &l.vertices[id]
		if i > 0 {
			offset += l.apart(layer[i-1], id)
		}
		sum, weight := 0.0, 0.0
		add := func(x, w float64) { sum, weight = sum+x*w, weight+w }
		if up {
			for j, a := range v.above {
				add(l.vertices[a].x-v.ports[j], v.pulls[j])
			}
		}
		if down {
			for _, b := range v.below {
				u := &l.vertices[b]
				for j, a := range u.above {
					if a == id {
						add(u.x+u.ports[j], u.pulls[j])
						break
					}
				}
			}
		}
		if weight == 0 {
			add(v.x, 0.01)
		}
		p := pool{sum - offset*weight, weight, 1}
		for len(pools) > 0 {
			last := pools[len(pools)-1]
			if last.sum/last.weight <= p.sum/p.weight {
				break
			}
			p = pool{p.sum + last.sum, p.weight + last.weight, p.n + last.n}
			pools = pools[:len(pools)-1]
		}
		pools = append(pools, p)
	}
	i, offset := 0, 0.0
	for _, p := range pools {
		for range p.n {
			if i > 0 {
				offset += l.apart(layer[i-1], layer[i])
			}
			l.vertices[layer[i]].x = p.sum/p.weight + offset
			i++
		}
	}
}

// draw draws arrows, and boxes over them.
func (l *layout) draw(c *Canvas, left, top float64) {
	// Arrows that go far to the side get a higher gap to do so.
	y := make([]float64, len(l.layers)+1)
	y[0] = top
	for k, layer := range l.layers {
		far := 0.0
		for _, v := range layer {
			for _, b := range l.vertices[v].below {
				far = max(far, math.Abs(l.vertices[v].x-l.vertices[b].x))
			}
		}
		y[k+1] = y[k] + l.heights[k] + min(leastGap+far*0.07, mostGap)
		if k == len(l.layers)-1 {
			c.Height = y[k] + l.heights[k] + Margin
		}
	}
	if len(l.layers) == 0 {
		c.Height = top + Margin
	}
	box := func(v int) (y1, y2 float64) {
		k := l.vertices[v].layer
		if l.vertices[v].box < 0 {
			return y[k], y[k] + l.heights[k]
		}
		h := float64(len(l.g.Boxes[l.vertices[v].box].Lines))*boxLine + 8
		middle := y[k] + l.heights[k]/2
		return middle - h/2, middle + h/2
	}
	head := c.define("head", `<marker id="head" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="7" markerHeight="7" orient="90"><path d="M0 1L8 4L0 7z" fill="`+arrowColor+`"/></marker>`)
	for i := range l.vertices {
		v := &l.vertices[i]
		for j, a := range v.above {
			u := &l.vertices[a]
			x1, x2 := u.x+left, v.x+v.ports[j]+left
			_, y1 := box(a)
			y2, end := box(i)
			k := u.layer
			// Straight down out of the layer, a curve between the layers, straight
			// down into the layer.
			from, to := y[k]+l.heights[k], y[k+1]
			var d strings.Builder
			fmt.Fprintf(&d, "M%s %s", pixels(x1), pixels(y1))
			if y1 < from-0.01 {
				fmt.Fprintf(&d, "V%s", pixels(from))
			}
			middle := (from + to) / 2
			fmt.Fprintf(&d, "C%s %s %s %s %s %s", pixels(x1), pixels(middle), pixels(x2), pixels(middle), pixels(x2), pixels(to))
			arrow := attr{"marker-end", head}
			if v.box < 0 {
				y2, arrow.value = end, ""
			}
			if y2 > to+0.01 {
				fmt.Fprintf(&d, "V%s", pixels(y2))
			}
			c.element("path", "", attr{"d", d.String()}, attr{"fill", "none"}, attr{"stroke", arrowColor}, number("stroke-width", 1.1), arrow)
		}
	}
	for i, b := range l.g.Boxes {
		v := &l.vertices[i]
		y1, y2 := box(i)
		if b.Line > 0 {
			fmt.Fprintf(&c.body, `<g class="node" data-line="%d">`+"\n", b.Line)
		}
		c.element("rect", b.Hint, number("x", v.x-v.width/2+left), number("y", y1), number("width", v.width), number("height", y2-y1),
			number("rx", 4), attr{"fill", b.Colour}, attr{"stroke", Soft})
		for j, t := range b.Lines {
			c.Text(v.x+left, y1+4+boxLine*float64(j)+10.5, t, TextStyle{Size: boxText, Anchor: Middle, Colour: Ink})
		}
		if b.Line > 0 {
			c.body.WriteString("</g>\n")
		}
	}
}
