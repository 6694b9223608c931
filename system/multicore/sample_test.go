package multicore

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
	"github.com/bitsched/bitsched/tile/uop"
)

// TestSample compares a run in samples with the whole one: memory equal, loops that wait
// for each other and floats included, all micro-ops executed, and cycles as near as it says.
func TestSample(t *testing.T) {
	if !invariants.Enabled {
		t.Skip("takes long: go test -tags invariants")
	}
	long := func() (*Program, Options) {
		p, opt := scale(t)
		p.Args.Symbols = map[string]int64{"n": 80 * scaleN}
		for name := range p.Memory {
			list := make([]scalar.Value, 80*scaleN)
			for i := range list {
				list[i] = scalar.FromInt(p.Graph.Array(name).Type, int64(i%1000))
			}
			p.Memory[name] = list
		}
		return p, opt
	}
	p, opt := long()
	before := clone(p.Memory)
	full, err := Run(context.Background(), p, opt)
	require.NoError(t, err)
	p, opt = long()
	opt.Sample = &Sampling{Share: 0.1, Window: 10000}
	r, err := Run(context.Background(), p, opt)
	require.NoError(t, err)
	v, err := Check(context.Background(), p, clone(before), opt)
	require.NoError(t, err)
	require.Empty(t, v.First)
	require.Equal(t, v.Elements, v.Equal)
	s := r.Sample
	require.Greater(t, s.Forwarded, uint64(6*80*scaleN/16*8/10), "loads, additions and stores of most iterations")
	require.InDelta(t, 0.8, s.Skipped, 0.08, "windows are nearer to each other at the beginning")
	require.Greater(t, s.Windows, 5)
	require.Positive(t, s.Bound)
	require.InDelta(t, full.Cycles, r.Cycles, max(s.Bound, 0.05)*float64(full.Cycles), "%+v", s)
	t.Logf("%d cycles, %d by %+v", full.Cycles, r.Cycles, s)
	for _, config := range []string{"ns", "inst"} {
		p, opt := long()
		opt.Config = config
		full, err := Run(context.Background(), p, opt)
		require.NoError(t, err)
		p, opt = long()
		opt.Config, opt.Sample = config, &Sampling{Share: 0.1, Window: 10000}
		r, err := Run(context.Background(), p, opt)
		require.NoError(t, err, config)
		v, err := Check(context.Background(), p, clone(before), opt)
		require.NoError(t, err)
		require.Empty(t, v.First, config)
		require.Positive(t, r.Sample.Forwarded, config)
		require.InDelta(t, full.Cycles, r.Cycles, 0.1*float64(full.Cycles), "%s, %+v: two windows", config, r.Sample)
		t.Logf("%s: %d cycles, %d by %+v", config, full.Cycles, r.Cycles, r.Sample)
	}
	p, opt = long()
	opt.Config, opt.Sample, opt.Inject = "ns", &Sampling{Share: 0.1}, &Inject{}
	_, err = Run(context.Background(), p, opt)
	require.ErrorContains(t, err, "multicore: samples with streams that are ended on purpose, expected one of them")

	for _, bad := range []Sampling{{Share: 0}, {Share: 1}, {Share: 0.5, Window: -1}} {
		p, opt := scale(t)
		opt.Sample = &bad
		_, err := Run(context.Background(), p, opt)
		require.ErrorContains(t, err, "expected a share between 0 and 1")
	}
	p, opt = scale(t)
	opt.Sample = &Sampling{Share: 0.5}
	r, err = Run(context.Background(), p, opt)
	require.NoError(t, err)
	require.Zero(t, r.Sample.Forwarded, "shorter than a window")
	require.Zero(t, r.Sample.Bound)

	// Values between windows are those of the machine: a stale one is seen.
	p, opt = long()
	opt.Sample = &Sampling{Share: 0.1, Window: 10000}
	r2 := runnerOf(t, p, opt)
	r2.m.Memory.Write(r2.code.Address("A", 50*scaleN), []byte{1, 2, 3, 4})
	err = runAll(context.Background(), []*runner{r2})
	require.ErrorIs(t, err, ErrInternal)
	require.ErrorContains(t, err, "found other bytes")
}

// TestStudent compares quantiles with tables.
func TestStudent(t *testing.T) {
	for v, want := range map[float64]float64{3: 3.182, 5: 2.571, 10: 2.228, 30: 2.042, 1000: 1.962} {
		require.InEpsilon(t, want, student(v), 0.03, "%g", v)
	}
}

// TestEstimate computes by hand what is between windows.
func TestEstimate(t *testing.T) {
	s := &sampler{
		latencies: &latencies{},
		windows: []window{ // 1/2, 1/4 and 1 cycles each
			{rate: 2, first: half{20, 10}, second: half{20, 10}, busy: 0.5},
			{rate: 4, first: half{30, 10}, second: half{50, 10}, busy: 0.75},
			{rate: 1, first: half{20, 10}, second: half{10, 20}, busy: 1},
		},
		spans: []span{{cycles: 16, rate: 2}, {cycles: 8, rate: 2, fresh: true}, {cycles: 5, rate: 3}},
		ended: 3,
	}
	require.InDelta(t, 16*2*0.375+8*2*0.25+5*3*1, s.skipped(), 1e-9)
	require.Equal(t, int64(100+31-3), s.cycles(100))
	rest := func(d, cycles float64) float64 { return d * d * cycles * cycles / 2 }
	require.InDelta(t, rest(2.0/3, 12), s.variance(), 1e-9, "a loop that is new after the second window")
	first, second := (20*12/20.0+30*4/20.0+20*15/30.0)/(10*12/20.0+10*4/20.0+10*15/30.0), (20*12/20.0+50*4/20.0+10*15/30.0)/(10*12/20.0+10*4/20.0+20*15/30.0)
	require.InDelta(t, 2*(second-first)/(second+first), s.drift(), 1e-9)
	require.InDelta(t, 31*31/(144+16+225.0)-1, s.freedom(), 1e-9)
	for i, busy := range []float64{0.5, 0.75, 1} {
		s.spans[i].busy = busy
	}
	windows := (12*0.625 + 4*0.875 + 15*1) / 31
	require.InDelta(t, 1-(12*0.5+4*0.75+15)/31/windows, s.discord(), 1e-9)
	s.spans[0].busy = 1
	require.InDelta(t, 1-windows/((12+4*0.75+15)/31), s.discord(), 1e-9)
	s.spans[1].fresh = false
	s.spans[0].brief = 4
	require.InDelta(t, 4+9+8*2*0.625+15, s.skipped(), 1e-9, "of which four are short waits")
	s.spans[0].brief = 0
	s.spans[0].ahead = 6
	require.InDelta(t, 12+6*2.0/4+8*2*0.625+15, s.skipped(), 1e-9, "and six behind are of the next phase")
	s.spans[0].ahead = 0
	require.InDelta(t, 12+8*2*0.625+15, s.skipped(), 1e-9)
	require.InDelta(t, rest(2.0/3, 12)+rest(-3/2.5, 10)+rest(-3/2.5, 15), s.variance(), 1e-9)
	s.windows[0].begun = true
	require.InDelta(t, 8+10+15, s.skipped(), 1e-9, "streams begin in the first window")
	require.InDelta(t, rest(-3/2.5, 10)+rest(-3/2.5, 15), s.variance(), 1e-9)
}

// TestUsual computes the usual rate of the last windows by hand, of a new loop and of none.
func TestUsual(t *testing.T) {
	s := &sampler{}
	require.Zero(t, s.usual())
	s.windows, s.spans = []window{{rate: 2}}, nil
	require.InDelta(t, 2, s.usual(), 1e-9)
	s.windows[0].begun = true
	require.InDelta(t, 2, s.usual(), 1e-9, "what there is")
	for _, rate := range []float64{4, 1, 4, 2} {
		s.spans, s.windows = append(s.spans, span{}), append(s.windows, window{rate: rate})
	}
	require.InDelta(t, 4/(0.25+1+0.25+0.5), s.usual(), 1e-9, "four")
	s.windows[1].begun = true // of no phase that goes on
	require.InDelta(t, 4/(0.25+1+0.25+0.5), s.usual(), 1e-9)
	s.spans[2].fresh = true
	require.InDelta(t, 2/(0.25+0.5), s.usual(), 1e-9, "since a loop is new")
	s.windows[3].begun = true
	require.InDelta(t, 2, s.usual(), 1e-9, "not how streams begin")
	s.spans = append(s.spans, span{fresh: true})
	require.Zero(t, s.usual())
}

// TestPaces draws rates of threads: what they differ by in all windows is their own, and what they differ by from window to window
// is not.
func TestPaces(t *testing.T) {
	const threads, windows = 64, 20
	for _, c := range []struct{ own, chance float64 }{{0, 0.3}, {0.3, 0}, {0.3, 0.3}, {0.05, 0.3}} {
		r := rand.New(rand.NewPCG(1, 2))
		p, truth := newPaces(threads), make([]float64, threads)
		for i := range truth {
			truth[i] = 1 + c.own*(2*r.Float64()-1)
		}
		require.Zero(t, p.own())
		for range windows {
			for i, x := range truth {
				p.add(i, x+c.chance*(2*r.Float64()-1))
			}
		}
		variance := func(x float64) float64 { return x * x / 3 }
		require.InDelta(t, ratio(variance(c.own), variance(c.own)+variance(c.chance)/windows), p.own(), 0.25, "%+v", c)
		raw, shrunk := 0.0, 0.0
		for i, x := range p.of() {
			raw, shrunk = raw+(p.mean[i]-truth[i])*(p.mean[i]-truth[i]), shrunk+(x-truth[i])*(x-truth[i])
		}
		require.LessOrEqual(t, shrunk, 1.05*raw, "%+v", c)
		if c.own == 0 {
			require.Less(t, shrunk, raw/4)
		}
	}
	p := newPaces(3)
	for _, x := range []float64{1, 1.01} {
		p.add(0, 0)
		p.add(1, x)
	}
	require.InDeltaSlice(t, []float64{slowest, 1, 1}, p.of(), 0.02, "the last one never worked")
}

// TestWaits follows a thread through loops that wait: they count as far as they are in what is measured, and those that are in there and
// not long say what waits at their load take.
func TestWaits(t *testing.T) {
	const long = 100
	w, n, l := &waits{}, uint64(0), &latencies{at: map[uint32]*latency{}}
	load := func(now event.Time, pc uint32, more uint64) {
		n += more
		if op := (&uop.Op{PC: pc, Addr: 8}); !w.again(now, n, op) {
			w.begins(now, n, op, long, l)
		}
	}
	of := func(now event.Time) float64 { return w.waited(now, n) }
	w.begin(50)
	for now := event.Time(0); now <= 150; now += 10 { // from 0 on
		load(now, 1, loopOps)
	}
	require.InDelta(t, 100, of(150), 1e-9)
	require.InDelta(t, 105, of(155), 1e-9, "it may go on")
	require.True(t, w.held(155, n, long))
	n += loopOps // and works
	require.InDelta(t, 100, of(400), 1e-9)
	require.False(t, w.held(400, n, long))
	load(400, 2, 50)
	for now := event.Time(410); now < 500; now += 10 {
		load(now, 2, loopOps)
	}
	require.InDelta(t, 190, of(490), 1e-9)
	require.InDelta(t, 200, of(500), 1e-9)
	load(495, 3, 7)
	require.InDelta(t, 190, of(495), 1e-9)
	for now := event.Time(498); now < 700; now += 3 { // the same load, but work between
		load(now, 3, loopOps+1)
	}
	require.InDelta(t, 191, of(700), 1e-9)
	require.Equal(t, map[uint32]*latency{2: {90, 1, 8100, 1}, 3: {0, 68, 0, 68}}, l.at, "the first one was long")
	require.InDelta(t, 90, l.of(2), 1e-9)
	require.Zero(t, l.of(9))
	load(710, 4, 9)
	load(809, 4, loopOps)
	load(820, 5, 9)
	load(920, 5, loopOps)
	load(930, 6, 9)
	require.InDelta(t, 99, l.of(4), 1e-9, "short")
	require.Zero(t, l.of(5), "long")
	w.begin(940)
	w.end(970, n, long, l)
	require.Equal(t, &latency{30, 0, 0, 0}, l.at[6], "it began before")
	w.open = false
	load(980, 6, 9)
	w.end(990, n, long, l)
	require.InDelta(t, 40, l.of(6), 1e-9)
}

// TestSpread computes by hand how well waits are known of which 8 threads take part in each.
func TestSpread(t *testing.T) {
	l := &latencies{at: map[uint32]*latency{}}
	require.Zero(t, l.spread(8))
	require.Zero(t, l.usual())
	l.took[3], l.took[7], l.took[9] = 3, 1, 2
	require.InDelta(t, 512, l.usual(), 1e-9, "more than half of them take less than 128")
	for range 8 {
		l.add(1, 100, true, true)
		l.add(1, 300, true, true)
		l.add(2, 50, true, true)
	}
	require.InDelta(t, 200, l.of(1), 1e-9)
	require.InDelta(t, 16*math.Sqrt(100*100/2.0)/3600, l.spread(8), 1e-9, "two waits that are 100 off")
	l.add(2, 20, false, true)
	l.add(2, 30, true, false)
	require.InDelta(t, 50, l.of(2), 1e-9, "parts of one, and of one that goes on")
}

// TestWait counts what is long of waits, as far as it is behind a window.
func TestWait(t *testing.T) {
	c := &course{long: 100}
	for _, w := range []struct{ from, to, want float64 }{{10, 109, 0}, {10, 110, 100}, {-100, 30, 30}, {-100, -1, 0}, {-20, 79, 0}, {-20, 80, 80}} {
		require.InDelta(t, w.want, c.wait(w.from, w.to), 1e-9, "%+v", w)
	}
}

const sweepC = `#include "bitsched.h"
void sweep(int n, int rounds, int32_t A[restrict n], int32_t B[restrict n])
{
	for (int t = 0; t < rounds; t++) {
#pragma omp parallel for
		for (int i = 1; i < n - 1; i++)
			B[i] = A[i - 1] + A[i + 1];
#pragma omp parallel for
		for (int i = 0; i < n; i++)
			A[i] = A[i] - B[n - 1 - i];
	}
}
`

// sweep is a program that sweeps over arrays of n elements.
func sweep(t *testing.T, n, rounds int64) (*Program, Options) {
	g, err := cfront.CompileWhole(context.Background(), "sweep.c", sweepC, cfront.Options{})
	require.NoError(t, err)
	m := stream.Memory{}
	for _, a := range g.Arrays {
		for i := range n {
			m[a.Name] = append(m[a.Name], scalar.FromInt(a.Type, i%1000))
		}
	}
	_, opt := scale(t)
	return &Program{Graph: g, Memory: m, Args: stream.Args{Symbols: map[string]int64{"n": n, "rounds": rounds}}}, opt
}

// TestSkip compares a run most of whose micro-ops are skipped with the whole one: arrays that
// threads write again and again while others have copies, forwards and backwards.
func TestSkip(t *testing.T) {
	if !invariants.Enabled {
		t.Skip("takes long: go test -tags invariants")
	}
	long := func() (*Program, Options) { return sweep(t, 1600, 300) }
	p, opt := long()
	before := clone(p.Memory)
	full, err := Run(context.Background(), p, opt)
	require.NoError(t, err)
	p, opt = long()
	opt.Sample = &Sampling{Share: 0.05, Window: 8000}
	r, err := Run(context.Background(), p, opt)
	require.NoError(t, err)
	v, err := Check(context.Background(), p, before, opt)
	require.NoError(t, err)
	require.Empty(t, v.First)
	s := r.Sample
	t.Logf("%d cycles, %d by %+v", full.Cycles, r.Cycles, s)
	require.Greater(t, 4*s.Passed, s.Forwarded)
	require.Greater(t, s.Windows, 8)
	require.InDelta(t, full.Cycles, r.Cycles, s.Bound*float64(full.Cycles))
}

const outerC = `#include "bitsched.h"
void outer(int M, int N, int K, const int32_t A[restrict M][K], const int32_t B[restrict K][N], int32_t C[restrict M][N])
{
	for (int k = 0; k < K; k++)
#pragma omp parallel for
		for (int m = 0; m < M; m++)
			for (int n = 0; n < N; n++)
				C[m][n] += A[m][k] * B[k][n];
}
`

// outer is an outer product, whose streams go through rows.
func outer(t *testing.T, m, n, k int64) (*Program, Options) {
	g, err := cfront.CompileWhole(context.Background(), "outer.c", outerC, cfront.Options{})
	require.NoError(t, err)
	memory := stream.Memory{}
	for name, size := range map[string]int64{"A": m * k, "B": k * n, "C": m * n} {
		for i := range size {
			memory[name] = append(memory[name], scalar.FromInt(scalar.Int32, i%1000))
		}
	}
	_, opt := scale(t)
	return &Program{Graph: g, Memory: memory, Args: stream.Args{Symbols: map[string]int64{"M": m, "N": n, "K": k}}}, opt
}

// sampled runs a program, checks what it leaves in memory, and counts iterations of loops that vanish.
func sampled(t *testing.T, p *Program, opt Options, config string, s *Sampling) (report *Report, elsewhere int64) {
	r, report := simulated(t, p, opt, config, s)
	for _, c := range r.m.StreamCores {
		elsewhere += c.Progress
	}
	return report, elsewhere
}

// simulated runs a program, and compares its memory.
func simulated(t *testing.T, p *Program, opt Options, config string, s *Sampling) (*runner, *Report) {
	before := clone(p.Memory)
	opt.Config, opt.Sample = config, s
	all, err := newRunners(context.Background(), []Job{{p, opt}})
	require.NoError(t, err)
	require.NoError(t, runAll(context.Background(), all))
	report := all[0].report()
	require.NoError(t, all[0].collect())
	v, err := Check(context.Background(), p, before, opt)
	require.NoError(t, err)
	require.Empty(t, v.First, config)
	require.Equal(t, v.Elements, v.Equal)
	return all[0], report
}

// TestSkipKeeps executes threads without time that skip most of their micro-ops: caches of cores have the same lines
// before and behind it, and memory is that of the sequential program at the end.
func TestSkipKeeps(t *testing.T) {
	t.Parallel() // takes long
	ctx := context.Background()
	p, opt := outer(t, 64, 1024, 64)
	before := clone(p.Memory)
	r := runnerOf(t, p, opt)
	for i, thread := range r.code.Threads() {
		r.m.Cores[i].Start(thread)
	}
	require.NoError(t, r.m.Continue(ctx, 100_000))
	_, err := r.m.Pause(ctx)
	require.NoError(t, err)
	forward := func(rounds int) (all, skipped uint64) {
		r.code.Untimed(true)
		defer r.code.Untimed(false)
		for range rounds {
			for i := range r.m.Cores {
				f, err := r.m.Forward(i, 2000, true)
				require.NoError(t, err)
				all, skipped = all+f.MicroOps, skipped+f.Skipped
			}
		}
		return all, skipped
	}
	lines := func() (list []map[mem.Line]bool) {
		for _, c := range r.m.Caches {
			has := map[mem.Line]bool{}
			c.Lines(func(l mem.Line) { has[l] = true })
			list = append(list, has)
		}
		return list
	}
	forward(20)
	kept := lines()
	all, skipped := forward(200)
	require.Greater(t, 4*skipped, 3*all)
	require.Less(t, skipped, all, "or nothing is tested")
	require.Equal(t, kept, lines())
	require.False(t, r.done())
	if !invariants.Enabled {
		return // the rest takes long
	}
	r.m.Resume()
	require.NoError(t, r.m.Continue(ctx, event.Forever))
	require.NoError(t, r.collect())
	v, err := Check(ctx, p, before, opt)
	require.NoError(t, err)
	require.Empty(t, v.First)
	require.Equal(t, v.Elements, v.Equal)
}

// TestPass compares runs of loops with streams most of whose instances are skipped between windows with
// whole ones: at the L3, where they vanish or the core takes what they read, and in the core. What streams
// do of loops that vanish is counted to an iteration.
func TestPass(t *testing.T) {
	t.Parallel() // takes long
	configs := []string{"ns-decouple"}
	if invariants.Enabled { // the others take long
		configs = append(configs, "ns", "ns-no-comp", "ns-core")
	}
	const n, rounds = 12000, int64(100)
	for _, config := range configs {
		p, opt := sweep(t, n, rounds)
		full, elsewhere := sampled(t, p, opt, config, nil)
		memory := p.Memory
		p, opt = sweep(t, n, rounds)
		r, counted := sampled(t, p, opt, config, &Sampling{Share: 0.05, Window: 8000})
		require.Equal(t, memory, p.Memory)
		require.Equal(t, elsewhere, counted)
		if config == "ns-decouple" {
			require.Equal(t, rounds*(2*n-2), counted)
		}
		t.Logf("%s: %d cycles, %d by %+v", config, full.Cycles, r.Cycles, r.Sample)
		for _, l := range r.Streams.Loops {
			require.Greater(t, l.Passed, 4*rounds/2, "%s, loop over %s", config, l.Var)
		}
		require.InDelta(t, full.Cycles, r.Cycles, max(0.1, r.Sample.Bound)*float64(full.Cycles))
	}
}

// TestPassRows is the same of streams that go through all rows of a thread: all or none of them are skipped.
func TestPassRows(t *testing.T) {
	if !invariants.Enabled {
		t.Skip("takes long: go test -tags invariants")
	}
	t.Parallel()
	const m, n, k = int64(64), int64(1024), int64(160)
	p, opt := outer(t, m, n, k)
	full, elsewhere := sampled(t, p, opt, "near-l3", nil)
	require.Equal(t, m*n*k, elsewhere)
	p, opt = outer(t, m, n, k)
	r, counted := sampled(t, p, opt, "near-l3", &Sampling{Share: 0.05, Window: 8000})
	require.Equal(t, elsewhere, counted)
	t.Logf("%d cycles, %d by %+v, %+v", full.Cycles, r.Cycles, r.Sample, r.Streams.Loops)
	l := r.Streams.Loops[0]
	rows := m / int64(opt.Threads)
	require.Equal(t, l.Instances*(rows-1), l.Through)
	require.Equal(t, k*m, l.Instances+l.Through+l.Passed)
	require.Greater(t, l.Passed, k*m/2)
	require.InEpsilon(t, full.Cycles, r.Cycles, 0.3, "a few windows")
}

const unevenC = `#include "bitsched.h"
void uneven(int n, int m, int rounds, int alone, const int32_t L[restrict n], int32_t A[restrict n][m], int32_t S[restrict m])
{
	for (int t = 0; t < rounds; t++) {
#pragma omp parallel for
		for (int i = 0; i < n; i++)
			for (int j = 0; j < L[i]; j++)
				for (int k = 0; k < m; k++)
					A[i][k] = 3 * A[i][k] + t;
		for (int j = 0; j < alone; j++)
			for (int k = 0; k < m; k++)
				S[k] += A[0][k];
	}
}
`

// A span that a phase ends is as long as before, and its end is of the window that comes.
func TestSplit(t *testing.T) {
	x := span{cycles: 10}
	x.split(7)
	require.Equal(t, span{cycles: 7, ahead: 3, fresh: true}, x)
}

// TestUneven estimates programs whose threads wait for others for much longer than a window: for one that has four times
// the work, and, in a second one, for one that works alone. Neither what windows in such waits say, nor what others say, is of the rest.
// In the third one they wait for messages only, as windows say, and the fourth one is of phases, of one thread that works or of all.
func TestUneven(t *testing.T) {
	t.Parallel() // takes long
	seeds := uint64(1)
	if invariants.Enabled {
		seeds = 4
	}
	for _, c := range []struct {
		name                string
		long, others, alone int64 // how often rows of the first thread are computed, and those of others, and how much one does alone
		rounds              int64
		off                 float64
		threads             int  // of 8 one alone is few
		phases              bool // some are found, and end spans
	}{{"parts", 400, 100, 0, 48, 0.1, 4, false}, {"alone", 100, 100, 400, 48, 0.25, 4, false}, {"barriers", 1, 1, 0, 800, 0.1, 4, false}, {"phases", 1600, 1600, 6000, 3, 0.1, 8, true}} {
		if !invariants.Enabled && c.name != "barriers" {
			continue // takes long
		}
		uneven := func() (*Program, Options) {
			g, err := cfront.CompileWhole(context.Background(), "uneven.c", unevenC, cfront.Options{})
			require.NoError(t, err)
			const n, m = 16, 128
			memory := stream.Memory{"L": make([]scalar.Value, n), "A": make([]scalar.Value, n*m), "S": make([]scalar.Value, m)}
			for i := range memory["L"] {
				memory["L"][i] = scalar.FromInt(scalar.Int32, c.others)
				if i < n/4 {
					memory["L"][i] = scalar.FromInt(scalar.Int32, c.long)
				}
			}
			for i := range memory["A"] {
				memory["A"][i] = scalar.FromInt(scalar.Int32, int64(i%1000))
			}
			_, opt := scale(t)
			opt.Threads = c.threads
			return &Program{Graph: g, Memory: memory, Args: stream.Args{Symbols: map[string]int64{"n": n, "m": m, "rounds": c.rounds, "alone": c.alone}}}, opt
		}
		p, opt := uneven()
		full, _ := sampled(t, p, opt, "", nil)
		for seed := range seeds {
			p, opt = uneven()
			opt.Seed = seed
			all, r := simulated(t, p, opt, "", &Sampling{Share: 0.1, Window: 4000})
			t.Logf("%s: %d cycles, %d by %+v", c.name, full.Cycles, r.Cycles, r.Sample)
			require.True(t, !c.phases || all.sampler.phases > 0, c.name)
			require.InEpsilon(t, full.Cycles, r.Cycles, c.off, c.name)
		}
	}
}

const phasesC = `#include "bitsched.h"
void phases(int n, int m, int rounds, int32_t A[restrict n], int32_t B[restrict n], int32_t L[restrict rounds + 1][m])
{
	for (int t = 0; t < 4; t++) {
#pragma omp parallel for
		for (int i = 0; i < n; i++)
			B[i] = A[i] + t;
	}
	for (int r = 0; r < rounds; r++) {
#pragma omp parallel for
		for (int j = 0; j < m; j++)
			L[r + 1][j] = L[r][j] + r;
	}
}
`

// TestPhases estimates a program that vanishes first and meets at barriers then: work is of two kinds, so that
// what is skipped may not go from one phase into the other.
func TestPhases(t *testing.T) {
	t.Parallel() // takes long
	phases := func() (*Program, Options) {
		g, err := cfront.CompileWhole(context.Background(), "phases.c", phasesC, cfront.Options{})
		require.NoError(t, err)
		const n, m, rounds = 60000, 512, 400
		memory := stream.Memory{"A": make([]scalar.Value, n), "B": make([]scalar.Value, n), "L": make([]scalar.Value, (rounds+1)*m)}
		for name, list := range memory {
			for i := range list {
				list[i] = scalar.FromInt(g.Array(name).Type, int64(i%1000))
			}
		}
		_, opt := scale(t)
		return &Program{Graph: g, Memory: memory, Args: stream.Args{Symbols: map[string]int64{"n": n, "m": m, "rounds": rounds}}}, opt
	}
	p, opt := phases()
	full, elsewhere := sampled(t, p, opt, "ns-decouple", nil)
	p, opt = phases()
	r, counted := sampled(t, p, opt, "ns-decouple", &Sampling{Share: 0.05, Window: 8000})
	require.Equal(t, elsewhere, counted)
	t.Logf("%d cycles, %d by %+v, %+v", full.Cycles, r.Cycles, r.Sample, r.Streams.Loops)
	require.InEpsilon(t, full.Cycles, r.Cycles, 0.2)
}

// TestAdvance takes machines out of time in the middle of loops with streams: for a part of what these have left, and for all
// of it. Nothing is lost and nothing is done twice, and time passes for what is in it alone.
func TestAdvance(t *testing.T) {
	t.Parallel() // takes long
	ctx := context.Background()
	const m, n, k = int64(64), int64(4096), int64(2)
	configs := []string{"near-l3"}
	if invariants.Enabled { // the others take long
		configs = append(configs, "ns-decouple", "ns")
	}
	for _, config := range configs {
		p, opt := outer(t, m, n, k)
		full, elsewhere := sampled(t, p, opt, config, nil)
		stop := func(share int64, then func(r *runner)) (at, cycles int64) {
			p, opt := outer(t, m, n, k)
			before := clone(p.Memory)
			opt.Config = config
			all, err := newRunners(ctx, []Job{{p, opt}})
			require.NoError(t, err)
			r := all[0]
			for i, thread := range r.code.Threads() {
				r.m.StreamCores[i].Run(r.code.Source(i), r.code.PCs())
				r.cores()[i].Start(thread)
			}
			progress := func() (sum int64) {
				for _, c := range r.m.StreamCores {
					sum += c.Progress
				}
				return sum
			}
			for at < full.Cycles*share/8 && (progress() == 0 || progress() < elsewhere*share/8) {
				at += 100
				require.NoError(t, r.m.Continue(ctx, at))
			}
			then(r)
			require.NoError(t, r.m.Continue(ctx, event.Forever))
			require.True(t, r.done())
			cycles = r.report().Cycles // timers run on
			require.NoError(t, r.collect())
			v, err := Check(ctx, p, before, opt)
			require.NoError(t, err)
			require.Empty(t, v.First)
			require.Equal(t, v.Elements, v.Equal)
			require.Equal(t, elsewhere, progress(), "%s, stopped at %d", config, at)
			return at, cycles
		}
		for share := int64(1); share < 8; share += 2 {
			if config != "near-l3" && share != 3 {
				continue
			}
			const work = m * n / 4
			done := int64(0)
			at, cycles := stop(share, func(r *runner) {
				now := r.m.Engine.Now()
				var err error
				done, err = r.m.Advance(ctx, work)
				require.NoError(t, err)
				require.Less(t, r.m.Engine.Now(), now+full.Cycles/4, "what is under way")
			})
			_, paused := stop(share, func(r *runner) {
				finished, err := r.m.Pause(ctx)
				require.NoError(t, err)
				sum := int64(0)
				for _, f := range finished {
					sum += f.Elsewhere
				}
				require.GreaterOrEqual(t, sum, done)
				r.m.Resume()
			})
			t.Logf("%s, at %d of %d: %d of %d, to %d; all, to %d", config, at, full.Cycles, done, elsewhere, cycles, paused)
			if config == "near-l3" && share == 1 { // a quarter of the first instance
				require.GreaterOrEqual(t, done, work)
				require.Less(t, done, 2*work)
				require.Less(t, cycles, full.Cycles)
				require.Less(t, paused, cycles)
				stop(share, func(r *runner) { // in front of a window
					s := &sampler{r: r, spec: Sampling{Window: 2000}, window: 4000, base: make([]int64, len(r.m.Cores)), spans: []span{{cycles: 5}}, pace: 2, left: float64(work), random: rand.New(rand.NewPCG(1, 1))}
					now, before := r.m.Engine.Now(), s.all()
					s.begin(now)
					require.Equal(t, now+1000, s.next)
					require.NoError(t, s.step(ctx, now))
					end := r.m.Engine.Now()
					require.Equal(t, fill, s.part)
					require.Equal(t, end+1000, s.next)
					require.Positive(t, s.advanced)
					require.InDelta(t, 5+float64(s.all()-before)/2, s.spans[0].cycles, 1e-6)
					require.GreaterOrEqual(t, s.spans[0].cycles, 5+s.advanced/2)
					require.EqualValues(t, end-now, s.ended)
				})
			}
		}
	}
}
