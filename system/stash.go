package system

import (
	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/tile"
)

// A word for which bitlines have no row goes to rows of arrays that hold nothing, if there are as
// many of those as of others, and comes back from there, by a shift between tiles; else to memory.
// Section 6 leaves spilling as future work.

// stash returns the commands of a step that spills or reloads; nil if memory has its slot: that of an
// array of fewer dimensions than the lattice, too, which has few elements beside a word of all bitlines. Slots
// of a plan lie one above the other in the arrays behind those of the lattice.
func (r *runner) stash(p *lowering.Plan, step int) []lowering.Command {
	m, tiles := r.opt.Machine, r.grid().Tiles()
	dist, row := tiles, 0
	slot := p.Steps[step].Slot
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Kind != lowering.SpillStep {
			continue
		}
		if p.Small(s) {
			if s.Slot == slot {
				return nil
			}
			continue
		}
		if row+s.Src.Bits > m.UsableRows() {
			dist, row = dist+tiles, 0
		}
		if dist+tiles > m.Arrays() || s.Src.Bits > m.UsableRows() {
			return nil
		}
		if s.Slot == slot {
			break
		}
		row += s.Src.Bits
	}
	s := &p.Steps[step]
	k := lowering.Command{Kind: lowering.ShiftInter, Step: int32(step), Whole: true, Copies: 1, TileStride: 1}
	if s.Kind == lowering.SpillStep {
		k.Tiles, k.TileDist = lowering.Consecutive(0, tiles), int32(dist)
		k.Src, k.Dst, k.Rows = int32(s.Src.Row), int32(row), int32(s.Src.Bits)
	} else {
		k.Tiles, k.TileDist = lowering.Consecutive(dist, tiles), int32(-dist)
		k.Src, k.Dst, k.Rows = int32(row), int32(s.Dst.Row), int32(s.Dst.Bits)
	}
	return []lowering.Command{k, {Kind: lowering.Sync, Step: int32(step)}}
}

// stashCycles returns what that takes in an idle network: the H-trees, or the flits of the
// packets at the bank that has most.
func stashCycles(m *tile.Machine, t tile.Timing, k *lowering.Command) int64 {
	parts, flows := shiftBetween(m, t, k)
	var n int64
	for _, x := range parts {
		n = max(n, x.Cycles)
	}
	in, out := make([]int64, m.Banks()), make([]int64, m.Banks())
	for _, f := range flows {
		flits := int64(f.Packets) * int64(t.Flits())
		out[f.From] += flits
		in[f.To] += flits
		n = max(n, out[f.From], in[f.To])
	}
	return n + t.Sync(m.Banks())
}
