package egraph

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// generator makes random graphs of which rules find much: few kinds of nodes,
// distances, operations and tensors.
type generator struct {
	*rand.Rand
	b     *tdfg.Builder
	scope tdfg.Scope
	nodes []tdfg.NodeID
	typ   scalar.Type
	ops   []scalar.Op
	focus []tdfg.Kind // kinds of nodes to prefer
}

var someOps = [][]scalar.Op{
	{scalar.Add, scalar.Mul, scalar.Sub},
	{scalar.Add, scalar.Sub, scalar.Neg, scalar.Mul},
	{scalar.Add, scalar.Shl, scalar.Or, scalar.And, scalar.Xor, scalar.Shr},
	{scalar.Min, scalar.Max, scalar.ReLU, scalar.Shr},
	{scalar.Add, scalar.Div, scalar.Mul, scalar.FMA},
	{scalar.Select, scalar.Lt, scalar.Max, scalar.Select},
}

// newGenerator has a symbolic space or one of numbers, of one or two dimensions.
func newGenerator(t testing.TB, r *rand.Rand) *generator {
	g := &generator{Rand: r, typ: []scalar.Type{scalar.Int8, scalar.Int32, scalar.FP16, scalar.FP32}[r.IntN(4)]}
	g.scope = plane(t, g.typ, 1+r.IntN(2))
	if r.IntN(2) == 0 { // arrays of other sizes
		a := g.scope.Arrays[0]
		for i := range a.Size {
			a.Size[i] = lattice.Const(3 + r.Int64N(4))
		}
		g.scope.Arrays[1].Size = append([]lattice.Expr(nil), a.Size...)
	}
	g.scope.Params = []tdfg.Param{{Name: "k", Type: g.typ}, {Name: "l", Type: g.typ}}
	g.b = tdfg.NewBuilder("random", g.scope)
	g.ops = someOps[r.IntN(len(someOps))]
	return g
}

func (g *generator) pick() tdfg.NodeID {
	if g.IntN(2) == 0 {
		return g.nodes[g.IntN(len(g.nodes))]
	}
	return g.nodes[max(0, len(g.nodes)-1-g.IntN(4))]
}

// interval is a part of [0, n), often of one coordinate.
func (g *generator) interval(n lattice.Expr) lattice.Interval {
	lo := lattice.Const(g.Int64N(3))
	switch g.IntN(4) {
	case 0:
		return lattice.At(lo)
	case 1:
		return lattice.Interval{Lo: lo, Hi: lattice.Const(3)}
	}
	return lattice.Interval{Lo: lo, Hi: n.Plus(-g.Int64N(2))}
}

// try adds a node if it is defined.
func (g *generator) try(n tdfg.Node) (tdfg.NodeID, bool) {
	args := make([]tdfg.Facts, len(n.Args))
	for i, a := range n.Args {
		args[i] = g.b.Node(a).Facts
	}
	if _, err := g.scope.Infer(&n, args); err != nil {
		return 0, false
	}
	id := g.b.Add(n)
	g.nodes = append(g.nodes, id)
	return id, true
}

func (g *generator) leaf() {
	if g.IntN(4) == 0 {
		n := tdfg.Node{Kind: tdfg.Const, Facts: tdfg.Facts{Type: g.typ}}
		switch g.IntN(4) {
		case 0, 1:
			n.Param = []string{"k", "l"}[g.IntN(2)]
		case 2:
			n.Value, _ = g.ops[g.IntN(len(g.ops))].Identity(g.typ)
		default:
			n.Value = randomValue(g.typ, g.Rand)
		}
		g.try(n)
		return
	}
	r := g.scope.ArrayRect(0)
	for d := range r {
		r[d] = g.interval(r[d].Hi)
		if slices.Contains(g.focus, tdfg.Broadcast) && g.IntN(2) == 0 {
			r[d] = lattice.At(r[d].Lo)
		}
	}
	g.try(tdfg.Node{Kind: tdfg.Tensor, Rect: r})
}

// step adds a random node, or one to each of two operands of a computation.
func (g *generator) step() {
	kinds := append([]tdfg.Kind{tdfg.Compute, tdfg.Compute, tdfg.Move, tdfg.Broadcast, tdfg.Shrink, tdfg.Convert, tdfg.Tensor}, g.focus...)
	n := tdfg.Node{Kind: kinds[g.IntN(len(kinds))], Dim: g.IntN(g.scope.Dims)}
	switch n.Kind {
	case tdfg.Tensor:
		g.leaf()
		return
	case tdfg.Convert:
		n.Type = []scalar.Type{scalar.Int16, scalar.FP32, g.typ}[g.IntN(3)]
	case tdfg.Move:
		n.Dist = lattice.Const(g.Int64N(5) - 2)
	case tdfg.Broadcast:
		n.Dist, n.Count = lattice.Const(g.Int64N(5)-2), lattice.Const(g.Int64N(4))
	case tdfg.Shrink:
		n.Range = g.interval(g.scope.ArrayRect(0)[n.Dim].Hi)
	case tdfg.Final:
		n.Op = []scalar.Op{scalar.Add, scalar.Max}[g.IntN(2)]
		r := n
		r.Kind, r.Group, r.Args = tdfg.Reduce, 2*g.IntN(2), []tdfg.NodeID{g.pick()}
		for _, x := range g.b.Node(r.Args[0]).Domain {
			if !g.scope.Space.LessEqual(lattice.Const(1), x.Len()) {
				return // there may be nothing to reduce
			}
		}
		if id, ok := g.try(r); ok {
			g.nodes = g.nodes[:len(g.nodes)-1] // for the Final only
			n.Args = []tdfg.NodeID{id}
			g.try(n)
		}
		return
	case tdfg.Compute:
		if g.IntN(3) == 0 {
			g.common()
			return
		}
		n.Op = g.ops[g.IntN(len(g.ops))]
		for range n.Op.Arity() {
			n.Args = append(n.Args, g.pick())
		}
		g.try(n)
		return
	}
	// The same for several operands, which then meet in a computation.
	first := g.pick()
	var of []tdfg.NodeID
	for _, a := range []tdfg.NodeID{first, g.pick()}[:1+g.IntN(2)] {
		n.Args = []tdfg.NodeID{a}
		if id, ok := g.try(n); ok {
			of = append(of, id)
		}
	}
	if len(of) == 2 && g.IntN(2) == 0 {
		g.try(tdfg.Node{Kind: tdfg.Compute, Op: g.ops[0], Args: of})
	}
}

// common adds an operation of two that have an operand in common, or are alike.
func (g *generator) common() {
	op, with := g.ops[g.IntN(len(g.ops))], g.pick()
	var of []tdfg.NodeID
	for range 2 {
		n := tdfg.Node{Kind: tdfg.Compute, Op: op}
		for range op.Arity() {
			n.Args = append(n.Args, g.pick())
		}
		n.Args[g.IntN(len(n.Args))] = with
		if id, ok := g.try(n); ok {
			of = append(of, id)
		}
	}
	if len(of) == 2 {
		g.try(tdfg.Node{Kind: tdfg.Compute, Op: g.ops[g.IntN(len(g.ops))], Args: of})
	}
}

// graph finishes the random graph. Its outputs are some of the nodes that can be
// written, the last ones among them.
func (g *generator) graph(t testing.TB) *tdfg.Graph {
	out := 0
	for i := len(g.nodes) - 1; i >= 0 && out < 3; i-- {
		n := g.b.Node(g.nodes[i])
		if !n.Domain.Everywhere() && n.Type == g.typ && g.scope.Space.Contains(g.scope.ArrayRect(1), n.Domain) {
			g.b.Store(g.nodes[i], 1)
			out++
		}
	}
	r, err := g.b.Finish()
	require.NoError(t, err)
	return r
}

// sizes are values of the symbols to execute with.
func (g *generator) sizes() map[string]int64 {
	return map[string]int64{"N": 4 + g.Int64N(3), "M": 4 + g.Int64N(3)}
}

func randomGraph(t testing.TB, r *rand.Rand, steps int, focus []tdfg.Kind) (*tdfg.Graph, *generator) {
	g := newGenerator(t, r)
	g.focus = focus
	for range 3 {
		g.leaf()
	}
	for len(g.nodes) == 0 {
		g.leaf()
	}
	for range steps {
		g.step()
	}
	return g.graph(t), g
}

// value evaluates a node of an e-graph on the values of its operands.
func (w *world) enode(g *graph, n nodeID, args []tensor) tensor {
	h := g.headOf(n)
	if h.kind == tdfg.Shrink {
		out := tensor{at: map[point]scalar.Value{}}
		box, err := g.rects[h.rect].Box(w.values)
		if err != nil {
			panic(err)
		}
		points(box, func(p point) {
			if v, ok := args[0].get(p); ok {
				out.at[p] = v
			}
		})
		return out
	}
	x := g.node(g.nodes[n].head)
	from := scalar.Invalid
	if count := len(args); count > 0 {
		from = g.factsOf(g.arg(n, count-1)).typ
	}
	return w.node(&x, args, from)
}

// checkClasses evaluates all nodes of an e-graph and returns an error if two of one
// class differ, or one does not have the domain of its class.
func (w *world) checkClasses(g *graph) error {
	values := map[classID]tensor{}
	open := true
	for open {
		open = false
		progress := false
		for i := range g.nodes {
			n := nodeID(i)
			if g.nodes[n].dead {
				continue
			}
			args := make([]tensor, 0, 3)
			for _, a := range g.argsOf(n) {
				if v, ok := values[g.find(a)]; ok {
					args = append(args, v)
				}
			}
			c := g.classOf(n)
			have, known := values[c]
			if len(args) < len(g.argsOf(n)) {
				open = true
				continue
			}
			v := w.enode(g, n, args)
			if !known {
				values[c] = v
				progress = true
				if err := w.checkDomain(g, c, v); err != nil {
					return err
				}
			} else if err := sameTensor(have, v); err != nil {
				return fmt.Errorf("class %d, %v: node %d, %s of %v: %w", c, g.rects[g.domainOf(c)], n, g.headOf(n).kind, g.argsOf(n), err)
			}
		}
		if open && !progress {
			return fmt.Errorf("classes that depend on themselves only")
		}
	}
	return nil
}

func (w *world) checkDomain(g *graph, c classID, v tensor) error {
	d := g.domainOf(c)
	if v.everywhere != (d == everywhere) {
		return fmt.Errorf("class %d: everywhere %v, and domain %v", c, v.everywhere, g.rects[d])
	}
	if v.everywhere {
		return nil
	}
	box, err := g.rects[d].Box(w.values)
	if err != nil {
		return err
	}
	count := 0
	points(box, func(p point) {
		if _, ok := v.at[p]; ok {
			count++
		}
	})
	if count != len(v.at) || int64(count) != box.Size() {
		return fmt.Errorf("class %d: %d points, of these %d in its domain %v", c, len(v.at), count, box)
	}
	return nil
}

func sameTensor(a, b tensor) error {
	if a.everywhere != b.everywhere || a.everywhere && a.value != b.value || len(a.at) != len(b.at) {
		return fmt.Errorf("%d points, expected %d (%x and %x everywhere)", len(b.at), len(a.at), b.value, a.value)
	}
	for p, v := range a.at {
		if u, ok := b.at[p]; !ok || u != v {
			return fmt.Errorf("%x at %v, expected %x", u, p, v)
		}
	}
	return nil
}

// saturationOf has all nodes of a graph, whether its outputs need them or not.
func saturationOf(t testing.TB, from *tdfg.Graph, opt Options) *saturation {
	require.NoError(t, opt.fill())
	s := newSaturation(from, opt, &Stats{})
	of := make([]classID, len(from.Nodes))
	for i := range from.Nodes {
		n := &from.Nodes[i]
		args := make([]classID, len(n.Args))
		for k, a := range n.Args {
			args[k] = of[a]
		}
		of[i] = s.readNode(n, args)
		require.NotEqual(t, classID(none), of[i])
	}
	return s
}

// once applies some rules once to all nodes.
func (s *saturation) once(t testing.TB, use func(r *rule) bool) {
	s.now++
	clear(s.atoms)
	for i := range s.rules {
		if r := &s.rules[i]; use(r) {
			s.stat, s.budget = &s.stats.Rules[i], 1000
			for _, k := range r.kinds {
				for _, n := range s.byKind[k] {
					if !s.nodes[n].dead {
						r.find(&s.search, n)
					}
				}
			}
		}
	}
	s.merge()
	s.checkInvariants(t)
}

// TestRules holds every rule by itself against the values of all nodes: what it
// makes equal must be, bit by bit.
func TestRules(t *testing.T) {
	for i, r := range rules() {
		t.Run(r.name+" "+r.equation, func(t *testing.T) {
			t.Parallel()
			applied, graphs := tryRule(t, i, func(x *rule) bool {
				// Shrinks of shrinks come of other rules only: graph.shrink makes none.
				return x.name == r.name || r.equation == "6b" && x.equation == "9"
			}, 1500)
			require.GreaterOrEqual(t, applied, 20, "in %d graphs", graphs)
			t.Logf("%d equations in %d graphs", applied, graphs)
		})
	}
}

// tryRule applies a rule to random graphs until it has found enough.
func tryRule(t testing.TB, i int, use func(r *rule) bool, graphs int) (applied, done int) {
	r := rand.New(rand.NewPCG(uint64(i), 7))
	for done < graphs && applied < invariants.Draws(30, 60) {
		done++
		from, gen := randomGraph(t, r, 14, append(rules()[i].kinds, tdfg.Move, tdfg.Shrink))
		s := saturationOf(t, from, Options{Cost: weights})
		s.once(t, use)
		s.once(t, use)
		applied += s.stats.Rules[i].Applied
		if s.stats.Rules[i].Applied > 0 {
			w := newWorld(t, &from.Scope, gen.sizes(), r)
			require.NoError(t, w.checkClasses(s.graph))
		}
	}
	return applied, done
}

// checkInvariants looks at what every e-graph must be after rebuild.
func (g *graph) checkInvariants(t testing.TB) {
	seen := map[string]nodeID{}
	listed := map[nodeID]int{}
	for c := range g.classes {
		if g.find(classID(c)) != classID(c) {
			require.Empty(t, g.classes[c].nodes)
			continue
		}
		require.NotEmpty(t, g.classes[c].nodes)
		for _, n := range g.classes[c].nodes {
			listed[n]++
			require.Equal(t, classID(c), g.classOf(n))
		}
	}
	for i := range g.nodes {
		n := nodeID(i)
		if g.nodes[n].dead {
			require.Zero(t, listed[n])
			continue
		}
		require.Equal(t, 1, listed[n])
		args := append([]classID(nil), g.argsOf(n)...)
		g.canonical(g.nodes[n].head, args)
		require.Equal(t, args, append([]classID(nil), g.argsOf(n)...), "node %d", n)
		require.Equal(t, n, g.lookup(g.nodes[n].head, args, hashOf(g.nodes[n].head, args)))
		key := fmt.Sprint(g.nodes[n].head, args)
		_, twice := seen[key]
		require.False(t, twice, "congruent nodes")
		seen[key] = n
		var of []factsID
		for _, a := range args {
			require.Contains(t, g.class(a).parents, n)
			of = append(of, g.class(a).facts)
		}
		require.Equal(t, g.class(g.classOf(n)).facts, g.infer(g.nodes[n].head, of))
	}
}

// TestAppendix: every equation of the appendix is a rule or a normal form.
func TestAppendix(t *testing.T) {
	have := map[string]bool{"3b": true, "6a": true} // see TestNormalForms
	for _, r := range rules() {
		for _, e := range strings.Split(r.equation, ", ") {
			have[e] = true
		}
	}
	for _, e := range []string{"3a", "3b", "3c", "4a", "4b", "5", "6a", "6b", "7a", "7b", "8a", "8b", "9"} {
		require.True(t, have[e], e)
	}
}

// TestNormalForms has the equations that need no rule: both sides are one node.
func TestNormalForms(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	made := map[string]int{}
	for range 500 {
		from, gen := randomGraph(t, r, 8, []tdfg.Kind{tdfg.Shrink, tdfg.Move})
		s := saturationOf(t, from, Options{Cost: weights})
		equal := func(equation string, a, b classID) {
			if a != none && b != none && s.class(a).facts == s.class(b).facts {
				require.Equal(t, s.find(a), s.find(b), equation)
				made[equation]++
			}
		}
		pick := func() classID { return s.find(classID(r.IntN(len(s.classes)))) }
		window := func(d int8) rectID {
			all := from.ArrayRect(0)
			return s.rect(all.With(int(d), gen.interval(all[d].Hi)))
		}
		a, b := pick(), pick()
		for _, op := range []scalar.Op{scalar.Add, scalar.Mul, scalar.Max, scalar.Eq} {
			h := s.head(head{kind: tdfg.Compute, op: op})
			equal("3b", s.add(h, a, b), s.add(h, b, a))
		}
		p, q := window(0), window(0)
		equal("6b", s.shrink(p, s.shrink(q, a)), s.shrink(s.meet(p, q), a))
		if from.Dims > 1 {
			q = window(1)
			equal("6a", s.shrink(p, s.shrink(q, a)), s.shrink(q, s.shrink(p, a)))
		}
		equal("zero move", s.move(a, 0, 0), a)
		equal("empty shrink", s.shrink(s.domainOf(a), a), a)
		w := newWorld(t, &from.Scope, gen.sizes(), r)
		require.NoError(t, w.checkClasses(s.graph))
	}
	for _, e := range []string{"3b", "6a", "6b", "zero move", "empty shrink"} {
		require.Greater(t, made[e], 100, e)
	}
}

// TestWrongRules puts rules with a mistake in the place of the right ones: the tests
// above must find each.
func TestWrongRules(t *testing.T) {
	wrong := map[string]func(s *search, n nodeID){
		"move-move": func(s *search, n nodeID) { // distances that are not added
			for _, m := range s.each(s.arg(n, 0)) {
				if x, h := *s.headOf(n), *s.headOf(m); h.kind == tdfg.Move && h.dim == x.dim {
					s.same(n, s.move(s.arg(m, 0), x.dim, x.dist))
				}
			}
		},
		"lift move": func(s *search, n nodeID) { // an operand that is not moved
			for _, m := range s.each(s.arg(n, 0)) {
				if h := s.nodes[m].head; s.heads[h].kind == tdfg.Move && s.nodes[n].count == 2 {
					s.same(n, s.apply(h, s.add(s.nodes[n].head, s.arg(m, 0), s.arg(n, 1))))
				}
			}
		},
		"associate": func(s *search, n nodeID) { // of subtraction
			h := s.nodes[n].head
			for _, m := range s.each(s.arg(n, 0)) {
				if s.nodes[m].head == h && s.heads[h].op == scalar.Sub {
					s.same(n, s.add(h, s.arg(m, 0), s.add(h, s.arg(m, 1), s.arg(n, 1))))
				}
			}
		},
		"factor": func(s *search, n nodeID) { // of whatever has an operand in common
			if s.nodes[n].count != 2 {
				return
			}
			for _, a := range s.each(s.arg(n, 0)) {
				for _, b := range s.each(s.arg(n, 1)) {
					if g := s.nodes[a].head; g == s.nodes[b].head && s.nodes[a].count == 2 && s.arg(a, 0) == s.arg(b, 0) {
						s.same(n, s.add(g, s.arg(a, 0), s.add(s.nodes[n].head, s.arg(a, 1), s.arg(b, 1))))
					}
				}
			}
		},
		"sink shrink under move": func(s *search, n nodeID) { // moved the other way
			for _, m := range s.each(s.arg(n, 0)) {
				if h := *s.headOf(m); h.kind == tdfg.Move {
					r := s.shrink(s.headOf(n).rect, s.arg(m, 0))
					s.same(n, r)
				}
			}
		},
		"lift broadcast": func(s *search, n nodeID) { // an operand that is not broadcast
			for _, m := range s.each(s.arg(n, 0)) {
				if h := s.nodes[m].head; s.heads[h].kind == tdfg.Broadcast && s.nodes[n].count == 2 {
					s.same(n, s.apply(h, s.add(s.nodes[n].head, s.arg(m, 0), s.arg(n, 1))))
				}
			}
		},
		"fold": func(s *search, n nodeID) { // to the wrong number
			if _, ok := s.valueOf(s.arg(n, 0)); ok {
				s.same(n, s.value(s.factsOf(s.classOf(n)).typ, 1))
			}
		},
		"expand": func(s *search, n nodeID) { // a tensor of another array of the same size
			h := *s.headOf(n)
			s.same(n, s.tensor(1-h.index, h.rect))
		},
	}
	table := rules()
	for i := range table {
		find, ok := wrong[table[i].name]
		if !ok {
			continue
		}
		delete(wrong, table[i].name)
		t.Run(table[i].name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(i), 7))
			for range 3000 {
				from, gen := randomGraph(t, r, 14, append(table[i].kinds, tdfg.Move, tdfg.Shrink))
				s := saturationOf(t, from, Options{Cost: weights})
				s.rules[i].find = find
				s.once(t, func(x *rule) bool { return x.name == table[i].name })
				if s.stats.Rules[i].Applied > 0 && newWorld(t, &from.Scope, gen.sizes(), r).checkClasses(s.graph) != nil {
					return
				}
			}
			t.Error("not found")
		})
	}
	require.Empty(t, wrong)
}

// TestRealNumbers holds the rules that Reassociate allows against floating-point
// numbers that are small integers, for which sums and products are exact. The sign
// of zero does not count.
func TestRealNumbers(t *testing.T) {
	applied := map[string]int{}
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 11))
		g := newGenerator(t, r)
		g.typ, g.ops = scalar.FP32, someOps[1]
		g.scope = plane(t, g.typ, 1)
		g.scope.Params = []tdfg.Param{{Name: "k", Type: g.typ}, {Name: "l", Type: g.typ}}
		g.b = tdfg.NewBuilder("real", g.scope)
		for range 4 {
			g.try(tdfg.Node{Kind: tdfg.Tensor, Rect: g.scope.ArrayRect(0)})
			g.try(tdfg.Node{Kind: tdfg.Const, Param: "k"})
		}
		for range 12 {
			op := g.ops[g.IntN(len(g.ops))]
			n := tdfg.Node{Kind: tdfg.Compute, Op: op}
			for range op.Arity() {
				n.Args = append(n.Args, g.pick())
			}
			g.try(n)
		}
		from := g.graph(t)
		s := saturationOf(t, from, Options{Cost: weights, Reassociate: true})
		s.once(t, func(x *rule) bool { return x.equation == "3a" || x.equation == "3c" || x.equation == "3a, 3b" })
		for _, x := range s.stats.Rules {
			applied[x.Name] += x.Applied
		}
		w := newWorld(t, &from.Scope, map[string]int64{"N": 4}, r)
		for p := range w.arrays[0] {
			w.arrays[0][p] = scalar.FromInt(g.typ, r.Int64N(3)-1)
		}
		w.params["k"] = scalar.FromInt(g.typ, 2)
		require.NoError(t, w.checkReal(s.graph))
	}
	for _, name := range []string{"associate", "factor", "distribute", "regroup"} {
		require.Greater(t, applied[name], 100, name)
	}
}

// checkReal is checkClasses for tensors of small numbers, one point each time.
func (w *world) checkReal(g *graph) error {
	for p := range w.arrays[0] {
		values := map[classID]float64{}
		for range g.nodes {
			for i := range g.nodes {
				n := nodeID(i)
				if g.nodes[n].dead {
					continue
				}
				var args []scalar.Value
				for _, a := range g.argsOf(n) {
					if v, ok := values[g.find(a)]; ok {
						args = append(args, scalar.FromFloat(scalar.FP32, v))
					}
				}
				if len(args) < len(g.argsOf(n)) {
					continue
				}
				h := g.headOf(n)
				v := scalar.ToFloat(scalar.FP32, w.params["k"])
				switch h.kind {
				case tdfg.Tensor:
					v = scalar.ToFloat(scalar.FP32, w.arrays[0][p])
				case tdfg.Compute:
					v = scalar.ToFloat(scalar.FP32, scalar.Eval(h.op, scalar.FP32, args...))
				}
				if v > 1<<22 || v < -1<<22 {
					return nil // too large to be exact
				}
				if have, ok := values[g.classOf(n)]; ok && have != v {
					return fmt.Errorf("class %d is %v and %v", g.classOf(n), have, v)
				}
				values[g.classOf(n)] = v
			}
			if _, classes := g.count(); len(values) == classes {
				break
			}
		}
	}
	return nil
}
