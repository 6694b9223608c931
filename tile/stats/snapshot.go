package stats

import (
	"fmt"
	"regexp"
)

// Snapshot has the values of counters at one time, or between two.
type Snapshot struct {
	entries []entry // those of the registry at that time
	values  []datum // nil for formulas
	cycles  int64
	index   map[string]int // made when it is needed
}

// datum is a value that can be added and subtracted; both are of the same type.
type datum interface {
	add(d datum, beside bool) datum // of another time, or of a component beside this one
	sub(datum) datum
	value() float64 // count, sum or mean
}

type (
	count        uint64
	number       float64
	vector       []uint64
	histogram    struct{ Histogram }
	distribution struct{ Distribution }
	level        struct {
		area   uint64
		cycles int64
		most   uint64
	}
)

func (c count) add(d datum, _ bool) datum { return c + d.(count) }
func (c count) sub(d datum) datum         { return c - d.(count) }
func (c count) value() float64            { return float64(c) }

func (n number) add(d datum, _ bool) datum { return n + d.(number) }
func (n number) sub(d datum) datum         { return n - d.(number) }
func (n number) value() float64            { return float64(n) }

func (v vector) add(d datum, _ bool) datum {
	return v.combine(d.(vector), func(a, b uint64) uint64 { return a + b })
}
func (v vector) sub(d datum) datum {
	return v.combine(d.(vector), func(a, b uint64) uint64 { return a - b })
}
func (v vector) combine(w vector, f func(a, b uint64) uint64) datum {
	sum := make(vector, max(len(v), len(w)))
	copy(sum, v)
	for i, n := range w {
		sum[i] = f(sum[i], n)
	}
	return sum
}
func (v vector) total() (sum uint64) {
	for _, n := range v {
		sum += n
	}
	return sum
}
func (v vector) value() float64 { return float64(v.total()) }

func (h histogram) add(d datum, _ bool) datum {
	g, sum := d.(histogram), Histogram{}
	sum.Add(&h.Histogram)
	sum.Add(&g.Histogram)
	return histogram{sum}
}
func (h histogram) sub(d datum) datum {
	g := d.(histogram)
	return histogram{h.Histogram.sub(&g.Histogram)}
}
func (h histogram) value() float64 { return h.Mean() }

func (v distribution) add(d datum, _ bool) datum {
	g := d.(distribution)
	v.Distribution.Add(&g.Distribution)
	return v
}
func (v distribution) sub(d datum) datum {
	g := d.(distribution)
	return distribution{v.Distribution.sub(&g.Distribution)}
}
func (v distribution) value() float64 { return v.Mean() }

// add takes levels of components beside each other as one: queues of a machine hold
// so many items together. Their greatest values need not be at the same time, so
// that the sum is a bound.
func (l level) add(d datum, beside bool) datum {
	g := d.(level)
	if beside {
		return level{l.area + g.area, max(l.cycles, g.cycles), l.most + g.most}
	}
	return level{l.area + g.area, l.cycles + g.cycles, max(l.most, g.most)}
}
func (l level) sub(d datum) datum {
	g := d.(level)
	return level{l.area - g.area, l.cycles - g.cycles, l.most}
}
func (l level) value() float64 {
	if l.cycles <= 0 {
		return 0
	}
	return float64(l.area) / float64(l.cycles)
}

// Snapshot copies the values of all counters at a cycle.
func (r *Registry) Snapshot(now int64) *Snapshot {
	s := &Snapshot{entries: r.stats[:len(r.stats):len(r.stats)], values: make([]datum, len(r.stats)), cycles: now}
	for i, e := range s.entries {
		if e.of == nil {
			s.values[i] = e.read(now)
		}
	}
	return s
}

// Sub returns what was counted between an earlier snapshot of the same registry and
// this one. Groups that were registered in between count from 0.
func (s *Snapshot) Sub(earlier *Snapshot) *Snapshot {
	d := &Snapshot{entries: s.entries, values: make([]datum, len(s.values)), cycles: s.cycles - earlier.cycles}
	for i, v := range s.values {
		if v != nil && i < len(earlier.values) {
			if earlier.entries[i].Name != s.entries[i].Name {
				panic("stats: difference of snapshots of two registries")
			}
			v = v.sub(earlier.values[i])
		}
		d.values[i] = v
	}
	return d
}

// Add returns the sum of two snapshots of parts of a run: stats of the same name are
// added, the others are in the sum as they are.
func (s *Snapshot) Add(other *Snapshot) *Snapshot {
	sum := &Snapshot{entries: append([]entry(nil), s.entries...), values: append([]datum(nil), s.values...), cycles: s.cycles + other.cycles}
	for i, e := range other.entries {
		sum.accumulate(e, other.values[i], false)
	}
	return sum
}

// accumulate adds a value to that of the same name, or behind all others.
func (s *Snapshot) accumulate(e entry, v datum, beside bool) {
	at := s.find(e.Name)
	if at < 0 {
		s.index[e.Name] = len(s.entries)
		s.entries = append(s.entries, e)
		s.values = append(s.values, v)
	} else if v != nil {
		s.values[at] = s.values[at].add(v, beside)
	}
}

// Fold returns the snapshot with components that differ by their index only taken as
// one: the stats of system.l2[0], system.l2[1] and so on are added up as those of
// system.l2. Formulas of single components are left out, since they are no sums.
func (s *Snapshot) Fold() *Snapshot {
	sum := &Snapshot{cycles: s.cycles}
	for i, e := range s.entries {
		name := indices.ReplaceAllString(e.Name, "")
		if e.of != nil && name != e.Name {
			continue
		}
		e.Name = name
		sum.accumulate(e, s.values[i], true)
	}
	return sum
}

var indices = regexp.MustCompile(`\[[0-9]+\]`)

// Cycles returns the cycles that the snapshot is about.
func (s *Snapshot) Cycles() int64 { return s.cycles }

func (s *Snapshot) find(name string) int {
	if s.index == nil {
		s.index = make(map[string]int, len(s.entries))
		for i, e := range s.entries {
			s.index[e.Name] = i
		}
	}
	if i, ok := s.index[name]; ok {
		return i
	}
	return -1
}

// Value returns the value of a stat: a count, the sum of the parts, a mean, or a
// formula. Formulas may ask for other stats by it. It panics if there is none of the name.
func (s *Snapshot) Value(name string) float64 {
	i := s.find(name)
	if i < 0 {
		panic(fmt.Sprintf("stats: no stat %s", name))
	}
	return s.at(i)
}

// Has tells whether there is a stat of a name.
func (s *Snapshot) Has(name string) bool { return s.find(name) >= 0 }

func (s *Snapshot) at(i int) float64 {
	if f := s.entries[i].of; f != nil {
		return f(s)
	}
	return s.values[i].value()
}

// Quantile returns a quantile of a stat that is a [Histogram]; it panics for others.
func (s *Snapshot) Quantile(name string, q float64) uint64 {
	if i := s.find(name); i >= 0 {
		if h, ok := s.values[i].(histogram); ok {
			return h.Quantile(q)
		}
	}
	panic(fmt.Sprintf("stats: no histogram %s", name))
}
