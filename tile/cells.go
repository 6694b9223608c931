package tile

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/bitsched/bitsched/sram"
)

// Cells are the bits of arrays that compute: array i of the chip is in lane
// i%lanes of group i/lanes, so that the same row of eight arrays of 256 bitlines
// lies adjacent and instructions are decoded once for all of them. All rows of a
// group lie adjacent too: commands on the cells run group by group, and what one
// of them brought into the processor's cache serves the next.
//
// Cells are not safe for concurrent use; Run uses threads of its own.
type Cells struct {
	tech   *sram.Technology
	arrays int
	cols   int
	words  int // of a row of an array
	lanes  int // arrays of a group
	rows   int
	groups []sram.Group
}

// NewCells returns the cells of the first arrays of a machine, all zero: tensors
// seldom fill all of them. They take about as much memory as they have bits, 130 MB
// for the whole chip of [Default], when they are first used.
func NewCells(m *Machine, arrays int) (*Cells, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	if arrays < 1 || arrays > m.Arrays() {
		return nil, fmt.Errorf("tile: %d arrays of machine %s, expected 1 to %d", arrays, m.Name, m.Arrays())
	}
	c := &Cells{tech: m.Technology(), arrays: arrays, cols: m.Array.Cols, words: m.Array.Cols / 64, rows: m.UsableRows()}
	c.lanes = sram.GroupCols / c.cols
	c.groups = sram.NewGroups((arrays+c.lanes-1)/c.lanes, c.rows)
	return c, nil
}

// Arrays returns the number of arrays.
func (c *Cells) Arrays() int { return c.arrays }

// Cols returns the number of bitlines of an array.
func (c *Cells) Cols() int { return c.cols }

// Rows returns the number of rows of an array that hold words.
func (c *Cells) Rows() int { return c.rows }

// Row returns a row of an array: bit b of word k is bitline 64k+b.
func (c *Cells) Row(array, row int) []uint64 {
	at := array % c.lanes * c.words
	return c.groups[array/c.lanes].Row(row)[at : at+c.words : at+c.words]
}

// Bit returns a cell.
func (c *Cells) Bit(array, row, bitline int) bool {
	return c.Row(array, row)[bitline/64]>>(bitline%64)&1 == 1
}

// Enable says which arrays a command acts on and which bitlines of each: the masks
// that the controller of a bank makes of patterns (Infinity Stream, section 5.2).
// Bit b of word k is array or bitline 64k+b; nil stands for all, so that the zero value
// enables all bitlines of all arrays.
//
// The bitlines that are not enabled keep all their rows: the mask gates the write
// drivers, as the tag latch does. What their latches hold afterwards is not
// defined.
type Enable struct{ Arrays, Bitlines []uint64 }

// opKind is the kind of an [Op].
type opKind uint8

const (
	opCompute opKind = iota
	opShift
	opFill
	opTransfer
)

// Op is a command on cells. [Compute], [Shift], [Fill] and [Transfer] make them.
type Op struct {
	kind    opKind
	on      Enable
	code    *sram.KernelCode
	written []uint16 // rows that code writes, where not all bitlines are enabled

	src, dst, n int // rows
	dist        int // bitlines
	value       []uint64

	arrayDist, copies, stride int
}

// Compute executes a kernel on every bitline that is enabled.
func Compute(code *sram.KernelCode, on Enable) Op {
	op := Op{kind: opCompute, code: code, on: on}
	k := code.Kernel()
	seen := make([]bool, k.Rows)
	for i := range k.Instrs {
		if m := &k.Instrs[i]; k.Tech.Ops[m.Op].Writes && !seen[m.Dst] {
			seen[m.Dst] = true
			op.written = append(op.written, m.Dst)
		}
	}
	return op
}

// Shift copies n rows from src on to those from dst on, by dist bitlines to higher
// ones within each array. The bitlines that are enabled are those that are read;
// what would leave the array is dropped. The rows may be the same, else they must
// not overlap.
func Shift(src, dst, n, dist int, on Enable) Op {
	return Op{kind: opShift, src: src, dst: dst, n: n, dist: dist, on: on}
}

// Fill sets the n rows from dst on to the bits of a value, the same on all bitlines
// that are enabled: a constant that the controller of the bank broadcasts. Bits
// beyond value are zero.
func Fill(dst, n int, value []uint64, on Enable) Op {
	return Op{kind: opFill, dst: dst, n: n, value: value, on: on}
}

// Transfer copies n rows from src on to those from dst on of other arrays: from
// array i, if it is enabled, to i+arrayDist, i+arrayDist+stride and so on, copies
// in all, and by dist bitlines to higher ones. One copy is a shift between tiles,
// several a broadcast. What would leave the array is dropped.
//
// The rows may be the same where no array sends and receives, else they must not
// overlap; no array may receive from two.
func Transfer(src, dst, n, dist, arrayDist, copies, stride int, on Enable) Op {
	return Op{kind: opTransfer, src: src, dst: dst, n: n, dist: dist, arrayDist: arrayDist, copies: copies, stride: stride, on: on}
}

// check returns why an op cannot be executed, nil if it can.
func (c *Cells) check(op *Op) error {
	if op.on.Bitlines != nil && len(op.on.Bitlines) != c.words {
		return fmt.Errorf("mask of %d words for bitlines, expected %d", len(op.on.Bitlines), c.words)
	}
	if n := (c.arrays + 63) / 64; op.on.Arrays != nil && len(op.on.Arrays) != n {
		return fmt.Errorf("mask of %d words for arrays, expected %d", len(op.on.Arrays), n)
	}
	if op.kind == opCompute {
		if k := op.code.Kernel(); k.Tech != c.tech {
			return fmt.Errorf("kernel of %s, expected one of %s", k.Tech.Name, c.tech.Name)
		}
		if n := op.code.Rows(); n > c.rows {
			return fmt.Errorf("kernel of %d rows, expected at most %d", n, c.rows)
		}
		return nil
	}
	if op.n < 1 || op.dst < 0 || op.dst+op.n > c.rows || op.kind != opFill && (op.src < 0 || op.src+op.n > c.rows) {
		return fmt.Errorf("%d rows from %d to %d, expected rows below %d", op.n, op.src, op.dst, c.rows)
	}
	overlap := op.src < op.dst+op.n && op.dst < op.src+op.n
	switch op.kind {
	case opShift:
		if overlap && op.src != op.dst {
			return fmt.Errorf("%d rows from %d to %d overlap, expected the same or others", op.n, op.src, op.dst)
		}
	case opTransfer:
		if overlap && op.src != op.dst {
			return fmt.Errorf("%d rows from %d to %d overlap, expected the same or others", op.n, op.src, op.dst)
		}
		return c.checkTargets(op)
	}
	return nil
}

// checkTargets reports arrays that do not exist or receive twice.
func (c *Cells) checkTargets(op *Op) error {
	if op.copies < 1 {
		return fmt.Errorf("%d copies, expected at least 1", op.copies)
	}
	taken := make([]uint64, (c.arrays+63)/64)
	for a := range c.arrays {
		if !op.on.has(a) {
			continue
		}
		for i := range op.copies {
			to := a + op.arrayDist + i*op.stride
			if to < 0 || to >= c.arrays {
				return fmt.Errorf("transfer from array %d to %d, expected 0 to %d", a, to, c.arrays-1)
			}
			if taken[to/64]>>(to%64)&1 == 1 {
				return fmt.Errorf("two transfers to array %d", to)
			}
			if op.src == op.dst && op.on.has(to) {
				return fmt.Errorf("transfer from array %d to the same rows of array %d, which sends them too", a, to)
			}
			taken[to/64] |= 1 << (to % 64)
		}
	}
	return nil
}

func (e *Enable) has(array int) bool {
	return e.Arrays == nil || e.Arrays[array/64]>>(array%64)&1 == 1
}

// lanesOf returns which lanes of a group are enabled, as a mask.
func (c *Cells) lanesOf(e *Enable, group int) uint32 {
	all := uint32(1)<<c.lanes - 1
	if e.Arrays == nil {
		return all
	}
	at := group * c.lanes // lanes are a power of two, at most 32: within a word
	return uint32(e.Arrays[at/64]>>(at%64)) & all
}

// Run executes commands one after another, the groups of arrays shared out among
// threads (0 means 1). The result does not depend on how many. Commands that stay
// within arrays run group by group, all of them between two transfers on one group
// before the next.
//
// An error says which command is malformed, and nothing is executed; or it is the
// context's, and the cells are garbage.
func (c *Cells) Run(ctx context.Context, threads int, ops []Op) error {
	for i := range ops {
		if err := c.check(&ops[i]); err != nil {
			return fmt.Errorf("tile: command %d: %w", i, err)
		}
	}
	for len(ops) > 0 {
		n := 0
		for n < len(ops) && ops[n].kind != opTransfer {
			n++
		}
		local := make([]task, n)
		for i := range local {
			local[i] = task{&ops[i], newShifter(c, &ops[i])}
		}
		if n > 0 {
			c.parallel(ctx, threads, len(c.groups), func() func(int) {
				w := worker{cells: c}
				return func(g int) { w.group(ctx, local, g) }
			})
		}
		if n < len(ops) {
			c.transfers(ctx, threads, &ops[n], c.groups)
			n++
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("tile: execution stopped: %w", err)
		}
		ops = ops[n:]
	}
	return nil
}

// transfers executes a transfer from the rows of groups, which are those of the cells or
// what was read of them.
func (c *Cells) transfers(ctx context.Context, threads int, op *Op, from []sram.Group) {
	t := task{op, newShifter(c, op)}
	// The source of a broadcast may lie in one group: threads share the copies.
	parts := c.parts(op, threads)
	c.parallel(ctx, threads, len(c.groups)*parts, func() func(int) {
		var buf rowBuffer
		return func(i int) {
			k := i % parts
			c.transfer(&t, from, i/parts, k*op.copies/parts, (k+1)*op.copies/parts, &buf)
		}
	})
}

// Flight is a transfer that has left its arrays and not yet reached those that it goes
// to.
type Flight struct {
	op   Op
	from []sram.Group // the rows that were read, from row 0 on
}

// Send reads what a transfer moves. Nothing arrives before [Cells.Land].
func (c *Cells) Send(ctx context.Context, threads int, op Op) (*Flight, error) {
	if err := c.check(&op); err != nil {
		return nil, fmt.Errorf("tile: %w", err)
	}
	if op.kind != opTransfer {
		return nil, errors.New("tile: expected a transfer to send")
	}
	f := &Flight{op: op, from: make([]sram.Group, len(c.groups))}
	c.parallel(ctx, threads, len(c.groups), func() func(int) {
		return func(g int) {
			if c.lanesOf(&op.on, g) == 0 {
				return
			}
			rows := sram.NewGroups(1, op.n)[0]
			for r := range op.n {
				*rows.Row(r) = *c.groups[g].Row(op.src + r)
			}
			f.from[g] = rows
		}
	})
	f.op.src = 0
	return f, ctx.Err()
}

// Land writes what a transfer has moved.
func (c *Cells) Land(ctx context.Context, threads int, f *Flight) error {
	c.transfers(ctx, threads, &f.op, f.from)
	return ctx.Err()
}

// Randomize fills all cells with bits that follow from a seed: what an array holds
// before something is written to it.
func (c *Cells) Randomize(seed uint64) {
	for g, group := range c.groups {
		r := rand.New(rand.NewPCG(seed, uint64(g)))
		for row := range c.rows {
			words := group.Row(row)
			for k := range words {
				words[k] = r.Uint64()
			}
		}
	}
}

// parts returns in how many parts the copies of a transfer are cut, so that there are a
// few pieces of work for each thread.
func (c *Cells) parts(op *Op, threads int) int {
	if threads < 2 || op.copies < 2 {
		return 1
	}
	const each = 4
	sources := 0
	for g := range c.groups {
		if c.lanesOf(&op.on, g) != 0 {
			sources++
		}
	}
	return max(1, min(op.copies, each*threads/max(1, sources)))
}

// parallel does n pieces of work on threads, each with a worker of its own.
func (c *Cells) parallel(ctx context.Context, threads, n int, worker func() func(int)) {
	var next atomic.Int64
	work := func() {
		do := worker()
		for {
			i := int(next.Add(1)) - 1
			if i >= n || ctx.Err() != nil {
				return
			}
			do(i)
		}
	}
	var wg sync.WaitGroup
	for range min(threads, n) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
}

// worker executes commands on groups; it owns what they need beside the cells.
type worker struct {
	cells *Cells
	saved [][sram.GroupWords]uint64
	buf   rowBuffer
}

// task is an op with what is the same for all groups.
type task struct {
	*Op
	shift shifter // of a Fill too, for its mask
}

// group executes commands on a group.
func (w *worker) group(ctx context.Context, tasks []task, g int) {
	c := w.cells
	rows := c.groups[g]
	full := uint32(1)<<c.lanes - 1
	for i := range tasks {
		t := &tasks[i]
		lanes := c.lanesOf(&t.on, g)
		if lanes == 0 {
			continue
		}
		to := &t.shift.to
		if lanes != full && t.kind != opCompute {
			some := t.shift.mask(lanes)
			to = &some
		}
		switch t.kind {
		case opCompute:
			if lanes == full && t.on.Bitlines == nil {
				t.code.RunGroup(rows)
			} else {
				w.masked(t.Op, rows, lanes)
			}
		case opShift:
			for r := range t.n {
				dst, src := rows.Row(t.dst+r), rows.Row(t.src+r)
				if t.shift.whole && lanes == full {
					*dst = *src
				} else {
					t.shift.move(dst[:], src[:], to[:], &w.buf)
				}
			}
		case opFill:
			for r := range t.n {
				v := uint64(0)
				if r/64 < len(t.value) {
					v = -(t.value[r/64] >> (r % 64) & 1)
				}
				row := rows.Row(t.dst + r)
				for k := range row {
					row[k] ^= (row[k] ^ v) & to[k]
				}
			}
		}
		if len(tasks) > 1 && ctx.Err() != nil {
			return
		}
	}
}

// word returns word k of the mask of bitlines.
func (e *Enable) word(k int) uint64 {
	if e.Bitlines == nil {
		return ^uint64(0)
	}
	return e.Bitlines[k]
}

// masked executes a kernel on some bitlines of a group. Bitlines do not depend on
// each other, so that it may run on all of them if those that are not enabled get
// back what the kernel wrote over.
func (w *worker) masked(op *Op, rows sram.Group, lanes uint32) {
	c := w.cells
	if len(w.saved) < len(op.written) {
		w.saved = make([][sram.GroupWords]uint64, c.rows)
	}
	var mask [sram.GroupWords]uint64
	for l := lanes; l != 0; l &= l - 1 {
		at := bits.TrailingZeros32(l) * c.words
		for k := range c.words {
			mask[at+k] = op.on.word(k)
		}
	}
	for i, r := range op.written {
		w.saved[i] = *rows.Row(int(r))
	}
	op.code.RunGroup(rows)
	for i, r := range op.written {
		row, old := rows.Row(int(r)), &w.saved[i]
		for k := range row {
			row[k] = old[k] ^ (old[k]^row[k])&mask[k]
		}
	}
}

// transfer executes the copies from one number to another of a transfer from the
// arrays of a group: all at once where they go to one group, in the same lanes.
func (c *Cells) transfer(t *task, source []sram.Group, g, from, to int, buf *rowBuffer) {
	lanes := c.lanesOf(&t.on, g)
	if left := c.arrays - g*c.lanes; left < c.lanes {
		lanes &= 1<<left - 1
	}
	if lanes == 0 {
		return
	}
	full := lanes == uint32(1)<<c.lanes-1
	src := source[g]
	for i := from; i < to; i++ {
		dist := t.arrayDist + i*t.stride
		if full && dist%c.lanes == 0 {
			c.transferRows(t, c.groups[g+dist/c.lanes], src, 0, 0, sram.GroupWords, buf)
			continue
		}
		for l := lanes; l != 0; l &= l - 1 {
			lane := bits.TrailingZeros32(l)
			to := g*c.lanes + lane + dist
			c.transferRows(t, c.groups[to/c.lanes], src, to%c.lanes*c.words, lane*c.words, c.words, buf)
		}
	}
}

// transferRows moves n words of each row from one group to another.
func (c *Cells) transferRows(t *task, dst, src sram.Group, to, from, n int, buf *rowBuffer) {
	for r := range t.n {
		d, s := dst.Row(t.dst + r)[to:to+n], src.Row(t.src + r)[from:from+n]
		if t.shift.whole {
			copy(d, s)
		} else {
			t.shift.move(d, s, t.shift.to[:n], buf)
		}
	}
}
