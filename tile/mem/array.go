package mem

import (
	"fmt"
	"math/bits"
	"unsafe"

	"github.com/bitsched/bitsched/internal/hugepage"
	"github.com/bitsched/bitsched/internal/prefetch"
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
	// TreePLRU points away from what was used last, by a bit for each inner node of a tree
	// over the ways, which are a power of two.
	TreePLRU = "tree-plru"
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
	case s.Policy != LRU && s.Policy != BRRIP && s.Policy != TreePLRU:
		return fmt.Errorf("mem: %s with policy %q, expected %s, %s or %s", name, s.Policy, LRU, BRRIP, TreePLRU)
	case s.Policy == TreePLRU && s.Ways&(s.Ways-1) != 0:
		return fmt.Errorf("mem: %s of %d ways with %s, expected a power of two", name, s.Ways, TreePLRU)
	case s.NearShare < 0 || s.NearShare > 1:
		return fmt.Errorf("mem: %s with a near share of %g, expected 0 to 1", name, s.NearShare)
	}
	return nil
}

// way is a line of an array in a word, so that a set lies in a few lines of the host:
// the line above its state, whether it was written since it came from the level below,
// whether it was prefetched and not used since, and what BRRIP predicts.
type way uint64

const (
	stateBits     = 1<<4 - 1
	dirtyBit  way = 1 << 4
	aheadBit  way = 1 << 5 // prefetched, and not used since
	reuse         = 6      // place of the prediction of 2 bits
	reuseBits     = way(distant) << reuse
	lineShift     = 8      // of one more than the line
	empty         = way(0) // in state I, and equal to no line; what is never used need not be touched

	maxLine = 1<<(64-lineShift) - 1

	soon    = 0 // predictions of the next use
	distant = 3
)

func (w way) line() Line     { return Line(w>>lineShift) - 1 }
func (w way) state() State   { return State(w & stateBits) }
func (w way) dirty() bool    { return w&dirtyBit != 0 }
func (w way) reused() uint64 { return uint64(w & reuseBits >> reuse) }

// array has tags and data. Banks share lines out: a bank gets interleave lines, the
// next bank the next ones.
type array struct {
	ways             []way
	marks            []uint64 // a byte for each way of a set, that of the line it has or had; eight ways to a word
	data             []Bytes
	used             []uint64 // LRU: when
	assoc            int
	limit            int // ways of a set that lines may come to
	words            int // of marks of a set
	sets             uint64
	mask             uint64 // of sets, if they are a power of two
	banks            uint64
	interleave       uint64
	inner, outer     uint8 // logarithms of the interleave and of that of all banks, if they are powers of two
	shifts           bool  // they are
	brrip            bool
	tree             []uint64 // TreePLRU, of each set: bit k of node k, 1 is the root; set: to the right
	near             uint64   // of 2^32
	random, sequence uint64
}

// newArray returns an empty array, whose tables lie in a slab.
func newArray(memory *hugepage.Slab, s ArraySpec, banks, interleave int, seed uint64) *array {
	a := newTags(memory, s, banks, interleave, seed)
	a.data = hugepage.Make[Bytes](memory, len(a.ways))
	return a
}

// newTags returns an array without data.
func newTags(memory *hugepage.Slab, s ArraySpec, banks, interleave int, seed uint64) *array {
	n := s.Bytes / LineBytes
	a := &array{ways: hugepage.Make[way](memory, n), assoc: s.Ways, limit: s.Ways, sets: uint64(n / s.Ways), banks: uint64(banks),
		words: (s.Ways + 7) / 8, brrip: s.Policy == BRRIP, near: uint64(s.NearShare * (1 << 32)), random: seed}
	a.marks = hugepage.Make[uint64](memory, int(a.sets)*a.words)
	if a.sets&(a.sets-1) == 0 {
		a.mask = a.sets - 1
	}
	a.share(interleave)
	switch {
	case s.Policy == TreePLRU:
		a.tree = make([]uint64, a.sets)
	case !a.brrip:
		a.used = hugepage.Make[uint64](memory, n)
	}
	return a
}

// share lets banks have so many lines in turn.
func (a *array) share(lines int) {
	a.interleave, a.shifts = uint64(lines), false
	if all := a.interleave * a.banks; a.interleave&(a.interleave-1)|all&(all-1) == 0 {
		a.inner, a.outer, a.shifts = uint8(bits.TrailingZeros64(a.interleave)), uint8(bits.TrailingZeros64(all)), true
	}
}

// set is the number of the set of a line.
func (a *array) set(line Line) int {
	switch {
	case a.banks == 1:
	case a.shifts:
		line = line>>(a.outer&63)<<(a.inner&63) | line&(1<<(a.inner&63)-1)
	default:
		line = line/(a.interleave*a.banks)*a.interleave + line%a.interleave
	}
	if a.mask != 0 {
		return int(line & a.mask)
	}
	return int(line % a.sets)
}

// Words of eight bytes.
const (
	eachByte = ^uint64(0) / 0xff
	tops     = eachByte << 7
)

// mark is a byte of a line by which most others are told apart without a look at their
// ways. It is not 0, which ways that were never used have.
func mark(line Line) uint64 { return line*0x9e3779b97f4a7c15>>57 + 1 }

// find returns the index of a line, -1 if it is not there.
func (a *array) find(line Line) int {
	set := a.set(line)
	marked := mark(line) * eachByte
	for k, w := range a.marks[set*a.words:][:a.words] {
		w ^= marked
		// The lowest byte of w that is 0 is found; others may look like it.
		for m := (w - eachByte) &^ w & tops; m != 0; m &= m - 1 {
			i := set*a.assoc + k<<3 + bits.TrailingZeros64(m)>>3
			if i < len(a.ways) && Line(a.ways[i]>>lineShift) == line+1 {
				return i
			}
		}
	}
	return -1
}

// prefetch brings what find and victim look at into the caches of the host.
func (a *array) prefetch(line Line) {
	set := a.set(line)
	prefetch.Lines(unsafe.Pointer(&a.marks[set*a.words]), 1)
	first := set * a.assoc
	prefetch.Lines(unsafe.Pointer(&a.ways[first]), (a.assoc+7)/8)
	if a.used != nil {
		prefetch.Lines(unsafe.Pointer(&a.used[first]), (a.assoc+7)/8)
	}
}

// prefetchData brings the bytes of a line into the caches of the host, if it is there,
// and else those that it would displace. What prefetch brings should be there.
func (a *array) prefetchData(line Line) {
	i := a.find(line)
	if i < 0 {
		i = a.candidate(line)
	}
	prefetch.Lines(unsafe.Pointer(&a.data[i]), 1)
}

func (a *array) state(i int) State { return a.ways[i].state() }

// become leaves a line in another state; in I it is gone.
func (a *array) become(i int, state State) {
	if state == I {
		a.drop(i)
		return
	}
	a.ways[i] = a.ways[i]&^stateBits | way(state)
}

// drop empties a way.
func (a *array) drop(i int) { a.ways[i] = empty }

// written notes whether a line differs from the level below.
func (a *array) written(i int, dirty bool) {
	a.ways[i] &^= dirtyBit
	if dirty {
		a.ways[i] |= dirtyBit
	}
}

// ahead notes whether a line was prefetched and waits for its first use.
func (a *array) ahead(i int, prefetched bool) {
	a.ways[i] &^= aheadBit
	if prefetched {
		a.ways[i] |= aheadBit
	}
}

// touch notes a use.
func (a *array) touch(i int) {
	if a.brrip {
		a.ways[i] &^= reuseBits
		return
	}
	if a.tree != nil {
		a.point(i)
		return
	}
	a.sequence++
	a.used[i] = a.sequence
}

// victim returns the way of the line's set that is to be replaced, an empty one if
// there is one.
func (a *array) victim(line Line) int {
	i := a.candidate(line)
	if !a.brrip || a.ways[i] == empty {
		return i
	}
	// All come nearer to being replaced until one is.
	if more := (distant - a.ways[i].reused()) << reuse; more > 0 {
		first := a.set(line) * a.assoc
		set := a.ways[first : first+a.assoc]
		for k := range set {
			set[k] += way(more)
		}
	}
	return i
}

// candidate is the victim, and changes nothing.
func (a *array) candidate(line Line) int {
	first := a.set(line) * a.assoc
	set := a.ways[first : first+a.limit]
	if a.tree != nil {
		return a.pointed(first)
	}
	best := 0
	if !a.brrip {
		used := a.used[first : first+a.assoc]
		for k, w := range set {
			if w == empty {
				return first + k
			}
			if used[k] < used[best] {
				best = k
			}
		}
		return first + best
	}
	for k, w := range set {
		if w == empty {
			return first + k
		}
		if w&reuseBits > set[best]&reuseBits {
			best = k
		}
	}
	return first + best
}

// point lets the tree of a set point away from a way.
func (a *array) point(i int) {
	bits := &a.tree[i/a.assoc]
	for node := i%a.assoc + a.assoc; node > 1; node /= 2 {
		*bits &^= 1 << (node / 2)
		*bits |= uint64(node&1^1) << (node / 2)
	}
}

// pointed returns the way that the tree of a set points to, or the first empty one.
func (a *array) pointed(first int) int {
	for k, w := range a.ways[first : first+a.assoc] {
		if w == empty {
			return first + k
		}
	}
	node := 1
	for node < a.assoc {
		node = 2*node + int(a.tree[first/a.assoc]>>node&1)
	}
	return first + node - a.assoc
}

// insert puts a line into a way that is empty.
func (a *array) insert(i int, line Line, state State) {
	if line >= maxLine {
		panic(fmt.Sprintf("mem: line %#x, expected below %#x", line, Line(maxLine)))
	}
	w := way(line+1)<<lineShift | way(state)
	at := i // among the marks
	if a.assoc&7 != 0 {
		at = i/a.assoc*a.words<<3 + i%a.assoc
	}
	a.marks[at>>3] = a.marks[at>>3]&^(0xff<<(at&7*8)) | mark(line)<<(at&7*8)
	if !a.brrip {
		a.ways[i] = w
		a.touch(i)
		return
	}
	prediction := way(distant)
	if splitmix(&a.random)>>32 < a.near {
		prediction = distant - 1
	}
	a.ways[i] = w | prediction<<reuse
}

func splitmix(state *uint64) uint64 {
	*state += 0x9e3779b97f4a7c15
	z := *state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
