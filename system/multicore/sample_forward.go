package multicore

import (
	"context"
	"math"
	"slices"

	"github.com/bitsched/bitsched/tile/core"
)

// course is the execution without time of a span: each thread has a clock that goes on with its work at
// the usual rate, and with those that it waits for. The time of the span is that of the mean thread: for its work,
// in long waits by the clocks, and in short ones as windows have them.
type course struct {
	s       *sampler
	pace    []float64 // work by cycle of threads
	left    float64   // cycles of work to the next window
	now     float64   // clock of the last step
	warm    float64   // work that is to be seen by caches in front of that
	long    float64   // cycles of waits that are long
	clock   []float64 // cycles since the window
	arrived []float64 // when a thread came to the load that it waits for, if it does
	at      []uint32  // that load
	waits   []bool
	held    []bool  // it was in a long wait when the window ended
	work    float64 // cycles of threads
	waited  float64 // of threads, in long waits that have ended
	brief   float64 // of threads, in short ones
}

// forward executes threads without time for so many cycles. It ends before that where none can go on, with streams, whose
// work is of two kinds, where one comes to a loop that is new, and where few threads have worked for long
// which did not in the window, or the other way: that is of another phase.
func (s *sampler) forward(ctx context.Context, pace, done []float64, held []bool, few bool, warm, cycles float64) (x span, err error) {
	n := len(done)
	c := &course{s: s, pace: pace, left: cycles, warm: warm, long: s.long(), clock: make([]float64, n), arrived: make([]float64, n), at: make([]uint32, n), waits: make([]bool, n), held: held}
	for i := range c.clock {
		c.clock[i] = done[i] / pace[i]
		c.work += c.clock[i]
	}
	step := min(turn/slices.Max(pace), float64(s.spec.Window)/turns)
	now, progress, since, began := 0.0, true, 0.0, 0.0
	for progress && !x.fresh && x.cycles < cycles {
		if err := ctx.Err(); err != nil {
			return x, err
		}
		s.r.show()
		if progress, err = c.step(ctx, &now, now+step); err != nil {
			return x, err
		}
		x.cycles, c.now = c.took(now), now
		c.left = (cycles - x.cycles) * ratio(c.work, float64(n)*x.cycles)
		x.fresh = s.r.m.StreamCores != nil && s.r.code.Fresh()
		if c.few() == few {
			since, began = now, x.cycles
		}
		if now-since >= phaseWindows*float64(s.spec.Window) && s.phases < phases {
			s.phases++
			x.split(began)
		}
	}
	x.busy = ratio(c.work, float64(n)*c.took(now))
	x.brief = min(x.cycles, c.brief/float64(n))
	return x, nil
}

// A phase of few threads is what is as long as so many windows. Programs that have many of them are met by chance.
const (
	phaseWindows = 2
	phases       = 8
)

// split gives what is behind so many cycles to the phase of the next window.
func (x *span) split(cycles float64) { x.fresh, x.ahead, x.cycles = true, x.cycles-cycles, cycles }

// few tells whether less than a quarter of the threads go on.
func (c *course) few() bool {
	going := 0
	for i, waits := range c.waits {
		if !waits && !c.s.r.m.Cores[i].Done() {
			going++
		}
	}
	return 4*going < len(c.waits)
}

// took is the time of the mean thread.
func (c *course) took(now float64) float64 {
	sum := c.work + c.waited + c.brief
	for i, from := range c.arrived {
		if c.waits[i] || c.s.r.m.Cores[i].Done() {
			sum += c.wait(from, now)
		}
	}
	return sum / float64(len(c.clock))
}

// wait is the cycles of a wait that count: those since the window of long ones.
func (c *course) wait(from, to float64) float64 {
	if to-from < c.long {
		return 0
	}
	return to - max(0, from)
}

// step lets all threads go on to a time, which becomes an earlier one where all wait, and a later one where all
// that do not are ahead.
func (c *course) step(ctx context.Context, now *float64, until float64) (progress bool, err error) {
	reached, next := *now, math.Inf(1)
	for i := range c.clock {
		if c.waits[i] || c.s.r.m.Cores[i].Done() {
			continue
		}
		for c.clock[i] < until && !c.waits[i] {
			n := max(1, uint64((until-c.clock[i])*c.pace[i]))
			f, work, err := c.execute(i, n, c.clock[i])
			if err != nil {
				return false, err
			}
			if err := c.went(i, f, work); err != nil {
				return false, err
			}
			if f.MicroOps == 0 && work == 0 {
				break
			}
			progress = true
			if c.s.r.m.Cores[i].Done() {
				c.arrived[i] = c.clock[i]
				break
			}
		}
		reached = max(reached, min(until, c.clock[i]))
		if !c.waits[i] && c.clock[i] >= until {
			next = min(next, c.clock[i])
		}
	}
	*now = reached
	// Messages go from thread to thread: one at least goes on in each round.
	for again := true; again; {
		again = false
		for i := len(c.clock) - 1; i >= 0; i-- {
			if !c.waits[i] {
				continue
			}
			if err := ctx.Err(); err != nil {
				return false, err
			}
			f, _, err := c.execute(i, 1, max(*now, c.clock[i]))
			if err != nil {
				return false, err
			}
			if f.Spins {
				continue
			}
			c.waits[i], again, progress = false, true, true
			if *now-c.arrived[i] < c.long {
				c.brief += c.s.latencies.of(c.at[i])
			}
			c.waited += c.wait(c.arrived[i], *now)
			c.clock[i] = max(*now, c.clock[i])
			f, work, err := c.execute(i, 1, c.clock[i]) // behind the load that has found what it waits for
			if err != nil {
				return false, err
			}
			if err := c.went(i, f, work); err != nil {
				return false, err
			}
			if !c.waits[i] {
				next = min(next, c.clock[i])
			}
		}
	}
	if !math.IsInf(next, 1) {
		*now, progress = max(*now, next), true
	}
	return progress, nil
}

// went counts what a thread has done. Where it came to a load that it waits for, it looks once more.
func (c *course) went(i int, f core.Forwarded, work float64) (err error) {
	for {
		c.clock[i] += work / c.pace[i]
		c.work += work / c.pace[i]
		c.held[i] = c.held[i] && work == 0
		if f.Awaited == 0 {
			return nil
		}
		c.arrived[i], c.at[i] = c.clock[i], f.PC
		if f, work, err = c.execute(i, 1, c.clock[i]); err != nil {
			return err
		}
		if f.Spins {
			c.waits[i] = true
			if c.held[i] {
				c.arrived[i] = -c.long
			}
			return nil
		}
		c.brief += c.s.latencies.of(c.at[i])
	}
}

// execute executes about so many micro-ops of a thread from a time on, and says what work that was.
func (c *course) execute(i int, n uint64, from float64) (core.Forwarded, float64, error) {
	s := c.s
	before := s.progress(i)
	f, err := s.r.m.Forward(i, n, (c.left-from+c.now)*c.pace[i] > c.warm)
	s.forwarded += f.MicroOps
	s.passed += f.Skipped
	return f, worth(f) + float64(s.progress(i)-before), err
}
