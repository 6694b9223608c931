package system

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/bitsched/bitsched/sram/cost"
	"github.com/bitsched/bitsched/tile/tensor"
)

// Report is what a run did. Cycles are those of the modelled machine.
type Report struct {
	Tile   string `json:"tile"`   // shape of the tiles; "" if nothing was executed in memory
	Arrays int    `json:"arrays"` // SRAM arrays that hold the data

	Regions     int64    `json:"regions"`      // executed
	NearRegions int64    `json:"near_regions"` // of these, near the memory as a whole
	Reasons     []Reason `json:"reasons"`      // why

	Cycles Cycles           `json:"cycles"`
	Waits  *tensor.Counters `json:"waits,omitempty"` // of the event-driven clock

	Compared int64 `json:"compared_words"` // elements that were compared with the bits of programs

	Commands   int64 `json:"commands"`
	Memoized   int64 `json:"memoized"` // regions whose commands were there already
	Syncs      int64 `json:"syncs"`
	NearSteps  int64 `json:"near_steps"`
	Operations int64 `json:"operations"` // of elements, in memory
	RowOps     int64 `json:"row_ops"`    // cycles of arrays
	NearOps    int64 `json:"near_ops"`   // operations of elements near the memory
	FinalOps   int64 `json:"final_ops"`  // of these, the last steps of reductions over several tiles

	// Instructions of all arrays, by what they do to rows; of these, rows that moves
	// within tiles read and write, and rows that moves between them read, and write.
	Instructions cost.Kinds `json:"array_instructions"`
	WithinRows   int        `json:"within_tile_rows"`
	SentRows     int        `json:"sent_rows"`
	ReceivedRows int        `json:"received_rows"`

	IntraBytes int64 `json:"intra_tile_bytes"`
	InterBytes int64 `json:"inter_tile_bytes"`
	ByteHops   int64 `json:"noc_byte_hops"`
	DRAMBytes  int64 `json:"dram_bytes"`
	LoadBytes  int64 `json:"load_bytes"` // of these, from DRAM to arrays
	NearBytes  int64 `json:"near_bytes"` // requests of streams for transposed data

	LowerSeconds float64 `json:"lower_seconds"` // measured here
	WallSeconds  float64 `json:"wall_seconds"`
}

// Cycles are where the time went, as in figure 14 of the paper: Total is when the
// last bank is done. The parts are sums over commands, of the busiest bank of each;
// banks execute different ones at the same time, so that they need not add up to it.
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

// finish completes the report.
func (r *runner) finish(ctx context.Context) error {
	total, err := r.clock.Now(ctx)
	if err != nil {
		return err
	}
	r.report.Cycles = r.clock.Cycles()
	r.report.Cycles.Total = total
	r.report.ByteHops = r.clock.ByteHops()
	for _, why := range r.reasons.Values() {
		r.report.Reasons = append(r.report.Reasons, why.(Reason))
	}
	if c, ok := r.clock.(*eventDriven); ok {
		r.report.Waits = c.waits()
	}
	if r.data != nil {
		r.report.Compared = r.data.compared()
	}
	return nil
}

// WriteStats writes the report in the form of gem5's stats.txt: a name, a value, and
// a comment that ends in the unit, in each line. As there, what stands after :: is
// a part of what stands before it. Cycles are left out where nothing was timed.
func (r *Report) WriteStats(w io.Writer) error {
	var b strings.Builder
	b.WriteString("---------- Begin Simulation Statistics ----------\n")
	line := func(name string, v any, unit, text string) {
		fmt.Fprintf(&b, "%-40s %20v  # %s (%s)\n", name, v, text, unit)
	}
	if r.Timed() {
		line("system.cycles", r.Cycles.Total, "Cycle", "cycles until the last bank is done")
		line("system.cycles::dram", r.Cycles.DRAM, "Cycle", "transfer from and to DRAM, and transposition")
		line("system.cycles::jit", r.Cycles.JIT, "Cycle", "lowering, modelled")
		line("system.cycles::compute", r.Cycles.Compute, "Cycle", "programs and constants")
		line("system.cycles::move", r.Cycles.Move, "Cycle", "shifts and copies within tiles")
		line("system.cycles::interTile", r.Cycles.Inter, "Cycle", "shifts between tiles")
		line("system.cycles::sync", r.Cycles.Sync, "Cycle", "barriers, and waiting for packets")
	}
	line("system.regions", r.Regions, "Count", "regions executed")
	line("system.regions::near", r.NearRegions, "Count", "of these, as a whole near the memory")
	line("system.commands", r.Commands, "Count", "commands executed")
	line("system.regions::memoized", r.Memoized, "Count", "regions whose commands were there already")
	line("system.syncs", r.Syncs, "Count", "barriers")
	line("system.nearSteps", r.NearSteps, "Count", "steps executed near the memory")
	line("system.operations", r.Operations, "Count", "operations of elements in memory")
	line("system.rowOps", r.RowOps, "Cycle", "row operations of arrays")
	line("system.nearOps", r.NearOps, "Count", "operations of elements near the memory")
	line("system.finalOps", r.FinalOps, "Count", "of these, the last steps of reductions over several tiles")
	n := &r.Instructions
	line("system.instructions::computes", n.Computes, "Count", "instructions of arrays that activate several rows and write one")
	line("system.instructions::moves", n.Moves, "Count", "instructions of arrays that read one row and write one")
	line("system.instructions::writes", n.Writes, "Count", "instructions of arrays that write one row")
	line("system.instructions::latchReads", n.LatchReads, "Count", "instructions of arrays that read one row")
	line("system.instructions::latches", n.Latches, "Count", "instructions of arrays that activate several rows and write none")
	line("system.instructions::latchOnly", n.LatchOnly, "Count", "instructions of arrays that touch no row")
	line("system.rows::within", r.WithinRows, "Count", "rows that moves within tiles read and write, of instructions")
	line("system.rows::sent", r.SentRows, "Count", "rows that moves between tiles read, of instructions")
	line("system.rows::received", r.ReceivedRows, "Count", "rows that moves between tiles write, of instructions")
	line("system.bytes.intraTile", r.IntraBytes, "Byte", "moved within tiles")
	line("system.bytes.interTile", r.InterBytes, "Byte", "moved between tiles")
	line("system.noc.byteHops", r.ByteHops, "Byte", "bytes between banks times links")
	line("system.dram.bytes", r.DRAMBytes, "Byte", "read and written")
	line("system.dram.bytes::load", r.LoadBytes, "Byte", "of these, read")
	line("system.nearBytes", r.NearBytes, "Byte", "transposed data that streams asked for")
	line("system.arrays", r.Arrays, "Count", "SRAM arrays that hold the data")
	line("host.lowerSeconds", fmt.Sprintf("%.6f", r.LowerSeconds), "Second", "lowering, measured")
	line("host.seconds", fmt.Sprintf("%.3f", r.WallSeconds), "Second", "of this run")
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
