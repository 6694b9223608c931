package sparse

import (
	"fmt"
	"math"
	"sync"
)

// shadow interprets the programs of some SPUs beside their execution pair by pair:
// values, cycles, row switches and pairs must be equal.
type shadow struct {
	r     *runner
	spus  []*shadowSPU // nil where an SPU is not interpreted
	count int

	scanning bool // a part of Applying sends

	steps  int64    // of merges of v0 that may still be interpreted
	before []uint32 // outputs of v0 before a product

	mu  sync.Mutex
	err error
}

type shadowSPU struct {
	interp
	a      arrayMap
	words  int64
	made   bool
	wrote  bool // a program made the frontier
	scans  bool
	merged bool  // rows were merged, of v0
	total  int64 // instructions
}

// mergeSteps is how many instructions of merges are interpreted in a run of v0 that
// interprets some of its SPUs: a round of PageRank has n²/7 680 of each SPU.
const mergeSteps = 1 << 26

func newShadow(r *runner, every int) *shadow {
	sh := &shadow{r: r, spus: make([]*shadowSPU, len(r.spus)), steps: mergeSteps}
	if every == 1 {
		sh.steps = math.MaxInt64
	}
	for s := 0; s < len(r.spus); s += every {
		sh.spus[s] = &shadowSPU{}
		if !r.cfg.Variant.Rows {
			sh.count++
		}
	}
	return sh
}

// fail keeps the first error.
func (sh *shadow) fail(s int, format string, args ...any) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.err == nil {
		sh.err = fmt.Errorf("%w: SPU %d, interpreted: %s", ErrCheck, s, fmt.Sprintf(format, args...))
	}
}

// at is the word at which an array begins.
func (v *shadowSPU) at(array int) int64 { return int64(v.a[array]) * v.words }

// make writes the image of an SPU's rows as the host does.
func (sh *shadow) make(s int, v *shadowSPU) {
	r, p := sh.r, sh.r.p
	sh.blank(s, v)
	for i := 0; i < p.Long+int(p.ColFirst[s+1]-p.ColFirst[s]); i++ {
		from, to := p.part(s, i)
		col := uint32(i)
		if i >= p.Long {
			col = p.ColFirst[s] + uint32(i-p.Long)
		}
		for k := from; k < to; k++ {
			word := v.at(arrPairs) + 2*(k-p.Base[s])
			v.mem[word] = p.Idx[k]
			switch {
			case r.ring.ID:
				v.mem[word+1] = p.ColFrom[col]
			case p.Val != nil:
				v.mem[word+1] = p.Val[k]
			case r.ring.Mul == OpMulF32:
				v.mem[word+1] = math.Float32bits(1)
			default:
				v.mem[word+1] = 1
			}
		}
	}
	// Offsets count words, as figure 10 has them; those of long columns have their own end.
	offs := p.Offs[p.OffBase[s]:p.OffBase[s+1]]
	for i := range p.Long + 1 {
		v.mem[v.at(arrLongOffsets)+int64(i)] = 2 * offs[i]
	}
	for i := p.Long; i < len(offs); i++ {
		v.mem[v.at(arrOffsets)+int64(i-p.Long)] = 2 * offs[i]
	}
	for i := range int64(p.LongRows) {
		v.mem[v.at(arrReplica)+i] = r.ring.Clean
	}
}

// blank makes the image of an SPU's rows as far as it does not depend on its nonzeros.
func (sh *shadow) blank(s int, v *shadowSPU) {
	r, p := sh.r, sh.r.p
	v.made = true
	v.t, v.clean, v.float, v.allRemote = &r.time, r.ring.Clean, r.ring.Float, r.allRemote || r.allDown
	v.a = arrays(p, r.m, s)
	v.words = int64(r.m.Words())
	v.mem = make([]uint32, v.at(arrReceived))
	rows := int64(p.RowFirst[s+1] - p.RowFirst[s])
	for i := range rows {
		v.mem[v.at(arrOutput)+i] = r.ring.Clean
		if r.y != nil {
			v.mem[v.at(arrY)+i] = r.y[int64(p.RowFirst[s])+i]
		}
		if r.scale != nil {
			v.mem[v.at(arrScale)+i] = r.scale[int64(p.RowFirst[s])+i]
		}
	}
}

// makeRows writes the images of v0: for each row the pairs of its nonzeros in rising
// order of columns, and the greatest index.
func (sh *shadow) makeRows() {
	r, p := sh.r, sh.r.p
	sh.before = append(sh.before[:0], r.out...)
	type pair struct{ col, val uint32 }
	lists := map[int][][]pair{} // by SPU and row
	for s, v := range sh.spus {
		if v != nil && !v.made {
			sh.blank(s, v)
			lists[s] = make([][]pair, p.RowFirst[s+1]-p.RowFirst[s])
		}
	}
	if len(lists) == 0 {
		return
	}
	m := p.Matrix
	for c, old := range p.ColFrom {
		for k := m.Ptr[old]; k < m.Ptr[old+1]; k++ {
			i := p.RowTo[m.Idx[k]]
			s := p.owner.of(i)
			if lists[s] == nil {
				continue
			}
			v := uint32(1)
			switch {
			case r.ring.ID:
				v = old
			case r.rowVal != nil:
				v = r.rowVal[k]
			case r.ring.Mul == OpMulF32:
				v = math.Float32bits(1)
			}
			row := i - p.RowFirst[s]
			lists[s][row] = append(lists[s][row], pair{uint32(c), v})
		}
	}
	for s, rows := range lists {
		v := sh.spus[s]
		at := v.at(arrPairs)
		for _, row := range rows {
			for _, e := range row {
				v.mem[at], v.mem[at+1] = e.col, e.val
				at += 2
			}
			v.mem[at] = math.MaxUint32
			at++
		}
	}
}

// merge interprets the merges of v0 with a chunk of the frontier, as far as there are
// steps left. Outputs are what they were before the chunk.
func (sh *shadow) merge(chunk []uint64, matches []int64) {
	r, p := sh.r, sh.r.p
	for s, v := range sh.spus {
		if v == nil {
			continue
		}
		rows := int64(p.RowFirst[s+1] - p.RowFirst[s])
		out := r.out[p.RowFirst[s]:p.RowFirst[s+1]]
		steps := rows * int64(len(chunk))
		if steps > sh.steps {
			copy(v.mem[v.at(arrOutput):], out)
			continue
		}
		sh.steps -= steps
		if !v.merged {
			v.merged = true
			sh.count++
		}
		copy(v.mem[v.at(arrOutput):], sh.before[p.RowFirst[s]:p.RowFirst[s+1]])
		at := v.at(arrReceived)
		v.grown(at + 2*int64(len(chunk)))
		for i, e := range chunk {
			v.mem[at+2*int64(i)], v.mem[at+2*int64(i)+1] = uint32(e>>32), uint32(e)
		}
		end := at + 2*int64(len(chunk)) + 1
		v.mem[end-1] = math.MaxUint32
		v.start1 = at
		v.load(MergeProgram(r.ring).Code, [3]int64{at, v.at(arrPairs), v.at(arrOutput)}, [3]int64{end, v.at(arrPairs) + 2*p.RowLoad[s] + rows, v.at(arrOutput) + rows})
		c, l := r.time.mergeCycles(rows, p.RowLoad[s], int64(len(chunk)), matches[s])
		sh.finish(s, v, "LocalAccumulations (rows)", c, l)
		sh.equal(s, v, "output", v.at(arrOutput), out)
	}
	copy(sh.before, r.out)
}

// gatherRows interprets the first part of Applying in v0.
func (sh *shadow) gatherRows(s int, cycles, loads int64) {
	v := sh.spus[s]
	if v == nil {
		return
	}
	r, p := sh.r, sh.r.p
	at := v.at(arrOutput)
	rows := int64(p.RowFirst[s+1] - p.RowFirst[s])
	v.load(GatherRowsProgram().Code, [3]int64{0, v.at(arrTemp), at}, [3]int64{0, math.MaxInt64, at + rows})
	v.reg[Reg3] = p.RowFirst[s]
	sh.finish(s, v, "Applying (outputs)", cycles, loads)
	base := int64(p.RowFirst[s]) - int64(p.LongRows)
	sh.equalPairs(s, v, "result", v.at(arrTemp), r.temp[base:base+int64(r.tempLen[s])])
	sh.equal(s, v, "output", at, r.out[p.RowFirst[s]:p.RowFirst[s+1]])
}

// sendFrontier prepares the program that sends the frontier of v0 down.
func (sh *shadow) sendFrontier(s int) {
	v := sh.spus[s]
	if v == nil {
		return
	}
	r := sh.r
	base := int64(r.p.ColFirst[s]) - int64(r.p.Long)
	sh.equalPairs(s, v, "frontier entry", v.at(arrFrontier), r.front[base:base+int64(r.frontLen[s])])
	sh.send(v, v.at(arrFrontier), int64(r.frontLen[s]))
}

// outputs sets the latches of walker 3 to the outputs.
func (sh *shadow) outputs(s int, v *shadowSPU) {
	p := sh.r.p
	v.first, v.count, v.start3 = p.RowFirst[s], p.RowFirst[s+1]-p.RowFirst[s], v.at(arrOutput)
	v.lastLong, v.longStart3 = uint32(p.LongRows), v.at(arrReplica)
}

// finish runs a program that sends nothing, and compares its cycles and row switches.
func (sh *shadow) finish(s int, v *shadowSPU, name string, cycles, loads int64) {
	if v.run(0) {
		sh.fail(s, "%s sends a pair", name)
		return
	}
	if v.cycles != cycles || int64(v.loads) != loads {
		sh.fail(s, "%s takes %d cycles and %d row switches, pair by pair %d and %d", name, v.cycles, v.loads, cycles, loads)
	}
	v.total += v.instructions
	v.instructions = 0
}

// putPairs writes pairs into the image.
func (v *shadowSPU) putPairs(at int64, pairs []uint64) {
	for i, e := range pairs {
		v.mem[at+2*int64(i)], v.mem[at+2*int64(i)+1] = uint32(e>>32), uint32(e)
	}
}

// equal compares words of the image.
func (sh *shadow) equal(s int, v *shadowSPU, name string, at int64, want []uint32) {
	for i, w := range want {
		if got := v.mem[at+int64(i)]; got != w {
			sh.fail(s, "%s %d is %#x, pair by pair %#x", name, i, got, w)
			return
		}
	}
}

func (sh *shadow) equalPairs(s int, v *shadowSPU, name string, at int64, want []uint64) {
	for i, w := range want {
		if got := uint64(v.mem[at+2*int64(i)])<<32 | uint64(v.mem[at+2*int64(i)+1]); got != w {
			sh.fail(s, "%s %d is %#x, pair by pair %#x", name, i, got, w)
			return
		}
	}
}

// pack interprets OffsetPacking; the frontier is what a program made, with the long
// entries that the logic layer has sent.
func (sh *shadow) pack(s int, cycles, loads int64) {
	v := sh.spus[s]
	if v == nil {
		return
	}
	r, p := sh.r, sh.r.p
	if !v.made {
		sh.make(s, v)
	}
	n := int64(r.frontLen[s])
	own := r.front[int64(p.ColFirst[s])-int64(p.Long):][:n]
	front := v.at(arrFrontier)
	if v.wrote {
		sh.equalPairs(s, v, "frontier entry", front, own)
	} else {
		v.putPairs(front, own) // by the host
	}
	if r.chip == nil {
		sh.equalPairs(s, v, "long frontier entry", front+2*n, r.longFront)
	} else {
		v.putPairs(front+2*n, r.longFront)
	}
	v.wrote = false
	v.first, v.count, v.start3 = p.ColFirst[s], p.ColFirst[s+1]-p.ColFirst[s], v.at(arrOffsets)
	v.lastLong, v.longStart3 = uint32(p.Long), v.at(arrLongOffsets)
	end := front + 2*(n+int64(len(r.longFront)))
	v.load(PackProgram().Code, [3]int64{front, v.at(arrPack), 0}, [3]int64{end, 0, math.MaxInt64})
	allRemote := v.allRemote
	v.allRemote = false
	sh.finish(s, v, "OffsetPacking", cycles, loads)
	v.allRemote = allRemote
	packed := v.walk[1].at
	// LocalAccumulations comes next.
	sh.outputs(s, v)
	v.start2 = v.at(arrPairs)
	v.load(LocalProgram(r.ring, r.replicate, r.checkClean).Code, [3]int64{v.at(arrPack), v.at(arrPairs), 0}, [3]int64{packed, v.at(arrPairs) + 2*(p.Base[s+1]-p.Base[s]), math.MaxInt64})
}

// resume lets the interpreted SPU go on to its next pair, as the other did.
func (sh *shadow) resume(s int, free int64, ok bool) {
	v := sh.spus[s]
	if v == nil {
		return
	}
	u, p := &sh.r.spus[s], &sh.r.ports[s]
	if sh.scanning && !v.scans {
		return
	}
	sent := v.run(free)
	switch {
	case sent != ok:
		sh.fail(s, "sends a pair: %v, pair by pair: %v", sent, ok)
	case sent && (v.sentIdx != p.idx() || v.sentVal != p.val() || v.sentIndicator != p.clean):
		sh.fail(s, "sends (%d, %#x), pair by pair (%d, %#x)", v.sentIdx, v.sentVal, p.idx(), p.val())
	case v.cycles != u.cycles || v.loads != u.loads:
		sh.fail(s, "is in cycle %d after %d row switches, pair by pair in %d after %d", v.cycles, v.loads, u.cycles, u.loads)
	}
}

// pause ends a round of LocalAccumulations.
func (sh *shadow) pause(s int, more bool) {
	v := sh.spus[s]
	if v == nil {
		return
	}
	if more {
		v.pause()
	}
	u := &sh.r.spus[s]
	if v.cycles != u.cycles || v.loads != u.loads {
		sh.fail(s, "takes %d cycles and %d row switches, pair by pair %d and %d", v.cycles, v.loads, u.cycles, u.loads)
	}
	v.cycles, v.loads = 0, 0
	p, r := sh.r.p, sh.r
	if !r.allDown {
		sh.equal(s, v, "output", v.at(arrOutput), r.out[p.RowFirst[s]:p.RowFirst[s+1]])
	}
	if r.replicate {
		n := int64(p.LongRows)
		sh.equal(s, v, "replica", v.at(arrReplica), r.rep[int64(s)*n:int64(s+1)*n])
	}
}

// receive interprets RemoteAccumulations; list has the pairs of the bank.
func (sh *shadow) receive(s int, u *receiver, list []uint64, cleanBefore int32) {
	v := sh.spus[s]
	if v == nil {
		return
	}
	r, p := sh.r, sh.r.p
	if !v.made {
		sh.make(s, v)
	}
	kept := v.interp // LocalAccumulations may go on afterwards
	at := v.at(arrReceived)
	n := at + 2*u.pairs
	if r.chip != nil { // stored by Dispatching else
		n = at
		for _, e := range list {
			if i := uint32(e >> 32); i >= p.RowFirst[s] && i < p.RowFirst[s+1] {
				v.grown(n + 1)
				v.putPairs(n, []uint64{e})
				n += 2
			}
		}
	}
	sh.outputs(s, v)
	remote := v.allRemote
	v.allRemote = false
	v.load(RemoteProgram(r.ring, r.checkClean).Code, [3]int64{at, v.at(arrClean) + int64(cleanBefore), 0}, [3]int64{n, math.MaxInt64, math.MaxInt64})
	sh.finish(s, v, "RemoteAccumulations", u.cycles, int64(u.loads))
	sh.equal(s, v, "output", v.at(arrOutput), r.out[p.RowFirst[s]:p.RowFirst[s+1]])
	sh.equal(s, v, "clean list entry", v.at(arrClean), r.cleanList(s)[:r.cleanLen[s]])
	mem := v.mem
	total := v.total
	v.interp = kept
	v.mem, v.total, v.allRemote = mem, total, remote
}

// gather interprets the first part of Applying; list is the clean list that it read.
func (sh *shadow) gather(s int, list []uint32, cycles, loads int64) {
	v := sh.spus[s]
	if v == nil || sh.r.allDown {
		return
	}
	r, p := sh.r, sh.r.p
	sh.outputs(s, v)
	remote := v.allRemote
	v.allRemote = false
	v.load(GatherProgram().Code, [3]int64{v.at(arrClean), v.at(arrTemp), 0}, [3]int64{v.at(arrClean) + int64(len(list)), math.MaxInt64, math.MaxInt64})
	sh.finish(s, v, "Applying (outputs)", cycles, loads)
	v.allRemote = remote
	base := int64(p.RowFirst[s]) - int64(p.LongRows)
	sh.equalPairs(s, v, "result", v.at(arrTemp), r.temp[base:base+int64(r.tempLen[s])])
	sh.equal(s, v, "output", v.at(arrOutput), r.out[p.RowFirst[s]:p.RowFirst[s+1]])
}

// settle interprets the second part.
func (sh *shadow) settle(s int, op Op, cycles, loads int64) {
	v := sh.spus[s]
	if v == nil || sh.r.allDown {
		return
	}
	r, p := sh.r, sh.r.p
	sh.outputs(s, v)
	v.start3 = v.at(arrY)
	remote := v.allRemote
	v.allRemote = false
	v.load(SettleProgram(op).Code, [3]int64{v.at(arrTemp), v.at(arrFrontier), 0}, [3]int64{v.at(arrTemp) + 2*int64(r.tempLen[s]), math.MaxInt64, math.MaxInt64})
	sh.finish(s, v, "Applying (y)", cycles, loads)
	v.allRemote = remote
	sh.equal(s, v, "y", v.at(arrY), r.y[p.RowFirst[s]:p.RowFirst[s+1]])
	v.wrote = true
}

// scan prepares the program that sends replicas down, where there are any.
func (sh *shadow) scan(s int) {
	v := sh.spus[s]
	if v == nil {
		return
	}
	v.scans = len(sh.r.touched[s]) > 0
	at := v.at(arrReplica)
	v.load(ScanProgram().Code, [3]int64{0, 0, at}, [3]int64{0, 0, at + int64(sh.r.p.LongRows)})
}

// collect prepares the program that sends results down.
func (sh *shadow) collect(s int) {
	v := sh.spus[s]
	if v == nil {
		return
	}
	sh.send(v, v.at(arrTemp), int64(sh.r.tempLen[s]))
}

// send prepares the program that sends pairs from a word on down.
func (sh *shadow) send(v *shadowSPU, at, pairs int64) {
	v.scans = true
	v.load(CollectProgram().Code, [3]int64{at, 0, 0}, [3]int64{at + 2*pairs, 0, 0})
}

// denseOut interprets the first part of Applying where all outputs count. y is still
// in its old array, and comes back to it.
func (sh *shadow) denseOut(s int, base uint32, cycles, loads int64) {
	v := sh.spus[s]
	if v == nil {
		return
	}
	r, p := sh.r, sh.r.p
	n := int64(p.RowFirst[s+1] - p.RowFirst[s])
	v.load(DenseOutProgram(r.ring).Code, [3]int64{v.at(arrY), v.at(arrNew), v.at(arrOutput)}, [3]int64{v.at(arrY) + n, math.MaxInt64, v.at(arrOutput) + n})
	v.constant = base
	sh.finish(s, v, "Applying (outputs)", cycles, loads)
	sh.equal(s, v, "y", v.at(arrNew), r.y[p.RowFirst[s]:p.RowFirst[s+1]])
	sh.equal(s, v, "output", v.at(arrOutput), r.out[p.RowFirst[s]:p.RowFirst[s+1]])
	copy(v.mem[v.at(arrY):v.at(arrY)+n], v.mem[v.at(arrNew):]) // the arrays change places
}

// denseFront interprets the second part.
func (sh *shadow) denseFront(s int, dangling float32, cycles, loads int64) {
	v := sh.spus[s]
	if v == nil {
		return
	}
	r, p := sh.r, sh.r.p
	n := int64(p.RowFirst[s+1] - p.RowFirst[s])
	v.load(DenseFrontProgram(r.ring).Code, [3]int64{v.at(arrY), v.at(arrFrontier), v.at(arrScale)}, [3]int64{v.at(arrY) + n, math.MaxInt64, v.at(arrScale) + n})
	v.reg[Reg3] = p.RowFirst[s]
	sh.finish(s, v, "Applying (frontier)", cycles, loads)
	if got := math.Float32frombits(v.reg[Reg2]); r.ring.Float && got != dangling {
		sh.fail(s, "sum of ranks without edges is %v, pair by pair %v", got, dangling)
	}
	v.wrote = true
}
