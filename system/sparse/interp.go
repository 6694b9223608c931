package sparse

import "math"

// interp interprets a program on the rows of one SPU: the fidelity instr.
type interp struct {
	t     *timing
	mem   []uint32 // words of the rows, in the layout of the SPU
	clean uint32
	float bool

	// Latches of walker 3.
	first, count  uint32 // own indices
	start3        int64  // word of the first of them
	lastLong      uint32
	longStart3    int64
	allRemote     bool
	start1        int64 // of walker 1, in words
	start2        int64 // of walker 2
	constant      uint32
	walk          [3]latch
	reg           [LoopCount + 1]uint32
	pc            int
	code          []Instruction
	flag          bool // a clean value was changed
	halted        bool
	begun         bool
	cycles        int64
	loads         uint32
	instructions  int64
	sentIdx       uint32
	sentVal       uint32
	sentIndicator bool
}

// latch is a walker: its array, where it is in it, and the row it holds.
type latch struct {
	at, end int64 // words; what is read or written next, and the end of the array
	row     int64 // that is held; none if negative
	dirty   bool
	writes  bool // it appends
}

// load gives the SPU a program and its arrays: for each walker where it begins to
// read or write, and where that ends.
func (x *interp) load(code []Instruction, from, end [3]int64) {
	x.code, x.pc, x.halted, x.begun, x.flag = code, 0, false, false, false
	for w := range 3 {
		writes := false
		for _, in := range code {
			writes = writes || in.Write[w] && w == 1
		}
		x.walk[w] = latch{at: from[w], end: end[w], row: noRow, writes: writes || w == 1 && appends(code)}
	}
	clear(x.reg[:])
	x.cycles, x.loads = 0, 0
}

func appends(code []Instruction) bool {
	for _, in := range code {
		if in.CleanDst == CleanToWalker {
			return true
		}
	}
	return false
}

// enabled says whether a walker is accessed.
func (x *interp) enabled(s Shift, cond bool) bool {
	switch s {
	case Access, Hold:
		return true
	case OnTrue, HoldOnTrue, PairOnTrue:
		return cond
	case OnFalse:
		return !cond
	}
	return false
}

// grown makes room for a word.
func (x *interp) grown(at int64) {
	for int64(len(x.mem)) <= at {
		x.mem = append(x.mem, make([]uint32, max(64, len(x.mem)/2))...)
	}
}

// fetchRow loads the row of the walker's word for a read; the stall.
func (x *interp) fetchRow(l *latch) (stall int64) {
	if r := l.at >> x.t.shift; r != l.row {
		stall = x.t.row
		if l.dirty && x.t.serial {
			stall += x.t.row
		}
		l.row, l.dirty = r, false
		x.loads++
	}
	return stall
}

// run interprets until a pair is sent, which it reports, or the program ends. The
// port is free from a cycle on.
func (x *interp) run(free int64) (sent bool) {
	for !x.halted {
		in := &x.code[x.pc]
		if x.pc == 0 && x.empty(in) {
			break
		}
		x.begun = true
		old := x.reg
		// The condition, as far as it does not come from the operations.
		cond := true
		class := 0 // of the indirect index: 1 own, 2 replica, 0 to be sent
		var index uint32
		if in.IndirectDst == 3 {
			index = old[in.IndirectSrc]
			switch {
			case index-x.first < x.count && !(x.allRemote && in.Cond == IfLocal):
				class = 1
			case index < x.lastLong && in.LongLocal:
				class = 2
			}
		}
		switch in.Cond {
		case IfLocal:
			cond = class != 0
		case IfLoop:
			cond = old[LoopCount] > 0
		case IfUnclean:
			cond = old[Walker3Reg] != x.clean
		case IfBelow:
			cond = old[Walker1Reg] < old[Walker2Reg]
		case IfAbove:
			cond = old[Walker1Reg] > old[Walker2Reg]
		}
		// Operations.
		if in.Op1 != OpNone {
			x.reg[Reg1] = x.op(in.Op1, old[in.Src1Op1], old[in.Src2Op1], &old)
		}
		changed := false
		if in.Op2 != OpNone {
			a, b := old[in.Src1Op2], old[in.Src2Op2]
			v := x.op(in.Op2, a, b, &old)
			x.reg[in.Src1Op2] = v
			changed = v != a
			if in.CheckClean {
				x.flag = a == x.clean && b != x.clean && x.ownIndex(old[Reg3])
				if in.CleanDst == CleanToWalker {
					x.flag = a == x.clean || b == x.clean
				}
			}
			if in.Cond == IfNonzero {
				cond = v != 0
			}
		}
		if in.Cond == IfChanged {
			cond = changed
		}
		if in.RegDst != RegNone {
			x.reg[in.RegDst] = old[in.RegSrc]
		}
		loop := x.reg[LoopCount]
		x.reg[LoopCount] = old[LoopCount] // accesses see the counter before this instruction
		// What is sent waits for the port before anything else.
		sends := false
		switch {
		case in.Cond == IfLocal && !cond && x.reg[Reg1] != x.clean:
			sends, x.sentIdx, x.sentVal, x.sentIndicator = true, index, x.reg[Reg1], false
		case in.CleanDst == CleanToBank && x.flag:
			sends, x.sentIdx, x.sentVal, x.sentIndicator = true, old[in.CleanIndex], x.clean, true
		case in.CleanDst == PairDown && cond:
			sends, x.sentIdx, x.sentVal, x.sentIndicator = true, old[in.CleanIndex], x.reg[Reg1], false
		}
		if sends {
			x.cycles = max(x.cycles, free)
		}
		// The indirect access moves its walker.
		if in.IndirectDst > 0 && (in.Cond != IfLocal || cond) {
			l := &x.walk[in.IndirectDst-1]
			to := x.start2 + int64(old[in.IndirectSrc])
			if in.IndirectDst == 1 {
				to = x.start1 + int64(old[in.IndirectSrc])
			} else if in.IndirectDst == 3 {
				to = x.start3 + int64(index-x.first)
				if class == 2 {
					to = x.longStart3 + int64(index)
				}
			}
			row, col := to>>x.t.shift, to&x.t.mask
			if row == l.row {
				x.cycles += x.t.hit[(col-l.at)&x.t.mask]
			} else {
				x.cycles += x.t.miss[col]
				if l.dirty && x.t.serial {
					x.cycles += x.t.row
				}
				l.row, l.dirty = row, false
				x.loads++
			}
			l.at = to
		}
		// Accesses: stalls of all walkers first, one after the other.
		exhausted := false
		for w := range 3 {
			s := in.Shift[w]
			l := &x.walk[w]
			if s == SkipOnFalse {
				if !cond {
					l.at++
				}
				continue
			}
			if !x.enabled(s, cond) {
				continue
			}
			if s == PairOnTrue {
				l.at++
			}
			if !in.Write[w] {
				if l.at >= l.end {
					exhausted = true
					continue
				}
				x.cycles += x.fetchRow(l)
				x.reg[Walker1Reg+Register(w)] = x.mem[l.at]
			} else {
				x.write(w, x.reg[Walker1Reg+Register(w)])
			}
			if s != Hold && s != HoldOnTrue {
				l.at++
			}
		}
		if in.CleanDst == CleanToWalker && x.flag {
			x.write(1, old[in.CleanIndex])
			x.walk[1].at++
		}
		if in.CleanDst == CleanToBank {
			x.flag = false
		}
		x.reg[LoopCount] = loop
		if in.DecLoop && loop > 0 {
			x.reg[LoopCount]--
		}
		x.cycles++
		x.instructions++
		if cond {
			x.pc = int(in.NextPC1)
		} else {
			x.pc = int(in.NextPC2)
		}
		if exhausted {
			x.halted = true
		}
		if sends {
			return true
		}
	}
	if x.begun {
		x.flush()
	}
	x.halted, x.begun = true, false
	return false
}

// ownIndex says whether an index is accumulated in the SPU's own outputs.
func (x *interp) ownIndex(i uint32) bool { return i-x.first < x.count && !x.allRemote }

// write stores a word at a walker's place.
func (x *interp) write(w int, v uint32) {
	l := &x.walk[w]
	r := l.at >> x.t.shift
	switch {
	case r == l.row:
	case l.row != noRow:
		x.cycles += x.t.row
		x.loads++
	case !l.writes || l.at&x.t.mask != 0:
		x.cycles += x.t.row
		x.loads++
	}
	l.row, l.dirty = r, true
	x.grown(l.at)
	x.mem[l.at] = v
}

// empty says whether instruction 0 has nothing left to read.
func (x *interp) empty(in *Instruction) bool {
	cond := in.Cond != IfLoop || x.reg[LoopCount] > 0
	for w := range 3 {
		moved := int(in.IndirectDst) == w+1
		if !moved && !in.Write[w] && x.enabled(in.Shift[w], cond) && x.walk[w].at >= x.walk[w].end {
			return true
		}
	}
	return false
}

// flush stores the dirty rows.
func (x *interp) flush() {
	for w := range x.walk {
		if l := &x.walk[w]; l.dirty {
			x.cycles += x.t.row
			x.loads++
			l.dirty = false
		}
	}
}

// pause is what the end of a round does to an SPU that is not done.
func (x *interp) pause() {
	x.flush()
	for w := range x.walk {
		x.walk[w].row = noRow
	}
}

// op executes an operation.
func (x *interp) op(op Op, a, b uint32, old *[LoopCount + 1]uint32) uint32 {
	f := math.Float32frombits
	switch op {
	case OpFirst, OpMulF32, OpMulU32, OpAddSat:
		return mul(op, a, b)
	case OpAccF32, OpAccU32, OpAccMin, OpKeep:
		return acc(op, x.clean, a, b)
	case OpSubU32:
		return a - b
	case OpSubF32:
		return math.Float32bits(f(a) - f(b))
	case OpAddAbsF32:
		return math.Float32bits(f(a) + float32(math.Abs(float64(f(b)))))
	case OpAddZero:
		if old[Walker3Reg] == 0 {
			return math.Float32bits(f(a) + f(b))
		}
		return a
	case OpInc:
		return a + 1
	case OpClean:
		return x.clean
	case OpAddConst:
		if a == x.clean {
			a = 0
		}
		if x.float {
			return math.Float32bits(f(a) + f(x.constant))
		}
		return a + x.constant
	}
	return a
}
