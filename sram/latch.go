package sram

import (
	"fmt"
	"iter"
	"math/bits"
	"strings"
)

// Latch is a set of the bits that a bitline keeps beside its rows: latches of its
// peripheral, or rows that only some instructions of a technology reach.
type Latch uint8

// maxLatches is how many latches all technologies together have.
const maxLatches = 8

var latchNames []string

// newLatch makes a latch known.
func newLatch(name string) Latch {
	if len(latchNames) == maxLatches {
		panic("sram: too many latches")
	}
	latchNames = append(latchNames, name)
	return 1 << (len(latchNames) - 1)
}

// String returns the names of the latches of the set.
func (l Latch) String() string {
	var names []string
	for each := range l.Each() {
		if i := bits.TrailingZeros8(uint8(each)); i < len(latchNames) {
			names = append(names, latchNames[i])
		} else {
			names = append(names, fmt.Sprintf("latch(%d)", i))
		}
	}
	return strings.Join(names, ", ")
}

// Each yields the latches of the set one by one.
func (l Latch) Each() iter.Seq[Latch] {
	return func(yield func(Latch) bool) {
		for ; l != 0; l &= l - 1 {
			if !yield(l & -l) {
				return
			}
		}
	}
}

// one reports whether the set is one latch that there is.
func (l Latch) one() bool {
	return bits.OnesCount8(uint8(l)) == 1 && int(l) < 1<<len(latchNames)
}

// slot returns the slot of a State that holds the latch, which is one.
func (l Latch) slot() uint32 { return slotLatches + uint32(bits.TrailingZeros8(uint8(l))) }
