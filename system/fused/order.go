package fused

import (
	"maps"
	"slices"

	"github.com/bitsched/bitsched/tile/mem"
	"github.com/bitsched/bitsched/tile/tc"
)

// inTurn puts the lines of a bank in the order in which it asks for them: those of each group of
// memory in order, those together that one message is about, and groups in turn, each bank from
// another one on. Controllers and groups of banks of a DRAM then work side by side.
func inTurn(lines *tc.Lines, group func(mem.Line) int) {
	rest := lines.Lines[lines.Whole:]
	of := map[int][]mem.Line{}
	for _, l := range rest {
		of[group(l)] = append(of[group(l)], l)
	}
	turn := slices.Sorted(maps.Keys(of))
	for i, g := 0, lines.Bank; i < len(rest); g++ {
		list := of[turn[g%len(turn)]]
		n := 0
		for n < len(list) && list[n]/mem.Batch == list[0]/mem.Batch {
			n++
		}
		i += copy(rest[i:], list[:n])
		of[turn[g%len(turn)]] = list[n:]
	}
}
