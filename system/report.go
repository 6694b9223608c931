package system

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/bitsched/bitsched/sram/cost"
)

// Report is what a run did. Cycles are those of the modelled machine.
type Report struct {
	Tile   string `json:"tile"`   // shape of the tiles; "" if nothing was executed in memory
	Arrays int    `json:"arrays"` // SRAM arrays that hold the data

	Regions     int64    `json:"regions"`      // executed
	NearRegions int64    `json:"near_regions"` // of these, near the memory as a whole
	Reasons     []string `json:"reasons"`      // why

	Cycles Cycles `json:"cycles"`

	Commands   int64 `json:"commands"`
	Memoized   int64 `json:"memoized"` // regions whose commands were there already
	Syncs      int64 `json:"syncs"`
	NearSteps  int64 `json:"near_steps"`
	Operations int64 `json:"operations"` // of elements, in memory
	RowOps     int64 `json:"row_ops"`    // cycles of arrays
	NearOps    int64 `json:"near_ops"`   // operations of elements near the memory
	FinalOps   int64 `json:"final_ops"`  // of these, the last steps of reductions over several tiles

	// Instructions of all arrays, by what they do to rows; see [Report.Energy].
	Instructions cost.Kinds `json:"array_instructions"`

	IntraBytes int64 `json:"intra_tile_bytes"`
	InterBytes int64 `json:"inter_tile_bytes"`
	ByteHops   int64 `json:"noc_byte_hops"`
	DRAMBytes  int64 `json:"dram_bytes"`
	NearBytes  int64 `json:"near_bytes"` // requests of streams for transposed data

	LowerSeconds float64 `json:"lower_seconds"` // measured here
	WallSeconds  float64 `json:"wall_seconds"`
}

// Cycles are where the time went, as in figure 14 of the paper: Total is when the
// last bank is done, and the parts are of its busiest banks, so that they need not
// add up to it.
type Cycles struct {
	Total   int64 `json:"total"`
	DRAM    int64 `json:"dram"`
	JIT     int64 `json:"jit"`
	Move    int64 `json:"move"`       // within tiles
	Inter   int64 `json:"inter_tile"` // between tiles, without the network
	Compute int64 `json:"compute"`
	Sync    int64 `json:"sync"` // waiting for packets included
}

// Timed reports whether any region was executed in memory. If none was, the cycles
// are not those of a run that takes no time, but of nothing: what is executed near the
// memory has no time in this model.
func (r *Report) Timed() bool { return r.Regions > r.NearRegions }

func (r *runner) finish() { r.report.Cycles.Total = r.clock.now() }

// WriteStats writes the report in the form of gem5's stats.txt: a name, a value and
// a comment in each line. Cycles are left out where nothing was timed.
func (r *Report) WriteStats(w io.Writer) error {
	var b strings.Builder
	b.WriteString("---------- Begin Simulation Statistics ----------\n")
	line := func(name string, v any, text string) { fmt.Fprintf(&b, "%-40s %20v  # %s\n", name, v, text) }
	if r.Timed() {
		line("system.cycles", r.Cycles.Total, "cycles until the last bank is done")
		line("system.cycles.dram", r.Cycles.DRAM, "transfer from and to DRAM, and transposition")
		line("system.cycles.jit", r.Cycles.JIT, "lowering, modelled")
		line("system.cycles.compute", r.Cycles.Compute, "programs and constants")
		line("system.cycles.move", r.Cycles.Move, "shifts and copies within tiles")
		line("system.cycles.interTile", r.Cycles.Inter, "shifts between tiles")
		line("system.cycles.sync", r.Cycles.Sync, "barriers, and waiting for packets")
	}
	line("system.regions", r.Regions, "regions executed")
	line("system.regions.near", r.NearRegions, "of these, as a whole near the memory")
	line("system.commands", r.Commands, "commands executed")
	line("system.commands.memoized", r.Memoized, "regions whose commands were there already")
	line("system.syncs", r.Syncs, "barriers")
	line("system.nearSteps", r.NearSteps, "steps executed near the memory")
	line("system.operations", r.Operations, "operations of elements in memory")
	line("system.rowOps", r.RowOps, "row operations of arrays")
	line("system.nearOps", r.NearOps, "operations of elements near the memory")
	line("system.finalOps", r.FinalOps, "of these, the last steps of reductions over several tiles")
	n := &r.Instructions
	line("system.arrays.computes", n.Computes, "instructions of arrays that activate several rows and write one")
	line("system.arrays.moves", n.Moves, "that read one row and write one")
	line("system.arrays.writes", n.Writes, "that write one row")
	line("system.arrays.latchReads", n.LatchReads, "that read one row")
	line("system.arrays.latches", n.Latches, "that activate several rows and write none")
	line("system.arrays.latchOnly", n.LatchOnly, "that touch no row")
	line("system.bytes.intraTile", r.IntraBytes, "moved within tiles")
	line("system.bytes.interTile", r.InterBytes, "moved between tiles")
	line("system.noc.byteHops", r.ByteHops, "bytes between banks times links")
	line("system.dram.bytes", r.DRAMBytes, "read and written")
	line("system.nearBytes", r.NearBytes, "transposed data that streams asked for")
	line("system.arrays", r.Arrays, "SRAM arrays that hold the data")
	line("host.lowerSeconds", fmt.Sprintf("%.6f", r.LowerSeconds), "lowering, measured")
	line("host.seconds", fmt.Sprintf("%.3f", r.WallSeconds), "of this run")
	b.WriteString("---------- End Simulation Statistics   ----------\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteJSON writes the report as one JSON document.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}
