package system

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// word executes commands on elements: a register is a plane with the element of
// each bitline. Every so many tiles it executes the programs of computations bit by
// bit as well, and compares.
type word struct {
	tiles, cols int
	threads     int
	every       int // tiles from one that is checked to the next; 0 checks none

	mu      sync.RWMutex // of what follows
	planes  map[int][]scalar.Value
	checked int64 // elements compared with the bits of programs
	err     error
}

func newWord(tiles, cols, threads, every int) *word {
	return &word{tiles: tiles, cols: cols, threads: max(1, threads), every: every, planes: map[int][]scalar.Value{}}
}

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
	if p = w.planes[row]; p == nil {
		p = make([]scalar.Value, w.tiles*w.cols)
		w.planes[row] = p
	}
	return p
}

func (w *word) exec(ctx context.Context, p *lowering.Plan, cmds []lowering.Command, in lowering.Inputs) error {
	for i := range cmds {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := w.command(p, &cmds[i], in); err != nil {
			return err
		}
	}
	return nil
}

func (w *word) command(p *lowering.Plan, c *lowering.Command, in lowering.Inputs) error {
	switch c.Kind {
	case lowering.Sync:
		return nil
	case lowering.Compute:
		return w.compute(&p.Steps[c.Step], c)
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
		return nil
	case lowering.Copy, lowering.ShiftIntra, lowering.ShiftInter:
		w.shift(c)
		return nil
	}
	return fmt.Errorf("system: command %s, expected one of elements", c.Kind)
}

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
	if w.threads < 2 || n < few {
		for t := range tiles.All() {
			for i := range copies {
				f(t, i)
			}
		}
		return
	}
	list := slices.AppendSeq(make([]int, 0, tiles.Len()), tiles.All())
	var wg sync.WaitGroup
	for k := range w.threads {
		wg.Go(func() {
			for i := k * n / w.threads; i < (k+1)*n/w.threads; i++ {
				f(list[i/copies], i%copies)
			}
		})
	}
	wg.Wait()
}

func (w *word) shift(c *lowering.Command) {
	src, dst := w.plane(int(c.Src)), w.plane(int(c.Dst))
	lines := w.lines(c)
	// What would leave the tile is dropped.
	lines = slices.DeleteFunc(lines, func(b int) bool {
		to := b + int(c.BitlineDist)
		return to < 0 || to >= w.cols
	})
	if len(lines) == 0 {
		return
	}
	run := lines[len(lines)-1]-lines[0] == len(lines)-1
	first, n, dist := lines[0], len(lines), int(c.BitlineDist)
	move := func(from, to int) {
		s, d := src[from*w.cols:(from+1)*w.cols], dst[to*w.cols:(to+1)*w.cols]
		switch {
		case run: // copy handles overlap
			copy(d[first+dist:first+dist+n], s[first:first+n])
		case from == to && c.Src == c.Dst:
			s = slices.Clone(s)
			fallthrough
		default:
			for _, b := range lines {
				d[b+dist] = s[b]
			}
		}
	}
	if c.Kind != lowering.ShiftInter {
		w.each(c.Tiles, func(t int) { move(t, t) })
		return
	}
	w.copies(c.Tiles, int(c.Copies), func(t, i int) { move(t, t+int(c.TileDist)+i*int(c.TileStride)) })
}

// computer computes the elements of a tile.
type computer struct {
	w    *word
	s    *lowering.Step
	args [][]scalar.Value // planes, nil for a constant
	dst  []scalar.Value
}

func (w *word) compute(s *lowering.Step, c *lowering.Command) error {
	k := &computer{w: w, s: s, dst: w.plane(int(c.Dst))}
	for i := range s.Program.Op.Args {
		if o := s.Args[i]; o.Const {
			k.args = append(k.args, nil)
		} else {
			k.args = append(k.args, w.plane(o.Row))
		}
	}
	w.each(c.Tiles, func(t int) {
		check := w.every > 0 && t%w.every == 0
		var in [][]scalar.Value
		if check {
			for _, p := range k.args {
				in = append(in, slices.Clone(k.tile(p, t)))
			}
		}
		k.run(t)
		if check {
			w.compare(s, in, k.tile(k.dst, t), t)
		}
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
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

// compare executes the program of a step bit by bit on the operands of a tile.
func (w *word) compare(s *lowering.Step, in [][]scalar.Value, got []scalar.Value, t int) {
	state := s.Code.NewState()
	place := func(row, bits int, elems []scalar.Value) {
		for i := range bits {
			r := state.Row(row + i)
			for j, v := range elems {
				r[j/64] = r[j/64]&^(1<<(j%64)) | v>>i&1<<(j%64)
			}
		}
	}
	for _, lines := range split(w.cols) {
		for i, a := range s.Program.Args {
			place(s.Args[a].Row, s.Program.Kernel.Inputs[i].Width, in[a][lines[0]:lines[1]])
		}
		state.Run()
		out := s.Code.Kernel().Outputs[0]
		for j := range lines[1] - lines[0] {
			var v scalar.Value
			for i := range out.Width {
				v |= state.Row(out.Base + i)[j/64] >> (j % 64) & 1 << i
			}
			if g := got[lines[0]+j] & (1<<out.Width - 1); v != g {
				w.mu.Lock()
				if w.err == nil {
					w.err = fmt.Errorf("system: %s on tile %d bitline %d: program gives %#x, expected %#x", s.Program.Spec.Op, t, lines[0]+j, v, g)
				}
				w.mu.Unlock()
				return
			}
		}
	}
	w.mu.Lock()
	w.checked += int64(w.cols)
	w.mu.Unlock()
}

// split cuts bitlines into groups that a state holds.
func split(n int) [][2]int {
	var list [][2]int
	for lo := 0; lo < n; lo += sram.GroupCols {
		list = append(list, [2]int{lo, min(n, lo+sram.GroupCols)})
	}
	return list
}

func (w *word) readTile(r lowering.Register, t int, dst []scalar.Value) {
	m := scalar.Value(1)<<r.Bits - 1
	for i, v := range w.plane(r.Row)[t*w.cols : (t+1)*w.cols] {
		dst[i] = v & m
	}
}

func (w *word) writeTile(r lowering.Register, t int, src []scalar.Value, mask []uint64) {
	d := w.plane(r.Row)[t*w.cols : (t+1)*w.cols]
	for i, v := range src {
		if mask[i/64]>>(i%64)&1 != 0 {
			d[i] = v
		}
	}
}

func (w *word) read(r lowering.Register, t, bitline int) scalar.Value {
	return w.plane(r.Row)[t*w.cols+bitline] & (1<<r.Bits - 1)
}

func (w *word) write(r lowering.Register, t, bitline int, v scalar.Value) {
	w.plane(r.Row)[t*w.cols+bitline] = v
}
