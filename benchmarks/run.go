package benchmarks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bitsched/bitsched/masim"
	"github.com/bitsched/bitsched/netlist"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

// Circuit is a circuit with the array size that it is scheduled for.
type Circuit struct {
	Name    string // for display, and to find published figures
	File    string
	Network *netlist.Network // as it was read: what programs are executed against
	Graph   *xmg.Graph
	Rows    int // of an array
}

// Options of [Run].
type Options struct {
	Arrays   int // most arrays that may be used
	Cols     int // bitlines of an array
	Effort   masim.Effort
	Seed     uint64
	Threads  int           // 0 means 1; changes times only
	Budget   time.Duration // wall time of each single run; 0 = no limit
	Patterns int           // input patterns that each program is executed on; 0 = masim.DefaultPatterns
	Energy   sram.Energy

	// Rematerialize also runs the default scheduler with gates computed again
	// where that takes less energy than copies. What comes of it stands apart, in
	// Row.Again: the schedulers of the paper compute every gate once.
	Rematerialize bool

	// CPU returns the CPU time that the process has used; nil leaves the CPU
	// times 0. Runs follow one another, so that differences are those of a run.
	CPU func() time.Duration
	// Progress shows the running scheduler, Finished the results of a circuit.
	// Each is called from one goroutine at a time and may be nil.
	Progress func(Step)
	Finished func(*Row)
}

// Step says what [Run] is doing.
type Step struct {
	Circuit, Scheduler string
	Run, Runs          int // number of this run, from 1, and of all
	masim.Progress
}

// Status is what came of one run of a scheduler.
type Status uint8

// The statuses.
const (
	NotRun     Status = iota // stopped before its turn
	Done                     // a program that passed both checks
	Infeasible               // the scheduler found no schedule
	NoResult                 // the scheduler gave up: stopped too early, or the circuit is beyond its limits
	Failed                   // it made a program that failed a check
)

func (s Status) String() string {
	return [...]string{"not run", "done", "infeasible", "no result", "failed"}[s]
}

// Cell is the result of one scheduler on one circuit. Counts are 0 unless the
// status is Done.
type Cell struct {
	Scheduler  string
	Status     Status
	Err        error  // why it is not Done
	Stopped    string // "", or what cut the search short: "budget", "interrupt"
	Copies     int
	OfInputs   int // copies of inputs
	Computes   int
	Recomputed int // computes beyond one for each gate
	ArraysUsed int
	Trials     int
	Patterns   int     // that the program was executed on
	Proved     bool    // these were all that there are
	Energy     float64 // in units of Options.Energy
	CPU, Wall  time.Duration
}

// Row is the results for one circuit, a cell for each scheduler.
type Row struct {
	Name                   string
	File                   string
	Rows                   int
	Gates, Inputs, Outputs int
	Bound                  int    // no schedule has fewer copies
	BoundReason            string // why
	Cells                  []Cell
	Again                  *Cell // of the default scheduler with rematerialisation; nil without the option
	EnergyBound            float64
	EnergyReason           string // why no schedule takes less energy, with rematerialisation either
}

// all returns the cells, that with rematerialisation last.
func (r *Row) all() []*Cell {
	var cells []*Cell
	for j := range r.Cells {
		cells = append(cells, &r.Cells[j])
	}
	if r.Again != nil {
		cells = append(cells, r.Again)
	}
	return cells
}

// optimal reports whether no schedule has fewer copies than that of a cell or,
// with rematerialisation, takes less energy.
func (r *Row) optimal(c *Cell) bool {
	if c == r.Again {
		return c.Energy <= r.EnergyBound*(1+1e-9)
	}
	return c.Copies == r.Bound
}

// Published returns the paper's figures for this circuit, nil if there are none
// or if they are for other gates or rows.
func (r *Row) Published() *Published {
	if p := PublishedFor(r.Name); p.sameInstance(r.Gates, r.Rows) {
		return p
	}
	return nil
}

// sameCircuit returns the paper's figures for a circuit of this name and number
// of inputs on arrays of this size, made of other gates perhaps: energies, unlike
// copies alone, can be compared with it. Nil if there are none.
func (r *Row) sameCircuit() *Published {
	p := PublishedFor(r.Name)
	if p == nil || p.Rows != r.Rows || r.Inputs != p.Inputs && r.Inputs != p.Outputs { // adder: exchanged in Table I
		return nil
	}
	return p
}

// Comparison is what [Run] found.
type Comparison struct {
	Schedulers []string
	Rows       []Row
	Options    Options
	Stopped    error // why some runs were not made: the cause of the context; nil = all were
}

// ErrCheck is wrapped by the errors of cells whose program failed a check.
var ErrCheck = errors.New("check failed")

var errBudget = errors.New("budget")

// Run schedules every circuit with every scheduler, one run after another, and
// checks and executes each program. When ctx ends, the running search delivers
// what it has, and the others are not run; the cause of ctx is the word for it.
// Everything but the times is independent of Threads, unless a search is cut
// short.
func Run(ctx context.Context, circuits []Circuit, schedulers []masim.Scheduler, o Options) *Comparison {
	c := &Comparison{Options: o, Rows: make([]Row, len(circuits))}
	perCircuit := len(schedulers)
	if o.Rematerialize {
		perCircuit++
	}
	for _, s := range schedulers {
		c.Schedulers = append(c.Schedulers, s.Name)
	}
	for i := range circuits {
		circuit, row := &circuits[i], &c.Rows[i]
		g := circuit.Graph
		*row = Row{
			Name: circuit.Name, File: circuit.File, Rows: circuit.Rows,
			Gates: g.NumGates(), Inputs: g.NumInputs(), Outputs: g.NumOutputs(),
			Cells: make([]Cell, len(schedulers)),
		}
		p := masim.Problem{Graph: g, Geometry: sram.Geometry{Arrays: o.Arrays, Rows: circuit.Rows, Cols: o.Cols}}
		var bound *masim.Bound
		var energy *masim.EnergyBound
		if p.Validate() == nil {
			b := masim.LowerBound(ctx, p)
			bound, row.Bound, row.BoundReason = &b, b.Copies, b.Reason
			if o.Rematerialize {
				e := masim.LowerBoundEnergy(ctx, p, o.Energy)
				energy, row.EnergyBound, row.EnergyReason = &e, e.Energy, e.Reason
			}
		}
		run := func(j int, cell *Cell, s masim.Scheduler, again bool) {
			cell.Scheduler = s.Name
			if again {
				cell.Scheduler += againSuffix
			}
			if ctx.Err() != nil {
				c.Stopped = context.Cause(ctx)
				return
			}
			step := Step{Circuit: circuit.Name, Scheduler: cell.Scheduler, Run: i*perCircuit + j + 1, Runs: len(circuits) * perCircuit}
			options := masim.Options{Effort: o.Effort, Seed: o.Seed, Threads: o.Threads, Bound: bound}
			if again {
				options.Rematerialize, options.Energy, options.Bound, options.EnergyBound = true, o.Energy, nil, energy
			}
			cell.run(ctx, circuit, p, s, o, options, step)
		}
		for j, s := range schedulers {
			run(j, &row.Cells[j], s, false)
		}
		if o.Rematerialize {
			row.Again = &Cell{}
			run(len(schedulers), row.Again, masim.Schedulers[0], true)
		}
		if o.Finished != nil && ctx.Err() == nil {
			o.Finished(row)
		}
	}
	return c
}

// againSuffix is added to the name of a scheduler that may compute gates again.
const againSuffix = " --rematerialize"

// run fills in the cell.
func (c *Cell) run(ctx context.Context, circuit *Circuit, p masim.Problem, s masim.Scheduler, o Options, options masim.Options, step Step) {
	if c.Err = p.Validate(); c.Err != nil {
		c.Status = noSchedule(c.Err)
		return
	}
	report := func(m masim.Progress) {
		if o.Progress != nil {
			step.Progress = m
			o.Progress(step)
		}
	}
	options.Progress = report
	if o.Budget > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.Budget, errBudget)
		defer cancel()
	}
	cpu := func() time.Duration {
		if o.CPU == nil {
			return 0
		}
		return o.CPU()
	}
	timed := s
	timed.Run = func(ctx context.Context, p masim.Problem, m masim.Options) (*masim.Result, error) {
		start, used := time.Now(), cpu()
		defer func() { c.Wall, c.CPU = time.Since(start), cpu()-used }()
		return s.Run(ctx, p, m)
	}
	built, err := masim.Build(ctx, circuit.Network, masim.BuildOptions{
		Options: options, Scheduler: timed, Geometry: p.Geometry, Graph: circuit.Graph, Patterns: o.Patterns,
	})
	cause := context.Cause(ctx)
	switch {
	case errors.Is(err, masim.ErrUnverified):
		c.Status = Failed
		c.Err = fmt.Errorf("%w: %s on %s: %w", ErrCheck, s.Name, circuit.Name, err)
		return
	case errors.Is(err, masim.ErrStopped):
		c.Status, c.Stopped, c.Err = NoResult, cause.Error(), err
		return
	case err != nil:
		c.Status, c.Err = noSchedule(err), err
		return
	}
	if built.Stopped && cause != nil {
		c.Stopped = cause.Error()
	}
	c.Status = Done
	replay, verdict := built.Replay, built.Verdict
	c.Copies, c.Computes, c.ArraysUsed = replay.Copies, replay.Computes, replay.ArraysUsed
	c.OfInputs, c.Recomputed = replay.InputCopies, replay.Recomputed
	c.Trials = built.Result.Trials
	c.Patterns, c.Proved = verdict.Patterns, verdict.Exhaustive
	c.Energy = built.Result.Program.Energy(o.Energy)
}

func noSchedule(err error) Status {
	if errors.Is(err, masim.ErrInfeasible) {
		return Infeasible
	}
	return NoResult
}

// Err returns the error that the comparison as a whole is: the first failed
// check, or, where no run gave a program, why not: the first infeasible run,
// before any other reason. A scheduler that found nothing on some circuit is no
// error while another run gave a program.
func (c *Comparison) Err() error {
	var failed, infeasible, other error
	done := false
	for i := range c.Rows {
		for _, cell := range c.Rows[i].all() {
			switch {
			case cell.Status == Done:
				done = true
			case cell.Status == Failed && failed == nil:
				failed = cell.Err
			case cell.Status == Infeasible && infeasible == nil:
				infeasible = fmt.Errorf("%s on %s: %w", cell.Scheduler, c.Rows[i].Name, cell.Err)
			case cell.Status == NoResult && other == nil:
				other = fmt.Errorf("%s on %s: %w", cell.Scheduler, c.Rows[i].Name, cell.Err)
			}
		}
	}
	switch {
	case failed != nil:
		return failed
	case done:
		return nil
	case infeasible != nil:
		return infeasible
	case other != nil:
		return other
	case c.Stopped != nil:
		return fmt.Errorf("stopped by %w before the first run was complete", c.Stopped)
	}
	return nil
}
