package se

import (
	"slices"
	"unsafe"

	"github.com/bitsched/bitsched/internal/prefetch"
	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
)

// Kept operands: a load that is the same in each row, as B[k][n] in C[m][n] += A[m][k] * B[k][n], or the
// same in all of a row, as A[m][k], is an operand of a strand again and again. Where all that takes it
// lies in one bank, it is read and sent for the first row, or the first range of a row, and the
// engine of that bank keeps it for the others (own choice: Infinity Stream, section 8, has an engine that
// recognises such reuse in part). It keeps no more than may be under way of an operand that it does not keep.

// inStill is the period of a load that has one element for all iterations of a row.
const inStill = -1

// keepAll finds the loads of a loop whose elements banks keep, and after how many iterations of a strand
// they come again.
func (g *Group) keepAll(spec *Spec, bankOf func(line uint64) int) {
	if !spec.KeepOperands || spec.Room > 0 || g.Strands == 0 || g.Row == 0 || g.Plane > 0 || g.N <= g.Row {
		return
	}
	for sid := range g.Streams {
		s := &g.Streams[sid]
		period := g.period(sid)
		if period == 0 || period > int64(spec.Ranges)*g.Window || len(s.receivers) == 0 || g.changes(sid) ||
			slices.ContainsFunc(s.receivers, func(r int) bool { return !g.stays(r, bankOf) }) {
			continue
		}
		if g.kept == nil {
			g.kept = make([]int64, len(g.Streams))
		}
		g.kept[sid] = period
	}
}

// period is after how many iterations of a strand elements of a plain load come again: 0: they do not.
func (g *Group) period(sid int) int64 {
	s := &g.Streams[sid]
	switch {
	case s.Kind != Load || s.Func != nil || s.Indirect || s.ToCore || len(s.followers)+len(s.reducers) > 0:
		return 0
	case s.Stride == 0:
		return inStill
	case s.RowStride != 0 || g.Row%g.Range != 0:
		return 0
	case g.Block%g.Row == 0:
		return g.Row
	}
	n, m := g.Row, int64(g.Strands)*g.Block
	for m > 0 {
		n, m = m, n%m
	}
	return g.Block * (g.Row / n)
}

// changes reports whether a stream of the loop writes near the elements of another one.
func (g *Group) changes(sid int) bool {
	x := g.interval(sid)
	for k := range g.Streams {
		if y := g.interval(k); g.Streams[k].writes() && x.low < y.high && y.low < x.high {
			return true
		}
	}
	return false
}

// stays reports whether each strand of a stream stays in a bank.
func (g *Group) stays(sid int, bankOf func(line uint64) int) bool {
	banks := make([]int, g.Strands)
	for i := int64(0); i < g.N; {
		_, end := g.chunk(sid, i)
		k, _ := g.local(i)
		switch bank := bankOf(g.line(sid, i)) + 1; banks[k] {
		case 0:
			banks[k] = bank
		case bank:
		default:
			return false
		}
		i = end
	}
	return true
}

// local is the strand of an iteration, and which of that it is.
func (g *Group) local(i int64) (strand int, n int64) {
	block := (i + g.Shift) / g.Block
	return int(block % int64(g.Strands)), block/int64(g.Strands)*g.Block + (i+g.Shift)%g.Block
}

// part is the iterations around one of a strand that have the same element of a load which does not move in a row.
func (g *Group) part(i int64) (first, end int64) {
	k, _ := g.local(i)
	block := (i+g.Shift)/g.Block*g.Block - g.Shift
	row := i - i%g.Row
	return max(row, block, g.from(k, g.keptFrom)), min(row+g.Row, block+g.Block, g.N)
}

// again reports whether the elements of a stream in a range, which begins with an iteration, are kept
// where they are taken.
func (g *Group) again(sid int, first int64) bool {
	if g.kept == nil || g.kept[sid] == 0 {
		return false
	}
	if g.kept[sid] == inStill {
		from, _ := g.part(first)
		return first > from
	}
	k, n := g.local(first)
	_, from := g.local(g.from(k, g.keptFrom))
	return n-from >= g.kept[sid]
}

// reads is the next iteration, from one of a strand on, whose element a stream has to read.
func (g *Group) reads(sid int, i int64) int64 {
	for i < g.N && g.Begins(i) && g.again(sid, i) {
		if g.kept[sid] != inStill {
			return g.N
		}
		i = g.after(g.start(g.RangeOf(i) + 1))
	}
	return i
}

// iterations is how many a strand has from where elements are kept.
func (g *Group) iterations(k int) (n int64) {
	for i := g.from(k, g.keptFrom); i < g.N; {
		end := min((i+g.Shift)/g.Block*g.Block+g.Block-g.Shift, g.N)
		n += end - i
		i = g.after(end)
	}
	return n
}

// kept is the elements of a load that a strand of a stream takes again, those that are there: by iterations of the
// strand in turn, or by the part of a row; and chunks that wait for others.
type kept struct {
	values  []uint64
	has     []bool
	parts   map[int64]partOfRow
	left    int64 // iterations that have not taken theirs
	waiting []waits
}

// waits is a chunk that waits, and for which element first: its place among the values, or the part of a row.
type waits struct {
	part
	missing int64
}

// partOfRow is an element for iterations of a row, and how many have not taken it.
type partOfRow struct {
	value uint64
	left  int64
}

// keptAt is where a bank has elements of a load for a strand of a stream, as chunks of the stream.
func keptAt(k key, strand, from int) part { return part{k, int64(strand)<<32 | int64(from)} }

// strandAt is the strand of these.
func strandAt(p part) strand { return strand{p.key, int(p.first >> 32)} }

// keeps is what there is of elements that are kept for a chunk.
func (b *Bank) keeps(k key, g *Group, first int64, from int) (part, *kept) {
	n, _ := g.local(first)
	at := keptAt(k, n, from)
	x, _ := b.kept.get(at)
	if x == nil {
		x = &kept{left: g.iterations(n)}
		if period := g.kept[from]; period == inStill {
			x.parts = map[int64]partOfRow{}
		} else {
			x.values, x.has = make([]uint64, period), make([]bool, period)
		}
		b.kept.set(at, x)
	}
	return at, x
}

// keep puts elements that come for the first time to those that are kept, and lets chunks have them that
// wait for them.
func (b *Bank) keep(now event.Time, k key, m *Message) {
	g := m.head.g
	_, x := b.keeps(k, g, m.First, m.from)
	came := func(at int64) bool { return x.has[at] }
	if x.parts != nil {
		first, end := g.part(m.First)
		x.parts[first] = partOfRow{m.Values[0], end - first}
		came = func(at int64) bool { return at == first }
	} else {
		for i := m.First; i < m.End; {
			_, n := g.local(i)
			at := n % int64(len(x.values))
			to := min(i+int64(len(x.values))-at, m.End, (i+g.Shift)/g.Block*g.Block+g.Block-g.Shift) // of a block, up to where elements come again
			copy(x.values[at:], m.Values[i-m.First:to-m.First])
			for k := range x.has[at:][:to-i] {
				x.has[at+int64(k)] = true
			}
			i = to
		}
	}
	list := x.waiting
	x.waiting = list[:0]     // at most one for each that is looked at
	for _, p := range list { // the host looks for all of them at once
		if !came(p.missing) {
			continue
		}
		if s, ok := b.slots.get(p.part); ok {
			prefetch.Lines(unsafe.Pointer(s), int(unsafe.Sizeof(*s)/mem.LineBytes)+1)
		}
	}
	for _, p := range list {
		if !came(p.missing) {
			x.waiting = append(x.waiting, p)
		} else if s, ok := b.slots.get(p.part); ok {
			b.takeKept(p.part, s, m.from)
			b.compute(now, p.part, s)
		}
	}
}

// takeKept gives a chunk the elements of a load that are kept, if all are there; otherwise it waits.
func (b *Bank) takeKept(p part, s *slot, from int) {
	g := s.g
	at, x := b.keeps(p.key, g, p.first, from)
	n := slices.Index(g.Streams[p.sid].Inputs, from)
	in, count := s.in(n), s.end-p.first
	if x.parts != nil {
		first, _ := g.part(p.first)
		v, ok := x.parts[first]
		if !ok {
			x.waiting = append(x.waiting, waits{p, first})
			return
		}
		for i := range in {
			in[i] = v.value
		}
		if v.left -= count; v.left == 0 {
			delete(x.parts, first)
		} else {
			x.parts[first] = v
		}
	} else {
		_, l := g.local(p.first)
		period := int64(len(x.values))
		for i, at := int64(0), l%period; i < count; {
			n := min(count-i, period-at)
			if k := slices.Index(x.has[at:][:n], false); k >= 0 {
				x.waiting = append(x.waiting, waits{p, at + int64(k)})
				return
			}
			copy(in[i:], x.values[at:][:n])
			i, at = i+n, 0
		}
	}
	if g.again(from, g.start(g.RangeOf(p.first))) {
		b.Counters.Kept += uint64(count)
	}
	s.missing -= int(count)
	if x.left -= count; x.left == 0 {
		b.kept.take(at)
	}
}

// forgetKept lets go of what is kept for some strands.
func (b *Bank) forgetKept(mine func(k strand) bool) {
	var list []part
	b.kept.each(func(p part) {
		if mine(strandAt(p)) {
			list = append(list, p)
		}
	})
	for _, p := range list {
		b.kept.take(p)
	}
}

// Patterns: a bank keeps what it was told of a stream until its loop has ended, and to which banks it has sent strands of
// it, a bit each. The next one that goes there brings where it is and no more.

// told is the banks that one has told the pattern of a stream, and from which iteration on banks keep any.
type told struct {
	banks banks
	from  int64
}

// toldOf is those of the stream that a head is of, nil where banks keep none.
func (b *Bank) toldOf(h *head) *told {
	if !b.spec.KeepPatterns || h.g.Strands == 0 {
		return nil
	}
	p := part{key: newKey(h.core, h.g.id, h.sid)}
	x, _ := b.told.get(p)
	if x == nil && b.told.n >= b.toldMost { // loops that were configured so long ago have ended
		newest := map[int16]uint32{p.core: p.group}
		b.told.each(func(o part) { newest[o.core] = max(newest[o.core], o.group) })
		b.told.forget(func(o key) bool { return o.group+oldGroups <= newest[o.core] })
		b.toldMost = 2*b.told.n + leastCells
	}
	if x == nil || x.from != h.g.keptFrom {
		x = &told{newBanks(b.spec.Banks), h.g.keptFrom}
		b.told.set(p, x)
	}
	return x
}

func (x *told) has(bank int) bool { return x != nil && x.banks.has(bank) }

func (x *told) add(bank int) {
	if x != nil {
		x.banks.add(bank)
	}
}

// knows lets strands begin whose pattern has come behind them.
func (b *Bank) knows(now event.Time) {
	list := b.unknown
	b.unknown = nil
	for _, m := range list {
		b.ReceiveStream(now, m)
	}
}
