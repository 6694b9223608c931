package mem

import (
	"fmt"
)

// LineBytes is the size of a line everywhere.
const LineBytes = 64

// Line is a line's number: its address divided by [LineBytes].
type Line = uint64

// Bytes are the contents of a line.
type Bytes = [LineBytes]byte

// Replacement policies.
const (
	LRU   = "lru"   // least recently used
	BRRIP = "brrip" // bimodal re-reference interval prediction (Jaleel, ISCA 2010)
)

// ArraySpec is the storage of a cache.
type ArraySpec struct {
	Bytes  int    `yaml:"bytes" json:"bytes"`
	Ways   int    `yaml:"ways" json:"ways"`
	Policy string `yaml:"policy" json:"policy"`
	// NearShare is the share of lines that BRRIP inserts as if they were used again
	// soon: 0.03 in table 2 of Infinity Stream.
	NearShare float64 `yaml:"near_share,omitempty" json:"near_share,omitempty"`
}

// Validate refuses what cannot be built; name says which cache it is.
func (s *ArraySpec) Validate(name string) error {
	switch {
	case s.Ways < 1 || s.Ways > 64:
		return fmt.Errorf("mem: %s of %d ways, expected 1 to 64", name, s.Ways)
	case s.Bytes < s.Ways*LineBytes || s.Bytes%(s.Ways*LineBytes) != 0 || s.Bytes > 1<<30:
		return fmt.Errorf("mem: %s of %d bytes, expected a multiple of %d ways of %d bytes, at most 1 GiB", name, s.Bytes, s.Ways, LineBytes)
	case s.Policy != LRU && s.Policy != BRRIP:
		return fmt.Errorf("mem: %s with policy %q, expected %s or %s", name, s.Policy, LRU, BRRIP)
	case s.NearShare < 0 || s.NearShare > 1:
		return fmt.Errorf("mem: %s with a near share of %g, expected 0 to 1", name, s.NearShare)
	}
	return nil
}

// way is a line of an array.
type way struct {
	line       Line
	used       uint64 // LRU: when; BRRIP: the prediction, 0 (soon) to 3
	state      State  // I: empty
	dirty      bool   // written since it came from the level below
	prefetched bool   // and not used since
}

// array has tags and data. Banks share lines out: a bank gets interleave lines, the
// next bank the next ones.
type array struct {
	ways             []way
	data             []Bytes
	assoc            int
	sets             uint64
	banks            uint64
	interleave       uint64
	brrip            bool
	near             uint64 // of 2^32
	random, sequence uint64
}

const (
	soon    = 0
	distant = 3
)

func newArray(s ArraySpec, banks, interleave int, seed uint64) *array {
	n := s.Bytes / LineBytes
	return &array{ways: make([]way, n), data: make([]Bytes, n), assoc: s.Ways, sets: uint64(n / s.Ways), banks: uint64(banks), interleave: uint64(interleave),
		brrip: s.Policy == BRRIP, near: uint64(s.NearShare * (1 << 32)), random: seed}
}

// first is the index of the first way of the line's set.
func (a *array) first(line Line) int {
	if a.banks > 1 {
		line = line/(a.interleave*a.banks)*a.interleave + line%a.interleave
	}
	if a.sets&(a.sets-1) == 0 {
		return int(line&(a.sets-1)) * a.assoc
	}
	return int(line%a.sets) * a.assoc
}

// find returns the index of a line, -1 if it is not there.
func (a *array) find(line Line) int {
	i := a.first(line)
	for k := i; k < i+a.assoc; k++ {
		if a.ways[k].line == line && a.ways[k].state != I {
			return k
		}
	}
	return -1
}

// touch notes a use.
func (a *array) touch(i int) {
	if a.brrip {
		a.ways[i].used = soon
		return
	}
	a.sequence++
	a.ways[i].used = a.sequence
}

// victim returns the way of the line's set that is to be replaced, an empty one if
// there is one.
func (a *array) victim(line Line) int {
	first := a.first(line)
	set := a.ways[first : first+a.assoc]
	best := 0
	for k := range set {
		if set[k].state == I {
			return first + k
		}
		if set[k].used < set[best].used {
			best = k
		}
	}
	if !a.brrip {
		return first + best
	}
	for {
		for k := range set {
			if set[k].used >= distant {
				return first + k
			}
		}
		for k := range set {
			set[k].used++
		}
	}
}

// insert puts a line into a way that is empty.
func (a *array) insert(i int, line Line, state State) {
	a.ways[i] = way{line: line, state: state}
	if !a.brrip {
		a.touch(i)
		return
	}
	a.ways[i].used = distant
	if splitmix(&a.random)>>32 < a.near {
		a.ways[i].used = distant - 1
	}
}

func splitmix(state *uint64) uint64 {
	*state += 0x9e3779b97f4a7c15
	z := *state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
