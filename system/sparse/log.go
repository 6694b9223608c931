package sparse

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
)

// sourceLog records from which SPU each contribution to some of the outputs came, in
// the order in which they were added: a plain loop then repeats the sums.
type sourceLog struct {
	r      *runner
	every  uint32
	locals [][]sourceEntry // by bank, of the running round
	remote [][]sourceEntry
	all    [][]sourceEntry
	downs  []sourceEntry
	parts  []contribution // by output and SPU, in the order of the SPU
}

type sourceEntry struct {
	idx uint32
	src uint16
}

type contribution struct {
	idx uint32
	src uint16
	k   int64
	col uint32
}

func newSourceLog(r *runner, every uint32) *sourceLog {
	banks := r.m.Banks()
	l := &sourceLog{r: r, every: every, locals: make([][]sourceEntry, banks), remote: make([][]sourceEntry, banks), all: make([][]sourceEntry, banks)}
	p := r.p
	for s := range r.spus {
		for i := 0; i < p.Long+int(p.ColFirst[s+1]-p.ColFirst[s]); i++ {
			from, to := p.part(s, i)
			col := uint32(i)
			if i >= p.Long {
				col = p.ColFirst[s] + uint32(i-p.Long)
			}
			for k := from; k < to; k++ {
				if l.tracked(p.Idx[k]) {
					l.parts = append(l.parts, contribution{p.Idx[k], uint16(s), k, col})
				}
			}
		}
	}
	return l
}

func (l *sourceLog) tracked(i uint32) bool { return i%l.every == 0 }

func (l *sourceLog) local(s int, i uint32) {
	b := s / l.r.pairs
	l.locals[b] = append(l.locals[b], sourceEntry{i, uint16(s)})
}

func (l *sourceLog) arrived(bank int, f flit) {
	if l.tracked(f.idx()) && f.val() != l.r.ring.Clean {
		l.remote[bank] = append(l.remote[bank], sourceEntry{f.idx(), f.src()})
	}
}

func (l *sourceLog) logic(f flit) {
	if l.tracked(f.idx()) {
		l.downs = append(l.downs, sourceEntry{f.idx(), f.src()})
	}
}

// endRound puts what was stored behind what was accumulated locally.
func (l *sourceLog) endRound() {
	for b := range l.all {
		l.all[b] = append(append(l.all[b], l.locals[b]...), l.remote[b]...)
		l.locals[b], l.remote[b] = l.locals[b][:0], l.remote[b][:0]
	}
}

// inactive is the turn of a column that is not active.
const inactive = math.MaxUint32

// verify repeats the sums of the logged outputs in their order; x has the input by
// new column, turn in which order an SPU takes the columns. It returns how many it
// compared.
func (l *sourceLog) verify(x, turn []uint32) (compared int, err error) {
	r := l.r
	there := func(c uint32) bool { return turn[c] != inactive }
	slices.SortStableFunc(l.parts, func(a, b contribution) int {
		return cmp.Or(cmp.Compare(a.idx, b.idx), cmp.Compare(a.src, b.src), cmp.Compare(turn[a.col], turn[b.col]))
	})
	list := slices.Clone(l.downs)
	for b := range l.all {
		list = append(list, l.all[b]...)
		l.all[b] = l.all[b][:0]
	}
	l.downs = l.downs[:0]
	// Stable: the order of additions of each output stays.
	sort.SliceStable(list, func(a, b int) bool { return list[a].idx < list[b].idx })
	product := func(c contribution) float32 {
		f := math.Float32frombits(x[c.col])
		if r.p.Val == nil {
			return f
		}
		return float32(f * math.Float32frombits(r.p.Val[c.k]))
	}
	next := 0
	for from := 0; from < len(l.parts); {
		to := from
		for to < len(l.parts) && l.parts[to].idx == l.parts[from].idx {
			to++
		}
		i := l.parts[from].idx
		group := l.parts[from:to]
		from = to
		active := 0
		for _, c := range group {
			if there(c.col) {
				active++
			}
		}
		var sum float32
		first := true
		add := func(v float32) {
			if first {
				sum, first = v, false
				return
			}
			sum = float32(sum + v)
		}
		if r.replicate && int(i) < r.p.LongRows {
			// Each SPU adds its own first, then the logic layer adds these in their order.
			for a := 0; a < len(group); {
				var part float32
				begun := false
				b := a
				for ; b < len(group) && group[b].src == group[a].src; b++ {
					if !there(group[b].col) {
						continue
					}
					if v := product(group[b]); begun {
						part = float32(part + v)
					} else {
						part, begun = v, true
					}
				}
				if begun {
					add(part)
				}
				a = b
			}
		} else {
			cursor := map[uint16]int{}
			seen := 0
			for ; next < len(list) && list[next].idx == i; next++ {
				src := list[next].src
				at, ok := cursor[src]
				if !ok {
					at = sort.Search(len(group), func(k int) bool { return group[k].src >= src })
				}
				for at < len(group) && group[at].src == src && !there(group[at].col) {
					at++
				}
				if at == len(group) || group[at].src != src {
					return compared, fmt.Errorf("%w: output %d was given a product by SPU %d, which has no more for it", ErrCheck, i, src)
				}
				add(product(group[at]))
				cursor[src] = at + 1
				seen++
			}
			if seen != active {
				return compared, fmt.Errorf("%w: output %d was given %d products of %d", ErrCheck, i, seen, active)
			}
		}
		want := math.Float32bits(sum)
		if first {
			want = r.ring.Clean
		}
		if got := r.out[i]; got != want {
			return compared, fmt.Errorf("%w: output %d is %v, its products in the order of their arrival give %v", ErrCheck, i, math.Float32frombits(got), math.Float32frombits(want))
		}
		compared++
	}
	if next != len(list) {
		return compared, fmt.Errorf("%w: a product reached output %d, whose row has none", ErrCheck, list[next].idx)
	}
	return compared, nil
}
