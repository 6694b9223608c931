package sram

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"sync"
	"sync/atomic"
)

// Campaign runs a program or a kernel many times under faults and counts what
// goes wrong.
type Campaign struct {
	Program *Program
	Kernel  *Kernel // instead of Program
	Cols    int     // bitlines of an array, with Kernel; 0 means DefaultCols
	Faults  Faults

	// Trials are loads of the arrays, each with Cols patterns of its own, one a
	// bitline, and faults of its own.
	Trials  int
	Seed    uint64
	Threads int // workers; 0 means 1. The result does not depend on it.

	// Patterns sets w words of patterns for each input, bit-sliced as for
	// [Machine.Run]; seed is another one for each call. nil means uniform random
	// bits. It is called by several goroutines at once.
	Patterns func(inputs []uint64, w int, seed uint64)

	// Reference returns the right outputs of patterns, from a circuit or a
	// function. nil means those of the program or kernel without faults. It is called by
	// several goroutines at once.
	Reference func(inputs []uint64, w int) []uint64

	// Observe sees the patterns and outputs of some trials: w words of each input
	// and output bit, of which the first n bits are patterns. It is called by
	// several goroutines at once, in no order; may be nil.
	Observe func(inputs, got, want []uint64, w, n int)

	// Progress is called with the number of trials done, from one goroutine at a
	// time; may be nil.
	Progress func(done, total int)
}

// CampaignReport is what a [Campaign] found.
type CampaignReport struct {
	Trials   int           `json:"trials"` // that were run
	Patterns int           `json:"patterns"`
	Wrong    Rate          `json:"wrong_patterns"` // with at least one wrong output bit
	Bits     Rate          `json:"wrong_bits"`     // of all outputs
	Outputs  []OutputRates `json:"outputs"`
}

// OutputRates is how often one output bit is wrong.
type OutputRates struct {
	Name string `json:"name"`
	Rate
}

// Rate is a share with its 95 % confidence interval.
type Rate struct {
	Count int     `json:"count"`
	Of    int     `json:"of"`
	Rate  float64 `json:"rate"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// NewRate is the share of count in so many independent trials.
func NewRate(count, of int) Rate { return newRate(count, of, of) }

// newRate gives count of all, where n of them are independent.
func newRate(count, of, n int) Rate {
	r := Rate{Count: count, Of: of, High: 1}
	if of == 0 {
		return r
	}
	r.Rate = float64(count) / float64(of)
	r.Low, r.High = Wilson(r.Rate, n)
	return r
}

// Wilson is the 95 % confidence interval of a probability of which the share p
// was seen in n independent trials (Wilson, 1927). It holds for shares of 0 and 1
// too, where that of the normal distribution is a single point.
func Wilson(p float64, n int) (low, high float64) {
	if n <= 0 {
		return 0, 1
	}
	const z = 1.959963984540054
	m := float64(n)
	centre := (p + z*z/(2*m)) / (1 + z*z/m)
	half := z / (1 + z*z/m) * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	low, high = max(0, centre-half), min(1, centre+half)
	if p == 0 {
		low = 0
	}
	if p == 1 {
		high = 1
	}
	return low, high
}

// maxCampaignCols bounds the memory of a trial.
const maxCampaignCols = 1 << 20

// Run executes the campaign. When ctx ends it returns its error and the report of
// the trials that were run, each of them whole.
//
// Patterns lie on bitlines of their own and are independent, so that the interval
// of a share of patterns is exact in that sense. The bits of a pattern go wrong
// together; the interval of all bits counts a pattern as one trial, which makes
// it rather too wide than too narrow.
//
// It takes time proportional to trials x instructions and, for each worker, 256
// bytes for each row used.
func (c *Campaign) Run(ctx context.Context) (*CampaignReport, error) {
	cols := c.cols()
	switch {
	case c.Trials < 1:
		return nil, fmt.Errorf("sram: campaign of %d trials, expected at least 1", c.Trials)
	case cols > maxCampaignCols:
		return nil, fmt.Errorf("sram: campaign on %d bitlines, expected at most %d", cols, maxCampaignCols)
	case c.Trials > math.MaxInt/cols:
		return nil, fmt.Errorf("sram: campaign of %d trials on %d bitlines: too many patterns", c.Trials, cols)
	}
	r := &campaign{Campaign: c, ctx: ctx}
	if err := r.compile(cols); err != nil {
		return nil, err
	}
	r.wrong = make([]int, len(r.names))
	r.loads = max(1, groupWords*64/cols)
	r.chunks = (c.Trials + r.loads - 1) / r.loads
	var wg sync.WaitGroup
	for range max(1, min(c.Threads, r.chunks)) {
		wg.Go(r.work)
	}
	wg.Wait()

	report := &CampaignReport{Trials: r.done, Patterns: r.done * cols}
	report.Wrong = newRate(r.patterns, report.Patterns, report.Patterns)
	sum := 0
	for i, n := range r.wrong {
		sum += n
		report.Outputs = append(report.Outputs, OutputRates{r.names[i], newRate(n, report.Patterns, report.Patterns)})
	}
	report.Bits = newRate(sum, report.Patterns*len(r.wrong), report.Patterns)
	if r.err != nil {
		return report, r.err
	}
	if r.done < c.Trials {
		return report, fmt.Errorf("sram: %d of %d trials run: %w", r.done, c.Trials, context.Cause(ctx))
	}
	return report, nil
}

// faultyMachine is a machine for a program or a kernel.
type faultyMachine interface {
	RunContext(ctx context.Context, out, inputs []uint64, w int, seed uint64) error
}

// campaign is the work that the workers share.
type campaign struct {
	*Campaign
	ctx    context.Context
	faulty func() faultyMachine
	plain  func() func(out, in []uint64, w int) error // without faults
	inputs int
	names  []string // of the outputs
	loads  int      // trials of a chunk
	chunks int
	next   atomic.Int64

	mu       sync.Mutex
	done     int   // trials
	patterns int   // wrong ones
	wrong    []int // bits by output
	err      error
}

// cols returns the bitlines of an array.
func (c *Campaign) cols() int {
	switch {
	case c.Kernel == nil:
		return c.Program.Geometry.Cols
	case c.Cols == 0:
		return DefaultCols
	}
	return c.Cols
}

// compile makes the machines. An output without a name is called by its number.
func (r *campaign) compile(cols int) error {
	name := func(s string) {
		if s == "" {
			s = fmt.Sprintf("o%d", len(r.names))
		}
		r.names = append(r.names, s)
	}
	if r.Kernel == nil {
		code, err := Compile(r.Program)
		if err != nil {
			return err
		}
		faulty, err := code.WithFaults(r.Faults)
		if err != nil {
			return err
		}
		r.faulty = func() faultyMachine { return faulty.NewMachine() }
		r.plain = func() func(out, in []uint64, w int) error {
			m := code.NewMachine()
			return func(out, in []uint64, w int) error { return m.RunContext(r.ctx, out, in, w) }
		}
		r.inputs = len(r.Program.Inputs)
		for _, o := range r.Program.Outputs {
			name(o.Name)
		}
		return nil
	}
	code, err := r.Kernel.Compile()
	if err != nil {
		return err
	}
	faulty, err := code.WithFaults(r.Faults, cols)
	if err != nil {
		return err
	}
	plain, err := code.WithFaults(Faults{}, cols)
	if err != nil {
		return err
	}
	r.faulty = func() faultyMachine { return faulty.NewMachine() }
	r.plain = func() func(out, in []uint64, w int) error {
		m := plain.NewMachine()
		return func(out, in []uint64, w int) error { return m.RunContext(r.ctx, out, in, w, 0) }
	}
	r.inputs = len(faulty.in)
	for _, o := range r.Kernel.Outputs {
		for b := range o.Width {
			name(fmt.Sprintf("%s[%d]", o.Name, b))
		}
	}
	return nil
}

// work takes one chunk of trials after another. Chunks are the same whatever the
// number of workers.
func (r *campaign) work() {
	m := r.faulty()
	var plain func(out, in []uint64, w int) error
	if r.Reference == nil {
		plain = r.plain()
	}
	cols := r.cols()
	wrong := make([]int, len(r.names))
	for r.ctx.Err() == nil {
		chunk := int(r.next.Add(1)) - 1
		if chunk >= r.chunks {
			return
		}
		trials := min(r.loads, r.Trials-chunk*r.loads)
		n := trials * cols // patterns
		w := (n + 63) / 64
		seed := mix(r.Seed + mix(uint64(chunk)))
		in := make([]uint64, r.inputs*w)
		if r.Patterns != nil {
			r.Patterns(in, w, seed)
		} else {
			rng := rand.NewPCG(seed, 0)
			for i := range in {
				in[i] = rng.Uint64()
			}
		}
		got := make([]uint64, len(r.names)*w)
		if m.RunContext(r.ctx, got, in, w, seed) != nil {
			return
		}
		var want []uint64
		if plain != nil {
			want = make([]uint64, len(got))
			if plain(want, in, w) != nil {
				return
			}
		} else {
			want = r.Reference(in, w)
		}
		if len(want) != len(got) {
			r.mu.Lock()
			r.err = fmt.Errorf("sram: the reference has %d words of outputs, expected %d", len(want), len(got))
			r.mu.Unlock()
			return
		}
		if r.Observe != nil {
			r.Observe(in, got, want, w, n)
		}
		clear(wrong)
		patterns := 0
		for k := range w {
			mask := ^uint64(0)
			if rest := n - 64*k; rest < 64 {
				mask = 1<<rest - 1
			}
			any := uint64(0)
			for i := range wrong {
				d := (got[i*w+k] ^ want[i*w+k]) & mask
				any |= d
				wrong[i] += bits.OnesCount64(d)
			}
			patterns += bits.OnesCount64(any)
		}
		r.mu.Lock()
		r.done += trials
		r.patterns += patterns
		for i, x := range wrong {
			r.wrong[i] += x
		}
		if r.Progress != nil {
			r.Progress(r.done, r.Trials)
		}
		r.mu.Unlock()
	}
}
