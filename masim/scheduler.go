package masim

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

// ErrInfeasible is wrapped by the errors of problems that no schedule was found
// for: not enough rows or arrays.
var ErrInfeasible = errors.New("infeasible")

// Problem is a graph and the machine to schedule it on. Primary input i lies in
// array i/Rows, row i%Rows.
type Problem struct {
	Graph    *xmg.Graph
	Geometry sram.Geometry
}

// Effort is how hard a scheduler tries.
type Effort = xmg.Effort

// The efforts.
const (
	Fast   = xmg.Fast
	Normal = xmg.Normal
	High   = xmg.High
)

// Progress is a report from a running scheduler.
type Progress struct {
	Phase string // what is being done, a few words
	Done  int    // units of work done in this phase
	Total int    // units of work in this phase; 0 = unknown
	Best  int    // copies of the best complete schedule so far; -1 = none yet
}

// Options are common to all schedulers. The zero value is a deterministic run at
// Fast effort on one thread.
type Options struct {
	Effort   Effort
	Seed     uint64
	Threads  int            // workers; 0 means 1. The result does not depend on it.
	Progress func(Progress) // called from one goroutine at a time, may be nil

	// Bound is that of [LowerBound], if it is known: a schedule that meets it ends the
	// search. Nil lets the schedulers that use it compute it.
	Bound *Bound
	// EnergyBound is that of [LowerBoundEnergy], likewise, for Rematerialize.
	EnergyBound *EnergyBound

	// Beyond the paper; schedulers with Extended set take these.

	Objective     Objective
	Rematerialize bool        // a gate may be computed again where that costs less energy
	Energy        sram.Energy // for Rematerialize; zero means sram.DefaultEnergy
	// Distance is the cost of a copy from one array to another, in copies
	// between neighbours; nil means 1 everywhere. The paper names this as its
	// future work (section V).
	Distance [][]float64
}

// Objective is what a schedule has few of.
type Objective uint8

// The objectives. Without rematerialisation a schedule computes every gate once,
// so the fewest copies are also the least energy and the fewest cycles.
const (
	MinCopies Objective = iota // copies, weighted by Distance where given
	MinEnergy                  // energy of computes and copies
	MinCycles                  // instructions
	MinRows                    // rows of a single array, without any copy
)

func (o Objective) String() string {
	if o <= MinRows {
		return [...]string{"copies", "energy", "cycles", "rows"}[o]
	}
	return fmt.Sprintf("objective(%d)", uint8(o))
}

// ParseObjective reads the name of an objective.
func ParseObjective(s string) (Objective, error) {
	for o := MinCopies; o <= MinRows; o++ {
		if s == o.String() {
			return o, nil
		}
	}
	return 0, fmt.Errorf("masim: objective %q, expected copies, energy, cycles or rows", s)
}

// leastCopies is the bound of the options, or else computed.
func (o Options) leastCopies(ctx context.Context, p Problem) int {
	if o.Bound != nil {
		return o.Bound.Copies
	}
	return LowerBound(ctx, p).Copies
}

// energy is that of the options or, without any, the default.
func (o Options) energy() sram.Energy {
	if o.Energy == (sram.Energy{}) {
		return sram.DefaultEnergy
	}
	return o.Energy
}

func (o Options) report(p Progress) {
	if o.Progress != nil {
		o.Progress(p)
	}
}

// Result is a schedule and how it came about.
type Result struct {
	Program *sram.Program
	Copies  int
	Trials  int  // complete schedules that were evaluated
	Stopped bool // the context ended before the search did: the best so far
	Optimal bool // proven: no schedule has fewer copies
}

// Func schedules a problem. It returns the best schedule found when ctx ends,
// with Stopped set, and an error wrapping ErrInfeasible where no schedule was
// found. The result depends on the problem, the seed and the effort only,
// unless ctx ends first.
type Func func(ctx context.Context, p Problem, o Options) (*Result, error)

// Scheduler is a named scheduling algorithm.
type Scheduler struct {
	Name string
	Doc  string // one line
	Run  Func

	// Extended is set where Run takes the options beyond the paper: Objective,
	// Rematerialize and Distance.
	Extended bool
}

// Lookup returns the scheduler of that name: one of [Schedulers], or an order of
// a published rival with an instruction generation, ORDER+GENERATION or
// ORDER+GENERATION+impr, of gppic, simpler, star, date24 and naive, greedy, cicpp,
// evict. The last one looks ahead and cannot be improved.
func Lookup(name string) (Scheduler, error) {
	var names []string
	for _, s := range Schedulers {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	if s, ok := combination(name); ok {
		return s, nil
	}
	return Scheduler{}, fmt.Errorf("masim: no scheduler %q, expected one of %s", name, strings.Join(names, ", "))
}

// Validate reports why no scheduler could even start on p, or nil.
func (p Problem) Validate() error {
	g := p.Geometry
	switch {
	case g.Arrays < 1 || g.Arrays > sram.MaxArrays:
		return fmt.Errorf("masim: %d arrays, expected 1 to %d", g.Arrays, sram.MaxArrays)
	case g.Rows < 1 || g.Rows > sram.MaxRows:
		return fmt.Errorf("masim: %d rows, expected 1 to %d", g.Rows, sram.MaxRows)
	case g.Cols < 1:
		return fmt.Errorf("masim: %d columns, expected at least 1", g.Cols)
	}
	if n := p.Graph.NumInputs(); n > g.Arrays*g.Rows {
		return fmt.Errorf("masim: %w: %d inputs do not fit %d arrays of %d rows", ErrInfeasible, n, g.Arrays, g.Rows)
	}
	return nil
}

// home returns the array and the row where input node id (1 to NumInputs) lies.
func (p Problem) home(id int) (array, row int) {
	return (id - 1) / p.Geometry.Rows, (id - 1) % p.Geometry.Rows
}
