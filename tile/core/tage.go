package core

import "math"

// tage foretells by the longest of several histories that has been seen before
// (Seznec and Michaud, JILP 2006): a table of counters found by the PC, and tagged
// tables found by hashes of the PC with histories of geometric lengths. It is TAGE
// without the loop predictor that LTAGE adds.
type tage struct {
	base    []int8
	entries []tageEntry // of all tables, one behind the other
	tables  [tageTables]tageTable
	history [tageHistory / 64]uint64 // ring of the last branches, a bit each
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

// tageTable is what is known of a table beside its entries.
type tageTable struct {
	// The history folded to the widths of the index and of the tag, and of one bit less.
	index, tag1, tag2 uint32
	length            int16
	// Where the bit of the history that is the oldest has come to in each of them.
	atIndex, atTag1, atTag2 uint8
}

type tageEntry struct {
	tag     uint16
	counter int8 // -4 to 3, taken from 0 on
	useful  uint8
}

// fold goes on with a history that is folded to some bits by exclusive or; oldest is the bit
// that leaves it, where that is.
func fold(value, newest, oldest uint32, width uint8) uint32 {
	value = value<<1 | newest
	value ^= oldest
	value ^= value >> width
	return value & (1<<width - 1)
}

func newTage() *tage {
	t := &tage{base: make([]int8, 1<<13), entries: make([]tageEntry, tageTables<<tageBits), random: 1}
	for i := range t.tables {
		n := int(math.Round(tageLeast * math.Pow(float64(tageMost)/tageLeast, float64(i)/(tageTables-1))))
		t.tables[i] = tageTable{length: int16(n), atIndex: uint8(n % tageBits), atTag1: uint8(n % tageTag), atTag2: uint8(n % (tageTag - 1))}
	}
	return t
}

func (t *tage) Predict(pc uint32, taken bool) bool {
	var where [tageTables]*tageEntry
	var tags [tageTables]uint16
	provider, second := -1, -1
	for i := range t.tables {
		b := &t.tables[i]
		k := (pc ^ pc>>uint(tageBits-i%5) ^ b.index) & (1<<tageBits - 1)
		tags[i] = uint16((pc ^ b.tag1 ^ b.tag2<<1) & (1<<tageTag - 1))
		where[i] = &t.entries[i<<tageBits|int(k)]
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
	newest := uint32(0)
	if taken {
		newest = 1
	}
	for i := range t.tables {
		b := &t.tables[i]
		k := (t.at - int(b.length)) & (tageHistory - 1)
		oldest := uint32(t.history[k>>6] >> (k & 63) & 1)
		b.index = fold(b.index, newest, oldest<<(b.atIndex&31), tageBits)
		b.tag1 = fold(b.tag1, newest, oldest<<(b.atTag1&31), tageTag)
		b.tag2 = fold(b.tag2, newest, oldest<<(b.atTag2&31), tageTag-1)
	}
	k := t.at & (tageHistory - 1)
	t.history[k>>6] = t.history[k>>6]&^(1<<(k&63)) | uint64(newest)<<(k&63)
	t.at++
	// What was useful long ago makes room.
	if t.clock++; t.clock%(1<<18) == 0 {
		for i := range t.entries {
			t.entries[i].useful >>= 1
		}
	}
}
