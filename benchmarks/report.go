package benchmarks

import (
	"encoding/csv"
	"io"
	"strconv"
)

// Report is a comparison as JSON and CSV print it. Figures that do not exist are
// null, or empty in CSV.
type Report struct {
	Effort        string          `json:"effort"`
	Seed          uint64          `json:"seed"`
	Arrays        int             `json:"arrays_allowed"`
	Cols          int             `json:"cols"`
	CopyEnergy    float64         `json:"copy_energy"`
	BudgetSeconds float64         `json:"budget_seconds"` // of each run; 0 = none
	Stopped       string          `json:"stopped"`        // "", or why some runs were not made
	Deterministic bool            `json:"deterministic"`  // a rerun gives the same copies
	Schedulers    []string        `json:"schedulers"`
	Circuits      []CircuitReport `json:"circuits"`
	Summary       []Summary       `json:"summary"`
}

// CircuitReport is the part of a [Report] on one circuit.
type CircuitReport struct {
	Name       string         `json:"name"`
	File       string         `json:"file"`
	Rows       int            `json:"rows"`
	Inputs     int            `json:"inputs"`
	Outputs    int            `json:"outputs"`
	Gates      int            `json:"gates"`
	LowerBound BoundReport    `json:"lower_bound"`
	Results    []ResultReport `json:"results"`

	Rematerialized *AgainReport `json:"rematerialized,omitempty"`
}

// AgainReport is the part of a [Report] on the run with rematerialisation.
type AgainReport struct {
	ResultReport
	CopiesOfInputs *int     `json:"copies_of_inputs"` // which cannot be computed instead
	CopiesOfGates  *int     `json:"copies_of_gates"`
	Recomputed     *int     `json:"recomputed"`
	SavedPercent   *float64 `json:"energy_saved_percent"` // of the same scheduler without it
	EnergyBound    float64  `json:"energy_lower_bound"`
	EnergyReason   string   `json:"energy_lower_bound_reason"`
}

// BoundReport is the lower bound on the copies for a circuit.
type BoundReport struct {
	Copies int    `json:"copies"`
	Reason string `json:"reason"`
}

// ResultReport is the part of a [Report] on one run.
type ResultReport struct {
	Scheduler        string   `json:"scheduler"`
	Status           string   `json:"status"`
	Note             string   `json:"note"` // why there is no result
	Stopped          string   `json:"stopped"`
	Copies           *int     `json:"copies"`
	PaperCopies      *int     `json:"paper_copies"`
	Optimal          bool     `json:"optimal"` // as few copies as the lower bound; of AgainReport, as little energy
	ToMASIM          *float64 `json:"copies_to_masim"`
	ToPaperMASIM     *float64 `json:"copies_to_paper_masim"`
	Computes         *int     `json:"computes"`
	Energy           *float64 `json:"energy"`
	PaperMASIMEnergy *float64 `json:"paper_masim_energy"` // gates and MASIM's published copies
	ArraysUsed       *int     `json:"arrays_used"`
	Trials           *int     `json:"trials"`
	Patterns         int      `json:"verified_patterns"`
	Proved           bool     `json:"proved"`
	CPUSeconds       float64  `json:"cpu_seconds"`
	WallSeconds      float64  `json:"wall_seconds"`
	PaperSeconds     *int     `json:"paper_wall_seconds"` // of the paper, on 12 threads
}

// Report returns the comparison for JSON.
func (c *Comparison) Report() *Report {
	o := &c.Options
	r := &Report{
		Effort: o.Effort.String(), Seed: o.Seed, Arrays: o.Arrays, Cols: o.Cols, CopyEnergy: o.Energy.Copy,
		BudgetSeconds: o.Budget.Seconds(), Deterministic: o.Budget == 0 && c.Stopped == nil,
		Schedulers: c.Schedulers, Circuits: []CircuitReport{}, Summary: c.Summaries(),
	}
	if c.Stopped != nil {
		r.Stopped = c.Stopped.Error()
	}
	at := func(q quantity, row *Row) *float64 {
		if v, ok := q(row); ok {
			return &v
		}
		return nil
	}
	for i := range c.Rows {
		row := &c.Rows[i]
		cr := CircuitReport{
			Name: row.Name, File: row.File, Rows: row.Rows,
			Inputs: row.Inputs, Outputs: row.Outputs, Gates: row.Gates,
			LowerBound: BoundReport{row.Bound, row.BoundReason}, Results: []ResultReport{},
		}
		for _, cell := range row.all() {
			own := copiesOf(cell.Scheduler)
			rr := ResultReport{
				Scheduler: cell.Scheduler, Status: cell.Status.String(), Stopped: cell.Stopped,
				ToMASIM:          at(ratio(own, copiesOf("masim")), row),
				ToPaperMASIM:     at(ratio(own, paperCopiesOf("masim")), row),
				PaperMASIMEnergy: at(c.paperEnergyOf("masim"), row),
				Patterns:         cell.Patterns, Proved: cell.Proved,
				CPUSeconds: cell.CPU.Seconds(), WallSeconds: cell.Wall.Seconds(),
			}
			if cell.Err != nil {
				rr.Note = cell.Err.Error()
			}
			if n, ok := row.Published().Copies(cell.Scheduler); ok {
				rr.PaperCopies = &n
			}
			if n, ok := row.Published().Seconds(cell.Scheduler); ok {
				rr.PaperSeconds = &n
			}
			if cell.Status == Done {
				rr.Copies, rr.Computes, rr.Energy = &cell.Copies, &cell.Computes, &cell.Energy
				rr.ArraysUsed, rr.Trials = &cell.ArraysUsed, &cell.Trials
				rr.Optimal = row.optimal(cell)
			}
			r.Deterministic = r.Deterministic && cell.Stopped == ""
			if cell != row.Again {
				cr.Results = append(cr.Results, rr)
				continue
			}
			cr.Rematerialized = &AgainReport{
				ResultReport: rr, SavedPercent: row.saved(), EnergyBound: row.EnergyBound, EnergyReason: row.EnergyReason,
			}
			if cell.Status == Done {
				gates := cell.Copies - cell.OfInputs
				cr.Rematerialized.CopiesOfInputs, cr.Rematerialized.CopiesOfGates = &cell.OfInputs, &gates
				cr.Rematerialized.Recomputed = &cell.Recomputed
			}
		}
		r.Circuits = append(r.Circuits, cr)
	}
	return r
}

// WriteCSV writes a line for each run, with the names of the columns first.
func (r *Report) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	rows := [][]string{{
		"circuit", "file", "rows", "arrays_allowed", "inputs", "outputs", "gates", "lower_bound",
		"scheduler", "effort", "seed", "status", "stopped", "copies", "paper_copies", "copies_to_masim", "copies_to_paper_masim",
		"computes", "energy", "paper_masim_energy", "arrays_used", "trials", "verified_patterns",
		"cpu_seconds", "wall_seconds", "paper_wall_seconds", "note",
	}}
	count := func(n *int) string {
		if n == nil {
			return ""
		}
		return strconv.Itoa(*n)
	}
	for i := range r.Circuits {
		c := &r.Circuits[i]
		for j := range c.Results {
			x := &c.Results[j]
			rows = append(rows, []string{
				c.Name, c.File, strconv.Itoa(c.Rows), strconv.Itoa(r.Arrays),
				strconv.Itoa(c.Inputs), strconv.Itoa(c.Outputs), strconv.Itoa(c.Gates), strconv.Itoa(c.LowerBound.Copies),
				x.Scheduler, r.Effort, strconv.FormatUint(r.Seed, 10), x.Status, x.Stopped,
				count(x.Copies), count(x.PaperCopies), decimals(x.ToMASIM, 4), decimals(x.ToPaperMASIM, 4),
				count(x.Computes), decimals(x.Energy, 2), decimals(x.PaperMASIMEnergy, 2),
				count(x.ArraysUsed), count(x.Trials), strconv.Itoa(x.Patterns),
				strconv.FormatFloat(x.CPUSeconds, 'f', 3, 64), strconv.FormatFloat(x.WallSeconds, 'f', 3, 64),
				count(x.PaperSeconds), x.Note,
			})
		}
	}
	return out.WriteAll(rows)
}
