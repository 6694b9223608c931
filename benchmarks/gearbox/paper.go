package gearbox

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bitsched/bitsched/system/sparse"
	"github.com/bitsched/bitsched/system/sparse/matrix"
)

// Row is a figure of the paper with ours beside it.
type Row struct {
	Item      string   `json:"item"`
	Published *float64 `json:"published"` // null = the paper has none
	Modelled  *float64 `json:"modelled"`  // null = not modelled
	Unit      string   `json:"unit,omitempty"`
	Gate      string   `json:"gate,omitempty"` // what must hold; "" = reported only
	Holds     *bool    `json:"holds,omitempty"`
	Note      string   `json:"note,omitempty"`
}

// Entry is a table or figure of the paper.
type Entry struct {
	ID    string   `json:"id"`
	Title string   `json:"title"`
	Rows  []Row    `json:"rows"`
	Text  []string `json:"text,omitempty"` // lines that are no figures, as of a program
}

// Failed returns the rows whose gates do not hold.
func (e *Entry) Failed() (list []string) {
	for _, r := range e.Rows {
		if r.Holds != nil && !*r.Holds {
			list = append(list, fmt.Sprintf("%s: %s (%s)", e.ID, r.Item, r.Gate))
		}
	}
	return list
}

func num(v float64) *float64 { return &v }

// exact is a row that must agree within a share.
func exact(item string, published, modelled float64, unit string, within float64) Row {
	ok := math.Abs(modelled-published) <= within*math.Abs(published)
	gate := "equal"
	if within > 0 {
		gate = fmt.Sprintf("within %g %%", 100*within)
	}
	return Row{Item: item, Published: &published, Modelled: &modelled, Unit: unit, Gate: gate, Holds: &ok}
}

// derived is a row that must agree within a share with what follows from printed
// figures, which the paper does not print itself.
func derived(item string, want, modelled float64, unit string, within float64) Row {
	r := exact(item, want, modelled, unit, within)
	r.Published, r.Gate = nil, fmt.Sprintf("%g, ± %g %%", want, 100*within)
	return r
}

// beside is a row that is reported only.
func beside(item string, published *float64, modelled float64, unit, note string) Row {
	r := Row{Item: item, Published: published, Unit: unit, Note: note}
	if !math.IsNaN(modelled) {
		r.Modelled = &modelled
	}
	return r
}

// gate is a row that holds or not.
func gate(item string, value float64, unit, what string, ok bool) Row {
	return Row{Item: item, Modelled: &value, Unit: unit, Gate: what, Holds: &ok}
}

// atSize is a gate where data and stack are divided alike, and reported only else.
func (l *Lab) atSize(r Row) Row {
	if !l.whole() {
		r.Gate, r.Holds = "", nil
		r.Note = strings.TrimPrefix(r.Note+"; a gate where data and stack are divided alike", "; ")
	}
	return r
}

// study is how an entry is made.
type study struct {
	id, title string
	runs      bool // executes kernels
	make      func(l *Lab, ctx context.Context, e *Entry) error
}

func studies() []study {
	return []study{
		{"table1", "Fields of an instruction", false, (*Lab).table1},
		{"table2", "Configuration", false, (*Lab).table2},
		{"table3", "Matrices", false, (*Lab).table3},
		{"table4", "Variants, each executed", true, (*Lab).table4},
		{"table5", "Speedup against approaches outside of memory layers", false, (*Lab).table5},
		{"table6", "Area", false, (*Lab).table6},
		{"sec6", "SRAM, replication, capacity", false, (*Lab).sec6},
		{"sec7.5", "Bandwidth in memory layers over that of the logic layer", false, (*Lab).sec75},
		{"fig4", "Example matrix in compressed columns", false, (*Lab).fig4},
		{"fig5", "Lengths of columns", true, (*Lab).fig5},
		{"fig9", "Walk-through of C[A[i]] += B[i]", false, (*Lab).fig9},
		{"fig12", "Speedup of V3 over a GPU, and over SpaceA", true, (*Lab).fig12},
		{"fig13", "Variants, PageRank, over a GPU", true, (*Lab).fig13},
		{"fig14a", "Shares of the steps in time", true, (*Lab).fig14a},
		{"fig14b", "Shares of energy", true, (*Lab).fig14b},
		{"fig15", "Speedup per stack over ideal models", true, (*Lab).fig15},
		{"fig16a", "Share of long rows and columns", true, (*Lab).fig16a},
		{"fig16b", "Consecutive columns in a bank over those in an SPU", true, (*Lab).fig16b},
		{"fig17a", "Power", true, (*Lab).fig17a},
		{"fig17b", "Speed at lower power", true, (*Lab).fig17b},
		{"fig18", "Regular kernels", true, (*Lab).fig18},
		{"readings", "What the paper leaves open, on one stand-in", true, (*Lab).readings},
		{"sram", "The stack and an SRAM chip", true, (*Lab).sram},
		{"stacks", "Several stacks, PageRank", true, (*Lab).stacks},
	}
}

// Title is what an entry is about.
type Title struct {
	ID, Title string
	Executes  bool // kernels; else it is arithmetic
}

// Titles lists all entries.
func Titles() (list []Title) {
	for _, s := range studies() {
		list = append(list, Title{s.id, s.title, s.runs})
	}
	return list
}

// IDs returns the names of all entries.
func IDs() (ids []string) {
	for _, s := range studies() {
		ids = append(ids, s.id)
	}
	return ids
}

// Select returns the entries that names stand for, "all" being all of them.
func Select(names []string) ([]string, error) {
	if slices.Contains(names, "all") {
		return IDs(), nil
	}
	for _, id := range names {
		if !slices.Contains(IDs(), id) {
			return nil, fmt.Errorf("unknown entry %q, expected %s or all", id, strings.Join(IDs(), ", "))
		}
	}
	return names, nil
}

// Paper makes entries, in the order in which they are named; "all" is all of them.
func (l *Lab) Paper(ctx context.Context, ids []string) (entries []*Entry, err error) {
	if ids, err = Select(ids); err != nil {
		return nil, err
	}
	all := studies()
	for _, id := range ids {
		at := slices.IndexFunc(all, func(s study) bool { return s.id == id })
		e := &Entry{ID: id, Title: all[at].title}
		if err := all[at].make(l, ctx, e); err != nil {
			if ctx.Err() != nil {
				return entries, context.Cause(ctx)
			}
			return entries, fmt.Errorf("%s: %w", id, err)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func (l *Lab) table1(_ context.Context, e *Entry) error {
	published := map[string]float64{"NextPC1": 3, "NextPC2": 3, "NextPC_Cond": 4, "DecLoop": 1, "OpCode1": 4, "OpCode2": 4, "Src1Op1": 3, "Src2Op1": 3, "Src1Op2": 3, "Src2Op2": 3,
		"ShiftCond1": 3, "ShiftCond2": 3, "ShiftCond3": 3, "ReadWrite1": 1, "ReadWrite2": 1, "ReadWrite3": 1, "RegSrc": 3, "RegDst": 4, "IndirectAccSrc": 2, "IndirectAccDst": 2,
		"LongEntryTreat": 1, "CheckCleanVal": 1, "CleanIndexSrc": 2, "CleanPairDst": 2}
	for _, f := range sparse.Fields() {
		e.Rows = append(e.Rows, exact(f.Name, published[f.Name], float64(f.Bits), "bits", 0))
	}
	e.Rows = append(e.Rows, exact("instruction", 60, float64(sparse.InstructionBits()), "bits", 0))
	v, err := sparse.LookupVariant("v3")
	if err != nil {
		return err
	}
	programs, count, same := 0, 0, true
	for _, app := range sparse.Apps() {
		list, err := sparse.Lower(app.Name, v, sparse.F32)
		if err != nil {
			return err
		}
		programs += len(list)
		for _, p := range list {
			for _, in := range p.Code {
				count++
				same = same && sparse.DecodeInstruction(in.Encode()) == in
			}
		}
	}
	e.Rows = append(e.Rows, gate(fmt.Sprintf("instructions of the %d programs of all applications", programs), float64(count), "", "encoded and decoded to themselves", same))
	return nil
}

func (l *Lab) table2(_ context.Context, e *Entry) error {
	m := sparse.Default()
	o := m.Organisation
	for _, r := range []struct {
		item      string
		published float64
		ours      float64
		unit      string
	}{
		{"vaults", 32, float64(o.Vaults), ""}, {"subarrays of a bank", 32, float64(o.Subarrays), ""}, {"row", 256, float64(o.RowBytes), "bytes"},
		{"banks of a layer", 64, float64(o.Banks), ""}, {"memory layers", 8, float64(o.Layers), ""}, {"row cycle", 50, m.Clocks.RowCycle, "ns"},
		{"SPU frequency", 164, m.Clocks.SPU, "MHz"}, {"interconnection", 1200, m.Clocks.Link, "MHz"}, {"lanes", 64, float64(m.Links.Lanes), ""},
		{"SRAM of a vault", 32768, float64(m.Logic.SRAM), "bytes"},
	} {
		e.Rows = append(e.Rows, exact(r.item, r.published, r.ours, r.unit, 0))
	}
	return nil
}

func (l *Lab) table3(_ context.Context, e *Entry) error {
	bytes := map[string]float64{"hollywood-2009": 911130616, "soc-orkut": 1725564672, "cit-Patents": 294501312, "road_usa": 653247768, "soc-twitter-2010": 4410795120}
	density := map[string]float64{"hollywood-2009": 0.0086, "soc-orkut": 0.0023, "cit-Patents": 0.00023, "road_usa": 0.00001, "soc-twitter-2010": 0.0001}
	for _, d := range matrix.Datasets() {
		e.Rows = append(e.Rows, exact(d.Name+" bytes", bytes[d.Name], float64(d.Bytes()), "bytes", 0),
			beside(d.Name+" density", num(density[d.Name]), 100*float64(d.NNZ)/float64(d.N)/float64(d.N), "%", "the paper cuts digits off"))
	}
	return nil
}

func (l *Lab) table5(_ context.Context, e *Entry) error {
	// Areas: the stack's is 2.009 times that without processors, 70.22 mm² over 34.95.
	const ratio = 70.22 / 34.95
	e.Rows = append(e.Rows,
		beside("Graphicionado, per chip", num(10.01), math.NaN(), "x", "published speedups, not executed"),
		beside("Tesseract, per stack", num(27.08), math.NaN(), "x", ""), beside("GraphP, per stack", num(21.99), math.NaN(), "x", ""),
		exact("Tesseract, per area", 13.47, 27.08/ratio, "x", 0.01), exact("GraphP, per area", 10.9, 21.99/ratio, "x", 0.01))
	return nil
}

// Areas of table 6, mm² a layer.
const (
	areaDRAM      = 34.95
	areaWalkers   = 11.26
	areaBankLogic = 4.56
	areaFloatOpt  = 10.03
	areaFloatPess = 19.45
)

func (l *Lab) table6(_ context.Context, e *Entry) error {
	optimistic, pessimistic := areaWalkers+areaBankLogic+areaFloatOpt, areaWalkers+areaBankLogic+areaFloatPess
	total := areaDRAM + pessimistic
	pairs := float64(sparse.Default().Organisation.Banks * sparse.Default().Organisation.Subarrays / 2)
	e.Rows = append(e.Rows,
		beside("over HMC, optimistic, as printed", num(73), 100*optimistic/areaDRAM, "%", "the paper cuts digits off"),
		derived("over HMC, optimistic", 73.96, 100*optimistic/areaDRAM, "%", 0.001),
		derived("over HMC, pessimistic", 100.92, 100*pessimistic/areaDRAM, "%", 0.001),
		derived("layer", 70.22, total, "mm²", 0.001),
		derived("power density", 465.96, 32.72/total*1000, "mW/mm²", 0.001), beside("power density, as printed", num(465), math.NaN(), "mW/mm²", ""),
		beside("over HMC, pessimistic, as printed", num(100), math.NaN(), "%", ""),
		derived("SPUs of a layer, from their areas", pairs, 6.86/0.0067, "", 0.001),
		beside("over Fulcrum, optimistic", num(2.42), math.NaN(), "%", "does not follow from table 6"),
		beside("over Fulcrum, pessimistic", num(10.93), math.NaN(), "%", "does not follow from table 6"))
	return nil
}

func (l *Lab) sec6(_ context.Context, e *Entry) error {
	m := sparse.Default()
	for _, name := range []string{"soc-twitter-2010", "road_usa"} {
		d, err := matrix.LookupDataset(name)
		if err != nil {
			return err
		}
		sram := 16 * float64(d.N) * m.LongPercent / 100
		want := map[string][2]float64{"soc-twitter-2010": {34076, 1.523}, "road_usa": {38315, 1.713}}[name]
		e.Rows = append(e.Rows, derived(name+", SRAM of the logic layer", want[0], math.Floor(sram), "bytes", 0.001),
			derived(name+", replication", want[1], 100*sparse.ReplicationShare(m, m.LongCount(d.N)), "% of the capacity", 0.001))
	}
	e.Rows = append(e.Rows, derived("dispatchers", 6.25, 100/float64(m.Organisation.Subarrays/2), "% of the capacity", 0.001),
		beside("dispatchers, as printed", num(6), math.NaN(), "% of the capacity", ""), beside("SRAM as printed, for the evaluated sets", num(34*1024), math.NaN(), "bytes", "road_usa needs more"),
		beside("replication as printed, below", num(1.7), math.NaN(), "%", ""))
	return nil
}

func (l *Lab) sec75(_ context.Context, e *Entry) error {
	m := sparse.Default()
	inside := float64(m.SPUs()) * 3 * 4 * m.Clocks.SPU * 1e6
	e.Rows = append(e.Rows, derived("in memory layers over 512 GB/s", 29.52, inside/512e9, "x", 0.001), beside("as printed", num(29), math.NaN(), "x", "cut off"))
	return nil
}

func (l *Lab) fig4(_ context.Context, e *Entry) error {
	m, pairs := exampleMatrix()
	index := []float64{1, 4, 0, 3, 0, 3, 4, 1, 2, 5}
	for i, want := range index {
		e.Rows = append(e.Rows, exact(fmt.Sprintf("Indexes[%d]", i), want, float64(m.Idx[i]), "", 0))
	}
	for c, want := range []float64{0, 2, 4, 4, 7, 8, 10} {
		e.Rows = append(e.Rows, exact(fmt.Sprintf("Offsets[%d]", c), want, float64(m.Ptr[c]), "", 0))
	}
	for c, want := range []float64{0, 4, 8, 8, 14, 16, 20} { // figure 4, below the matrix
		e.Rows = append(e.Rows, exact(fmt.Sprintf("offsets of pairs[%d]", c), want, float64(pairs[c]), "words", 0))
	}
	return nil
}

// exampleMatrix is the matrix of figure 4, with the offsets in words of its pairs.
func exampleMatrix() (*matrix.Matrix, []int64) {
	m := &matrix.Matrix{Rows: 6, Cols: 6, Kind: matrix.Integer, Ptr: []int64{0, 2, 4, 4, 7, 8, 10},
		Idx: []uint32{1, 4, 0, 3, 0, 3, 4, 1, 2, 5}, Val: []uint32{1, 0, 3, 2, 6, 5, 4, 7, 9, 8}}
	var pairs []int64
	for _, p := range m.Ptr {
		pairs = append(pairs, 2*p)
	}
	return m, pairs
}

func (l *Lab) fig9(ctx context.Context, e *Entry) error {
	code := sparse.ScatterProgram(sparse.OpAccU32).Code
	e.Rows = append(e.Rows, exact("instructions", 4, float64(len(code)), "", 0))
	for pc, in := range code {
		e.Text = append(e.Text, fmt.Sprintf("%d  %015x  %s", pc, in.Encode(), in))
	}
	m := sparse.Default()
	m.Organisation.Layers, m.Organisation.Banks, m.Organisation.Subarrays = 1, 3, 4
	for _, index := range []string{"identity", "remote"} {
		res, err := sparse.Scatter{PerSPU: 6400, Index: index, Instr: true, Threads: 1}.Run(ctx, m)
		if err != nil {
			return err
		}
		want := map[string]float64{"identity": 21910, "remote": 14600}[index]
		e.Rows = append(e.Rows, exact("cycles of 6400 entries, "+index, want, float64(res.Cycles), "SPU cycles", 0))
	}
	return nil
}

func (l *Lab) fig18(ctx context.Context, e *Entry) error {
	e.Rows = append(e.Rows, beside("over bank SIMD, mean", num(4.4), math.NaN(), "x", "published, from Fulcrum's evaluation"),
		beside("over DRISA, more than", num(100), math.NaN(), "x", "published"))
	// SPUs do not wait for each other: those of a small stack take as long.
	m := *l.o.Machine
	spus := float64(m.SPUs())
	m.Organisation.Layers, m.Organisation.Banks = 1, 3
	const n = 6400
	for _, kernel := range sparse.RegularKernels {
		res, err := sparse.Regular{Kernel: kernel, PerSPU: n, Seed: l.o.Seed, Threads: 1}.Run(ctx, &m)
		if err != nil {
			return err
		}
		e.Rows = append(e.Rows, beside(kernel+", SPU cycles an entry", nil, res.Mean/n, "", "interpreted, compared with a plain loop"),
			beside(kernel+", of the whole stack", nil, res.Entries/float64(res.SPUs)*spus/1e9, "G entries/s", ""))
	}
	return nil
}
