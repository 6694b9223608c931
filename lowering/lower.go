package lowering

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/lattice"
)

// Lower makes the commands of a plan for a grid and the values of the symbols, and
// appends them to dst. It is what has to be fast at run time: it takes time
// proportional to the commands, and to the nodes of the graph.
//
// A step acts on whole tiles where what is outside its domain does not matter, which
// is everywhere but in arrays, so that most steps are one command; moves and
// copies into arrays are cut along the boundaries of tiles. Steps on an empty domain
// have no commands. A Sync stands between a shift between tiles and the next command
// on its rows.
func (p *Plan) Lower(dst []Command, grid *Grid, values map[string]int64) ([]Command, error) {
	l := newLowerer(p, grid, values)
	l.out = dst
	for i := range len(p.Steps) + 1 {
		if err := l.step(i); err != nil {
			return nil, err
		}
	}
	return l.out, nil
}

func newLowerer(p *Plan, grid *Grid, values map[string]int64) *lowerer {
	return &lowerer{p: p, grid: grid, values: values, bound: grid.region(grid.Bound()), course: newCourse()}
}

// Symbols returns the symbols that the commands of the plan depend on, sorted:
// those of domains and distances. Commands that were made for other values of the
// rest are the same.
func (p *Plan) Symbols() []string {
	var list []string
	add := func(x lattice.Expr) { list = append(list, x.Symbols()...) }
	for i := range p.Graph.Nodes {
		n := &p.Graph.Nodes[i]
		add(n.Dist)
		for _, r := range n.Domain {
			add(r.Lo)
			add(r.Hi)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

type lowerer struct {
	p       *Plan
	grid    *Grid
	bound   region
	values  map[string]int64
	next    map[string]int64 // after one more step; nil if no template is wanted
	course  *course
	out     []Command
	patches []patch    // of a template
	moving  []moving   // of a template
	first   int        // command of the segment at hand
	at      int32      // step at hand
	pending []Register // written by shifts between tiles since the last Sync
	parts   [27]Part
	shifts  []linearShift
}

// order is a command with linear numbers; those that Command has too are set from
// them.
type order struct {
	Command
	bitlines, tiles       linearPattern // bitlines count if whole is false
	bitlineDist, tileDist linear
	copies                linear
}

// emit appends a command. Where not all bitlines are meant, it has those of the order.
func (l *lowerer) emit(o *order) {
	o.Step = l.at
	o.Tiles = o.tiles.pattern()
	if !o.Whole {
		o.Bitlines = o.bitlines.pattern()
	}
	o.BitlineDist, o.TileDist, o.Copies = int32(o.bitlineDist.v), int32(o.tileDist.v), int32(o.copies.v)
	l.out = append(l.out, o.Command)
	if l.next != nil {
		l.patch(o)
	}
}

// whole says whether an order means all bitlines of its tiles.
func (l *lowerer) whole(o *order) {
	o.Whole = l.course.equal(o.bitlines.len(l.course), fixed(int64(l.grid.Bitlines())))
}

func (l *lowerer) plain(kind CommandKind) { l.out = append(l.out, Command{Kind: kind, Step: l.at}) }

func (l *lowerer) sync() {
	if len(l.pending) > 0 {
		l.plain(Sync)
		l.pending = l.pending[:0]
	}
}

// touch puts a Sync before a use of rows that something may still be under way to.
func (l *lowerer) touch(regs ...Register) {
	for _, r := range regs {
		for _, q := range l.pending {
			if r.Row < q.Row+q.Bits && q.Row < r.Row+r.Bits {
				l.sync()
				return
			}
		}
	}
}

// operands touches those of a step that are in rows.
func (l *lowerer) operands(s *Step) {
	for _, a := range s.Args {
		if !a.Const {
			l.touch(a.Register)
		}
	}
}

// eval returns the value of an expression, and its slope if a template is wanted.
func (l *lowerer) eval(x lattice.Expr) (linear, error) {
	if k, ok := x.Const(); ok {
		return fixed(k), nil
	}
	v, err := x.Eval(l.values)
	if err != nil || l.next == nil {
		return fixed(v), err
	}
	n, err := x.Eval(l.next)
	return linear{v, n - v}, err
}

// box returns a rectangle inside the bounding box.
func (l *lowerer) box(r lattice.Rect) (b region, err error) {
	for i := range b {
		b[i].hi = fixed(1)
	}
	for i, v := range r {
		var s span
		if s.lo, err = l.eval(v.Lo); err != nil {
			return b, err
		}
		if s.hi, err = l.eval(v.Hi); err != nil {
			return b, err
		}
		b[i] = l.course.intersect(s, l.bound[i])
	}
	return b, nil
}

func (l *lowerer) empty(b *region) bool {
	for i := range b {
		if !l.course.less(b[i].lo, b[i].hi) {
			return true
		}
	}
	return false
}

// cover returns all cells of the tiles that have a point of a box.
func (l *lowerer) cover(b *region) (p Part) {
	for i := range p.dim {
		p.dim[i] = l.course.touched(&l.grid.dim[i], b[i])
	}
	return p
}

// everywhere emits an order for all bitlines of some tiles.
func (l *lowerer) everywhere(o order, tiles *linearPattern) {
	o.tiles, o.Whole = *tiles, true
	l.emit(&o)
}

// step lowers a step of the plan, or, after the last one, its end.
func (l *lowerer) step(i int) error {
	if i == len(l.p.Steps) {
		l.sync() // the next region relies on it
		return nil
	}
	s := &l.p.Steps[i]
	n := &l.p.Graph.Nodes[s.Node]
	l.at = int32(i)
	if err := l.commands(s, n); err != nil {
		return fmt.Errorf("lowering: %s: node %d: %s: %w", l.p.Graph.Name, s.Node, s.Kind, err)
	}
	return nil
}

func (l *lowerer) commands(s *Step, n *tdfg.Node) error {
	switch s.Kind {
	case StreamStep, ResultStep:
		l.near()
		return nil
	case FillStep:
		l.fill(s)
		return nil
	}
	box, err := l.box(n.Domain)
	if err != nil {
		return err
	}
	if l.empty(&box) {
		// This may be the last use of what it does not read, and its rows are free then.
		l.touch(s.Src)
		l.operands(s)
		return nil
	}
	switch s.Kind {
	case ComputeStep:
		l.operands(s)
		l.touch(s.Dst)
		p := l.cover(&box)
		tiles := l.grid.tiles(l.course, &p)
		l.everywhere(order{Command: Command{Kind: Compute, Dst: int32(s.Dst.Row), Rows: int32(s.Dst.Bits)}}, &tiles)
	case CopyStep:
		l.touch(s.Src, s.Dst)
		l.copy(s, &box)
	case MoveStep:
		return l.move(s, n)
	case BroadcastStep:
		return l.broadcast(s, n, &box)
	case ReduceStep:
		return l.reduce(s, n, &box)
	case FinalStep:
		return l.final(s, n)
	case SpillStep, ReloadStep:
		l.near()
	}
	return nil
}

// near leaves a step to what is near the memory. Streams read arrays by name, and arrays
// stop until it is done: all that is under way must be there.
func (l *lowerer) near() {
	l.sync()
	l.plain(Near)
}

// fill puts a value into a register of all tiles: who uses it may be anywhere.
func (l *lowerer) fill(s *Step) {
	l.touch(s.Dst)
	p := l.cover(&l.bound)
	tiles := l.grid.tiles(l.course, &p)
	l.everywhere(order{Command: Command{Kind: Fill, Dst: int32(s.Dst.Row), Rows: int32(s.Dst.Bits)}}, &tiles)
}

func (l *lowerer) copy(s *Step, box *region) {
	c := Command{Kind: Copy, Src: int32(s.Src.Row), Dst: int32(s.Dst.Row), Rows: int32(s.Dst.Bits)}
	if !s.Exact {
		p := l.cover(box)
		tiles := l.grid.tiles(l.course, &p)
		l.everywhere(order{Command: c}, &tiles)
		return
	}
	for _, part := range l.grid.decompose(l.course, l.parts[:0], box) {
		o := order{Command: c, tiles: l.grid.tiles(l.course, &part)}
		o.bitlines, _ = l.grid.bitlines(l.course, &part, -1, span{})
		l.whole(&o)
		l.emit(&o)
	}
}

func (l *lowerer) move(s *Step, n *tdfg.Node) error {
	dist, err := l.eval(n.Dist)
	if err != nil {
		return err
	}
	from, err := l.box(l.p.Graph.Nodes[n.Args[0]].Domain)
	if err != nil {
		return err
	}
	l.touch(s.Src, s.Dst)
	if l.course.equal(dist, linear{}) {
		l.copy(&Step{Src: s.Src, Dst: s.Dst}, &from)
		return nil
	}
	l.shifts = l.grid.moveAround(l.course, l.shifts[:0], &from, n.Dim, dist)
	l.send(s.Src, s.Dst)
	return nil
}

// send emits the shifts at hand.
func (l *lowerer) send(src, dst Register) {
	for i := range l.shifts {
		sh := &l.shifts[i]
		o := order{Command: Command{Kind: ShiftIntra, Src: int32(src.Row), Dst: int32(dst.Row), Rows: int32(dst.Bits)},
			bitlines: sh.bitlines, tiles: sh.tiles, bitlineDist: sh.bitlineDist}
		l.whole(&o)
		if !sh.intra {
			o.Kind, o.tileDist, o.copies, o.TileStride = ShiftInter, sh.tileDist, fixed(1), 1
			l.pending = append(l.pending, dst)
		}
		l.emit(&o)
	}
}

// broadcast lowers a broadcast along a dimension. The coordinate of the source goes
// to the first one of its tiles, from there to the first one of all other tiles
// along the dimension, in one command for those below and one for those above, and
// doubles in each of them: 1, 2, 4 and so on coordinates are copied to the next.
func (l *lowerer) broadcast(s *Step, n *tdfg.Node, to *region) error {
	from, err := l.box(l.p.Graph.Nodes[n.Args[0]].Domain)
	if err != nil {
		return err
	}
	l.touch(s.Src, s.Dst)
	if l.empty(&from) {
		return nil
	}
	c, d := l.course, &l.grid.dim[n.Dim]
	tile := c.div(from[n.Dim].lo, d.tile)
	offset := from[n.Dim].lo.mod(d.tile, tile)
	p := l.cover(&from)
	// part sets the cells of a range of each of some tiles, both along the dimension.
	part := func(o *order, tiles, at span) {
		p.dim[n.Dim] = d.whole(tiles)
		o.bitlines, _ = l.grid.bitlines(c, &p, n.Dim, at)
		o.tiles = l.grid.tiles(c, &p)
		l.whole(o)
	}
	shift := func(src Register, tiles, at span, dist linear) {
		o := order{Command: Command{Kind: ShiftIntra, Src: int32(src.Row), Dst: int32(s.Dst.Row), Rows: int32(s.Dst.Bits)}, bitlineDist: dist.times(d.bitStride)}
		part(&o, tiles, at)
		if c.equal(dist, linear{}) {
			o.Kind = Copy
		}
		l.emit(&o)
	}
	source, first := span{tile, tile.add(1)}, span{linear{}, fixed(1)}
	shift(s.Src, source, span{offset, offset.add(1)}, offset.negative())
	send := func(lo, hi linear) { // tiles along the dimension
		if !c.less(lo, hi) {
			return
		}
		o := order{Command: Command{Kind: ShiftInter, Src: int32(s.Dst.Row), Dst: int32(s.Dst.Row), Rows: int32(s.Dst.Bits), TileStride: int32(d.tileStride)},
			tileDist: lo.minus(tile).times(d.tileStride), copies: hi.minus(lo)}
		part(&o, source, first)
		l.emit(&o)
		l.pending = append(l.pending, s.Dst)
	}
	lo, hi := c.div(to[n.Dim].lo, d.tile), c.up(to[n.Dim].hi, d.tile)
	send(lo, c.min(hi, tile))
	send(c.max(lo, tile.add(1)), hi)
	// Each tile makes the copies along its own cells, so that few bits travel.
	for have := int64(1); have < d.tile; have *= 2 {
		l.touch(s.Dst)
		shift(s.Dst, span{lo, hi}, span{linear{}, fixed(min(have, d.tile-have))}, fixed(have))
	}
	return nil
}

// reduce lowers the reduction of groups along a dimension: what is missing in a
// group becomes the identity of the operation, and then half of the places of each
// group takes the other half, which is shifted on to it, again and again.
func (l *lowerer) reduce(s *Step, n *tdfg.Node, box *region) error {
	c, d := l.course, &l.grid.dim[n.Dim]
	group, err := l.p.group(n, l.grid)
	if err != nil {
		return err
	}
	l.touch(s.Src, s.Dst)
	if s.Src.Row != s.Dst.Row {
		l.copy(&Step{Src: s.Src, Dst: s.Dst}, box)
	}
	id, ok := n.Op.Identity(n.Type)
	if !ok {
		return fmt.Errorf("%s has no identity", n.Op)
	}
	// Coordinates outside the domain in tiles that have a part of it.
	r := box[n.Dim]
	first, end := c.div(r.lo, d.tile), c.up(r.hi, d.tile)
	for _, pad := range []span{{first.times(d.tile), r.lo}, {r.hi, end.times(d.tile)}} {
		if !c.less(pad.lo, pad.hi) {
			continue
		}
		p := l.cover(box)
		at := c.div(pad.lo, d.tile)
		p.dim[n.Dim] = partDim{span{at, at.add(1)}, span{pad.lo.minus(at.times(d.tile)), pad.hi.minus(at.times(d.tile))}}
		o := order{Command: Command{Kind: Fill, Dst: int32(s.Dst.Row), Rows: int32(s.Dst.Bits), Immediate: true, Value: id}, tiles: l.grid.tiles(c, &p)}
		o.bitlines, _ = l.grid.bitlines(c, &p, -1, span{})
		l.emit(&o)
	}
	into := s.Args[2].Register
	p := l.cover(box)
	tiles := l.grid.tiles(c, &p)
	for half := int64(group) / 2; half > 0; half /= 2 {
		l.everywhere(order{Command: Command{Kind: ShiftIntra, Src: int32(s.Dst.Row), Dst: int32(s.Tmp.Row), Rows: int32(s.Dst.Bits)}, bitlineDist: fixed(-half * d.bitStride)}, &tiles)
		l.combine(s, into, int32(bits.Len64(uint64(half))), &tiles)
	}
	return nil
}

// combine emits the program of a step on tiles, and the copy of its result to where it
// belongs.
func (l *lowerer) combine(s *Step, into Register, part int32, tiles *linearPattern) {
	l.everywhere(order{Command: Command{Kind: Compute, Dst: int32(into.Row), Rows: int32(into.Bits), Part: part}}, tiles)
	if into != s.Dst {
		l.everywhere(order{Command: Command{Kind: Copy, Src: int32(into.Row), Dst: int32(s.Dst.Row), Rows: int32(s.Dst.Bits)}}, tiles)
	}
}

// maxFinals bounds the groups that are combined in arrays, one after another: with more
// of them streams are better, each of which works in its bank.
const maxFinals = 64

// final lowers the last steps of a reduction: to a step near the memory, or, where the
// plan has a program, to commands that shift the first point of each further tile on to
// that of the first tile, and combine them in order, as the definition has it. A Sync
// keeps each shift from what the combination before it still reads.
func (l *lowerer) final(s *Step, n *tdfg.Node) error {
	c := l.course
	reduce := &l.p.Graph.Nodes[n.Args[0]]
	box, err := l.box(reduce.Domain)
	if err != nil {
		return err
	}
	group, err := l.p.group(reduce, l.grid)
	if err != nil {
		return err
	}
	l.touch(s.Src, s.Dst, s.Tmp)
	tile := l.grid.dim[n.Dim].tile
	r := box[n.Dim]
	first, last := c.div(r.lo, tile), c.div(r.hi.add(-1), tile)
	// Groups that are parts of tiles would be combined with each other in all tiles.
	if s.Program == nil || int64(group) != tile || c.less(fixed(maxFinals), last.minus(first)) {
		l.near()
		return nil
	}
	at := func(tile linear) region { // the first coordinate of a tile
		b := box
		b[n.Dim] = span{tile, tile.add(1)}
		return b
	}
	lo := first.times(tile)
	to := at(lo)
	if s.Src.Row != s.Dst.Row {
		l.copy(&Step{Src: s.Src, Dst: s.Dst}, &to)
	}
	shift := func(src, dst Register, box region, dist linear) {
		l.shifts = l.grid.move(c, l.shifts[:0], &box, n.Dim, dist)
		l.send(src, dst)
	}
	into := s.Args[2].Register
	p := l.cover(&to)
	tiles := l.grid.tiles(c, &p)
	for i := int64(1); !c.less(last, first.add(i)); i++ {
		l.plain(Sync)
		shift(s.Src, s.Tmp, at(lo.add(i*tile)), fixed(-i*tile))
		l.sync()
		l.combine(s, into, int32(i), &tiles)
	}
	if offset := r.lo.minus(lo); c.less(linear{}, offset) { // the result belongs to the first point of the tensor
		shift(s.Dst, s.Dst, to, offset)
	}
	return nil
}

// group returns the number of neighbours that a reduction takes together: those of
// a tile, unless the graph says how many.
func (p *Plan) group(n *tdfg.Node, grid *Grid) (int, error) {
	t := int(grid.dim[n.Dim].tile)
	switch {
	case n.Group == 0:
		if t&(t-1) != 0 {
			return 0, fmt.Errorf("tiles of %d in dimension %d, expected a power of two to reduce in", t, n.Dim)
		}
		return t, nil
	case t%n.Group != 0:
		return 0, fmt.Errorf("groups of %d in tiles of %d in dimension %d, expected a divisor", n.Group, t, n.Dim)
	}
	return n.Group, nil
}

// Group returns the number of neighbours that reductions along a dimension take
// together where the graph leaves it open: what the interpreter has to be told to
// compute the same.
func (g *Grid) Group(dim int) int { return int(g.dim[dim].tile) }
