package lowering

import (
	"fmt"
	"strings"
)

// CommandKind is what a command does.
type CommandKind uint8

// The kinds of commands. What a command moves, it moves for all rows of a word.
const (
	Compute    CommandKind = iota // the program of its step
	Copy                          // rows to other rows of the same bitlines
	ShiftIntra                    // bits to other bitlines of their tile
	ShiftInter                    // bits to other tiles, perhaps to several
	Fill                          // the value of its step's node, or Value, on all bitlines
	Sync                          // waits until what was shifted between tiles has arrived
	Near                          // the step is executed near the memory
)

var commandNames = [...]string{"compute", "copy", "shift", "xshift", "fill", "sync", "near"}

func (k CommandKind) String() string { return commandNames[k] }

// Command is what a tensor controller executes: on some bitlines of some tiles, the
// same for all of them. Commands of a bank are executed one after another.
type Command struct {
	Kind            CommandKind
	Step            int32 // of the plan
	Whole           bool  // all bitlines of the tiles; Bitlines does not count
	Tiles, Bitlines Pattern

	Src, Dst, Rows int32 // first rows, and how many

	// Bits of tile t and bitline b go to bitline b+BitlineDist of the tiles
	// t+TileDist, t+TileDist+TileStride and so on, Copies in all.
	BitlineDist, TileDist int32
	Copies, TileStride    int32

	// Part has which execution of a step's program is meant: the rounds of a
	// reduction have several.
	Part int32

	Immediate bool // of a Fill: Value counts, not the node
	Value     uint64
}

// String returns the command in the form of the paper's figure 9: an operation,
// bitlines and tiles as patterns, rows, distances.
func (c Command) String() string {
	var b strings.Builder
	b.WriteString(c.Kind.String())
	if c.Kind == Sync || c.Kind == Near {
		return b.String()
	}
	bitlines := "all"
	if !c.Whole {
		bitlines = c.Bitlines.String()
	}
	fmt.Fprintf(&b, " bitlines %s tiles %s", bitlines, c.Tiles)
	switch c.Kind {
	case Copy:
		fmt.Fprintf(&b, " rows %d+%d to %d", c.Src, c.Rows, c.Dst)
	case ShiftIntra:
		fmt.Fprintf(&b, " rows %d+%d to %d by %+d bitlines", c.Src, c.Rows, c.Dst, c.BitlineDist)
	case ShiftInter:
		fmt.Fprintf(&b, " rows %d+%d to %d by %+d tiles %+d bitlines", c.Src, c.Rows, c.Dst, c.TileDist, c.BitlineDist)
		if c.Copies > 1 {
			fmt.Fprintf(&b, " x%d every %d tiles", c.Copies, c.TileStride)
		}
	case Fill:
		fmt.Fprintf(&b, " rows %d+%d", c.Dst, c.Rows)
	}
	return b.String()
}
