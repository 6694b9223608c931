package multicore

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/bitsched/bitsched/tile/core"
	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
	"github.com/bitsched/bitsched/tile/uop"
)

// Sampling lets parts of a run take no time: after a window in time, threads are executed
// with values, caches, TLBs and predictors, but without time, as far as they would come in
// (1/Share-1) windows at their usual rates (systematic sampling with functional
// warming: Wunderlich et al., SMARTS, ISCA 2003; of threads that wait for each other: Carlson et al., Sampled
// Simulation of Multi-Threaded Applications, ISPASS 2013). What is between two windows takes
// the mean of the cycles by work in both, so that a trend is followed, short waits for other threads what they take in windows, and
// long ones what the clocks of threads say. Far from the next window, loops that threads can skip pass all but memory.
// Where a phase begins windows are nearer to each other: first as far apart as a window is long, then
// growth times as far, and so on. Phases are the program, loops that are new with streams, and parts
// in which few threads work. Each distance is drawn from half to one and a half of that, so
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

// checks is how often work is looked at in half of a window, and fastest is how many times as fast as usual it may be
// for a window to be as much shorter.
const (
	checks  = 8
	fastest = 4
)

// warmShare is the part of a window that passes before rates are measured: pipelines and
// queues fill.
const warmShare = 4

// turn is how many micro-ops of a thread are executed in a row without time, and no more than it would have in a share
// of a window by turns.
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
	// interval from how successive windows differ in cycles by work and short waits by what they take, Drift, and by how much
	// threads wait more or less in what is skipped than in windows; -1: too few windows, or nothing between them.
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
	half   half       // the first one of it
	again  int        // windows in which the phase has begun
	random *rand.Rand // of distances
	from   event.Time
	base   []int64 // work of each core then
	misses int64   // of their L1s

	waits     []waits // of each core
	latencies *latencies
	paces     *paces

	left      float64 // work that streams had left of their instances behind where the last window began
	advanced  float64 // of it, without time in front of that
	pace      float64 // work by cycle of all threads, as usual
	ended     float64 // cycles that only ended windows
	forwarded uint64
	passed    uint64 // of these, only their values
	phases    int    // of few threads, or behind them
	windows   []window
	spans     []span
}

// window is what one has measured.
type window struct {
	rate          float64 // work by cycle of a thread that works
	first, second half
	busy          float64 // share of its cycles in which threads do not wait for others
	begun         bool    // streams have begun in it, and had most to do behind it
}

// half is that of a window: work, and the cycles of threads that work.
type half struct{ work, active float64 }

// span is what was executed without time after a window.
type span struct {
	cycles float64 // at this rate
	brief  float64 // of them, in short waits
	busy   float64 // share of them in which threads do not wait
	ahead  float64 // behind these, of the phase of the next window
	rate   float64 // the usual one of threads
	fresh  bool    // what comes behind is a loop that is new, or of another phase
}

func newSampler(r *runner) *sampler {
	if r.opt.Sample == nil {
		return nil
	}
	s := &sampler{r: r, spec: *r.opt.Sample, base: make([]int64, r.opt.Threads), waits: make([]waits, r.opt.Threads), latencies: &latencies{at: map[uint32]*latency{}}, paces: newPaces(r.opt.Threads), random: rand.New(rand.NewPCG(r.opt.Seed, r.opt.Jitter.seed()))}
	if s.spec.Window == 0 {
		s.spec.Window = DefaultWindow
	}
	s.window = s.spec.Window
	for i := range s.base {
		r.m.Cores[i].OnAwait = func(now event.Time, op *uop.Op) {
			if w, n := &s.waits[i], r.m.Cores[i].Counters.Committed; !w.again(now, n, op) {
				w.begins(now, n, op, s.long(), s.latencies)
			}
		}
	}
	s.begin(0)
	return s
}

// begin begins a window. Where streams have instances longer than a window, they begin in time, and go on without it for
// a part of what they had left behind the last window, so that windows are of all of an instance alike.
func (s *sampler) begin(now event.Time) {
	s.part, s.next, s.advanced = fill, now+s.window/warmShare, 0
	for i := range s.waits {
		s.waits[i].open = false
	}
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
	s.spans[len(s.spans)-1].cycles += float64(s.all()-before) / s.pace
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

// measure is how long what is measured of a window is at the usual rate.
func (s *sampler) measure() int64 { return s.window - s.window/warmShare }

// growth is by how much the distance of windows grows at the beginning.
const growth = 1.25

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

// worth is the work of micro-ops that took no time.
func worth(f core.Forwarded) float64 { return float64(f.MicroOps - min(f.MicroOps, loopOps*f.Awaited)) }

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

// warmth is the work that a core's caches are to see before the next window. With streams cores may miss so
// seldom that they would not be filled within half of what is skipped: what they have matters little
// then, and engines are to see as much as a window has.
func (s *sampler) warmth(work, skipped float64) float64 {
	lines := float64(s.r.spec.Private.L2.Bytes / mem.LineBytes)
	fills := work * warmFills * lines / max(1, float64(s.missed()-s.misses))
	if s.r.m.StreamCores != nil && fills > skipped/2 {
		return work / float64(len(s.base))
	}
	return fills
}

// missed is how many accesses have missed the L1s of all cores.
func (s *sampler) missed() (sum int64) {
	for i := range s.base {
		n := &s.r.m.Caches[i].Counters.L1
		sum += int64(n.LoadMisses + n.WriteMisses)
	}
	return sum
}

// measured is what threads have done since the work was noted, and for how many cycles they have worked.
func (s *sampler) measured(now event.Time) (work, active []float64) {
	work, active = make([]float64, len(s.base)), make([]float64, len(s.base))
	for i := range s.base {
		work[i] = s.since(i)
		active[i] = max(0, float64(now-s.from)-s.waits[i].waited(now, s.r.m.Cores[i].Counters.Committed))
	}
	return work, active
}

// A phase is in time until the drift of a window is at most unsteady, for about so many windows of usual length at most: what it begins
// with, as caches without its data and streams that have no elements under way, says nothing of the rest, which may be all of a long instance.
const (
	unsteady = 0.4
	tries    = 16
)

// worked is the part of a window in which a thread must work for its rate to be known.
const worked = 1.0 / 8

// step goes on at the end of a part of a window.
func (s *sampler) step(ctx context.Context, now event.Time) error {
	switch s.part {
	case lead:
		return s.advance(ctx, now)
	case fill:
		s.part, s.from = first, now
		for i := range s.base {
			s.base[i] = s.work(i)
			s.waits[i].begin(now)
		}
		s.misses = s.missed()
		s.next = now + max(1, s.measure()/2/checks)
		return nil
	}
	period := float64(now - s.from)
	work, active := s.measured(now)
	total := sum(work)
	rate, measure := ratio(total, sum(active)), float64(s.measure())
	passed := period // of a window at the usual rate
	if usual := s.usual(); usual > 0 && period < longest*float64(s.spec.Window) {
		passed = period * min(fastest, rate/usual)
	}
	if s.part == first && passed >= measure/2 {
		s.part, s.half = second, half{total, sum(active)}
	}
	if passed < measure {
		s.next = now + max(1, s.measure()/2/checks)
		return nil
	}
	if total == 0 || sum(active) == 0 {
		s.begin(now)
		return nil
	}
	w := window{rate: rate, first: s.half, second: half{total - s.half.work, sum(active) - s.half.active}, busy: sum(active) / (period * float64(len(active)))}
	if s.phase() == 0 && math.Abs(drift(w.first, w.second)) > unsteady && int64(s.again)*s.window < tries*s.spec.Window {
		s.again++
		s.part, s.next = fill, now+s.window/warmShare
		return nil
	}
	s.again = 0
	cycles := float64(s.window) * min(1/s.spec.Share-1, math.Pow(growth, float64(s.phase()))) * (0.5 + s.random.Float64())
	s.windows = append(s.windows, w)
	usual := s.usual()
	s.pace = usual * float64(len(s.base))
	held := make([]bool, len(work))
	for i := range work {
		if active[i] >= worked*period {
			s.paces.add(i, work[i]/active[i]/w.rate)
		}
		committed := s.r.m.Cores[i].Counters.Committed
		held[i] = s.waits[i].held(now, committed, s.long())
		s.waits[i].end(now, committed, s.long(), s.latencies)
	}
	for i := range s.base {
		s.base[i] = s.work(i)
	}
	finished, err := s.r.m.Pause(ctx)
	if err != nil {
		return err
	}
	end := s.r.m.Engine.Now()
	done, timed := make([]float64, len(work)), 0.0
	for i := range done { // while the window came to its end
		w, f := s.since(i), finished[i]
		s.forwarded += f.MicroOps
		done[i] = w + worth(f)
		timed += w - float64(f.Elsewhere)
	}
	s.left = s.advanced + sum(done) - timed
	s.lengthen(int64(float64(end-now) + s.left*period/total))
	if s.left < total/warmShare { // instances begin and end in the window
		s.left = 0
	}
	s.windows[len(s.windows)-1].begun = s.phase() == 1 && s.left > total
	var skipped span
	pace := s.paces.of()
	for i := range pace {
		pace[i] *= usual
	}
	if sum(done) < s.pace*cycles {
		s.r.code.Untimed(true)
		skipped, err = s.forward(ctx, pace, done, held, few(work), s.warmth(total, cycles*usual), cycles)
		s.r.code.Untimed(false)
		if err != nil {
			return err
		}
	} else if sum(done) > timed {
		skipped.cycles, skipped.busy = sum(done)/s.pace, 1
	}
	if skipped.cycles+skipped.ahead > 0 { // else the time that it took to come to the end of the window stands for all of the span
		s.ended += float64(end - now)
	}
	s.r.m.Resume()
	skipped.rate = usual
	s.spans = append(s.spans, skipped)
	s.begin(end)
	return nil
}

func sum(list []float64) (total float64) {
	for _, x := range list {
		total += x
	}
	return total
}

// took is the cycles of a span. Windows are drawn by work, so that work takes the mean of what it takes
// in both windows around it, and a trend is followed. A loop that is new says nothing of those before, and how
// streams begin says nothing of how they go on.
func (s *sampler) took(i int) float64 {
	x, now, behind := s.spans[i], i, min(i+1, len(s.windows)-1)
	next := behind
	if x.fresh {
		next = i
	}
	if s.windows[i].begun {
		now = next
	}
	work, each := (x.cycles-x.brief)*x.rate, (1/s.windows[now].rate+1/s.windows[next].rate)/2
	return x.brief + work*each + x.ahead*x.rate/s.windows[behind].rate
}

// recent is how many windows say what the usual rate is.
const recent = 4

// usual is the rate of the last windows of a phase, 0 if there are none. A window goes on for as much work as it has in
// its time: one that falls into what is slow has all of it, as one of a share of the work has to
// for its cycles to stand for the rest.
func (s *sampler) usual() float64 {
	phase := s.windows[len(s.windows)-s.phase():]
	if len(phase) > 1 && phase[0].begun {
		phase = phase[1:]
	}
	n, cycles := min(recent, len(phase)), 0.0
	for _, w := range phase[len(phase)-n:] {
		cycles += 1 / w.rate
	}
	return ratio(float64(n), cycles)
}

// phase is how many windows there are since the phase began.
func (s *sampler) phase() int {
	for i := len(s.spans) - 1; i >= 0; i-- {
		if s.spans[i].fresh {
			return len(s.windows) - 1 - i
		}
	}
	return len(s.windows)
}

// skipped is the time that was not simulated.
func (s *sampler) skipped() (cycles float64) {
	for i := range s.spans {
		cycles += s.took(i)
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

// fewest is how many windows a bound needs: less differ by chance by less than they are off.
const fewest = 5

// report says what was sampled.
func (s *sampler) report(detailed int64) *Sampled {
	if s == nil {
		return nil
	}
	estimate := float64(s.cycles(detailed))
	t := &Sampled{Windows: len(s.windows), DetailedCycles: detailed, Forwarded: s.forwarded, Passed: s.passed, Skipped: ratio(s.skipped(), estimate)}
	switch {
	case len(s.windows) == 0:
	case len(s.windows) < fewest || s.skipped() == 0:
		t.Bound = -1
	default:
		v, share := s.variance(), ratio(s.skipped(), estimate)
		t.Drift = s.drift()
		t.Bound = student(s.freedom())*math.Sqrt(v)/estimate + (math.Abs(t.Drift)+s.discord())*share
	}
	return t
}

// variance is that of the time that was not simulated: windows differ by chance as
// successive ones do (each difference has twice the variance), and each counts for what is
// executed after it. What windows differ by around a new loop is not chance. Short waits are known by what they differ.
func (s *sampler) variance() (v float64) {
	for i := range s.spans {
		j := min(i, len(s.windows)-2)
		if s.spans[j].fresh || s.windows[j].begun {
			continue
		}
		now, next := s.windows[j].rate, s.windows[j+1].rate
		d := 2 * (next - now) / (next + now) * (s.took(i) - s.spans[i].brief)
		v += d * d / 2
	}
	brief := 0.0
	for _, x := range s.spans {
		brief += x.brief
	}
	d := brief * s.latencies.spread(len(s.base))
	return v + d*d
}

// freedom are the degrees of freedom of the variance: windows after which much is executed
// count for more than others.
func (s *sampler) freedom() float64 {
	total, squares := 0.0, 0.0
	for i := range s.spans {
		c := s.took(i)
		total, squares = total+c, squares+c*c
	}
	return max(1, min(total*total/squares, float64(len(s.windows)))-1)
}

// discord is by how much the share of threads that wait in what is skipped differs from that which windows have around it, in
// the cycles that this is for: both say the same where windows have all that the program does.
func (s *sampler) discord() float64 {
	skipped, windows := 0.0, 0.0
	for i, x := range s.spans {
		c := s.took(i)
		skipped += c * x.busy
		windows += c * (s.windows[i].busy + s.windows[min(i+1, len(s.windows)-1)].busy) / 2
	}
	return math.Abs(ratio(skipped-windows, max(skipped, windows)))
}

// drift is that of all windows, by what is executed after each.
func (s *sampler) drift() float64 {
	var first, second half
	for i := range s.spans {
		w := &s.windows[i]
		c := s.took(i) / (w.first.active + w.second.active)
		first, second = half{first.work + c*w.first.work, first.active + c*w.first.active}, half{second.work + c*w.second.work, second.active + c*w.second.active}
	}
	return drift(first, second)
}

// drift is by how much the rate of the second half differs from that of the first, from -2 to 2.
func drift(first, second half) float64 {
	a, b := ratio(first.work, first.active), ratio(second.work, second.active)
	return 2 * ratio(b-a, a+b)
}

// few tells whether less than a quarter of the threads have work to speak of.
func few(work []float64) bool {
	n, most := 0, slices.Max(work)
	for _, w := range work {
		if w >= most*worked {
			n++
		}
	}
	return 4*n < len(work)
}

// student is the quantile 0.975 of Student's t for so many degrees of freedom (Abramowitz
// and Stegun, 26.7.5).
func student(v float64) float64 {
	const x = 1.959964
	return x + (x*x*x+x)/(4*v) + (5*math.Pow(x, 5)+16*x*x*x+3*x)/(96*v*v) + (3*math.Pow(x, 7)+19*math.Pow(x, 5)+17*x*x*x-15*x)/(384*v*v*v)
}
