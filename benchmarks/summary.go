package benchmarks

import "math"

// Summary is one scheduler over all circuits. Means are geometric. A figure that
// compares two schedulers, or one with the paper, is over the circuits that both
// have a program or a published figure for; nil means that there are none. In
// means and ratios 0 copies count as 1.
type Summary struct {
	Scheduler string `json:"scheduler"`
	Circuits  int    `json:"circuits"` // with a program

	Copies      *float64 `json:"copies_geomean"`
	PaperCopies *float64 `json:"paper_copies_geomean"` // of the same column in Table II

	ToPaper            *float64 `json:"copies_to_paper"` // to the same column
	ToMASIM            *float64 `json:"copies_to_masim"`
	ToPaperMASIM       *float64 `json:"copies_to_paper_masim"`
	EnergyToMASIM      *float64 `json:"energy_to_masim"`
	EnergyToPaperMASIM *float64 `json:"energy_to_paper_masim"`
	// MostEnergyToPaperMASIM is the ratio of the circuit where it is highest.
	MostEnergyToPaperMASIM *float64 `json:"energy_to_paper_masim_most"`

	AtBound    int     `json:"at_lower_bound"` // circuits with a schedule that is proved optimal
	CPUSeconds float64 `json:"cpu_seconds"`    // of all runs together
}

// cell returns the result of a scheduler on a row, nil if it has no program.
func (r *Row) cell(scheduler string) *Cell {
	for i := range r.Cells {
		if c := &r.Cells[i]; c.Scheduler == scheduler && c.Status == Done {
			return c
		}
	}
	return nil
}

// mean is the geometric mean over the rows that have a value, and their number.
func (c *Comparison) mean(value func(*Row) (float64, bool)) (mean *float64, n int) {
	var values []float64
	for i := range c.Rows {
		if v, ok := value(&c.Rows[i]); ok {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return nil, 0
	}
	m := GeoMean(values)
	return &m, len(values)
}

// most is the largest value over the rows that have one, nil if none has.
func (c *Comparison) most(value quantity) *float64 {
	var most *float64
	for i := range c.Rows {
		if v, ok := value(&c.Rows[i]); ok && (most == nil || v > *most) {
			most = &v
		}
	}
	return most
}

// quantity is a figure that a row may have.
type quantity func(*Row) (float64, bool)

func copiesOf(scheduler string) quantity {
	return func(r *Row) (float64, bool) {
		if c := r.cell(scheduler); c != nil {
			return atLeastOne(c.Copies), true
		}
		return 0, false
	}
}

func paperCopiesOf(scheduler string) quantity {
	return func(r *Row) (float64, bool) {
		n, ok := r.Published().Copies(scheduler)
		return atLeastOne(n), ok
	}
}

func energyOf(scheduler string) quantity {
	return func(r *Row) (float64, bool) {
		if c := r.cell(scheduler); c != nil && c.Energy > 0 {
			return c.Energy, true
		}
		return 0, false
	}
}

// paperEnergyOf is what the paper's copies cost together with its gates, for the
// same circuit, of whatever gates.
func (c *Comparison) paperEnergyOf(scheduler string) quantity {
	return func(r *Row) (float64, bool) {
		p := r.sameCircuit()
		n, ok := p.Copies(scheduler)
		if !ok {
			return 0, false
		}
		e := float64(p.Gates)*c.Options.Energy.Compute + float64(n)*c.Options.Energy.Copy
		return e, e > 0
	}
}

func cpuOf(scheduler string) quantity {
	return func(r *Row) (float64, bool) {
		if c := r.cell(scheduler); c != nil {
			return c.CPU.Seconds(), true
		}
		return 0, false
	}
}

// ratio is a quantity over another, where both exist.
func ratio(a, b quantity) quantity {
	return func(r *Row) (float64, bool) {
		x, ok := a(r)
		y, also := b(r)
		if !ok || !also || y == 0 {
			return 0, false
		}
		v := x / y
		return v, !math.IsInf(v, 0)
	}
}

// both is a quantity on the rows where another one exists too.
func both(a, b quantity) quantity {
	return func(r *Row) (float64, bool) {
		x, ok := a(r)
		_, also := b(r)
		return x, ok && also
	}
}

// Summaries returns a summary for each scheduler.
func (c *Comparison) Summaries() []Summary {
	var all []Summary
	for _, name := range c.Schedulers {
		s := Summary{Scheduler: name}
		own, energy := copiesOf(name), energyOf(name)
		s.Copies, s.Circuits = c.mean(own)
		s.PaperCopies, _ = c.mean(both(paperCopiesOf(name), own))
		s.ToPaper, _ = c.mean(ratio(own, paperCopiesOf(name)))
		s.ToMASIM, _ = c.mean(ratio(own, copiesOf("masim")))
		s.ToPaperMASIM, _ = c.mean(ratio(own, paperCopiesOf("masim")))
		s.EnergyToMASIM, _ = c.mean(ratio(energy, energyOf("masim")))
		s.EnergyToPaperMASIM, _ = c.mean(ratio(energy, c.paperEnergyOf("masim")))
		s.MostEnergyToPaperMASIM = c.most(ratio(energy, c.paperEnergyOf("masim")))
		for i := range c.Rows {
			r := &c.Rows[i]
			if cell := r.cell(name); cell != nil && cell.Copies == r.Bound {
				s.AtBound++
			}
			for j := range r.Cells {
				if r.Cells[j].Scheduler == name {
					s.CPUSeconds += r.Cells[j].CPU.Seconds()
				}
			}
		}
		all = append(all, s)
	}
	return all
}
