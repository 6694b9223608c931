package platform

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"

	"github.com/bitsched/bitsched/sram"
)

// Platform is a machine of units that compute.
type Platform struct {
	Name     string  `yaml:"name"`
	Title    string  `yaml:"title"`
	Executor string  `yaml:"executor"` // array, crossbar or simd
	ClockGHz float64 `yaml:"clock_ghz"`

	Functions []Function `yaml:"functions"`
	Levels    []Level    `yaml:"levels"` // from the unit outwards
	Buffer    *Buffer    `yaml:"buffer,omitempty"`
	OffChip   *Link      `yaml:"off_chip,omitempty"`

	Array    *Array    `yaml:"array,omitempty"`
	Crossbar *Crossbar `yaml:"crossbar,omitempty"`
	SIMD     *SIMD     `yaml:"simd,omitempty"`

	Faults *Faults    `yaml:"faults,omitempty"`
	Energy []EnergyOf `yaml:"energy,omitempty"`
	Facts  []Fact     `yaml:"facts,omitempty"`
	Paper  []PaperRow `yaml:"paper,omitempty"`

	text string
}

// The executors.
const (
	ArrayExecutor    = "array"
	CrossbarExecutor = "crossbar"
	SIMDExecutor     = "simd"
)

// Function is a compute function of a unit: Dst[..] += Src1[..] * Src2[..].
type Function struct {
	Name     string    `yaml:"name"`
	Op       string    `yaml:"op"` // MAC
	Dims     []Dim     `yaml:"dims"`
	Operands []Operand `yaml:"operands"` // sources, then the result
}

// Dim is a dimension of a compute function.
type Dim struct {
	Name string `yaml:"name"`
	Kind string `yaml:"kind"`          // parallel or reduction
	Max  int    `yaml:"max,omitempty"` // largest size beyond what the layout allows; 0: none
}

// Operand is an operand of a compute function: the dimensions that index it, and how
// its bits lie in the unit. Each coordinate is a sum of dimensions and of b, the
// number of the bit, times coefficients: a whole number, "x" (any distinct places),
// "B" (bits or cells of an element) or the name of a dimension (its size).
type Operand struct {
	Name   string                       `yaml:"name"`
	Index  []string                     `yaml:"index"`
	Place  string                       `yaml:"place"` // cells, wordlines, columns, bank, register, program
	Layout map[string]map[string]string `yaml:"layout,omitempty"`
}

// Level is a fan-out of units or of groups of them, with the link through which they
// are fed and drained.
type Level struct {
	Name          string  `yaml:"name"`
	FanOut        int     `yaml:"fan_out"`
	BytesPerCycle float64 `yaml:"bytes_per_cycle"`
	LatencyCycles int     `yaml:"latency_cycles,omitempty"`
	Transpose     bool    `yaml:"transpose,omitempty"` // the link turns words into bit rows
	Multicast     bool    `yaml:"multicast,omitempty"` // one transfer reaches all that need the data
	NoReduction   bool    `yaml:"no_reduction,omitempty"`
	OwnProgram    bool    `yaml:"own_program,omitempty"` // groups of this level run programs of their own
}

// Buffer is the memory between the levels and what is off chip.
type Buffer struct {
	Bytes int64 `yaml:"bytes"`
}

// Link is a link with a bandwidth.
type Link struct {
	BytesPerCycle float64 `yaml:"bytes_per_cycle"`
	LatencyCycles int     `yaml:"latency_cycles,omitempty"`
}

// Array is a unit whose bitlines compute.
type Array struct {
	Rows           int            `yaml:"rows"`
	Cols           int            `yaml:"cols"`
	Technology     string         `yaml:"technology"`
	DefaultCycles  int            `yaml:"default_instruction_cycles,omitempty"` // of an instruction; 0: 1
	ClassCycles    map[string]int `yaml:"class_cycles,omitempty"`               // by class of instruction, where it is another
	RowWriteCycles int            `yaml:"row_write_cycles"`
	RowReadCycles  int            `yaml:"row_read_cycles"`
	ShiftCycles    int            `yaml:"shift_cycles"` // of a row, for each step
	ShiftSteps     string         `yaml:"shift_steps"`  // one, or power_of_two: a step for each one in the distance
	Throttle       *Throttle      `yaml:"throttle,omitempty"`
	SparesRows     int            `yaml:"spare_rows,omitempty"` // rows that hold no words beside those the technology reserves
}

// Throttle limits the activations of all units of the first level together: at most
// Activations in any window of WindowCycles.
type Throttle struct {
	WindowCycles int            `yaml:"window_cycles"`
	Activations  int            `yaml:"activations"`
	Default      int            `yaml:"default_activations,omitempty"` // of an instruction; 0: 1
	Class        map[string]int `yaml:"class_activations,omitempty"`   // by class of instruction, where it is another
	PerRow       int            `yaml:"per_row"`                       // of writing, reading or shifting a row
}

// Crossbar is a unit that multiplies a matrix in its cells by a vector on its
// wordlines.
type Crossbar struct {
	Rows          int `yaml:"rows"`
	Cols          int `yaml:"cols"`
	CellBits      int `yaml:"cell_bits"`
	DACBits       int `yaml:"dac_bits"`
	ADCBits       int `yaml:"adc_bits"`
	StageCycles   int `yaml:"stage_cycles"`
	PipelineDepth int `yaml:"pipeline_depth"`
	ProgramCycles int `yaml:"program_cycles"` // of a whole crossbar
	RegisterBytes int `yaml:"register_bytes"` // for vectors in and out, of each crossbar
}

// SIMD is a unit of lanes beside memory banks.
type SIMD struct {
	Lanes               int   `yaml:"lanes"`
	MACCycles           int   `yaml:"mac_cycles"`
	ColumnBytes         int   `yaml:"column_bytes"`
	RowBytes            int   `yaml:"row_bytes"`
	RowMissCycles       int   `yaml:"row_miss_cycles"`
	Registers           int   `yaml:"registers"` // of ColumnBytes
	AccumulatorBits     int   `yaml:"accumulator_bits"`
	RegisterWriteCycles int   `yaml:"register_write_cycles"`
	RegisterReadCycles  int   `yaml:"register_read_cycles"`
	BankBytes           int64 `yaml:"bank_bytes"` // of each unit
}

// Faults are what must not be used: holes that mappings go round. All arrays execute the
// same program, so that a row or column that is faulty in one of them is used in none.
type Faults struct {
	Rows    []int   `yaml:"rows,omitempty"`    // of arrays
	Columns []int   `yaml:"columns,omitempty"` // of arrays; words lie in the longest run between them that begins at a multiple of 64
	Units   [][]int `yaml:"units,omitempty"`   // by place at each level, from the unit outwards
}

// GoodColumns is the longest run of columns without faults that begins at a multiple of
// 64: its first column, and how many there are.
func (p *Platform) GoodColumns() (first, n int) {
	cols := p.Array.Cols
	if p.Faults == nil {
		return 0, cols
	}
	bad := slices.Sorted(slices.Values(append(slices.Clone(p.Faults.Columns), cols)))
	from := 0
	for _, b := range bad {
		if b-from > n {
			first, n = from, b-from
		}
		from = (b/64 + 1) * 64
	}
	return first, n
}

// check returns which field is wrong and why.
func (f *Faults) check(p *Platform) (string, string) {
	if f == nil {
		return "", ""
	}
	if p.Array == nil && len(f.Rows)+len(f.Columns) > 0 {
		return "faults", "has rows or columns, expected units only: the platform has no arrays"
	}
	for i, r := range f.Rows {
		if r < 0 || r >= p.Array.Rows || slices.Contains(f.Rows[:i], r) {
			return fmt.Sprintf("faults.rows[%d]", i), fmt.Sprintf("is %d, expected different rows from 0 to %d", r, p.Array.Rows-1)
		}
	}
	for i, c := range f.Columns {
		if c < 0 || c >= p.Array.Cols || slices.Contains(f.Columns[:i], c) {
			return fmt.Sprintf("faults.columns[%d]", i), fmt.Sprintf("is %d, expected different columns from 0 to %d", c, p.Array.Cols-1)
		}
	}
	for i, u := range f.Units {
		field := fmt.Sprintf("faults.units[%d]", i)
		if len(u) != len(p.Levels) {
			return field, fmt.Sprintf("has %d places, expected one for each of %d levels", len(u), len(p.Levels))
		}
		for k, x := range u {
			if x < 0 || x >= p.Levels[k].FanOut {
				return field, fmt.Sprintf("has place %d at level %s, expected 0 to %d", x, p.Levels[k].Name, p.Levels[k].FanOut-1)
			}
		}
		if slices.ContainsFunc(f.Units[:i], func(v []int) bool { return slices.Equal(u, v) }) {
			return field, "is there twice"
		}
	}
	return "", ""
}

// EnergyOf is the energy of an event: compute (an instruction of an array), access (a
// row written or read), step (of a crossbar, one for each bit or digit of the vector), sample
// (converted), program (a whole crossbar), command (a column times a register, of one
// unit), link:LEVEL (a byte into a group of that level), off-chip (a byte). What is not
// listed is unknown, and said to be.
type EnergyOf struct {
	Event     string  `yaml:"event" json:"event"`
	PJ        float64 `yaml:"pj" json:"pj"`
	Source    string  `yaml:"source" json:"source"`
	Confirmed bool    `yaml:"confirmed" json:"confirmed"`
}

// Fact says where a value comes from. Range is what it may be where it is open; the
// sensitivity study goes through it.
type Fact struct {
	Field     string    `yaml:"field" json:"field"`
	Source    string    `yaml:"source" json:"source"`
	Confirmed bool      `yaml:"confirmed" json:"confirmed"`
	Range     []float64 `yaml:"range,omitempty" json:"range,omitempty"`
}

// PaperRow is a value of a table of the paper beside the product of fields that must
// equal it.
type PaperRow struct {
	Table string   `yaml:"table" json:"table"`
	Item  string   `yaml:"item" json:"item"`
	Value float64  `yaml:"value" json:"value"`
	Of    []string `yaml:"of" json:"of"` // fields, whose product it is
	Times float64  `yaml:"times,omitempty" json:"times,omitempty"`
}

// Units returns the number of units.
func (p *Platform) Units() int {
	n := 1
	for _, l := range p.Levels {
		n *= l.FanOut
	}
	return n
}

// Function returns the compute function of that name, nil if there is none.
func (p *Platform) Function(name string) *Function {
	for i := range p.Functions {
		if p.Functions[i].Name == name {
			return &p.Functions[i]
		}
	}
	return nil
}

// Hash is a digest of what mappings depend on.
func (p *Platform) Hash() string {
	q := *p
	q.Facts, q.Paper, q.Energy, q.Title, q.Name, q.text = nil, nil, nil, "", "", ""
	h := fnv.New64a()
	h.Write([]byte(encode(&q)))
	return fmt.Sprintf("%016x", h.Sum64())
}

// Dim returns the number of a dimension, -1 if there is none.
func (f *Function) Dim(name string) int {
	return slices.IndexFunc(f.Dims, func(d Dim) bool { return d.Name == name })
}

// Indexed reports whether a dimension indexes an operand.
func (f *Function) Indexed(operand, dim int) bool {
	return slices.Contains(f.Operands[operand].Index, f.Dims[dim].Name)
}

// Program reports whether the second source is constants of the program.
func (f *Function) Program() bool { return f.Operands[1].Place == "program" }

// Programs reports whether any function takes constants of the program.
func (p *Platform) Programs() bool {
	return slices.ContainsFunc(p.Functions, func(f Function) bool { return f.Program() })
}

// Symmetric reports whether the two sources lie and are indexed alike, so that
// exchanging them gives the same mapping.
func (f *Function) Symmetric() bool {
	a, b := &f.Operands[0], &f.Operands[1]
	return a.Place == b.Place && slices.Equal(a.Index, b.Index)
}

// Reduction reports whether a dimension is a reduction.
func (f *Function) Reduction(dim int) bool { return f.Dims[dim].Kind == "reduction" }

// check returns which field is wrong and why, "" if none is.
func (p *Platform) check() (field, msg string) {
	if p.Name == "" {
		return "name", "is empty"
	}
	if !(p.ClockGHz > 0 && p.ClockGHz <= 1000) {
		return "clock_ghz", fmt.Sprintf("is %v, expected more than 0, at most 1000", p.ClockGHz)
	}
	if len(p.Functions) == 0 {
		return "functions", "is empty, expected at least one compute function"
	}
	if len(p.Levels) < 1 || len(p.Levels) > MaxLevels {
		return "levels", fmt.Sprintf("has %d levels, expected 1 to %d", len(p.Levels), MaxLevels)
	}
	units := 1
	for i, l := range p.Levels {
		f := fmt.Sprintf("levels[%d].", i)
		switch {
		case l.Name == "":
			return f + "name", "is empty"
		case slices.Contains([]string{"inner", "waves", "tiles"}, l.Name) || slices.ContainsFunc(p.Levels[:i], func(x Level) bool { return x.Name == l.Name }):
			return f + "name", fmt.Sprintf("is %q, expected a name of its own other than inner, waves, tiles", l.Name)
		case l.FanOut < 1 || l.FanOut > 1<<20 || units > (1<<24)/l.FanOut:
			return f + "fan_out", fmt.Sprintf("is %d, expected at least 1 and at most %d units in all", l.FanOut, 1<<24)
		case !(l.BytesPerCycle > 0 && l.BytesPerCycle <= 1e9):
			return f + "bytes_per_cycle", fmt.Sprintf("is %v, expected more than 0", l.BytesPerCycle)
		case l.LatencyCycles < 0 || l.LatencyCycles > 1<<30:
			return f + "latency_cycles", fmt.Sprintf("is %d, expected 0 or more", l.LatencyCycles)
		}
		units *= l.FanOut
	}
	if p.Buffer != nil && (p.Buffer.Bytes < 1 || p.Buffer.Bytes > 1<<50) {
		return "buffer.bytes", fmt.Sprintf("is %d, expected at least 1", p.Buffer.Bytes)
	}
	if p.OffChip != nil && !(p.OffChip.BytesPerCycle > 0 && p.OffChip.BytesPerCycle <= 1e9) {
		return "off_chip.bytes_per_cycle", fmt.Sprintf("is %v, expected more than 0", p.OffChip.BytesPerCycle)
	}
	if (p.Buffer == nil) != (p.OffChip == nil) {
		return "off_chip", "and buffer go together, expected both or none"
	}
	if field, msg := p.checkUnit(); msg != "" {
		return field, msg
	}
	for i := range p.Functions {
		if field, msg := p.checkFunction(i); msg != "" {
			return field, msg
		}
	}
	if field, msg := p.Faults.check(p); msg != "" {
		return field, msg
	}
	for i, x := range p.Energy {
		known := slices.Contains([]string{"compute", "access", "step", "sample", "program", "command", "off-chip"}, x.Event) ||
			slices.ContainsFunc(p.Levels, func(l Level) bool { return x.Event == "link:"+l.Name })
		if !known {
			return fmt.Sprintf("energy[%d].event", i), fmt.Sprintf("is %q, expected compute, access, step, sample, program, command, off-chip, or link: and a level", x.Event)
		}
		if !(x.PJ >= 0 && x.PJ < 1e12) {
			return fmt.Sprintf("energy[%d].pj", i), fmt.Sprintf("is %v, expected 0 or more", x.PJ)
		}
	}
	for i, f := range p.Facts {
		if _, ok := p.Value(f.Field); !ok {
			return fmt.Sprintf("facts[%d].field", i), fmt.Sprintf("is %q, expected a field of a number", f.Field)
		}
		if len(f.Range) != 0 && (len(f.Range) != 2 || f.Range[0] > f.Range[1]) {
			return fmt.Sprintf("facts[%d].range", i), "is no range, expected the least and the greatest value"
		}
	}
	for i, r := range p.Paper {
		for _, f := range r.Of {
			if _, ok := p.Value(f); !ok {
				return fmt.Sprintf("paper[%d].of", i), fmt.Sprintf("has %q, expected a field of a number", f)
			}
		}
	}
	return "", ""
}

// MaxLevels is the number of levels that a platform may have.
const MaxLevels = 3

type intField struct {
	field       string
	v, min, max int
}

func checkInts(fields []intField) (string, string) {
	for _, c := range fields {
		if c.v < c.min || c.v > c.max {
			return c.field, fmt.Sprintf("is %d, expected %d to %d", c.v, c.min, c.max)
		}
	}
	return "", ""
}

func (p *Platform) checkUnit() (string, string) {
	switch p.Executor {
	case ArrayExecutor:
		a := p.Array
		if a == nil {
			return "executor", "is array, expected a description of the unit under array"
		}
		if f, m := checkInts([]intField{
			{"array.rows", a.Rows, 1, sram.MaxRows}, {"array.cols", a.Cols, 1, 1 << 20},
			{"array.row_write_cycles", a.RowWriteCycles, 1, 1 << 20}, {"array.row_read_cycles", a.RowReadCycles, 1, 1 << 20},
			{"array.shift_cycles", a.ShiftCycles, 1, 1 << 20}, {"array.spare_rows", a.SparesRows, 0, a.Rows - 1},
		}); m != "" {
			return f, m
		}
		t, err := sram.LookupTechnology(a.Technology)
		if err != nil {
			return "array.technology", strings.Replace(err.Error(), "sram: no technology", "is", 1)
		}
		if a.Rows <= t.Reserved+a.SparesRows {
			return "array.rows", fmt.Sprintf("is %d, expected more than the %d that are reserved", a.Rows, t.Reserved+a.SparesRows)
		}
		for name, c := range a.ClassCycles {
			if !isClass(name) || c < 1 || c > 1<<20 {
				return "array.class_cycles", fmt.Sprintf("has %s: %d, expected a class of instructions and at least 1 cycle", name, c)
			}
		}
		if a.DefaultCycles < 0 || a.DefaultCycles > 1<<20 {
			return "array.default_instruction_cycles", fmt.Sprintf("is %d, expected at least 1", a.DefaultCycles)
		}
		if a.ShiftSteps != "one" && a.ShiftSteps != "power_of_two" {
			return "array.shift_steps", fmt.Sprintf("is %q, expected one or power_of_two", a.ShiftSteps)
		}
		if h := a.Throttle; h != nil {
			for name, c := range h.Class {
				if !isClass(name) || c < 0 || c > 1<<20 {
					return "array.throttle.class_activations", fmt.Sprintf("has %s: %d, expected a class of instructions and 0 or more", name, c)
				}
			}
			return checkInts([]intField{{"array.throttle.window_cycles", h.WindowCycles, 1, 1 << 20}, {"array.throttle.activations", h.Activations, 1, 1 << 20}, {"array.throttle.per_row", h.PerRow, 0, 1 << 20}})
		}
	case CrossbarExecutor:
		c := p.Crossbar
		if c == nil {
			return "executor", "is crossbar, expected a description of the unit under crossbar"
		}
		return checkInts([]intField{
			{"crossbar.rows", c.Rows, 1, 1 << 16}, {"crossbar.cols", c.Cols, 1, 1 << 16}, {"crossbar.cell_bits", c.CellBits, 1, 8},
			{"crossbar.dac_bits", c.DACBits, 1, 8}, {"crossbar.adc_bits", c.ADCBits, 1, 32}, {"crossbar.stage_cycles", c.StageCycles, 1, 1 << 20},
			{"crossbar.pipeline_depth", c.PipelineDepth, 1, 64}, {"crossbar.program_cycles", c.ProgramCycles, 0, 1 << 30}, {"crossbar.register_bytes", c.RegisterBytes, 1, 1 << 30},
		})
	case SIMDExecutor:
		s := p.SIMD
		if s == nil {
			return "executor", "is simd, expected a description of the unit under simd"
		}
		if f, m := checkInts([]intField{
			{"simd.lanes", s.Lanes, 1, 4096}, {"simd.mac_cycles", s.MACCycles, 1, 1 << 20}, {"simd.column_bytes", s.ColumnBytes, 1, 1 << 16},
			{"simd.row_bytes", s.RowBytes, s.ColumnBytes, 1 << 20}, {"simd.row_miss_cycles", s.RowMissCycles, 0, 1 << 20},
			{"simd.registers", s.Registers, 1, 1 << 16}, {"simd.accumulator_bits", s.AccumulatorBits, 8, 64},
			{"simd.register_write_cycles", s.RegisterWriteCycles, 1, 1 << 20}, {"simd.register_read_cycles", s.RegisterReadCycles, 1, 1 << 20},
		}); m != "" {
			return f, m
		}
		if s.BankBytes < int64(s.RowBytes) {
			return "simd.bank_bytes", fmt.Sprintf("is %d, expected at least a row of %d", s.BankBytes, s.RowBytes)
		}
	default:
		return "executor", fmt.Sprintf("is %q, expected array, crossbar or simd", p.Executor)
	}
	return "", ""
}

func isClass(name string) bool {
	return slices.ContainsFunc(sram.Classes(), func(c sram.Class) bool { return c.String() == name })
}

// places are the places of operands that the executors know.
var places = map[string][]string{
	ArrayExecutor:    {"cells", "program"},
	CrossbarExecutor: {"cells", "wordlines", "columns"},
	SIMDExecutor:     {"bank", "register"},
}

// checkFunction looks at dimensions, indices and layouts.
func (p *Platform) checkFunction(i int) (string, string) {
	f := &p.Functions[i]
	at := fmt.Sprintf("functions[%d].", i)
	if f.Name == "" || p.Function(f.Name) != f {
		return at + "name", fmt.Sprintf("is %q, expected a name of its own", f.Name)
	}
	if f.Op != "MAC" {
		return at + "op", fmt.Sprintf("is %q, expected MAC", f.Op)
	}
	if len(f.Dims) < 1 || len(f.Dims) > 3 {
		return at + "dims", fmt.Sprintf("has %d dimensions, expected 1 to 3", len(f.Dims))
	}
	for j, d := range f.Dims {
		if slices.ContainsFunc(p.Levels, func(l Level) bool { return l.Name == d.Name }) || slices.Contains([]string{"inner", "waves", "tiles"}, d.Name) {
			return fmt.Sprintf("%sdims[%d].name", at, j), fmt.Sprintf("is %q, which is a level or a slot in time", d.Name)
		}
		if d.Name == "" || f.Dim(d.Name) != j || d.Name == "b" {
			return fmt.Sprintf("%sdims[%d].name", at, j), fmt.Sprintf("is %q, expected a name of its own other than b", d.Name)
		}
		if d.Kind != "parallel" && d.Kind != "reduction" {
			return fmt.Sprintf("%sdims[%d].kind", at, j), fmt.Sprintf("is %q, expected parallel or reduction", d.Kind)
		}
		if d.Max < 0 {
			return fmt.Sprintf("%sdims[%d].max", at, j), fmt.Sprintf("is %d, expected 0 or more", d.Max)
		}
	}
	if len(f.Operands) != 3 {
		return at + "operands", fmt.Sprintf("has %d operands, expected two sources and the result", len(f.Operands))
	}
	for j := range f.Operands {
		o := &f.Operands[j]
		oat := fmt.Sprintf("%soperands[%d].", at, j)
		if !slices.Contains(places[p.Executor], o.Place) {
			return oat + "place", fmt.Sprintf("is %q, expected one of %s", o.Place, strings.Join(places[p.Executor], ", "))
		}
		if o.Place == "program" && (j != 1 || len(o.Layout) > 0) {
			return oat + "place", "is program, expected that of the second source only, without a layout"
		}
		for _, x := range o.Index {
			d := f.Dim(x)
			if d < 0 {
				return oat + "index", fmt.Sprintf("has %q, expected dimensions of the function", x)
			}
			if j == 2 && f.Reduction(d) {
				return oat + "index", fmt.Sprintf("has %s, a reduction, expected parallel dimensions for the result", x)
			}
		}
		for d := range f.Dims {
			if j == 2 && !f.Reduction(d) && !f.Indexed(j, d) {
				return oat + "index", fmt.Sprintf("lacks %s, a parallel dimension, which indexes the result", f.Dims[d].Name)
			}
		}
		if field, msg := p.checkLayout(f, o, oat); msg != "" {
			return field, msg
		}
	}
	if f.Program() {
		for d := range f.Dims {
			_, along := f.Operands[0].Layout["column"][f.Dims[d].Name]
			if f.Indexed(1, d) && (along || !f.Reduction(d) || !f.Indexed(0, d)) {
				return at + "operands[1].index", fmt.Sprintf("has %s, expected reductions along rows of the first source: a constant is the same on all columns", f.Dims[d].Name)
			}
		}
	}
	return "", ""
}

// checkLayout looks at coefficients: every dimension that indexes the operand must
// tell its elements apart.
func (p *Platform) checkLayout(f *Function, o *Operand, at string) (string, string) {
	told := map[string]bool{}
	for _, axis := range slices.Sorted(mapsKeys(o.Layout)) {
		if axis != "row" && axis != "column" {
			return at + "layout", fmt.Sprintf("has %q, expected row or column", axis)
		}
		ones := ""
		for _, name := range slices.Sorted(mapsKeys(o.Layout[axis])) {
			c := o.Layout[axis][name]
			if name != "b" && !slices.Contains(o.Index, name) {
				return at + "layout." + axis, fmt.Sprintf("has %s, expected dimensions that index the operand, or b", name)
			}
			ok := c == "x" || c == "B" || f.Dim(c) >= 0 && c != name
			if !ok {
				var n, rest int
				if k, _ := fmt.Sscanf(c, "%d", &n); k != 1 || fmt.Sprint(n) != c {
					return at + "layout." + axis, fmt.Sprintf("has coefficient %q for %s, expected a whole number, x, B or a dimension", c, name)
				}
				_ = rest
				if n == 0 {
					continue
				}
				if n < 0 {
					return at + "layout." + axis, fmt.Sprintf("has coefficient %d for %s, expected a positive one", n, name)
				}
				if n == 1 {
					if ones != "" {
						return at + "layout." + axis, fmt.Sprintf("has coefficient 1 for %s and %s: two elements on one cell", ones, name)
					}
					ones = name
				}
			}
			told[name] = true
		}
	}
	if len(o.Layout) > 0 {
		for _, x := range o.Index {
			if !told[x] {
				return at + "layout", fmt.Sprintf("lacks %s, which indexes the operand: two elements on one cell", x)
			}
		}
	}
	return "", ""
}

// Axis returns the dimensions along an axis of an operand's layout, and whether the
// bits of an element lie there too: in how many rows or columns an operand lies is
// the product of their sizes, times the bits.
func (f *Function) Axis(operand int, axis string) (dims []int, bits bool) {
	for d := range f.Dims {
		if c, ok := f.Operands[operand].Layout[axis][f.Dims[d].Name]; ok && c != "0" {
			dims = append(dims, d)
		}
	}
	c, ok := f.Operands[operand].Layout[axis]["b"]
	return dims, ok && c != "0"
}

// Milli returns a bandwidth in thousandths of bytes a cycle, in which the model
// computes.
func Milli(bytesPerCycle float64) int64 { return max(1, int64(math.Round(bytesPerCycle*1000))) }
