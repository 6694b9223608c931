package system

import (
	"context"
	"encoding/json"
	"io"

	"github.com/bitsched/bitsched/sram/cost"
	"github.com/bitsched/bitsched/tile"
	"github.com/bitsched/bitsched/tile/stats"
	"github.com/bitsched/bitsched/tile/tensor"
)

// Report is what a run did. Cycles are those of the modelled machine.
type Report struct {
	Tile   string `json:"tile" stat:"-"` // shape of the tiles; "" if nothing was executed in memory
	Arrays int    `json:"arrays" desc:"SRAM arrays that hold the data"`

	Regions     int64    `json:"regions" desc:"regions executed"`
	NearRegions int64    `json:"near_regions" stat:"regions::near" desc:"of these, as a whole near the memory"`
	Reasons     []Reason `json:"reasons" stat:"-"` // why

	Cycles Cycles           `json:"cycles" stat:"-"`
	Waits  *tensor.Counters `json:"waits,omitempty" stat:"-"` // of the event-driven clock

	Compared int64 `json:"compared_words" desc:"elements that were compared with the bits of programs"`

	Commands   int64 `json:"commands" desc:"commands executed"`
	Memoized   int64 `json:"memoized" stat:"regions::memoized" desc:"regions whose commands were there already"`
	Patched    int64 `json:"patched" stat:"regions::patched" desc:"regions whose commands are those of the last time, patched"`
	Syncs      int64 `json:"syncs" desc:"barriers"`
	NearSteps  int64 `json:"near_steps" desc:"steps executed near the memory"`
	Operations int64 `json:"operations" desc:"operations of elements in memory"`
	RowOps     int64 `json:"row_ops" unit:"Cycle" desc:"row operations of arrays"`
	NearOps    int64 `json:"near_ops" desc:"operations of elements near the memory"`
	FinalOps   int64 `json:"final_ops" desc:"of these, the last steps of reductions over several tiles"`

	// Instructions of all arrays, by what they do to rows; of these, rows that moves
	// within tiles read and write, and rows that moves between them read, and write.
	Instructions cost.Kinds `json:"array_instructions" stat:"."`
	WithinRows   int        `json:"within_tile_rows" stat:"rows::within" desc:"rows that moves within tiles read and write, of instructions"`
	SentRows     int        `json:"sent_rows" stat:"rows::sent" desc:"rows that moves between tiles read, of instructions"`
	ReceivedRows int        `json:"received_rows" stat:"rows::received" desc:"rows that moves between tiles write, of instructions"`

	IntraBytes int64 `json:"intra_tile_bytes" stat:"bytes.intraTile" unit:"Byte" desc:"moved within tiles"`
	InterBytes int64 `json:"inter_tile_bytes" stat:"bytes.interTile" unit:"Byte" desc:"moved between tiles"`
	ByteHops   int64 `json:"noc_byte_hops" stat:"noc.byteHops" unit:"Byte" desc:"bytes between banks times links"`
	DRAMBytes  int64 `json:"dram_bytes" stat:"dram.bytes" unit:"Byte" desc:"read and written"`
	LoadBytes  int64 `json:"load_bytes" stat:"dram.bytes::load" unit:"Byte" desc:"of these, read"`
	// Of arrays these are the bytes of DRAM; a view has some only of those of its lines.
	MovedBytes   int64 `json:"moved_bytes" stat:"bytes.transposed" unit:"Byte" desc:"transposed, from or to DRAM"`
	MovedInBytes int64 `json:"moved_in_bytes" stat:"bytes.transposed::load" unit:"Byte" desc:"of these, to the cells"`

	NearBytes int64 `json:"near_bytes" unit:"Byte" desc:"transposed data that streams asked for"`

	Host `stat:"-"`

	Components *stats.Snapshot `json:"components,omitempty" stat:"-"` // counters of the components of an event-driven clock, if there is one
}

// Host is what the run took here.
type Host struct {
	Threads      int     `json:"threads" stat:"-"` // that shared out the arrays
	LowerSeconds float64 `json:"lower_seconds" unit:"Second" desc:"lowering, measured"`
	WallSeconds  float64 `json:"wall_seconds" stat:"seconds" unit:"Second" desc:"of this run"`
}

// FinalCycles returns the cycles that the streams of a machine take for the last steps of
// reductions over several tiles. They are not in Cycles, the time of what is in memory.
func (r *Report) FinalCycles(m *tile.Machine) int64 { return m.StreamCycles(r.FinalOps) }

// Cycles are where the time went, as in figure 14 of the paper: Total is when the
// last bank is done. The parts are sums over commands, of the busiest bank of each;
// banks execute different ones at the same time, so that they need not add up to it.
type Cycles struct {
	Total   int64 `json:"total" stat:"cycles" unit:"Cycle" desc:"cycles until the last bank is done"`
	DRAM    int64 `json:"dram" stat:"cycles::dram" unit:"Cycle" desc:"transfer from and to DRAM, and transposition"`
	JIT     int64 `json:"jit" stat:"cycles::jit" unit:"Cycle" desc:"lowering, modelled"`
	Move    int64 `json:"move" stat:"cycles::move" unit:"Cycle" desc:"shifts and copies within tiles"`
	Inter   int64 `json:"inter_tile" stat:"cycles::interTile" unit:"Cycle" desc:"shifts between tiles"`
	Compute int64 `json:"compute" stat:"cycles::compute" unit:"Cycle" desc:"programs and constants"`
	Sync    int64 `json:"sync" stat:"cycles::sync" unit:"Cycle" desc:"barriers, and waiting for packets"`
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
		if r.report.Components, err = c.counters(); err != nil {
			return err
		}
	}
	if r.data != nil {
		r.report.Compared = r.data.compared()
	}
	return nil
}

// Stats returns the counts of the report. Cycles are left out where nothing was timed.
func (r *Report) Stats() *stats.Snapshot {
	all := stats.New()
	if r.Timed() {
		all.Register("system", &r.Cycles)
	}
	all.Register("system", r)
	all.Register("host", &r.Host)
	s := all.Snapshot(r.Cycles.Total)
	if r.Components != nil {
		s = s.Add(r.Components)
	}
	return s
}

// WriteStats writes the report in the form of gem5's stats.txt.
func (r *Report) WriteStats(w io.Writer) error { return r.Stats().WriteText(w) }

// WriteJSON writes the report as one JSON document.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}
