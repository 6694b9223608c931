package benchmarks

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/masim"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

// chain is a small circuit: XORs and ANDs along a chain over all inputs.
func chain(t *testing.T, name string, inputs, rows int) Circuit {
	t.Helper()
	g := xmg.New(name)
	var in []xmg.Lit
	for i := range inputs {
		in = append(in, g.AddInput(fmt.Sprintf("x%d", i)))
	}
	carry := in[0]
	for i := 1; i < inputs; i++ {
		g.AddOutput(fmt.Sprintf("s%d", i), g.Xor2(carry, in[i]))
		carry = g.And(carry, in[i].Not())
	}
	g.AddOutput("c", carry)
	n := g.ToNetwork()
	mapped, err := xmg.FromNetwork(context.Background(), n, xmg.Options{})
	require.NoError(t, err)
	return Circuit{Name: name, File: name + ".v", Network: n, Graph: mapped, Rows: rows}
}

func options() Options {
	return Options{Arrays: 4, Cols: 64, Seed: 3, Patterns: 100, Energy: sram.DefaultEnergy}
}

func lookup(t *testing.T, names ...string) (list []masim.Scheduler) {
	t.Helper()
	for _, name := range names {
		s, err := masim.Lookup(name)
		require.NoError(t, err)
		list = append(list, s)
	}
	return list
}

func scheduler(name string, run masim.Func) masim.Scheduler {
	return masim.Scheduler{Name: name, Run: run}
}

func TestRunStatuses(t *testing.T) {
	real := lookup(t, "masim")[0].Run
	list := []masim.Scheduler{
		scheduler("good", real),
		scheduler("infeasible", func(context.Context, masim.Problem, masim.Options) (*masim.Result, error) {
			return nil, fmt.Errorf("masim: %w: no", masim.ErrInfeasible)
		}),
		scheduler("refuses", func(context.Context, masim.Problem, masim.Options) (*masim.Result, error) {
			return nil, errOther
		}),
		// A gate left out breaks a rule.
		scheduler("short", func(ctx context.Context, p masim.Problem, o masim.Options) (*masim.Result, error) {
			r, err := real(ctx, p, o)
			if err == nil {
				r.Program.Instrs = r.Program.Instrs[1:]
			}
			return r, err
		}),
	}
	var finished []string
	o := options()
	ticks := time.Duration(0)
	o.CPU = func() time.Duration { ticks += time.Second; return ticks }
	o.Finished = func(r *Row) { finished = append(finished, r.Name) }
	c := Run(context.Background(), []Circuit{chain(t, "a", 12, 8), chain(t, "b", 40, 8)}, list, o)

	require.Equal(t, []string{"a", "b"}, finished)
	require.Equal(t, []string{"good", "infeasible", "refuses", "short"}, c.Schedulers)
	a, b := c.Rows[0], c.Rows[1]
	require.Equal(t, []Status{Done, Infeasible, NoResult, Failed}, statuses(a))
	good := a.Cells[0]
	require.Equal(t, 22, good.Computes)
	require.GreaterOrEqual(t, good.Copies, a.Bound)
	require.GreaterOrEqual(t, a.Bound, 8, "the inputs of the full array")
	require.NotEmpty(t, a.BoundReason)
	require.InDelta(t, 22+1.87*float64(good.Copies), good.Energy, 1e-9)
	require.Equal(t, 100, good.Patterns)
	require.Equal(t, time.Second, good.CPU)
	require.ErrorIs(t, a.Cells[3].Err, ErrCheck)
	require.ErrorIs(t, c.Err(), ErrCheck)
	// 40 inputs do not fit 4 arrays of 8 rows, so nothing was asked to try.
	require.Equal(t, []Status{Infeasible, Infeasible, Infeasible, Infeasible}, statuses(b))
	require.Zero(t, b.Cells[0].CPU)
}

func statuses(r Row) (s []Status) {
	for i := range r.Cells {
		s = append(s, r.Cells[i].Status)
	}
	return s
}

// The run with gates computed again is checked as such and stands apart: it takes
// no more energy than the plain one, and the others are the same with and without.
func TestRunRematerialize(t *testing.T) {
	circuits := []Circuit{chain(t, "a", 14, 8), chain(t, "b", 20, 12), chain(t, "c", 60, 8)}
	o := options()
	list := lookup(t, "bitsched", "masim")
	without := Run(context.Background(), circuits, list, o)
	o.Rematerialize = true
	with := Run(context.Background(), circuits, list, o)
	for i := range with.Rows[:2] {
		r := &with.Rows[i]
		again := r.Again
		for j := range r.Cells {
			r.Cells[j].Wall, without.Rows[i].Cells[j].Wall = 0, 0
		}
		require.Equal(t, without.Rows[i].Cells, r.Cells)
		require.Nil(t, without.Rows[i].Again)
		require.Equal(t, Done, again.Status, "%v", again.Err)
		require.LessOrEqual(t, again.Energy, r.Cells[0].Energy)
		require.Equal(t, r.Gates+again.Recomputed, again.Computes)
		require.InDelta(t, float64(again.Computes)+1.87*float64(again.Copies), again.Energy, 1e-9)
		require.LessOrEqual(t, again.OfInputs, again.Copies)
		require.InDelta(t, 100-100*again.Energy/r.Cells[0].Energy, *r.saved(), 1e-9)
		require.LessOrEqual(t, r.EnergyBound, again.Energy+1e-9)
		require.GreaterOrEqual(t, r.EnergyBound, float64(r.Gates))
		require.NotEmpty(t, r.EnergyReason)
	}
	require.Equal(t, Infeasible, with.Rows[2].Again.Status)

	tables, _ := with.Tables()
	i := slices.IndexFunc(tables, func(t Table) bool { return t.Columns[len(t.Columns)-4].Name == "energy now" })
	require.GreaterOrEqual(t, i, 0)
	require.Len(t, tables[i].Rows, 3)
	for _, row := range tables[i].Rows {
		require.Len(t, row, len(tables[i].Columns))
	}
	report := with.Report()
	require.Len(t, report.Circuits[0].Results, 2)
	require.Equal(t, with.Rows[0].Again.OfInputs, *report.Circuits[0].Rematerialized.CopiesOfInputs)
	require.Nil(t, report.Circuits[2].Rematerialized.Recomputed)
	// At least the eight inputs of the full array are copied.
	a := report.Circuits[0].Rematerialized
	require.GreaterOrEqual(t, a.EnergyBound, float64(with.Rows[0].Gates)+8*1.87-1e-9)
	require.Equal(t, *a.Energy < a.EnergyBound+1e-9, a.Optimal)
	require.Nil(t, without.Report().Circuits[0].Rematerialized)
}

// A program that keeps the rules of a graph but not of the circuit as read fails
// in the execution.
func TestRunExecutes(t *testing.T) {
	c := chain(t, "a", 6, 16)
	other := xmg.New("a")
	var in []xmg.Lit
	for range 6 {
		in = append(in, other.AddInput(""))
	}
	for range c.Graph.NumOutputs() {
		other.AddOutput("", in[0])
	}
	c.Network = other.ToNetwork()
	got := Run(context.Background(), []Circuit{c}, lookup(t, "masim"), options())
	require.Equal(t, []Status{Failed}, statuses(got.Rows[0]))
	require.ErrorIs(t, got.Err(), ErrCheck)
	require.ErrorContains(t, got.Err(), "masim on a: the program does not compute the circuit")
}

func TestRunStops(t *testing.T) {
	real := lookup(t, "masim")[0].Run
	waits := func(ctx context.Context, p masim.Problem, o masim.Options) (*masim.Result, error) {
		<-ctx.Done()
		r, err := real(context.Background(), p, o)
		if r != nil {
			r.Stopped = true
		}
		return r, err
	}
	empty := func(ctx context.Context, p masim.Problem, o masim.Options) (*masim.Result, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	o := options()
	o.Budget = time.Millisecond
	c := Run(context.Background(), []Circuit{chain(t, "a", 6, 16)}, []masim.Scheduler{scheduler("waits", waits), scheduler("empty", empty)}, o)
	require.Equal(t, []Status{Done, NoResult}, statuses(c.Rows[0]))
	require.Equal(t, "budget", c.Rows[0].Cells[0].Stopped)
	require.EqualError(t, c.Rows[0].Cells[1].Err, "masim: stopped by budget before the first schedule was complete")
	require.NoError(t, c.Stopped)
	require.NoError(t, c.Err())

	// An interrupt in the second of four runs.
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	o.Budget = 0
	o.Progress = func(s Step) {
		if s.Scheduler == "waits" {
			cancel(errors.New("interrupt"))
		}
	}
	circuits := []Circuit{chain(t, "a", 6, 16), chain(t, "b", 6, 16)}
	c = Run(ctx, circuits, []masim.Scheduler{scheduler("good", real), scheduler("waits", waits)}, o)
	require.Equal(t, []Status{Done, Done}, statuses(c.Rows[0]))
	require.Equal(t, "interrupt", c.Rows[0].Cells[1].Stopped)
	require.Equal(t, []Status{NotRun, NotRun}, statuses(c.Rows[1]))
	require.EqualError(t, c.Stopped, "interrupt")
	require.False(t, c.Report().Deterministic)
	require.NoError(t, c.Err())

	// An interrupt before anything ran.
	c = Run(ctx, circuits, lookup(t, "masim"), o)
	require.EqualError(t, c.Err(), "stopped by interrupt before the first run was complete")
}

func TestErr(t *testing.T) {
	infeasible, refused := fmt.Errorf("x: %w", masim.ErrInfeasible), errOther
	failed := fmt.Errorf("%w: wrong", ErrCheck)
	for _, w := range []struct {
		cells []Cell
		want  error
	}{
		{nil, nil},
		{[]Cell{{Status: Done}, {Status: Infeasible, Err: infeasible}}, nil},
		{[]Cell{{Status: NoResult, Err: refused}, {Status: Infeasible, Err: infeasible}}, masim.ErrInfeasible},
		{[]Cell{{Status: NoResult, Err: refused}}, errOther},
		{[]Cell{{Status: Done}, {Status: Infeasible, Err: infeasible}, {Status: Failed, Err: failed}}, ErrCheck},
	} {
		c := &Comparison{Rows: []Row{{Cells: w.cells}}}
		require.ErrorIs(t, c.Err(), w.want)
	}
}

// TestThreads compares whole reports over the number of threads, times apart.
func TestThreads(t *testing.T) {
	var names []string
	for _, s := range masim.Schedulers {
		if s.Name != "optimal" {
			names = append(names, s.Name)
		}
	}
	circuits := []Circuit{chain(t, "a", 14, 8), chain(t, "b", 20, 12)}
	var reports []*Report
	for _, threads := range []int{1, 2, 5} {
		o := options()
		o.Threads = threads
		r := Run(context.Background(), circuits, lookup(t, names...), o).Report()
		for i := range r.Circuits {
			for j := range r.Circuits[i].Results {
				x := &r.Circuits[i].Results[j]
				require.Equal(t, "done", x.Status, x.Scheduler)
				x.CPUSeconds, x.WallSeconds = 0, 0
			}
		}
		for i := range r.Summary {
			r.Summary[i].CPUSeconds = 0
		}
		require.True(t, r.Deterministic)
		reports = append(reports, r)
	}
	require.Equal(t, reports[0], reports[1])
	require.Equal(t, reports[0], reports[2])
}

func TestReport(t *testing.T) {
	r := fake().Report()
	text, err := json.Marshal(r)
	require.NoError(t, err)
	var doc struct {
		Circuits []struct {
			Name    string
			Results []struct {
				Scheduler, Status, Note string
				Copies                  *int
				Paper                   *int     `json:"paper_copies"`
				ToMASIM                 *float64 `json:"copies_to_masim"`
				PaperEnergy             *float64 `json:"paper_masim_energy"`
				PaperSeconds            *int     `json:"paper_wall_seconds"`
				Optimal                 bool
			}
		}
		Summary []map[string]any
	}
	require.NoError(t, json.Unmarshal(text, &doc))
	first := doc.Circuits[0].Results
	require.Equal(t, 50, *first[0].Copies)
	require.Nil(t, first[0].Paper)
	require.Equal(t, 0.5, *first[0].ToMASIM)
	require.InDelta(t, 199+1.87*87, *first[0].PaperEnergy, 1e-9)
	require.Equal(t, 114, *first[3].Paper)
	require.Equal(t, 3, *first[3].PaperSeconds)
	star := doc.Circuits[1].Results[2]
	require.Equal(t, "infeasible", star.Status)
	require.Equal(t, "masim: infeasible: no rows", star.Note)
	require.Nil(t, star.Copies)
	require.True(t, doc.Circuits[2].Results[0].Optimal)
	require.Contains(t, doc.Summary[2], "copies_to_paper")

	var b bytes.Buffer
	require.NoError(t, r.WriteCSV(&b))
	lines, err := csv.NewReader(&b).ReadAll()
	require.NoError(t, err)
	require.Len(t, lines, 1+3*4)
	at := func(line int, column string) string {
		i := slices.Index(lines[0], column)
		require.GreaterOrEqual(t, i, 0, column)
		return lines[line][i]
	}
	require.Equal(t, "int2float", at(1, "circuit"))
	require.Equal(t, "bitsched", at(1, "scheduler"))
	require.Equal(t, "50", at(1, "copies"))
	require.Equal(t, "", at(1, "paper_copies"))
	require.Equal(t, "0.5000", at(1, "copies_to_masim"))
	require.Equal(t, "292.50", at(1, "energy"))
	require.Equal(t, "361.69", at(1, "paper_masim_energy"))
	require.Equal(t, "87", at(2, "paper_copies"))
	require.Equal(t, "", at(7, "copies"))
	require.Equal(t, "infeasible", at(7, "status"))
}
