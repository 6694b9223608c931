package se

import "github.com/bitsched/bitsched/tile/mem"

// key names a stream of a core. It has no gaps, so that keys are compared and hashed as words.
type key struct {
	group uint32
	core  int16
	sid   int16
}

func newKey(core int, group uint32, sid int) key { return key{group, int16(core), int16(sid)} }

// part is a chunk of a stream, by its first iteration.
type part struct {
	key
	first int64
}

// alone is a line of no stream.
func alone(line mem.Line) part { return part{first: int64(line)} }

// table maps chunks to values: open addressing, linear probing and removal by moving back.
type table[V any] struct {
	cells []cell[V] // a power of two
	shift uint8     // of hashes
	n     int       // in use
}

type cell[V any] struct {
	at   part
	used bool
	v    V
}

// leastCells is the size of a table that is in use.
const leastCells = 16

// home is where the search for a chunk begins.
func (t *table[V]) home(p part) int {
	k := uint64(p.group)<<32 | uint64(uint16(p.core))<<16 | uint64(uint16(p.sid))
	return int((k*0x9e3779b97f4a7c15 ^ uint64(p.first)) * 0xbf58476d1ce4e5b9 >> (t.shift & 63))
}

// find is where a chunk is, or where it would be put. The table has room.
func (t *table[V]) find(p part) *cell[V] {
	for i, mask := t.home(p), len(t.cells)-1; ; i = (i + 1) & mask {
		if c := &t.cells[i]; !c.used || c.at == p {
			return c
		}
	}
}

// get returns the value of a chunk, and whether it has one.
func (t *table[V]) get(p part) (v V, ok bool) {
	if t.n == 0 {
		return v, false
	}
	c := t.find(p)
	return c.v, c.used
}

// set gives a chunk a value.
func (t *table[V]) set(p part, v V) {
	if 2*t.n >= len(t.cells) {
		old := t.cells
		n := max(2*len(old), leastCells)
		t.cells, t.shift = make([]cell[V], n), 64
		for ; n > 1; n /= 2 {
			t.shift--
		}
		for i := range old {
			if old[i].used {
				*t.find(old[i].at) = old[i]
			}
		}
	}
	c := t.find(p)
	if !c.used {
		t.n++
		c.at, c.used = p, true
	}
	c.v = v
}

// take removes a chunk, and returns its value and whether it had one.
func (t *table[V]) take(p part) (v V, ok bool) {
	if t.n == 0 {
		return v, false
	}
	i, mask := t.home(p), len(t.cells)-1
	for ; t.cells[i].at != p; i = (i + 1) & mask {
		if !t.cells[i].used {
			return v, false
		}
	}
	if !t.cells[i].used {
		return v, false
	}
	v = t.cells[i].v
	t.n--
	// What was put further away for its sake moves back.
	for k := (i + 1) & mask; t.cells[k].used; k = (k + 1) & mask {
		if (k-t.home(t.cells[k].at))&mask >= (k-i)&mask {
			t.cells[i] = t.cells[k]
			i = k
		}
	}
	t.cells[i] = cell[V]{}
	return v, true
}

// each calls a function with all chunks.
func (t *table[V]) each(f func(p part)) {
	for i := range t.cells {
		if c := &t.cells[i]; c.used {
			f(c.at)
		}
	}
}

// of returns the chunks of some streams.
func (t *table[V]) of(mine func(key) bool) (list []part) {
	t.each(func(p part) {
		if mine(p.key) {
			list = append(list, p)
		}
	})
	return list
}

// forget removes the chunks of some streams.
func (t *table[V]) forget(mine func(key) bool) {
	for _, p := range t.of(mine) {
		t.take(p)
	}
}
