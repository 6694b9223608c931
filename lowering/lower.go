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
	l := &lowerer{p: p, grid: grid, values: values, out: dst}
	for i := range p.Steps {
		if err := l.step(i); err != nil {
			s := &p.Steps[i]
			return nil, fmt.Errorf("lowering: %s: node %d: %s: %w", p.Graph.Name, s.Node, s.Kind, err)
		}
	}
	l.sync() // the next region relies on it
	return l.out, nil
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
	values  map[string]int64
	out     []Command
	at      int32      // step at hand
	pending []Register // written by shifts between tiles since the last Sync
	parts   [27]Part
	shifts  []Shift
}

func (l *lowerer) emit(c Command) {
	c.Step = l.at
	l.out = append(l.out, c)
}

func (l *lowerer) sync() {
	if len(l.pending) > 0 {
		l.emit(Command{Kind: Sync})
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

func (l *lowerer) box(r lattice.Rect) (lattice.Box, error) {
	b, err := r.Box(l.values)
	if err == nil {
		b = b.Intersect(l.grid.Bound())
	}
	return b, err
}

// cover calls f for the tiles that have a point of a box.
func (l *lowerer) cover(b lattice.Box, f func(tiles Pattern)) {
	if b.Empty() {
		return
	}
	var p Part
	for i := range MaxDims {
		d := &l.grid.dim[i]
		p.dim[i] = partDim{0, 1, 0, 1}
		if i < len(b) {
			p.dim[i] = partDim{b[i].Lo / d.tile, (b[i].Hi-1)/d.tile + 1, 0, d.tile}
		}
	}
	f(l.grid.tiles(&p))
}

// exact calls f for the parts of a box; whole says that all bitlines are meant.
func (l *lowerer) exact(b lattice.Box, f func(bitlines, tiles Pattern, whole bool)) {
	n := l.grid.Bitlines()
	for _, part := range l.grid.Decompose(l.parts[:0], b) {
		bitlines, tiles := l.grid.Patterns(part)
		f(bitlines, tiles, bitlines.Len() == n)
	}
}

func (l *lowerer) step(i int) error {
	s := &l.p.Steps[i]
	l.at = int32(i)
	n := &l.p.Graph.Nodes[s.Node]
	switch s.Kind {
	case StreamStep, ResultStep:
		// Streams read arrays by name: all that is under way must be there.
		l.sync()
		l.emit(Command{Kind: Near})
		return nil
	case FillStep:
		return l.fill(s)
	}
	box, err := l.box(n.Domain)
	if err != nil {
		return err
	}
	if box.Empty() {
		// This may be the last use of what it does not read, and its rows are free then.
		l.touch(s.Src)
		l.operands(s)
		return nil
	}
	switch s.Kind {
	case ComputeStep:
		l.operands(s)
		l.touch(s.Dst)
		l.cover(box, func(tiles Pattern) {
			l.emit(Command{Kind: Compute, Whole: true, Tiles: tiles, Dst: int32(s.Dst.Row), Rows: int32(s.Dst.Bits)})
		})
	case CopyStep:
		l.touch(s.Src, s.Dst)
		l.copy(s, box)
	case MoveStep:
		return l.move(s, n)
	case BroadcastStep:
		return l.broadcast(s, n, box)
	case ReduceStep:
		return l.reduce(s, n, box)
	case FinalStep:
		return l.final(s, n)
	case SpillStep, ReloadStep:
		l.touch(s.Src, s.Dst)
		l.emit(Command{Kind: Near})
	}
	return nil
}

// fill puts a value into a register of all tiles: who uses it may be anywhere.
func (l *lowerer) fill(s *Step) error {
	l.touch(s.Dst)
	l.cover(l.grid.Bound(), func(tiles Pattern) {
		l.emit(Command{Kind: Fill, Whole: true, Tiles: tiles, Dst: int32(s.Dst.Row), Rows: int32(s.Dst.Bits)})
	})
	return nil
}

func (l *lowerer) copy(s *Step, box lattice.Box) {
	c := Command{Kind: Copy, Src: int32(s.Src.Row), Dst: int32(s.Dst.Row), Rows: int32(s.Dst.Bits)}
	if !s.Exact {
		l.cover(box, func(tiles Pattern) {
			c.Tiles, c.Whole = tiles, true
			l.emit(c)
		})
		return
	}
	l.exact(box, func(bitlines, tiles Pattern, whole bool) {
		c.Bitlines, c.Tiles, c.Whole = bitlines, tiles, whole
		l.emit(c)
	})
}

func (l *lowerer) move(s *Step, n *tdfg.Node) error {
	dist, err := n.Dist.Eval(l.values)
	if err != nil {
		return err
	}
	from, err := l.box(l.p.Graph.Nodes[n.Args[0]].Domain)
	if err != nil {
		return err
	}
	l.touch(s.Src, s.Dst)
	if dist == 0 {
		l.copy(&Step{Src: s.Src, Dst: s.Dst}, from)
		return nil
	}
	l.shifts = l.grid.MoveAround(l.shifts[:0], from, n.Dim, dist)
	for _, sh := range l.shifts {
		c := Command{Kind: ShiftIntra, Bitlines: sh.Bitlines, Tiles: sh.Tiles, Whole: sh.Bitlines.Len() == l.grid.Bitlines(),
			Src: int32(s.Src.Row), Dst: int32(s.Dst.Row), Rows: int32(s.Dst.Bits), BitlineDist: int32(sh.BitlineDist)}
		if !sh.Intra() {
			c.Kind, c.TileDist, c.Copies, c.TileStride = ShiftInter, int32(sh.TileDist), 1, 1
			l.pending = append(l.pending, s.Dst)
		}
		l.emit(c)
	}
	return nil
}

// broadcast lowers a broadcast along a dimension. The coordinate of the source goes
// to the first one of its tiles, from there to the first one of all other tiles
// along the dimension, in one command for those below and one for those above, and
// doubles in each of them: 1, 2, 4 and so on coordinates are copied to the next.
func (l *lowerer) broadcast(s *Step, n *tdfg.Node, to lattice.Box) error {
	from, err := l.box(l.p.Graph.Nodes[n.Args[0]].Domain)
	if err != nil {
		return err
	}
	l.touch(s.Src, s.Dst)
	if from.Empty() {
		return nil
	}
	d := &l.grid.dim[n.Dim]
	tile, offset := from[n.Dim].Lo/d.tile, from[n.Dim].Lo%d.tile
	// part is the cells of a range of each of some tiles, both along the dimension.
	part := func(tiles, at lattice.Range) (bitlines, pattern Pattern) {
		var p Part
		for i := range MaxDims {
			g := &l.grid.dim[i]
			p.dim[i] = partDim{0, 1, 0, g.tile}
			if i < len(from) {
				p.dim[i] = partDim{from[i].Lo / g.tile, (from[i].Hi-1)/g.tile + 1, 0, g.tile}
			}
		}
		p.dim[n.Dim].tileLo, p.dim[n.Dim].tileHi = tiles.Lo, tiles.Hi
		bitlines, _ = l.grid.bitlines(&p, n.Dim, at)
		return bitlines, l.grid.tiles(&p)
	}
	shift := func(src Register, tiles, at lattice.Range, dist int64) {
		c := Command{Kind: ShiftIntra, Src: int32(src.Row), Dst: int32(s.Dst.Row), Rows: int32(s.Dst.Bits), BitlineDist: int32(dist * d.bitStride)}
		c.Bitlines, c.Tiles = part(tiles, at)
		c.Whole = c.Bitlines.Len() == l.grid.Bitlines()
		if dist == 0 {
			c.Kind = Copy
		}
		l.emit(c)
	}
	source, first := lattice.Range{Lo: tile, Hi: tile + 1}, lattice.Range{Lo: 0, Hi: 1}
	shift(s.Src, source, lattice.Range{Lo: offset, Hi: offset + 1}, -offset)
	send := func(lo, hi int64) { // tiles along the dimension
		if lo >= hi {
			return
		}
		c := Command{Kind: ShiftInter, Src: int32(s.Dst.Row), Dst: int32(s.Dst.Row), Rows: int32(s.Dst.Bits),
			TileDist: int32((lo - tile) * d.tileStride), Copies: int32(hi - lo), TileStride: int32(d.tileStride)}
		c.Bitlines, c.Tiles = part(source, first)
		c.Whole = c.Bitlines.Len() == l.grid.Bitlines()
		l.emit(c)
		l.pending = append(l.pending, s.Dst)
	}
	lo, hi := to[n.Dim].Lo/d.tile, (to[n.Dim].Hi-1)/d.tile+1
	send(lo, min(hi, tile))
	send(max(lo, tile+1), hi)
	// Each tile makes the copies along its own cells, so that few bits travel.
	for have := int64(1); have < d.tile; have *= 2 {
		l.touch(s.Dst)
		shift(s.Dst, lattice.Range{Lo: lo, Hi: hi}, lattice.Range{Lo: 0, Hi: min(have, d.tile-have)}, have)
	}
	return nil
}

// reduce lowers the reduction of groups along a dimension: what is missing in a
// group becomes the identity of the operation, and then half of the places of each
// group takes the other half, which is shifted on to it, again and again.
func (l *lowerer) reduce(s *Step, n *tdfg.Node, box lattice.Box) error {
	d := &l.grid.dim[n.Dim]
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
	for _, pad := range []lattice.Range{{Lo: r.Lo / d.tile * d.tile, Hi: r.Lo}, {Lo: r.Hi, Hi: (r.Hi + d.tile - 1) / d.tile * d.tile}} {
		if pad.Len() == 0 {
			continue
		}
		var p Part
		for i := range MaxDims {
			g := &l.grid.dim[i]
			p.dim[i] = partDim{0, 1, 0, g.tile}
			if i < len(box) {
				p.dim[i] = partDim{box[i].Lo / g.tile, (box[i].Hi-1)/g.tile + 1, 0, g.tile}
			}
		}
		at := pad.Lo / d.tile
		p.dim[n.Dim] = partDim{at, at + 1, pad.Lo - at*d.tile, pad.Hi - at*d.tile}
		bitlines, tiles := l.grid.Patterns(p)
		l.emit(Command{Kind: Fill, Bitlines: bitlines, Tiles: tiles, Dst: int32(s.Dst.Row), Rows: int32(s.Dst.Bits), Immediate: true, Value: id})
	}
	into := s.Args[2].Register
	for half := int64(group) / 2; half > 0; half /= 2 {
		l.cover(box, func(tiles Pattern) {
			c := Command{Kind: ShiftIntra, Whole: true, Tiles: tiles, Src: int32(s.Dst.Row), Dst: int32(s.Tmp.Row), Rows: int32(s.Dst.Bits), BitlineDist: int32(-half * d.bitStride)}
			l.emit(c)
			l.emit(Command{Kind: Compute, Whole: true, Tiles: tiles, Dst: int32(into.Row), Rows: int32(into.Bits), Part: int32(bits.Len64(uint64(half)))})
			if into != s.Dst {
				l.emit(Command{Kind: Copy, Whole: true, Tiles: tiles, Src: int32(into.Row), Dst: int32(s.Dst.Row), Rows: int32(s.Dst.Bits)})
			}
		})
	}
	return nil
}

// maxFinals bounds the groups that are combined in arrays, one after another: with more
// of them streams are better, each of which works in its bank.
const maxFinals = 64

// final lowers the last steps of a reduction: to a step near the memory, or, where the
// plan has a program, to commands that shift the first point of each further tile on to
// that of the first tile, and combine them in order, as the definition has it. A Sync
// keeps each shift from what the combination before it still reads.
func (l *lowerer) final(s *Step, n *tdfg.Node) error {
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
	lo := box[n.Dim].Lo / tile * tile
	last := (box[n.Dim].Hi - 1) / tile * tile
	// Groups that are parts of tiles would be combined with each other in all tiles.
	if s.Program == nil || int64(group) != tile || (last-lo)/tile > maxFinals {
		l.emit(Command{Kind: Near})
		return nil
	}
	first := box.With(n.Dim, lattice.Range{Lo: lo, Hi: lo + 1})
	if s.Src.Row != s.Dst.Row {
		l.copy(&Step{Src: s.Src, Dst: s.Dst}, first)
	}
	shift := func(src, dst Register, box lattice.Box, dist int64) {
		for _, sh := range l.grid.Move(l.shifts[:0], box, n.Dim, dist) {
			c := Command{Kind: ShiftIntra, Bitlines: sh.Bitlines, Tiles: sh.Tiles, Whole: sh.Bitlines.Len() == l.grid.Bitlines(),
				Src: int32(src.Row), Dst: int32(dst.Row), Rows: int32(dst.Bits), BitlineDist: int32(sh.BitlineDist)}
			if !sh.Intra() {
				c.Kind, c.TileDist, c.Copies, c.TileStride = ShiftInter, int32(sh.TileDist), 1, 1
				l.pending = append(l.pending, dst)
			}
			l.emit(c)
		}
	}
	into := s.Args[2].Register
	for at := lo + tile; at <= last; at += tile {
		l.emit(Command{Kind: Sync})
		shift(s.Src, s.Tmp, box.With(n.Dim, lattice.Range{Lo: at, Hi: at + 1}), lo-at)
		l.sync()
		l.cover(first, func(tiles Pattern) {
			l.emit(Command{Kind: Compute, Whole: true, Tiles: tiles, Dst: int32(into.Row), Rows: int32(into.Bits), Part: int32(at / tile)})
			if into != s.Dst {
				l.emit(Command{Kind: Copy, Whole: true, Tiles: tiles, Src: int32(into.Row), Dst: int32(s.Dst.Row), Rows: int32(s.Dst.Bits)})
			}
		})
	}
	if offset := box[n.Dim].Lo - lo; offset > 0 { // the result belongs to the first point of the tensor
		shift(s.Dst, s.Dst, first, offset)
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
