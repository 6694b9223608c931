package sparse

import "math"

// walker is a row latch with its one-hot position.
type walker struct {
	row   int32 // that is loaded; none if negative
	pos   uint8 // of the one-hot value; the number of words once it is past the last
	dirty bool
}

const noRow = -1

// spu is the state of an SPU at the fidelity of pairs. What it does and how long
// that takes is what the programs of program.go do, nonzero by nonzero. It is two lines
// of a cache, the first of which is what most pairs need.
type spu struct {
	k, end      int64 // the next nonzero, and the end of its column
	cycles      int64
	loads, sent uint32
	f           uint32 // value of the column
	w2          int32  // row of walker 2, which streams; noRow
	w3          walker
	w1          int32 // row of walker 1
	packed      int32 // columns begun
	nf          uint32
	pos2        uint8
	state       uint8

	nk, nend int64 // the next column that has any nonzeros; nf is its value
	item     int32 // frontier entries looked at

	local, replica, down, clean, dropped uint32
	misplaced                            uint32 // of long columns, whose short rows others own
	_                                    [20]byte
}

// port is what an SPU has for its bank's line, apart from its state: lines look at the
// ports of all SPUs of a bank in each window.
type port struct {
	flit        // ready when it may leave
	next  int64 // the nonzero that the SPU reads next
	way   uint8 // where it goes: a layer, [wayBank] or [wayLogic]
	clean bool  // a clean indicator
}

// post puts a pair for a bank into the port of SPU s.
func (r *runner) post(s int, u *spu, idx, val uint32, to home) {
	way := to.layer
	if to.bank == r.homes[s].bank {
		way = wayBank
	}
	r.ports[s] = port{flit: newFlit(idx, val, r.link(u.cycles), s, to.layer, to.col), next: u.k, way: way}
	u.state |= stPending
}

// postDown puts a pair for the logic layer there.
func (r *runner) postDown(s int, u *spu, idx, val uint32) {
	r.ports[s] = port{flit: newFlit(idx, val, r.link(u.cycles), s, toLogicLayer, r.homes[s].col), next: u.k, way: wayLogic}
	u.down++
	u.state |= stPending
}

// home is the bank of an SPU.
type home struct {
	bank       uint16 // of the stack
	layer, col uint8  // and its place in the layer
}

func newHomes(m *Machine) []home {
	list := make([]home, 0, m.SPUs())
	for g := range m.Banks() {
		for range m.ComputePairs() {
			list = append(list, home{uint16(g), uint8(g / m.Organisation.Banks), uint8(g % m.Organisation.Banks)})
		}
	}
	return list
}

// Bits of spu.state.
const (
	stNext    = 1 << iota // the next element is still to be read
	stMore                // there is another column
	stPending             // a pair is in the port
	stDone
	stStarted
	stLong     // the column is a part of a long one
	stMoreLong // the next one is
)

// timing is what accesses cost, in SPU cycles.
type timing struct {
	row    int64   // a row cycle
	hit    []int64 // stall of moving the position by d within a row
	miss   []int64 // stall of loading a row and moving to d
	serial bool    // leaving a dirty row costs a row cycle more
	shift  uint    // words of a row, as a power of two
	mask   int64
}

func newTiming(m *Machine) timing {
	t := timing{row: m.RowCycles(), serial: m.Readings.Writeback == "serial"}
	for 1<<t.shift < m.Words() {
		t.shift++
	}
	t.mask = int64(m.Words() - 1)
	for d := range m.Words() {
		s := int64(ceilRatio(float64(d)*m.Clocks.SPU, m.Clocks.Link))
		t.hit = append(t.hit, max(0, s-1))
		t.miss = append(t.miss, max(t.row, s))
	}
	return t
}

func ceilRatio(a, b float64) int64 {
	q := a / b
	n := int64(q)
	if float64(n) < q-1e-9 {
		n++
	}
	return n
}

// seek moves a walker to a word of a row for an indirect access, and returns the
// stall.
func (t *timing) seek(w *walker, row int32, col int64, loads *uint32) (stall int64) {
	if w.row == row {
		stall = t.hit[(col-int64(w.pos))&t.mask]
	} else {
		stall = t.miss[col]
		if w.dirty && t.serial {
			stall += t.row
		}
		w.row, w.dirty = row, false
		*loads++
	}
	w.pos = uint8(col)
	return stall
}

// Rows of arrays for walker 3, apart from each other.
const replicaRow = 1 << 24

// stream loads the row of a word that a walker reads in order, if it is another.
func (t *timing) stream(row *int32, word int64, loads *uint32) int64 {
	if r := int32(word >> t.shift); r != *row {
		*row = r
		*loads++
		return t.row
	}
	return 0
}

// writer is a walker that writes an array word by word.
type writer struct {
	row   int32
	dirty bool
}

// put writes word number at and returns the stall: a row that is full is stored, and
// one that others have begun is loaded.
func (t *timing) put(w *writer, at int64, loads *uint32) (stall int64) {
	row := int32(at >> t.shift)
	switch {
	case w.row == row:
	case w.row != noRow:
		stall = t.row
		*loads++
	case at&t.mask != 0:
		stall = t.row
		*loads++
	}
	w.row, w.dirty = row, true
	return stall
}

// flush stores a dirty row at the end of a step.
func (t *timing) flush(dirty bool, loads *uint32) int64 {
	if dirty {
		*loads++
		return t.row
	}
	return 0
}

// frontier returns entry i of the frontier of SPU s: its own, then the long ones.
func (r *runner) frontier(s int, i int32) (e uint64, ok bool) {
	n := r.frontLen[s]
	if i < n {
		return r.front[int64(r.p.ColFirst[s])-int64(r.p.Long)+int64(i)], true
	}
	if i -= n; int(i) < len(r.longFront) {
		return r.longFront[i], true
	}
	return 0, false
}

// setFrontier appends an entry to the own ones of SPU s.
func (r *runner) setFrontier(s int, index, value uint32) {
	if r.frontLen[s] == 0 {
		r.withFront.add(s)
	}
	r.front[int64(r.p.ColFirst[s])-int64(r.p.Long)+int64(r.frontLen[s])] = uint64(index)<<32 | uint64(value)
	r.frontLen[s]++
}

// fetch looks for the next column of SPU s that has nonzeros.
func (r *runner) fetch(s int, u *spu) {
	u.state &^= stMore | stMoreLong
	for {
		e, ok := r.frontier(s, u.item)
		if !ok {
			return
		}
		u.item++
		c := uint32(e >> 32)
		u.nk, u.nend = r.p.part(s, r.p.slot(s, c))
		if u.nk == u.nend {
			continue
		}
		u.nf = uint32(e)
		if r.ring.ID {
			u.nf = r.p.ColFrom[c]
		}
		u.state |= stMore
		if int(c) < r.p.Long {
			u.state |= stMoreLong
		}
		return
	}
}

// accumulate runs SPU s in LocalAccumulations up to the next pair that it sends; it
// returns false when there is none. The port is free from SPU cycle free on. The
// letters in comments are the instructions of [LocalProgram].
func (r *runner) accumulate(s int, free int64) bool {
	u, t, p := &r.spus[s], &r.time, r.p
	if u.state&stDone != 0 {
		return false
	}
	if u.state&stStarted == 0 {
		u.state |= stStarted | stNext
		r.fetch(s, u)
	}
	base := p.Base[s]
	first := p.RowFirst[s]
	count := p.RowFirst[s+1] - first
	lastLong := uint32(p.LongRows)
	idx, val := p.Idx, p.Val
	mulOp, accOp, cleanValue := r.ring.Mul, r.ring.Acc, r.ring.Clean
	plain := mulOp == OpFirst || val == nil && mulOp != OpAddSat
	cycles := u.cycles
	for {
		if u.state&stNext != 0 { // next: an index, or the offset of the next column
			if u.k < u.end {
				cycles += t.stream(&u.w2, 2*(u.k-base), &u.loads)
			} else if u.state&stMore != 0 {
				cycles += t.stream(&u.w1, 3*int64(u.packed), &u.loads)
			} else {
				break
			}
			cycles++
			u.state &^= stNext
		}
		if u.k == u.end {
			if u.state&stMore == 0 {
				break
			}
			word := 3 * int64(u.packed)
			u.k, u.end, u.f = u.nk, u.nend, u.nf
			if u.state &^= stLong; u.state&stMoreLong != 0 {
				u.state |= stLong
			}
			u.packed++
			r.active[s] += u.end - u.k
			// length: walker 2 moves to the offset
			cycles += t.stream(&u.w1, word+1, &u.loads)
			at := 2 * (u.k - base)
			w2 := walker{row: u.w2, pos: u.pos2}
			cycles += t.seek(&w2, int32(at>>t.shift), at&t.mask, &u.loads) + 1
			u.w2 = w2.row
			// value
			cycles += t.stream(&u.w1, word+2, &u.loads) + 1
			r.fetch(s, u)
		}
		k := u.k
		cycles += t.stream(&u.w2, 2*(k-base), &u.loads)
		i, v := idx[k], u.f
		if r.flips != nil {
			v = r.flipped(k, v)
		} else if !plain {
			a := uint32(1)
			if val != nil {
				a = val[k]
			}
			v = mul(mulOp, v, a)
		}
		u.k++
		u.pos2 = uint8((2*(k-base))&t.mask) + 2
		cycles++ // value of the nonzero
		own := i - first
		if own < count && !r.allRemote && !r.allDown {
			row := int32(own >> t.shift)
			cycles += t.seek(&u.w3, row, int64(own)&t.mask, &u.loads) + 2 // test, accumulate
			u.w3.dirty = true
			old := r.out[i]
			r.out[i] = acc(accOp, cleanValue, old, v)
			u.local++
			if r.log != nil && r.log.tracked(i) {
				r.log.local(s, i)
			}
			sends := old == cleanValue && v != cleanValue && r.checkClean
			if sends && cycles < free {
				cycles = free
			}
			cycles += r.readNext(u, base)
			if sends {
				u.cycles = cycles
				u.clean++
				r.post(s, u, i, cleanValue, r.homes[s])
				r.ports[s].clean = true
				return true
			}
			continue
		}
		if i < lastLong && r.replicate {
			row := int32(i>>t.shift) | replicaRow
			cycles += t.seek(&u.w3, row, int64(i)&t.mask, &u.loads) + 2
			u.w3.dirty = true
			at := int64(s)*int64(lastLong) + int64(i)
			old := r.rep[at]
			if old == cleanValue && v != cleanValue {
				if len(r.touched[s]) == 0 {
					r.withTouched.add(s)
				}
				r.touched[s] = append(r.touched[s], i)
			}
			r.rep[at] = acc(accOp, cleanValue, old, v)
			u.replica++
			cycles += r.readNext(u, base)
			continue
		}
		if r.flips != nil && int64(i) >= int64(len(r.out)) { // no row has that number
			r.flips.lost.Add(1)
			cycles++
			u.dropped++
			u.state |= stNext
			continue
		}
		if v == cleanValue { // adding it changes nothing, and it would look like an indicator
			cycles++
			u.dropped++
			u.state |= stNext
			continue
		}
		cycles = max(cycles, free) + 1 // test, which sends
		u.cycles = cycles
		u.state |= stNext
		idx := i // that may arrive as another
		if r.flips != nil {
			r.flips.send(len(r.iters), s, u.sent+u.down, &idx, &v)
		}
		if i < lastLong || r.allDown {
			r.postDown(s, u, idx, v)
			return true
		}
		u.sent++
		if u.state&stLong != 0 && own >= count {
			u.misplaced++
		}
		r.post(s, u, idx, v, r.homes[p.owner.of(i)])
		return true
	}
	cycles += t.flush(u.w3.dirty, &u.loads)
	u.w3.dirty = false
	u.cycles = cycles
	u.state |= stDone
	return false
}

// flipped is the product of nonzero k and the value of its column, where bits of the
// nonzero may have flipped.
func (r *runner) flipped(k int64, f uint32) uint32 {
	mask := r.flips.values[k]
	if r.ring.ID { // the value is the column's number
		return f ^ mask
	}
	a := uint32(1)
	switch {
	case r.p.Val != nil:
		a = r.p.Val[k]
	case r.ring.Mul == OpMulF32:
		a = math.Float32bits(1)
	}
	return mul(r.ring.Mul, f, a^mask)
}

// readNext is the last instruction of a local accumulation: the output is written,
// and the next index, or the offset of the next column, read.
func (r *runner) readNext(u *spu, base int64) (cycles int64) {
	if u.k < u.end {
		return 1 + r.time.stream(&u.w2, 2*(u.k-base), &u.loads)
	}
	if u.state&stMore != 0 {
		return 1 + r.time.stream(&u.w1, 3*int64(u.packed), &u.loads)
	}
	return 1
}

// scan runs SPU s through its replicas, those that are not clean being sent down.
func (r *runner) scan(s int, free int64) bool {
	u, t := &r.spus[s], &r.time
	if u.state&stDone != 0 {
		return false
	}
	dirty := r.touched[s]
	if len(dirty) == 0 {
		u.state |= stDone
		return false
	}
	n := int64(r.p.LongRows)
	// u.k is the entry to be read next, u.item the next touched one.
	next := n
	if int(u.item) < len(dirty) {
		next = int64(dirty[u.item])
	}
	if u.state&stStarted != 0 { // the entry that was sent is made clean
		u.cycles++
		u.w3.dirty = true
		u.k++
	}
	u.state |= stStarted
	// Rows that are entered from the next entry to be read up to the next touched one.
	last := min(next, n-1)
	for row := int32(u.k >> t.shift); u.k < n && row <= int32(last>>t.shift); row++ {
		if row != u.w3.row {
			if u.w3.dirty && t.serial {
				u.cycles += t.row
			}
			u.w3.row, u.w3.dirty = row, false
			u.cycles += t.row
			u.loads++
		}
	}
	u.cycles += 2 * (next - u.k)
	u.k = next
	if next == n {
		u.cycles += t.flush(u.w3.dirty, &u.loads)
		u.w3.dirty = false
		u.state |= stDone
		return false
	}
	u.cycles++ // read
	u.cycles = max(u.cycles, free) + 1
	u.item++
	at := int64(s)*n + next
	r.postDown(s, u, uint32(next), r.rep[at])
	r.rep[at] = r.ring.Clean
	return true
}

// collect runs SPU s through its results, which all go down.
func (r *runner) collect(s int, free int64) bool {
	u, t := &r.spus[s], &r.time
	if u.state&stDone != 0 {
		return false
	}
	n := int64(r.tempLen[s])
	if u.k == n {
		u.state |= stDone
		return false
	}
	if u.k == 0 {
		u.cycles += 1 + t.stream(&u.w1, 0, &u.loads)
	}
	u.cycles++ // value
	u.cycles = max(u.cycles, free) + 1
	if u.k+1 < n {
		u.cycles += t.stream(&u.w1, 2*(u.k+1), &u.loads)
	}
	e := r.temp[int64(r.p.RowFirst[s])-int64(r.p.LongRows)+u.k]
	u.k++
	r.postDown(s, u, uint32(e>>32), uint32(e))
	return true
}

// pack is OffsetPacking of SPU s: it returns its cycles.
func (r *runner) pack(s int, loads *uint32) (cycles int64) {
	t := &r.time
	n := int64(r.frontLen[s]) + int64(len(r.longFront))
	if n == 0 {
		return 0
	}
	w1 := int32(noRow)
	w3 := walker{row: noRow}
	w2 := writer{row: noRow}
	words := int64(0)
	cycles = 1 + t.stream(&w1, 0, loads)
	for i := range n {
		e, _ := r.frontier(s, int32(i))
		c := uint32(e >> 32)
		from, to := r.p.part(s, r.p.slot(s, c))
		// offset
		at, base := int64(c), int32(replicaRow)
		if int(c) >= r.p.Long {
			at, base = int64(c-r.p.ColFirst[s]), 0
		}
		cycles += t.seek(&w3, int32(at>>t.shift)|base, at&t.mask, loads) + 1
		w3.pos++
		// next offset
		if row := int32((at+1)>>t.shift) | base; row != w3.row {
			cycles += t.row
			*loads++
			w3.row, w3.pos = row, 0
		}
		cycles++
		// length
		cycles++
		if from == to {
			if i+1 < n {
				cycles += 1 + t.stream(&w1, 2*(i+1), loads)
			}
			continue
		}
		for range 3 {
			cycles += t.put(&w2, words, loads)
			words++
		}
		cycles += 2
		if i+1 < n {
			cycles += t.stream(&w1, 2*(i+1), loads)
		}
	}
	return cycles + t.flush(w2.dirty, loads)
}

// receiver is an SPU in RemoteAccumulations.
type receiver struct {
	cycles int64
	pairs  int64
	w3     walker
	w1     int32
	w2     writer
	loads  uint32
}

// receive accumulates a pair at the SPU that owns it.
func (r *runner) receive(s int, v *receiver, i, value uint32) {
	t := &r.time
	if v.pairs == 0 {
		v.cycles++ // index
	}
	v.cycles += t.stream(&v.w1, 2*v.pairs, &v.loads) // with the accumulation before
	own := int64(i - r.p.RowFirst[s])
	v.cycles += t.seek(&v.w3, int32(own>>t.shift), own&t.mask, &v.loads) + 3
	v.w3.dirty = true
	v.pairs++
	clean := r.ring.Clean
	old := r.out[i]
	r.out[i] = acc(r.ring.Acc, clean, old, value)
	if r.checkClean && (old == clean || value == clean) {
		v.cycles += t.put(&v.w2, int64(r.cleanLen[s]), &v.loads)
		r.appendClean(s, i)
	}
}

// finish stores what is dirty.
func (v *receiver) finish(t *timing) {
	v.cycles += t.flush(v.w3.dirty, &v.loads) + t.flush(v.w2.dirty, &v.loads)
}

// gather is the first part of Applying for SPU s in sparse iterations: outputs of
// the clean list become pairs, and clean again.
func (r *runner) gather(s int, loads *uint32) (cycles int64) {
	t, p := &r.time, r.p
	n := int64(r.cleanLen[s])
	r.tempLen[s] = 0
	if n == 0 {
		return 0
	}
	list := r.cleanList(s)
	w1 := int32(noRow)
	w3 := walker{row: noRow}
	w2 := writer{row: noRow}
	words := int64(0)
	cycles = 1 + t.stream(&w1, 0, loads)
	base := int64(p.RowFirst[s]) - int64(p.LongRows)
	for j := range n {
		i := list[j]
		own := int64(i - p.RowFirst[s])
		cycles += t.seek(&w3, int32(own>>t.shift), own&t.mask, loads) + 2
		next := int64(0)
		if j+1 < n {
			next = t.stream(&w1, j+1, loads)
		}
		v := r.out[i]
		if v == r.ring.Clean {
			if j+1 < n {
				cycles += 1 + next
			}
			continue
		}
		w3.dirty = true
		cycles += t.put(&w2, words, loads)
		cycles += t.put(&w2, words+1, loads) + 1 + next
		words += 2
		r.temp[base+int64(r.tempLen[s])] = uint64(i)<<32 | uint64(v)
		r.tempLen[s]++
		r.out[i] = r.ring.Clean
	}
	r.cleanLen[s] = 0
	return cycles + t.flush(w3.dirty, loads) + t.flush(w2.dirty, loads)
}

// settle is the second part: pairs meet y, and what changes it is the next frontier.
func (r *runner) settle(s int, op Op, loads *uint32) (cycles int64) {
	t, p := &r.time, r.p
	n := int64(r.tempLen[s])
	r.frontLen[s] = 0
	if n == 0 {
		return 0
	}
	w1 := int32(noRow)
	w3 := walker{row: noRow}
	w2 := writer{row: noRow}
	words := int64(0)
	base := int64(p.RowFirst[s]) - int64(p.LongRows)
	cycles = 1 + t.stream(&w1, 0, loads)
	for j := range n {
		e := r.temp[base+j]
		i, v := uint32(e>>32), uint32(e)
		own := int64(i - p.RowFirst[s])
		cycles += t.seek(&w3, int32(own>>t.shift), own&t.mask, loads) + 2
		next := int64(0)
		if j+1 < n {
			next = t.stream(&w1, 2*(j+1), loads)
		}
		old := r.y[i]
		now := acc(op, r.ring.Clean, old, v)
		if now == old {
			if j+1 < n {
				cycles += 1 + next
			}
			continue
		}
		w3.dirty = true
		r.y[i] = now
		cycles += t.put(&w2, words, loads)
		cycles += t.put(&w2, words+1, loads) + 2 + next
		words += 2
		r.setFrontier(s, i, v)
	}
	return cycles + t.flush(w3.dirty, loads) + t.flush(w2.dirty, loads)
}
