package mem

import (
	"fmt"
	"math/bits"

	"github.com/bitsched/bitsched/internal/hugepage"
	"github.com/bitsched/bitsched/tile/event"
)

// TLBSpec is the translation of addresses: a first TLB in the time of the L1, a
// second one, and a walker of page tables that takes a fixed time.
type TLBSpec struct {
	PageBytes int `yaml:"page_bytes" json:"page_bytes"`
	L1Entries int `yaml:"l1_entries" json:"l1_entries"`
	L1Ways    int `yaml:"l1_ways" json:"l1_ways"`
	L2Entries int `yaml:"l2_entries" json:"l2_entries"`
	L2Ways    int `yaml:"l2_ways" json:"l2_ways"`
	L2Latency int `yaml:"l2_latency_cycles" json:"l2_latency_cycles"`
	Walk      int `yaml:"walk_cycles" json:"walk_cycles"`
	Walkers   int `yaml:"walkers" json:"walkers"` // walks at once
}

// Validate refuses what cannot be built.
func (s *TLBSpec) Validate() error {
	if s.PageBytes < LineBytes || s.PageBytes&(s.PageBytes-1) != 0 {
		return fmt.Errorf("mem: pages of %d bytes, expected a power of two of at least %d", s.PageBytes, LineBytes)
	}
	for _, p := range []struct {
		name          string
		entries, ways int
	}{{"first", s.L1Entries, s.L1Ways}, {"second", s.L2Entries, s.L2Ways}} {
		if p.ways < 1 || p.entries < p.ways || p.entries%p.ways != 0 || p.entries > 1<<20 {
			return fmt.Errorf("mem: %s TLB of %d entries and %d ways, expected a multiple of its ways", p.name, p.entries, p.ways)
		}
	}
	if s.L2Latency < 0 || s.Walk < 0 || s.L2Latency > 100 || s.Walk > 100 || s.Walkers < 1 || s.Walkers > 64 {
		return fmt.Errorf("mem: TLB with %d cycles, walks of %d, %d at once, expected at most 100, 100 and 1 to 64", s.L2Latency, s.Walk, s.Walkers)
	}
	return nil
}

// TLBCounters are what the TLBs of a core have done.
type TLBCounters struct {
	Accesses uint64 `json:"accesses" desc:"translations"`
	L1Misses uint64 `json:"l1_misses" desc:"of these, not in the first TLB"`
	L2Misses uint64 `json:"l2_misses" desc:"of these, not in the second one: walks"`
}

// TLB translates addresses to themselves, in time.
type TLB struct {
	Counters TLBCounters
	spec     *TLBSpec
	l1, l2   *array
	last     uint64
	shift    uint8 // logarithm of the bytes of a page
	walkers  []event.Time
}

// NewTLB returns empty TLBs, whose tables lie in a slab.
func NewTLB(spec *TLBSpec, memory *hugepage.Slab) *TLB {
	size := func(entries, ways int) *array {
		return newTags(memory, ArraySpec{Bytes: entries * LineBytes, Ways: ways, Policy: LRU}, 1, 1, 0)
	}
	return &TLB{spec: spec, l1: size(spec.L1Entries, spec.L1Ways), l2: size(spec.L2Entries, spec.L2Ways), last: ^uint64(0),
		shift: uint8(bits.TrailingZeros64(uint64(spec.PageBytes))), walkers: make([]event.Time, spec.Walkers)}
}

// Idle forgets the times of walks.
func (t *TLB) Idle() { clear(t.walkers) }

// Translate gives the cycles that a translation takes beyond those of a hit in the
// first TLB.
func (t *TLB) Translate(now event.Time, addr uint64) int {
	t.Counters.Accesses++
	page := addr >> (t.shift & 63)
	if page == t.last {
		return 0
	}
	t.last = page
	if i := t.l1.find(page); i >= 0 {
		t.l1.touch(i)
		return 0
	}
	t.Counters.L1Misses++
	t.l1.insert(t.l1.victim(page), page, S)
	if i := t.l2.find(page); i >= 0 {
		t.l2.touch(i)
		return t.spec.L2Latency
	}
	t.Counters.L2Misses++
	t.l2.insert(t.l2.victim(page), page, S)
	best := 0
	for i := range t.walkers {
		if t.walkers[i] < t.walkers[best] {
			best = i
		}
	}
	start := max(now+event.Time(t.spec.L2Latency), t.walkers[best])
	t.walkers[best] = start + event.Time(t.spec.Walk)
	// The wait of a core for its walker is bounded: more than that are not modelled.
	return int(min(t.walkers[best]-now, 200))
}
