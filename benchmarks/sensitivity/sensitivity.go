// Package sensitivity asks how much the cycles of kernels depend on parameters of a
// machine: each is halved and doubled, all others stay, and kernels run again. What
// no source gives a value for is assumed, and this is how much that matters.
//
//	s, err := sensitivity.Run(ctx, machine, programs, sensitivity.Options{Threads: 16})
//
// It is not an optimiser, and looks at one parameter at a time. Results depend on the
// machine, the programs and the options, not on how many runs are made at once.
package sensitivity

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tile"
)

// Options say what is run.
type Options struct {
	Threads int // of the programs
	Warm    bool
	Workers int // runs at once, at least 1
	// Only are the parameters, by the beginning of their names; none: those that are
	// assumed.
	Only []string
	// Progress is called after each run, if it is not nil.
	Progress func(done, total int)
}

// Program makes a program for one run, since a run changes its memory.
type Program struct {
	Name string
	Make func() *multicore.Program
}

// Change is a parameter with another value.
type Change struct {
	Value  string    `json:"value"`
	Error  string    `json:"error,omitempty"`  // why there is no such machine
	Change []float64 `json:"change,omitempty"` // of the cycles of each program, by those before, less one
}

// Row is a parameter.
type Row struct {
	Parameter string  `json:"parameter"`
	Value     string  `json:"value"`
	Source    string  `json:"source"`
	Half      *Change `json:"half,omitempty"` // nil: there is no such value
	Double    *Change `json:"double,omitempty"`
}

// Most is the greatest change of any program.
func (r *Row) Most() float64 {
	most := 0.0
	for _, c := range []*Change{r.Half, r.Double} {
		if c == nil {
			continue
		}
		for _, x := range c.Change {
			if math.Abs(x) > math.Abs(most) {
				most = x
			}
		}
	}
	return most
}

// Study is the result.
type Study struct {
	Machine  string   `json:"machine"`
	Core     string   `json:"core"`
	Threads  int      `json:"threads"`
	Programs []string `json:"programs"`
	Cycles   []int64  `json:"cycles"` // of each program, with all parameters as they are
	Rows     []Row    `json:"rows"`
	Left     int      `json:"left"` // runs that were not made before the study was stopped
}

// Parameters are those of the machine and its core that runs depend on and that have
// other values: numbers, halved and doubled, or switches.
func Parameters(m *tile.Machine, only []string) []tile.Parameter {
	var list []tile.Parameter
	for _, p := range m.Parameters() {
		if !p.Time || strings.HasPrefix(p.Path, "cores.") && !strings.HasPrefix(p.Path, "cores."+m.Core+".") {
			continue
		}
		asked := len(only) == 0 && strings.HasPrefix(p.Source, "assumed")
		for _, o := range only {
			asked = asked || strings.HasPrefix(p.Path, o)
		}
		if asked && (scaled(p, 2) != "" || len(p.Reading) > 0) {
			list = append(list, p)
		}
	}
	return list
}

// scaled is the value of a parameter by a factor, "" if there is no other one.
func scaled(p tile.Parameter, factor float64) string {
	if n, err := strconv.Atoi(p.Value); err == nil {
		v := int(math.Round(float64(n) * factor))
		if v == n || v == 0 {
			return ""
		}
		return strconv.Itoa(v)
	}
	if x, err := strconv.ParseFloat(p.Value, 64); err == nil && x != 0 {
		return strconv.FormatFloat(x*factor, 'g', 6, 64)
	}
	return ""
}

// other is the reading of a switch that is not its value.
func other(p tile.Parameter) string {
	for _, v := range p.Reading {
		if v != p.Value {
			return v
		}
	}
	return ""
}

// job is a run.
type job struct {
	row    int
	change *Change // nil: with all parameters as they are
	at     int     // program
	m      *tile.Machine
	cycles int64
	done   bool
}

// Run makes a study. If the context ends, the study has what was found by then, and the
// error is the context's.
func Run(ctx context.Context, m *tile.Machine, programs []Program, opt Options) (*Study, error) {
	s := &Study{Machine: m.Name, Core: m.Core, Threads: opt.Threads}
	for _, p := range programs {
		s.Programs = append(s.Programs, p.Name)
	}
	var jobs []*job
	for i := range programs {
		jobs = append(jobs, &job{row: -1, at: i, m: m})
	}
	params := Parameters(m, opt.Only)
	if len(params) == 0 {
		return nil, fmt.Errorf("sensitivity: no parameter of %s that runs in time depend on: %s", m.Name, strings.Join(opt.Only, ", "))
	}
	s.Rows = make([]Row, len(params))
	for i, p := range params {
		r := &s.Rows[i]
		r.Parameter, r.Value, r.Source = p.Path, p.Value, p.Source
		half, double := scaled(p, 0.5), scaled(p, 2)
		if double == "" {
			double = other(p)
		}
		for _, c := range []struct {
			value string
			to    **Change
		}{{half, &r.Half}, {double, &r.Double}} {
			if c.value == "" {
				continue
			}
			x := &Change{Value: c.value}
			*c.to = x
			changed := *m
			if err := changed.Set(p.Path, c.value); err != nil {
				x.Error = err.Error()
				continue
			}
			for k := range programs {
				jobs = append(jobs, &job{row: i, change: x, at: k, m: &changed})
			}
		}
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(max(1, opt.Workers))
	var mu sync.Mutex
	done := 0
	for _, j := range jobs {
		g.Go(func() error {
			if gctx.Err() != nil {
				return gctx.Err()
			}
			r, err := multicore.Run(gctx, programs[j.at].Make(), multicore.Options{Machine: j.m, Threads: opt.Threads, Warm: opt.Warm, Seed: 1})
			if err != nil {
				if j.change != nil && gctx.Err() == nil && r == nil {
					mu.Lock()
					j.change.Error = err.Error()
					mu.Unlock()
					return nil
				}
				return err
			}
			j.cycles, j.done = r.Cycles, true
			mu.Lock()
			defer mu.Unlock()
			if done++; opt.Progress != nil {
				opt.Progress(done, len(jobs))
			}
			return nil
		})
	}
	err := g.Wait()
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	s.Cycles = make([]int64, len(programs))
	for _, j := range jobs {
		switch {
		case !j.done:
			s.Left++
		case j.change == nil:
			s.Cycles[j.at] = j.cycles
		}
	}
	for _, j := range jobs {
		if j.change != nil && j.done && j.change.Error == "" && s.Cycles[j.at] > 0 {
			if j.change.Change == nil {
				j.change.Change = make([]float64, len(programs))
			}
			j.change.Change[j.at] = float64(j.cycles)/float64(s.Cycles[j.at]) - 1
		}
	}
	return s, ctx.Err()
}
