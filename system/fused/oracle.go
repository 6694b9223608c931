package fused

import "context"

// Oracle is the configuration that knows where each unit runs best: it tries.
const Oracle = "oracle"

// RunOracle chooses for each unit of a program where it runs, by simulated time: it runs the
// program with all units on cores, with all that can be in memory, and with each where thread
// 0 needed less time for it, and once more on cores that prefetch and have no streams. It
// returns the fastest of the runs. program returns the program with its memory as it begins, and
// is that of the run which is returned.
func RunOracle(ctx context.Context, program func() *Program, opt Options) (p *Program, r *Report, err error) {
	opt.Config = "inf-s"
	opt.Decide = false
	try := func(choose []bool) (*Report, error) {
		q := program()
		opt.Choose = choose
		t, err := Run(ctx, q, opt)
		if t != nil && (r == nil || err == nil && t.Report.Cycles < r.Report.Cycles) {
			p, r = q, t
		}
		return t, err
	}
	inside, err := try(nil)
	if err != nil {
		return p, r, err
	}
	cores, err := try(make([]bool, len(inside.Regions)))
	if err != nil {
		return p, r, err
	}
	choose, some, all := make([]bool, len(inside.Regions)), false, true
	for i := range choose {
		a, b := &inside.Regions[i], &cores.Regions[i]
		choose[i] = a.InMemory > 0 && a.Cycles+a.OnCores < b.OnCores
		some, all = some || choose[i], all && (choose[i] || a.InMemory == 0)
	}
	if some && !all {
		if _, err = try(choose); err != nil {
			return p, r, err
		}
	}
	opt.Config = "in-l3" // whose cores have prefetchers in place of streams
	if _, err = try(make([]bool, len(choose))); err != nil {
		return p, r, err
	}
	r.Config = Oracle
	return p, r, err
}
