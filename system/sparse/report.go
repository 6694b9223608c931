package sparse

import (
	"fmt"
	"io"
	"math"

	"github.com/emirpasic/gods/maps/treemap"
	"github.com/emirpasic/gods/utils"

	"github.com/bitsched/bitsched/internal/figure"
	"github.com/bitsched/bitsched/system/sparse/matrix"
)

// LengthBin counts columns by length: a power of two up to the next.
type LengthBin struct {
	From    int64   `json:"from"`
	Text    string  `json:"text"`
	Columns int64   `json:"columns"`
	Share   float64 `json:"share"`
}

// LengthBins counts the columns of a matrix by their lengths, as figure 5 does.
func LengthBins(m *matrix.Matrix) (bins []LengthBin) {
	counts := treemap.NewWith(utils.Int64Comparator)
	byLength := map[int64]int64{}
	for c := range m.Cols {
		byLength[m.Ptr[c+1]-m.Ptr[c]]++
	}
	for n, k := range byLength {
		from := int64(0)
		for f := int64(1); f <= n; f *= 2 {
			from = f
		}
		old, _ := counts.Get(from)
		sum, _ := old.(int64)
		counts.Put(from, sum+k)
	}
	for it := counts.Iterator(); it.Next(); {
		from, k := it.Key().(int64), it.Value().(int64)
		text := fmt.Sprintf("%d-%d", from, 2*from-1)
		if from <= 1 {
			text = fmt.Sprint(from)
		}
		bins = append(bins, LengthBin{From: from, Text: text, Columns: k, Share: float64(k) / float64(m.Cols)})
	}
	return bins
}

// PlacementSurvey says how a matrix lies in a stack.
type PlacementSurvey struct {
	Rows        int     `json:"rows"`
	Cols        int     `json:"cols"`
	NNZ         int64   `json:"nnz"`
	Long        int     `json:"long"`
	Mean        float64 `json:"mean_nonzeros"`
	Layout      Layout  `json:"layout"`
	Own         float64 `json:"own_spu_share"`
	Replica     float64 `json:"replica_share"` // or down, without replication
	Bank        float64 `json:"own_bank_share"`
	Layer       float64 `json:"own_layer_share"`
	Stack       float64 `json:"other_layers_share"`
	InterBank   float64 `json:"inter_bank_share"`
	Replication float64 `json:"replication_share"` // of the capacity
}

// Survey places a matrix and executes nothing.
func Survey(m *matrix.Matrix, mach *Machine, v Variant, long int, seed uint64) (*PlacementSurvey, error) {
	if v.Bank {
		mach = mach.BankLevel()
	}
	o := PlaceOptions{Long: long, Deal: mach.Readings.Place, Balance: mach.Readings.Balance, Seed: seed, Rows: v.Rows}
	if v.Name == "v1" {
		o.Deal = mach.Readings.V1Place
	}
	if !v.Long {
		o.Long = 0
	}
	p, err := Place(m, mach, o)
	if err != nil {
		return nil, err
	}
	s := &PlacementSurvey{Rows: m.Rows, Cols: m.Cols, NNZ: m.NNZ(), Long: p.Long, Mean: float64(m.NNZ()) / float64(mach.SPUs()), Layout: p.Layout}
	var own, rep, bank, layer, stack int64
	pairs, banks := mach.ComputePairs(), mach.Organisation.Banks
	for q := range mach.SPUs() {
		for k := p.Base[q]; k < p.Base[q+1]; k++ {
			i := p.Idx[k]
			if int(i) < p.LongRows {
				rep++
				continue
			}
			o := p.owner.of(i)
			switch {
			case o == q:
				own++
			case o/pairs == q/pairs:
				bank++
			case o/pairs/banks == q/pairs/banks:
				layer++
			default:
				stack++
			}
		}
	}
	f := func(n int64) float64 { return float64(n) / float64(m.NNZ()) }
	s.Own, s.Replica, s.Bank, s.Layer, s.Stack = f(own), f(rep), f(bank), f(layer), f(stack)
	s.InterBank = s.Layer + s.Stack
	if v.Replicate {
		s.Replication = ReplicationShare(mach, p.Long)
	}
	return s, nil
}

// ReplicationShare is what replicated outputs and offsets of long columns take of
// the capacity: a pair of words for each in each SPU.
func ReplicationShare(mach *Machine, long int) float64 {
	return 8 * float64(long) * float64(mach.SPUs()) / float64(mach.Bytes())
}

// WriteStats writes counters in the form of gem5.
func WriteStats(w io.Writer, res *Result) error {
	put := func(name string, v any, text string) error {
		_, err := fmt.Fprintf(w, "%-40s %20v  # %s\n", name, v, text)
		return err
	}
	if _, err := fmt.Fprintln(w, "---------- Begin Simulation Statistics ----------"); err != nil {
		return err
	}
	type line struct {
		name string
		v    any
		text string
	}
	c, p := res.Counters, res.Pairs
	lines := []line{
		{"sim.seconds", res.Seconds, "time on the stack (s)"},
		{"sim.link_cycles", res.Cycles, "cycles of the links"},
		{"sim.iterations", len(res.Iterations), "iterations"},
		{"sim.rounds", res.Rounds, "rounds of accumulation"},
		{"pairs.nonzeros", res.Nonzeros, "nonzeros processed"},
		{"pairs.local", p.Local, "accumulated by their SPU"},
		{"pairs.replica", p.Replica, "accumulated onto replicas"},
		{"pairs.remote", p.Remote, "sent to other SPUs"},
		{"pairs.down", p.Down, "sent to the logic layer"},
		{"pairs.clean", p.Clean, "clean indicators"},
		{"pairs.reduced", p.Reduced, "replicas sent to the logic layer"},
		{"spu.row_switches", c.Loads, "rows loaded and stored"},
		{"spu.alu_ops", c.ALU, "operations on words"},
		{"spu.compares", c.Compare, "comparisons with latches"},
		{"spu.shift_outs", c.Shifts, "pairs shifted out of rows"},
		{"line.hops", c.LineHops, "pairs over segments of lines"},
		{"ring.pairs", c.RingUsed, "pairs on rings"},
		{"ring.hops", c.RingHops, "pairs over segments of rings"},
		{"tsv.hops", c.TSVHops, "pairs over segments of TSVs"},
		{"logic.ops", c.Reduced, "operations of vault cores"},
	}
	for _, s := range res.Steps {
		lines = append(lines, line{"step." + s.Name + ".link_cycles", s.Cycles, "cycles of the links"}, line{"step." + s.Name + ".row_switches", s.Loads, "rows loaded and stored"})
	}
	for _, l := range lines {
		if err := put(l.name, l.v, l.text); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w, "---------- End Simulation Statistics   ----------")
	return err
}

// StepsFigure draws the time of each run by step, and its energy by what took it, as
// stacked bars.
func StepsFigure(title string, runs []*Result) []byte {
	c := figure.New(640, 0, title, "Time on the stack by step, and energy as far as its table has it; docs/sparse.md says what each step does.")
	var entries []figure.Entry
	for k, name := range stepNames {
		entries = append(entries, figure.Entry{Style: figure.Series(k), Text: name, Shown: figure.ShownArea})
	}
	y := c.Legend(c.Heading(), entries) + 12
	most := int64(1)
	for _, r := range runs {
		most = max(most, r.Cycles)
	}
	left, width := figure.Margin+70, 440.0
	for _, r := range runs {
		c.Text(left-8, y+17, r.Variant, figure.TextStyle{Anchor: figure.End, Colour: figure.Ink})
		x := left
		for k, s := range r.Steps {
			w := width * float64(s.Cycles) / float64(most)
			if w <= 0 {
				continue
			}
			c.Bar(x, y, w, 24, figure.Series(k), fmt.Sprintf("%s, %s: %.1f %%", r.Variant, s.Name, 100*float64(s.Cycles)/math.Max(1, float64(r.Cycles))))
			x += w
		}
		c.Text(x+8, y+17, fmt.Sprintf("%.4g ms", r.Seconds*1e3), figure.TextStyle{})
		y += 36
	}
	c.Height = energyBars(c, y+12, left, width, runs) + figure.Margin
	return c.Bytes()
}

// energyBars draws the known energy of runs below y, and returns where that ends.
func energyBars(c *figure.Canvas, y, left, width float64, runs []*Result) float64 {
	var entries []figure.Entry
	style := map[string]figure.Style{}
	most := 0.0
	for _, r := range runs {
		if r.Energy == nil {
			continue
		}
		most = max(most, r.Energy.Total)
		for _, l := range r.Energy.Lines {
			if _, ok := style[l.Name]; !ok && l.Joules != nil {
				style[l.Name] = figure.Series(len(style))
				entries = append(entries, figure.Entry{Style: style[l.Name], Text: l.Name, Shown: figure.ShownArea})
			}
		}
	}
	if most == 0 {
		return y
	}
	y = c.Legend(y, entries) + 12
	for _, r := range runs {
		if r.Energy == nil {
			continue
		}
		c.Text(left-8, y+17, r.Variant, figure.TextStyle{Anchor: figure.End, Colour: figure.Ink})
		x := left
		for _, l := range r.Energy.Lines {
			if l.Joules == nil || *l.Joules == 0 {
				continue
			}
			w := width * *l.Joules / most
			c.Bar(x, y, w, 24, style[l.Name], fmt.Sprintf("%s, %s: %.1f %% of the known energy", r.Variant, l.Name, 100*l.Share))
			x += w
		}
		c.Text(x+8, y+17, fmt.Sprintf("%.4g mJ", r.Energy.Total*1e3), figure.TextStyle{})
		y += 36
	}
	return y
}
