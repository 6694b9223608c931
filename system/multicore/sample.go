package multicore

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
)

// Sampling lets parts of a run take no time: after a window in time, threads are executed
// with values, caches, TLBs and predictors, but without time, as far as they would come in
// (1/Share-1) windows at the rates that they had (systematic sampling with functional
// warming: Wunderlich et al., SMARTS, ISCA 2003). What is between two windows takes
// the time of its work at the mean of their rates, so that a trend is followed. Far from the next
// window, loops that threads can skip pass all but memory. At the beginning, where caches
// are cold, windows are nearer to each other: first as far apart as a window is long, then
// twice as far, and so on. Each distance is drawn from half to one and a half times that, so
// that windows do not keep step with the program. With streams a window is longer where their instances
// are, as these are what repeats itself, and begins within one where it is shorter.
type Sampling struct {
	Share  float64 // of the time that is simulated, more than 0 and less than 1
	Window int64   // cycles, at least; 0: DefaultWindow
}

// DefaultWindow is long against what is under way at once, barriers and refreshes of DRAM.
const DefaultWindow = 20_000

// The parts of a window.
const (
	lead = iota // streams begin, where windows begin within what they do
	fill
	first
	second
)

// warmShare is the part of a window that passes before rates are measured: pipelines and
// queues fill.
const warmShare = 4

// turn is how many micro-ops of a thread are executed in a row without time; with streams, which leave
// few of them to cores, no more than it would have in a share of a window by turns.
const (
	turn  = 512
	turns = 16
)

// Sampled says what was simulated of a run, and how far its cycles may be off.
type Sampled struct {
	Windows        int     `json:"windows"`
	DetailedCycles int64   `json:"detailed_cycles"` // what ratios and counters are of
	Forwarded      uint64  `json:"forwarded"`       // micro-ops that took no time
	Passed         uint64  `json:"passed"`          // of these, passed by caches of cores, TLBs and predictors
	Skipped        float64 `json:"skipped"`         // share of the cycles
	// Bound is how far the cycles may be off, as a share of them: half of the 95 % confidence
	// interval from how successive windows differ in cycles by work, Drift, and the cycles in
	// which a few threads worked at rates of a window in which all did; -1: too few windows, or nothing between them.
	Bound float64 `json:"bound"`
	// Drift is by how much the rate of the second half of a window differs from that of the
	// first, in the mean: what execution without time left behind changes within a window,
	// and may go on to do so after its end.
	Drift float64 `json:"drift"`
}

// Scale is by how much counters of windows are multiplied for those of the whole run, which
// committed so many micro-ops.
func (s *Sampled) Scale(microOps uint64) float64 {
	return float64(microOps) / float64(max(1, microOps-s.Forwarded))
}

// sampler is the sampling of a run.
type sampler struct {
	r      *runner
	spec   Sampling
	window int64      // cycles of the one at hand
	next   event.Time // of the next step
	part   int        // of the window: fill, first and second half of what is measured
	middle float64    // work of the first half
	random *rand.Rand // of distances
	from   event.Time
	base   []int64   // work of each core then
	misses []int64   // of its L1
	warm   []float64 // work that is to be seen by its caches before the next window

	left      float64 // work that streams had left of their instances behind where the last window began
	advanced  float64 // of it, without time in front of that
	ended     float64 // cycles that only ended windows
	forwarded uint64
	passed    uint64    // of these, only their values
	rates     []float64 // work by cycles, of windows
	drifts    []float64 // of windows
	spans     []span
}

// span is what was executed without time after a window: so much work, or for so many
// cycles at the rates of the window.
type span struct{ work, cycles float64 }

func newSampler(r *runner) *sampler {
	if r.opt.Sample == nil {
		return nil
	}
	s := &sampler{r: r, spec: *r.opt.Sample, base: make([]int64, len(r.m.Cores)), misses: make([]int64, len(r.m.Cores)), warm: make([]float64, len(r.m.Cores)), random: rand.New(rand.NewPCG(r.opt.Seed, r.opt.Jitter.seed()))}
	if s.spec.Window == 0 {
		s.spec.Window = DefaultWindow
	}
	s.window = s.spec.Window
	s.begin(0)
	return s
}

// begin begins a window. Where streams have instances longer than a window, they begin in time, and go on without it for
// a part of what they had left behind the last window, so that windows are of all of an instance alike.
func (s *sampler) begin(now event.Time) {
	s.part, s.next, s.advanced = fill, now+s.window/warmShare, 0
	if s.left > 0 {
		s.part, s.next = lead, now+s.spec.Window/2
	}
}

// advance lets streams go on without time in front of a window.
func (s *sampler) advance(ctx context.Context, now event.Time) error {
	before := s.all()
	done, err := s.r.m.Advance(ctx, int64(s.left*s.random.Float64()))
	if err != nil {
		return err
	}
	end := s.r.m.Engine.Now()
	s.advanced = float64(done)
	s.spans[len(s.spans)-1].work += float64(s.all() - before)
	s.ended += float64(end - now)
	s.part, s.next = fill, end+s.window/warmShare
	return nil
}

// all is the work of all cores.
func (s *sampler) all() (sum int64) {
	for i := range s.base {
		sum += s.work(i)
	}
	return sum
}

// A window of streams is so many times as long as what the one before left of its instances would have taken, since
// that comes to its end without time and new ones begin: at most longest windows.
const (
	repeats = 4
	longest = 8
)

// lengthen chooses how long the next window is, from how long this one would have taken to end.
func (s *sampler) lengthen(took int64) {
	if s.r.m.StreamCores != nil {
		s.window = max(s.spec.Window, min(repeats*took, longest*s.spec.Window))
	}
}

// loopOps is how many micro-ops a loop executes for each load that waits for other
// threads: the load, a comparison and a branch.
const loopOps = 3

// work is what a core has executed but for loops that wait for other threads, and what
// streams have of its loops that have vanished.
func (s *sampler) work(core int) int64 {
	n := &s.r.m.Cores[core].Counters
	return int64(n.Committed) - loopOps*int64(n.Awaited) + s.progress(core)
}

func (s *sampler) progress(core int) int64 {
	if s.r.m.StreamCores == nil {
		return 0
	}
	return s.r.m.StreamCores[core].Progress
}

// since is what a core has executed since the work was noted.
func (s *sampler) since(core int) float64 { return float64(max(0, s.work(core)-s.base[core])) }

// warmFills is how often the lines that the L1 misses in front of a window could fill the L2.
const warmFills = 2

// warmth is the work that a core's caches are to see before the next window. With streams a core may miss so
// seldom that they would not be filled within half of what is skipped: what they have matters little
// then, and engines are to see as much as a window has.
func (s *sampler) warmth(core int, window, quota float64) float64 {
	lines := float64(s.r.spec.Private.L2.Bytes / mem.LineBytes)
	fills := window * warmFills * lines / max(1, float64(s.missed(core)-s.misses[core]))
	if s.r.m.StreamCores != nil && fills > quota/2 {
		return window
	}
	return fills
}

// missed is how many accesses have missed the L1 of a core.
func (s *sampler) missed(core int) int64 {
	n := &s.r.m.Caches[core].Counters.L1
	return int64(n.LoadMisses + n.WriteMisses)
}

// step goes on at the end of a part of a window.
func (s *sampler) step(ctx context.Context, now event.Time) error {
	half := (s.window - s.window/warmShare + 1) / 2
	switch s.part {
	case lead:
		return s.advance(ctx, now)
	case fill:
		s.part, s.from, s.next = first, now, now+half
		for i := range s.base {
			s.base[i], s.misses[i] = s.work(i), s.missed(i)
		}
		return nil
	case first:
		s.part, s.middle, s.next = second, 0, now+half
		for i := range s.base {
			s.middle += s.since(i)
		}
		return nil
	}
	period := float64(now - s.from)
	cycles := float64(s.window) * min(1/s.spec.Share-1, math.Pow(2, float64(len(s.rates)))) * (0.5 + s.random.Float64())
	quota, total := make([]float64, len(s.base)), 0.0
	for i := range quota {
		w := s.since(i)
		quota[i] = w * cycles / period
		total += w
		s.base[i] = s.work(i)
		s.warm[i] = s.warmth(i, w, quota[i])
	}
	if total == 0 {
		s.begin(now)
		return nil
	}
	s.rates = append(s.rates, total/period)
	s.drifts = append(s.drifts, 2*(total-2*s.middle)/total)
	finished, err := s.r.m.Pause(ctx)
	if err != nil {
		return err
	}
	end := s.r.m.Engine.Now()
	done, timed := make([]float64, len(quota)), 0.0
	for i, f := range finished { // while the window came to its end
		work := s.since(i)
		s.forwarded += f.MicroOps
		done[i] = work + float64(f.MicroOps-min(f.MicroOps, loopOps*f.Awaited))
		timed += work - float64(f.Elsewhere)
	}
	s.left = s.advanced + sum(done) - timed
	s.lengthen(int64(float64(end-now) + s.left*period/total))
	if s.left < total/warmShare { // instances begin and end in the window
		s.left = 0
	}
	var skipped span
	if sum(done) < sum(quota) {
		s.r.code.Untimed(true)
		skipped, err = s.forward(ctx, quota, done, cycles)
		s.r.code.Untimed(false)
		if err != nil {
			return err
		}
	}
	if sum(done) > timed { // else the time that it took to come to the end of the window stands for all of the span
		skipped.work += sum(done)
		s.ended += float64(end - now)
	}
	s.r.m.Resume()
	s.spans = append(s.spans, skipped)
	s.begin(end)
	return nil
}

// limit is how much more than its part a thread may do in a span. Threads that wait for one
// that has done so are in another phase of the program than in the window.
const limit = 4

// forward executes threads in turns until they have done their parts together, none
// can go on, one that did nothing in the window begins to work, or, with streams, whose work is of two kinds,
// one comes to a loop that is new. Those that wait for each
// other cannot keep their rates. It returns the cycles, at the rates of the window, in which the others
// waited for less than a quarter of the threads, and less the work of these, and ends where they
// have done so for as long as a window. What is shorter than a turn
// of all is of barriers, which the rates of windows have in them.
func (s *sampler) forward(ctx context.Context, quota, done []float64, cycles float64) (alone span, err error) {
	greatest := slices.Max(quota)
	streak, turn := 0, float64(turn)
	if s.r.m.StreamCores != nil {
		turn = max(1, min(turn, greatest/cycles*float64(s.spec.Window)/turns))
	}
	for sum(done) < sum(quota) {
		if err := ctx.Err(); err != nil {
			return alone, err
		}
		s.r.show()
		progress, changed := false, false
		made, whole, most := 0.0, 0.0, 0.0 // work of this turn, if all can go on, and the greatest share of its part a thread did
		for i := range s.r.opt.Threads {
			part := max(1, turn*quota[i]/greatest)
			whole += part
			if quota[i] > 0 && done[i] > limit*quota[i]+turn {
				continue
			}
			n, before := uint64(part), s.progress(i)
			f, err := s.r.m.Forward(i, n, done[i] < quota[i]-s.warm[i])
			if err != nil {
				return alone, err
			}
			s.forwarded += f.MicroOps
			s.passed += f.Skipped
			w := f.MicroOps - min(f.MicroOps, loopOps*f.Awaited) + uint64(s.progress(i)-before)
			done[i] += float64(w)
			made, most = made+float64(w), max(most, min(1, float64(w)/part))
			progress = progress || w > 0 || !f.Spins && f.MicroOps > 0
			changed = changed || float64(w) > turn/2 && quota[i] == 0
		}
		if !progress || changed || s.r.m.StreamCores != nil && s.r.code.Fresh() {
			return alone, nil
		}
		if 4*made < whole && most > 0.5 {
			if streak++; streak > 1 {
				alone.cycles += most * turn / greatest * cycles
				alone.work -= made
				if alone.cycles >= float64(s.spec.Window) {
					return alone, nil
				}
			}
		} else {
			streak = 0
		}
	}
	return alone, nil
}

func sum(list []float64) (total float64) {
	for _, x := range list {
		total += x
	}
	return total
}

// phases are how many times the rates of windows differ in whose phases not the same threads work.
const phases = 8

// after is the cycles by work of what follows a window: those of both windows around it,
// together, since one of them may be little else than a barrier. A window of another phase says
// nothing: spans end with phases.
func (s *sampler) after(i int) float64 {
	now, next := s.rates[i], s.rates[min(i+1, len(s.rates)-1)]
	if differ(now, next) {
		return 1 / now
	}
	return 2 / (now + next)
}

func differ(a, b float64) bool { return a > phases*b || b > phases*a }

// skipped is the time that was not simulated.
func (s *sampler) skipped() (cycles float64) {
	for i, x := range s.spans {
		cycles += x.cycles + x.work*s.after(i)
	}
	return cycles
}

// cycles estimates the time of the machine from that of its engine.
func (s *sampler) cycles(detailed int64) int64 {
	if s == nil {
		return detailed
	}
	return detailed + int64(math.Round(s.skipped()-s.ended))
}

// report says what was sampled.
func (s *sampler) report(detailed int64) *Sampled {
	if s == nil {
		return nil
	}
	estimate := float64(s.cycles(detailed))
	t := &Sampled{Windows: len(s.rates), DetailedCycles: detailed, Forwarded: s.forwarded, Passed: s.passed, Skipped: ratio(s.skipped(), estimate)}
	switch {
	case len(s.rates) == 0:
	case len(s.rates) < 3 || s.skipped() == 0:
		t.Bound = -1
	default:
		v, share := s.variance(), ratio(s.skipped(), estimate)
		t.Drift = s.drift()
		t.Bound = student(s.freedom())*math.Sqrt(v)/estimate + math.Abs(t.Drift)*share + s.alone()/estimate
	}
	return t
}

// alone is the cycles of spans that have no window of their phase.
func (s *sampler) alone() (cycles float64) {
	for _, x := range s.spans {
		cycles += x.cycles
	}
	return cycles
}

// variance is that of the time that was not simulated: windows differ by chance as
// successive ones do (each difference has twice the variance), and each counts for what is
// executed after it. What windows of different phases differ by is not chance.
func (s *sampler) variance() (v float64) {
	for i, x := range s.spans {
		j := min(i, len(s.rates)-2)
		if differ(s.rates[j], s.rates[j+1]) {
			continue
		}
		d := 2 * (s.rates[j+1] - s.rates[j]) / (s.rates[j+1] + s.rates[j]) * (x.cycles + x.work*s.after(i))
		v += d * d / 2
	}
	return v
}

// freedom are the degrees of freedom of the variance: windows after which much is executed
// count for more than others.
func (s *sampler) freedom() float64 {
	total, squares := 0.0, 0.0
	for i, x := range s.spans {
		c := x.cycles + x.work*s.after(i)
		total, squares = total+c, squares+c*c
	}
	return max(1, min(total*total/squares, float64(len(s.rates)))-1)
}

// drift is the mean one of windows, by what is executed after each.
func (s *sampler) drift() float64 {
	total, all := 0.0, 0.0
	for i, x := range s.spans {
		c := x.cycles + x.work*s.after(i)
		total, all = total+c*s.drifts[i], all+c
	}
	return ratio(total, all)
}

// student is the quantile 0.975 of Student's t for so many degrees of freedom (Abramowitz
// and Stegun, 26.7.5).
func student(v float64) float64 {
	const x = 1.959964
	return x + (x*x*x+x)/(4*v) + (5*math.Pow(x, 5)+16*x*x*x+3*x)/(96*v*v) + (3*math.Pow(x, 7)+19*math.Pow(x, 5)+17*x*x*x-15*x)/(384*v*v*v)
}
