package se

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/bitsched/bitsched/tile/mem"
)

// heads are the streams at a bank, in the order in which they came. A bank with hundreds of them, most of which
// wait for credit or for lines, looks at each only when it has changed: which ones can go on is a byte each,
// and those that read with others are found by where they read.
type heads struct {
	list []*head
	ids  []uint64 // of each, ascending
	may  []byte   // 1: it can go on; by values: it is to be asked
	last uint64   // id
	near map[cornerKey]*corner
	free []*corner
}

// cornerKey is what lies side by side in a bank, for streams of a team.
type cornerKey struct {
	unit uint64
	team int32
}

// corner is the streams that read there with others, and by stride the first ones in order of all and of
// those that can go on.
type corner struct {
	key    cornerKey
	list   []*head
	firsts []firsts
}

// firsts are the orders of these, and whether they are to be found anew.
type firsts struct {
	stride   int64
	any, can uint64
	stale    bool
}

// registered is a stream as those that look for it find it.
type registered struct {
	id     uint64 // 0: it is at no bank
	may    bool
	corner *corner
	at     int    // in its list
	rank   uint64 // its order
}

// add takes a stream that has come.
func (b *Bank) add(h *head) {
	x := &b.heads
	x.last++
	h.registered = registered{id: x.last}
	x.list, x.ids, x.may = append(x.list, h), append(x.ids, h.id), append(x.may, 0)
	b.changed(h)
}

// remove forgets one by its place in the list.
func (b *Bank) remove(i int) {
	x := &b.heads
	h := x.list[i]
	if h.corner != nil {
		x.quit(h)
	}
	h.registered = registered{}
	x.list, x.ids, x.may = slices.Delete(x.list, i, i+1), slices.Delete(x.ids, i, i+1), slices.Delete(x.may, i, i+1)
}

// place is where a stream is in the list, false if it is not at the bank.
func (x *heads) place(h *head) (int, bool) {
	i, ok := slices.BinarySearch(x.ids, h.id)
	return i, ok && x.list[i] == h
}

// from lists the places of streams that may go on, among n from one on, in turn.
func (x *heads) from(turn, n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for n > 0 {
			turn %= len(x.may)
			part := x.may[turn:min(turn+n, len(x.may))]
			i := bytes.IndexByte(part, 1)
			if i < 0 {
				i = len(part) - 1
			} else if !yield(turn + i) {
				return
			}
			turn, n = turn+i+1, n-i-1
		}
	}
}

// changed notes that a stream has gone on, or may go on now.
func (b *Bank) changed(h *head) {
	if h.id == 0 {
		return
	}
	x := &b.heads
	may := b.may(h)
	if may != h.may {
		h.may = may
		i, _ := x.place(h)
		x.may[i] ^= 1
	}
	if !b.broadcasts(h) {
		return
	}
	key, order := cornerKey{h.lies() / b.spec.Unit, b.spec.Teams[h.core]}, h.order()
	if h.corner != nil && h.corner.key != key {
		x.quit(h)
	}
	if h.corner == nil {
		x.join(h, key)
	} else if f := h.corner.of(h.stride); f.any == h.rank && order != h.rank || f.can == h.rank && (order != h.rank || !may) {
		f.stale = true
	}
	h.rank = order
	f := h.corner.of(h.stride)
	f.any = min(f.any, order)
	if may {
		f.can = min(f.can, order)
	}
}

// join puts a stream to those at a place.
func (x *heads) join(h *head, key cornerKey) {
	s := x.near[key]
	if s == nil {
		if k := len(x.free); k > 0 {
			s, x.free = x.free[k-1], x.free[:k-1]
		} else {
			s = &corner{}
		}
		if x.near == nil {
			x.near = map[cornerKey]*corner{}
		}
		s.key, x.near[key] = key, s
	}
	h.corner, h.at = s, len(s.list)
	s.list = append(s.list, h)
}

// quit takes a stream from those at its place.
func (x *heads) quit(h *head) {
	s := h.corner
	last := s.list[len(s.list)-1]
	s.list[h.at], last.at = last, h.at
	s.list[len(s.list)-1] = nil // or it would stay in memory, with its loop
	s.list = s.list[:len(s.list)-1]
	if f := s.of(h.stride); f.any == h.rank || f.can == h.rank {
		f.stale = true
	}
	if h.corner = nil; len(s.list) == 0 {
		delete(x.near, s.key)
		s.firsts = s.firsts[:0]
		x.free = append(x.free, s)
	}
}

// of is the first ones of a stride.
func (s *corner) of(stride int64) *firsts {
	for i := range s.firsts {
		if s.firsts[i].stride == stride {
			return &s.firsts[i]
		}
	}
	s.firsts = append(s.firsts, firsts{stride: stride, any: math.MaxUint64, can: math.MaxUint64})
	return &s.firsts[len(s.firsts)-1]
}

// first finds the first ones of a stride, as they are now.
func (b *Bank) first(s *corner, stride int64) *firsts {
	f := s.of(stride)
	if f.stale {
		f.any, f.can, f.stale = math.MaxUint64, math.MaxUint64, false
		for _, o := range s.list {
			if o.stride == stride {
				f.any = min(f.any, o.rank)
				if o.may {
					f.can = min(f.can, o.rank)
				}
			}
		}
	}
	return f
}

// beside lists the streams of the team of one that read its line and can go on, in the order in which they came.
func (b *Bank) beside(h *head) (list []*head) {
	line := h.lies() / mem.LineBytes
	for _, o := range h.corner.list {
		if o != h && o.may && o.lies()/mem.LineBytes == line {
			list = append(list, o)
		}
	}
	slices.SortFunc(list, func(a, b *head) int { return cmp.Compare(a.id, b.id) })
	return list
}

// checkHeads compares what is noted of streams with what they say.
func (b *Bank) checkHeads() {
	for i, h := range b.heads.list {
		if may := b.may(h); may != h.may || may != (b.heads.may[i] == 1) || b.broadcasts(h) && h.rank != h.order() {
			b.fail(fmt.Errorf("se: bank %d: stream %s has changed, and the bank does not know", b.bank, h.g.Streams[h.sid].Name))
		}
	}
}
