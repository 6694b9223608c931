package system

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/tile"
	"github.com/bitsched/bitsched/tile/tc"
	"github.com/bitsched/bitsched/tile/tensor"
)

// Work is a piece of what the execution of a program gives: commands, transfers and
// moments. It has no time; clocks give it one.
type Work struct {
	Kind     WorkKind
	Name     string // of the region; of the array, of a transfer; spill, of words that have no rows
	Plan     *lowering.Plan
	Commands []lowering.Command // Lowered and Executed; none of the latter is Near

	JIT tile.JITWork // Lowered: what the lowering took

	// Of what is done near the memory: where, and how many SIMD operations in all. Clocks of the
	// part in memory give it no time.
	Walks  []tc.Walk
	Ops    int64
	InTurn bool // Streamed, without walks: an iteration may need what others did

	// Of a transfer.
	Address uint64
	Bytes   int64
	Moved   int64        // bytes that go to or from the cells; others of the lines do not
	Runs    []tensor.Run // the lines, where they are not all behind Address
	Load    bool         // to the arrays, not from them
	Clean   bool         // memory has the same bytes, unless a cache had newer ones
	Fresh   *fresh       // elements that the region writes and does not read
}

// WorkKind is what a piece of work is.
type WorkKind uint8

// The kinds of work, each with what it waits for.
const (
	RegionBegins WorkKind = iota
	RegionEnds
	RegionNear  // a region was executed near the memory, which has no time
	Lowered     // a core made the commands of a plan; arrays wait for it
	Transferred // an array, or a spilled word, went to memory or came from there, when all before was done
	Finals      // the last steps of a reduction over several tiles, near the memory
	Streamed    // streams of a region were executed near the memory
	Executed    // commands of a plan, each bank one after another; a Sync waits for all banks and packets
)

// consumer takes work in the order of its execution.
type consumer interface {
	Consume(ctx context.Context, w *Work) error
}

// Clock gives work its time. Work is handed to it as it is executed, whatever the clock,
// so that bits and counts do not depend on it.
type Clock interface {
	// Consume takes the next piece of work. The clock must not keep it: commands are
	// those of others afterwards.
	Consume(ctx context.Context, w *Work) error

	// Now returns the cycle at which everything so far is done.
	Now(ctx context.Context) (int64, error)

	// Cycles returns where the time went, and ByteHops what packets took in the network.
	Cycles() Cycles
	ByteHops() int64
}

// ClockKind is how work gets its time.
type ClockKind uint8

// The clocks.
const (
	Analytic ClockKind = iota // by formulas, and the packets of each shift by themselves
	Event                     // by components of an event engine, which wait for each other
)

func (k ClockKind) String() string { return [...]string{"analytic", "event"}[k] }

// ParseClock returns the clock of that name.
func ParseClock(name string) (ClockKind, error) {
	for _, k := range []ClockKind{Analytic, Event} {
		if k.String() == name {
			return k, nil
		}
	}
	return 0, fmt.Errorf("system: clock %q, expected analytic or event", name)
}

// lines returns the bytes of a transfer by where they are in memory.
func (w *Work) lines() []tensor.Run {
	if w.Runs != nil {
		return w.Runs
	}
	return []tensor.Run{{Address: w.Address, Bytes: w.Bytes}}
}
