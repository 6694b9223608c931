package system

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tile"
)

// word executes commands on elements: a register is a plane with the element of
// each bitline. Every so many tiles are cells too, on which all commands are executed bit
// by bit through the whole run, and whose words are compared with the elements: after
// each computation on operands that are alike, and where an element leaves the chip.
type word struct {
	tiles, cols int
	threads     int
	every       int // tiles from one that has cells to the next
	cells       *gate
	seed        uint64

	mu       sync.RWMutex // of what follows
	planes   map[int][]scalar.Value
	shared   *Cells // of a chip that others have arrays of, too; nil: of its own
	first    int    // array of these
	underway []*flight
	checked  int64 // elements compared with the bits of programs
	failure  error
}

func newWord(m *tile.Machine, tiles, threads, every int, seed uint64) (*word, error) {
	w := &word{tiles: tiles, cols: m.Array.Cols, threads: max(1, threads), every: max(1, every), seed: seed, planes: map[int][]scalar.Value{}}
	var err error
	w.seed += uint64(invariants.Pick(1<<30, 0))
	w.cells, err = newGate(m, (tiles+w.every-1)/w.every, 1, seed)
	return w, err
}

// cell returns the number of the array of cells of a tile.
func (w *word) cell(t int) (i int, ok bool) { return t / w.every, t%w.every == 0 }

// plane returns the plane of a register. A register that begins at the same row as
// another has its plane: no two words with different first rows are live on the same
// rows.
func (w *word) plane(row int) []scalar.Value {
	w.mu.RLock()
	p := w.planes[row]
	w.mu.RUnlock()
	if p != nil {
		return p
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if p = w.planes[row]; p == nil && w.shared != nil {
		p = w.shared.plane(row, w.seed)[w.first*w.cols : (w.first+w.tiles)*w.cols]
		w.planes[row] = p
	} else if p == nil {
		p = make([]scalar.Value, w.tiles*w.cols)
		r := rand.New(rand.NewPCG(w.seed, uint64(row)))
		for i := range p {
			p[i] = r.Uint64()
		}
		w.planes[row] = p
	}
	return p
}

// Cells are the elements of all arrays of a chip that sessions of several programs share: each has
// some of the arrays.
type Cells struct {
	arrays, cols int

	mu     sync.Mutex
	planes map[int][]scalar.Value
}

// NewCells returns those of so many arrays of a machine.
func NewCells(m *tile.Machine, arrays int) *Cells {
	return &Cells{arrays: arrays, cols: m.Array.Cols, planes: map[int][]scalar.Value{}}
}

// plane returns the elements that begin at a row, of all arrays: garbage at first.
func (c *Cells) plane(row int, seed uint64) []scalar.Value {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.planes[row]
	if p == nil {
		p = make([]scalar.Value, c.arrays*c.cols)
		r := rand.New(rand.NewPCG(seed, uint64(row)))
		for i := range p {
			p[i] = r.Uint64()
		}
		c.planes[row] = p
	}
	return p
}

func (w *word) exec(ctx context.Context, p *lowering.Plan, cmds []lowering.Command, in lowering.Inputs) error {
	for i := range cmds {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := w.command(ctx, p, &cmds[i], in); err != nil {
			return err
		}
	}
	if len(w.underway) > 0 {
		return internal(errUnderWay)
	}
	return w.err()
}

func (w *word) err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return internal(w.failure)
}

func (w *word) compared() int64 { return w.checked }

func (w *word) command(ctx context.Context, p *lowering.Plan, c *lowering.Command, in lowering.Inputs) error {
	var before []operands
	switch c.Kind {
	case lowering.Sync:
		w.land()
		return nil
	case lowering.ShiftInter:
		w.send(c)
		return nil
	case lowering.Compute:
		before = w.operands(p, c)
		w.compute(&p.Steps[c.Step], c)
	case lowering.Fill:
		v, err := fillValue(p, c, in)
		if err != nil {
			return err
		}
		dst, lines := w.plane(int(c.Dst)), w.lines(c)
		w.each(c.Tiles, func(t int) {
			d := dst[t*w.cols : (t+1)*w.cols]
			for _, b := range lines {
				d[b] = v
			}
		})
	case lowering.Copy, lowering.ShiftIntra:
		w.shift(c)
	default:
		return fmt.Errorf("system: command %s, expected one of elements", c.Kind)
	}
	on := tile.Enable{Arrays: make([]uint64, (w.cells.cells.Arrays()+63)/64)}
	some := false
	for t := range c.Tiles.All() {
		if i, ok := w.cell(t); ok {
			on.Arrays[i/64] |= 1 << (i % 64)
			some = true
		}
	}
	if !some {
		return nil
	}
	if !c.Whole {
		on.Bitlines = w.cells.mask(c.Bitlines, false)
	}
	op, err := localOp(p, c, on, in)
	if err != nil {
		return err
	}
	if err := w.cells.cells.Run(ctx, 1, []tile.Op{op}); err != nil {
		return err
	}
	for i := range before {
		w.compare(p, c, &before[i])
	}
	return nil
}

// operands are those of a computation on a tile with cells.
type operands struct {
	tile  int
	alike []bool // bitlines on which words and cells have the same ones
}

// operands looks at the operands of a computation on the tiles with cells. Rows that
// several words had hold other garbage in cells than in planes, where nobody looks.
func (w *word) operands(p *lowering.Plan, c *lowering.Command) []operands {
	s := &p.Steps[c.Step]
	var list []operands
	bits := make([]scalar.Value, w.cols)
	for t := range c.Tiles.All() {
		cell, ok := w.cell(t)
		if !ok {
			continue
		}
		o := operands{t, make([]bool, w.cols)}
		for b := range o.alike {
			o.alike[b] = true
		}
		for i, a := range s.Program.Args {
			n := s.Program.Kernel.Inputs[i].Width
			w.cells.tile(lowering.Register{Row: s.Args[a].Row, Bits: n}, cell, bits)
			words := w.tileOf(s.Args[a].Row, t)
			for b := range bits {
				o.alike[b] = o.alike[b] && (words[b]^bits[b])&(1<<n-1) == 0
			}
		}
		list = append(list, o)
	}
	return list
}

// compare compares the result of a computation on a tile with that of its cells.
func (w *word) compare(p *lowering.Plan, c *lowering.Command, o *operands) {
	s := &p.Steps[c.Step]
	out := lowering.Register{Row: int(c.Dst), Bits: s.Program.ResultWidth()}
	cell, _ := w.cell(o.tile)
	bits := make([]scalar.Value, w.cols)
	w.cells.tile(out, cell, bits)
	for b, v := range w.tileOf(out.Row, o.tile) {
		if !o.alike[b] {
			continue
		}
		w.checked++
		if v &= 1<<out.Bits - 1; v != bits[b] && w.failure == nil {
			w.failure = fmt.Errorf("%s on tile %d bitline %d: program gives %#x, expected %#x", s.Program.Spec.Op, o.tile, b, bits[b], v)
		}
	}
}

// differ reports that an element is not what the cells of its tile hold.
func (w *word) differ(r lowering.Register, t, b int, bits, v scalar.Value) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failure == nil {
		w.failure = fmt.Errorf("rows %d to %d of tile %d bitline %d hold %#x, expected %#x", r.Row, r.Row+r.Bits-1, t, b, bits, v)
	}
}

// tileOf returns the elements of a tile in the plane of a row.
func (w *word) tileOf(row, t int) []scalar.Value { return w.plane(row)[t*w.cols : (t+1)*w.cols] }

// lines returns the bitlines that a command acts on.
func (w *word) lines(c *lowering.Command) []int {
	list := make([]int, 0, w.cols)
	if c.Whole {
		for b := range w.cols {
			list = append(list, b)
		}
		return list
	}
	return slices.AppendSeq(list, c.Bitlines.All())
}

// each calls f for the tiles of a pattern, shared out among threads.
func (w *word) each(tiles lowering.Pattern, f func(t int)) {
	w.copies(tiles, 1, func(t, _ int) { f(t) })
}

// copies calls f for the tiles of a pattern and each number of a copy, shared out among
// threads.
func (w *word) copies(tiles lowering.Pattern, copies int, f func(t, number int)) {
	n := tiles.Len() * copies
	const few = 64
	if (w.threads < 2 || n < few) && !invariants.Enabled {
		for t := range tiles.All() {
			for i := range copies {
				f(t, i)
			}
		}
		return
	}
	list := slices.AppendSeq(make([]int, 0, tiles.Len()), tiles.All())
	if invariants.Enabled {
		rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	var wg sync.WaitGroup
	threads := min(w.threads, n)
	for k := range threads {
		wg.Go(func() {
			for i := k * n / threads; i < (k+1)*n/threads; i++ {
				f(list[i/copies], i%copies)
			}
		})
	}
	wg.Wait()
}

// shift moves elements within tiles.
func (w *word) shift(c *lowering.Command) {
	src, dst := w.plane(int(c.Src)), w.plane(int(c.Dst))
	lines, run := w.leaving(c)
	if len(lines) == 0 {
		return
	}
	first, n, dist := lines[0], len(lines), int(c.BitlineDist)
	w.each(c.Tiles, func(t int) {
		s, d := src[t*w.cols:(t+1)*w.cols], dst[t*w.cols:(t+1)*w.cols]
		switch {
		case run: // copy handles overlap
			copy(d[first+dist:first+dist+n], s[first:first+n])
		case c.Src == c.Dst:
			s = slices.Clone(s)
			fallthrough
		default:
			for _, b := range lines {
				d[b+dist] = s[b]
			}
		}
	})
}

// leaving returns the bitlines that a command moves to others of a tile, in order, and
// whether there are none between them that it leaves out.
func (w *word) leaving(c *lowering.Command) (lines []int, run bool) {
	lines = slices.DeleteFunc(w.lines(c), func(b int) bool { // what would leave the tile is dropped
		to := b + int(c.BitlineDist)
		return to < 0 || to >= w.cols
	})
	return lines, len(lines) > 0 && lines[len(lines)-1]-lines[0] == len(lines)-1
}

// flight are elements on the way to other tiles.
type flight struct {
	c     lowering.Command
	lines []int
	run   bool
	words map[int][]scalar.Value // by the tile that they come from, in the order of lines
	cells map[int][]scalar.Value // by the tile that they go to, of those with cells
}

// send reads what a shift between tiles moves.
func (w *word) send(c *lowering.Command) {
	f := &flight{c: *c, words: map[int][]scalar.Value{}, cells: map[int][]scalar.Value{}}
	if f.lines, f.run = w.leaving(c); len(f.lines) == 0 {
		return
	}
	r := lowering.Register{Row: int(c.Src), Bits: int(c.Rows)}
	all := make([]scalar.Value, c.Tiles.Len()*len(f.lines))
	k := 0
	for t := range c.Tiles.All() {
		src := w.tileOf(r.Row, t)
		words := all[k*len(f.lines) : (k+1)*len(f.lines)]
		k++
		if f.run {
			copy(words, src[f.lines[0]:])
		} else {
			for i, b := range f.lines {
				words[i] = src[b]
			}
		}
		f.words[t] = words
		bits := words
		if cell, ok := w.cell(t); ok {
			row := make([]scalar.Value, w.cols)
			w.cells.tile(r, cell, row)
			bits = make([]scalar.Value, len(f.lines))
			for i, b := range f.lines {
				bits[i] = row[b]
			}
		}
		for i := range int(c.Copies) {
			to := t + int(c.TileDist) + i*int(c.TileStride)
			if _, ok := w.cell(to); ok {
				f.cells[to] = bits
			}
		}
	}
	w.underway = append(w.underway, f)
}

// land writes what shifts between tiles have moved.
func (w *word) land() {
	for _, f := range w.underway {
		c := &f.c
		dst, dist := w.plane(int(c.Dst)), int(c.BitlineDist)
		w.copies(c.Tiles, int(c.Copies), func(t, i int) {
			to := t + int(c.TileDist) + i*int(c.TileStride)
			d, words := dst[to*w.cols:(to+1)*w.cols], f.words[t]
			if f.run {
				copy(d[f.lines[0]+dist:], words)
				return
			}
			for k, b := range f.lines {
				d[b+dist] = words[k]
			}
		})
		row, mask := make([]scalar.Value, w.cols), make([]uint64, w.cols/64)
		for _, b := range f.lines {
			mask[(b+dist)/64] |= 1 << ((b + dist) % 64)
		}
		for to, bits := range f.cells {
			for k, b := range f.lines {
				row[b+dist] = bits[k]
			}
			cell, _ := w.cell(to)
			w.cells.writeTile(lowering.Register{Row: int(c.Dst), Bits: int(c.Rows)}, cell, row, mask)
		}
	}
	w.underway = w.underway[:0]
}

// computer computes the elements of a tile.
type computer struct {
	w    *word
	s    *lowering.Step
	args [][]scalar.Value // planes, nil for a constant
	dst  []scalar.Value
}

func (w *word) compute(s *lowering.Step, c *lowering.Command) {
	k := &computer{w: w, s: s, dst: w.plane(int(c.Dst))}
	for i := range s.Program.Op.Args {
		if o := s.Args[i]; o.Const {
			k.args = append(k.args, nil)
		} else {
			k.args = append(k.args, w.plane(o.Row))
		}
	}
	w.each(c.Tiles, k.run)
}

func (k *computer) tile(p []scalar.Value, t int) []scalar.Value {
	if p == nil {
		return nil
	}
	return p[t*k.w.cols : (t+1)*k.w.cols]
}

func (k *computer) run(t int) {
	s := k.s
	var rows [3][]scalar.Value
	for i, p := range k.args {
		if rows[i] = k.tile(p, t); p == nil {
			rows[i] = make([]scalar.Value, k.w.cols)
			for j := range rows[i] {
				rows[i][j] = s.Args[i].Value
			}
		}
	}
	dst := k.tile(k.dst, t)
	if s.Direct {
		if s.Swap {
			rows[0], rows[1] = rows[1], rows[0]
		}
		scalar.Map(s.Elem, s.Type, dst, rows[:len(k.args)]...)
		return
	}
	var a [3]uint64
	for j := range dst {
		for i := range k.args {
			a[i] = rows[i][j]
		}
		dst[j] = s.Program.Op.Eval(s.Program.Type, a[:len(k.args)]...).Lo & (1<<s.Dst.Bits - 1)
	}
}

func (w *word) readTile(r lowering.Register, t int, dst []scalar.Value, mask []uint64) error {
	m := scalar.Value(1)<<r.Bits - 1
	for i, v := range w.tileOf(r.Row, t) {
		dst[i] = v & m
	}
	cell, ok := w.cell(t)
	if !ok {
		return nil
	}
	bits := make([]scalar.Value, w.cols)
	w.cells.tile(r, cell, bits)
	for b, v := range bits {
		if mask[b/64]>>(b%64)&1 == 1 && v != dst[b] {
			w.differ(r, t, b, v, dst[b])
			return w.err()
		}
	}
	return nil
}

func (w *word) writeTile(r lowering.Register, t int, src []scalar.Value, mask []uint64) {
	d := w.tileOf(r.Row, t)
	for i, v := range src {
		if mask[i/64]>>(i%64)&1 != 0 {
			d[i] = v
		}
	}
	if cell, ok := w.cell(t); ok {
		w.cells.writeTile(r, cell, src, mask)
	}
}

func (w *word) read(r lowering.Register, t, bitline int) scalar.Value {
	v := w.plane(r.Row)[t*w.cols+bitline] & (1<<r.Bits - 1)
	if cell, ok := w.cell(t); ok {
		if bits := w.cells.read(r, cell, bitline); bits != v {
			w.differ(r, t, bitline, bits, v)
		}
	}
	return v
}

func (w *word) write(r lowering.Register, t, bitline int, v scalar.Value) {
	w.plane(r.Row)[t*w.cols+bitline] = v
	if cell, ok := w.cell(t); ok {
		w.cells.write(r, cell, bitline, v)
	}
}

func (w *word) save(r lowering.Register) saved {
	s := saved{cells: w.cells.save(r).words}
	for t := range w.tiles {
		s.words = append(s.words, slices.Clone(w.tileOf(r.Row, t)))
	}
	return s
}

func (w *word) restore(r lowering.Register, s saved) {
	for t, words := range s.words {
		copy(w.tileOf(r.Row, t), words)
	}
	w.cells.restore(r, saved{words: s.cells})
}
