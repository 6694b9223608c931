package core

import "math"

// tage foretells by the longest of several histories that has been seen before
// (Seznec and Michaud, JILP 2006): a table of counters found by the PC, and tagged
// tables found by hashes of the PC with histories of geometric lengths. It is TAGE
// without the loop predictor that LTAGE adds.
type tage struct {
	base    []int8
	tables  []tageTable
	history [tageHistory]uint8 // ring of the last branches
	at      int
	clock   uint32
	random  uint32
}

const (
	tageTables  = 12
	tageBits    = 10
	tageTag     = 9
	tageLeast   = 4
	tageMost    = 640
	tageHistory = 1024
)

type tageTable struct {
	entries []tageEntry
	length  int
	// The history folded to the widths of the index and of the tag.
	index, tag1, tag2 folded
}

type tageEntry struct {
	tag     uint16
	counter int8 // -4 to 3, taken from 0 on
	useful  uint8
}

// folded is a history of some length, folded to some bits by exclusive or.
type folded struct {
	value, width, length uint32
}

func (f *folded) push(newest, oldest uint8) {
	f.value = f.value<<1 | uint32(newest)
	f.value ^= uint32(oldest) << (f.length % f.width)
	f.value ^= f.value >> f.width
	f.value &= 1<<f.width - 1
}

func newTage() *tage {
	t := &tage{base: make([]int8, 1<<13), random: 1}
	for i := range tageTables {
		n := int(math.Round(tageLeast * math.Pow(float64(tageMost)/tageLeast, float64(i)/(tageTables-1))))
		l := uint32(n)
		t.tables = append(t.tables, tageTable{entries: make([]tageEntry, 1<<tageBits), length: n,
			index: folded{width: tageBits, length: l}, tag1: folded{width: tageTag, length: l}, tag2: folded{width: tageTag - 1, length: l}})
	}
	return t
}

func (t *tage) Predict(pc uint32, taken bool) bool {
	var where [tageTables]*tageEntry
	var tags [tageTables]uint16
	provider, second := -1, -1
	for i := range t.tables {
		b := &t.tables[i]
		k := (pc ^ pc>>uint(tageBits-i%5) ^ b.index.value) & (1<<tageBits - 1)
		tags[i] = uint16((pc ^ b.tag1.value ^ b.tag2.value<<1) & (1<<tageTag - 1))
		where[i] = &b.entries[k]
		if where[i].tag == tags[i] {
			second, provider = provider, i
		}
	}
	base := &t.base[pc&uint32(len(t.base)-1)]
	other := *base >= 0
	if second >= 0 {
		other = where[second].counter >= 0
	}
	guess := other
	if provider >= 0 {
		e := where[provider]
		guess = e.counter >= 0
		// An entry that is new is not believed.
		if e.useful == 0 && (e.counter == 0 || e.counter == -1) {
			guess = other
		}
	}
	t.learn(provider, where[:], tags[:], base, guess, other, taken)
	t.push(taken)
	return guess
}

func (t *tage) learn(provider int, where []*tageEntry, tags []uint16, base *int8, guess, other, taken bool) {
	if provider < 0 {
		train(base, taken, 1)
	} else {
		e := where[provider]
		own := e.counter >= 0
		if own != other {
			if own == taken && e.useful < 3 {
				e.useful++
			} else if own != taken && e.useful > 0 {
				e.useful--
			}
		}
		if e.useful == 0 {
			train(base, taken, 1)
		}
		train(&e.counter, taken, 3)
	}
	if guess == taken || provider == tageTables-1 {
		return
	}
	// A wrong guess gets an entry with a longer history, mostly the next one.
	t.random = t.random*1664525 + 1013904223
	from := provider + 1
	if t.random>>30 == 0 && from < tageTables-1 {
		from++
	}
	for i := from; i < tageTables; i++ {
		if where[i].useful == 0 {
			*where[i] = tageEntry{tag: tags[i]}
			if !taken {
				where[i].counter = -1
			}
			return
		}
	}
	for i := from; i < tageTables; i++ {
		where[i].useful--
	}
}

// train counts between -most-1 and most.
func train(c *int8, taken bool, most int8) {
	if taken && *c < most {
		*c++
	}
	if !taken && *c > -most-1 {
		*c--
	}
}

func (t *tage) push(taken bool) {
	newest := uint8(0)
	if taken {
		newest = 1
	}
	for i := range t.tables {
		b := &t.tables[i]
		oldest := t.history[(t.at-b.length)&(tageHistory-1)]
		b.index.push(newest, oldest)
		b.tag1.push(newest, oldest)
		b.tag2.push(newest, oldest)
	}
	t.history[t.at&(tageHistory-1)] = newest
	t.at++
	// What was useful long ago makes room.
	if t.clock++; t.clock%(1<<18) == 0 {
		for i := range t.tables {
			for k := range t.tables[i].entries {
				t.tables[i].entries[k].useful >>= 1
			}
		}
	}
}
