package mem

// BingoSpec is the Bingo spatial prefetcher (Bakhshalipour and others, HPCA 2019):
// which lines of a region were used after an access by a certain instruction to a
// certain line is remembered, once for the instruction and the address, and once for
// the instruction and the place in the region, in one table. Sizes are those of the
// authors' simulator (RubyPrefetcher.py) but for the history, of which the papers
// print 8 kB.
type BingoSpec struct {
	RegionLines  int     // of a region: 2 kB
	Filter       int     // regions with one access
	Accumulation int     // regions that are recorded
	Sets, Ways   int     // of the history
	Share        float64 // of the lines with short events alike that must agree
}

// DefaultBingo is that of the papers. An entry of the history has 32 bits of
// footprint, 16 of tag: 8 kB are about 1024 entries.
func DefaultBingo() BingoSpec {
	return BingoSpec{RegionLines: 32, Filter: 64, Accumulation: 128, Sets: 64, Ways: 16, Share: 0.2}
}

type bingo struct {
	spec    BingoSpec
	filter  []bingoRegion
	active  []bingoRegion
	regions []uint64          // of the active ones, beside one another
	where   [bingoHints]uint8 // where a region may be among them
	history []bingoEntry
	time    uint64
}

const bingoHints = 256

type bingoRegion struct {
	region    uint64
	pc        uint32
	offset    uint8
	footprint uint64
	used      uint64
}

type bingoEntry struct {
	valid     bool
	long      uint32 // of instruction and address
	short     uint32 // of instruction and offset
	footprint uint64
	used      uint64
}

func newBingo(spec BingoSpec) *bingo {
	return &bingo{spec: spec, history: make([]bingoEntry, spec.Sets*spec.Ways)}
}

func mix(a, b uint64) uint32 {
	s := a*0x9e3779b97f4a7c15 ^ b
	return uint32(splitmix(&s) >> 32)
}

// Observe implements Prefetcher.
func (b *bingo) Observe(pc uint32, line Line, _, _ bool, lines []Line) []Line {
	b.time++
	n := uint64(b.spec.RegionLines)
	region, offset := line/n, uint8(line%n)
	if r := b.recorded(region); r != nil {
		r.footprint |= 1 << offset
		r.used = b.time
		return lines
	}
	for i := range b.filter {
		r := &b.filter[i]
		if r.region != region {
			continue
		}
		if r.offset == offset {
			r.used = b.time
			return lines
		}
		// The second line: from now on the region is recorded.
		rec := *r
		rec.footprint |= 1 << offset
		rec.used = b.time
		b.filter = append(b.filter[:i], b.filter[i+1:]...)
		var at int
		if b.active, at = b.keep(b.active, b.spec.Accumulation, rec, true); at == len(b.regions) {
			b.regions = append(b.regions, region)
		} else {
			b.regions[at] = region
		}
		return lines
	}
	// The first line of a region is the trigger.
	b.filter, _ = b.keep(b.filter, b.spec.Filter, bingoRegion{region: region, pc: pc, offset: offset, footprint: 1 << offset, used: b.time}, false)
	footprint := b.predict(pc, line, offset)
	for k := uint64(0); k < n; k++ {
		if footprint>>k&1 != 0 && uint8(k) != offset {
			lines = append(lines, region*n+k)
		}
	}
	return lines
}

// recorded finds an active region, nil if it is none.
func (b *bingo) recorded(region uint64) *bingoRegion {
	hint := &b.where[(region^region>>8)%bingoHints] // arrays often lie apart by a power of two
	if i := int(*hint); i < len(b.regions) && b.regions[i] == region {
		return &b.active[i]
	}
	for i, r := range b.regions {
		if r == region {
			*hint = uint8(i)
			return &b.active[i]
		}
	}
	return nil
}

// keep adds a region to a table, and says where; the one that was not used for longest
// leaves it, and is learned from if it was recorded.
func (b *bingo) keep(table []bingoRegion, size int, r bingoRegion, learn bool) ([]bingoRegion, int) {
	if len(table) < size {
		return append(table, r), len(table)
	}
	oldest := 0
	for i := range table {
		if table[i].used < table[oldest].used {
			oldest = i
		}
	}
	if learn {
		b.learn(&table[oldest])
	}
	table[oldest] = r
	return table, oldest
}

// set is where the history of a short event is.
func (b *bingo) set(short uint32) []bingoEntry {
	s := int(short) % b.spec.Sets
	return b.history[s*b.spec.Ways : (s+1)*b.spec.Ways]
}

func (b *bingo) learn(r *bingoRegion) {
	short := mix(uint64(r.pc), uint64(r.offset))
	long := mix(uint64(r.pc), r.region*uint64(b.spec.RegionLines)+uint64(r.offset))
	set := b.set(short)
	victim := 0
	for i := range set {
		if set[i].valid && set[i].long == long && set[i].short == short {
			victim = i
			break
		}
		if !set[i].valid || set[victim].valid && set[i].used < set[victim].used {
			victim = i
		}
	}
	set[victim] = bingoEntry{true, long, short, r.footprint, b.time}
}

// predict takes the footprint of the same instruction and address, or else the lines
// that enough of those of the same instruction and offset have.
func (b *bingo) predict(pc uint32, line Line, offset uint8) uint64 {
	short := mix(uint64(pc), uint64(offset))
	long := mix(uint64(pc), line)
	set := b.set(short)
	alike := 0
	var votes [64]int
	for i := range set {
		e := &set[i]
		if !e.valid || e.short != short {
			continue
		}
		if e.long == long {
			e.used = b.time
			return e.footprint
		}
		alike++
		for k := range b.spec.RegionLines {
			votes[k] += int(e.footprint >> k & 1)
		}
	}
	footprint := uint64(0)
	for k := range b.spec.RegionLines {
		if votes[k] > 0 && float64(votes[k]) >= b.spec.Share*float64(alike) {
			footprint |= 1 << k
		}
	}
	return footprint
}
