package multicore

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/event"
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
	require.InDelta(t, 0.9, s.Skipped, 0.08)
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
	s := &sampler{rates: []float64{2, 4, 1}, spans: []span{{work: 30}, {cycles: 7}, {work: 5}}, ended: 3}
	require.InDelta(t, 30/3.0+7+5/1.0, s.skipped(), 1e-9)
	require.Equal(t, int64(100+22-3), s.cycles(100))
	rest := func(d, cycles float64) float64 { return d * d * cycles * cycles / 2 }
	require.InDelta(t, rest(2.0/3, 10)+rest(-3/2.5, 7)+rest(-3/2.5, 5), s.variance(), 1e-9)

	other := &sampler{rates: []float64{20, 1, 30}, spans: []span{{work: 60}, {work: 5}, {work: 30}}}
	require.InDelta(t, 3+5+1, other.skipped(), 1e-9, "phases of one thread and of all")

	s.drifts = []float64{0.1, -0.2, 0.3}
	require.InDelta(t, (0.1*10-0.2*7+0.3*5)/22, s.drift(), 1e-9)
	require.InDelta(t, 22*22/(100+49+25.0)-1, s.freedom(), 1e-9)
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
	before := clone(p.Memory)
	opt.Config, opt.Sample = config, s
	all, err := newRunners(context.Background(), []Job{{p, opt}})
	require.NoError(t, err)
	require.NoError(t, runAll(context.Background(), all))
	report = all[0].report()
	require.NoError(t, all[0].collect())
	v, err := Check(context.Background(), p, before, opt)
	require.NoError(t, err)
	require.Empty(t, v.First, config)
	require.Equal(t, v.Elements, v.Equal)
	for _, c := range all[0].m.StreamCores {
		elsewhere += c.Progress
	}
	return report, elsewhere
}

// TestPass compares runs of loops with streams most of whose instances are skipped between windows with
// whole ones: at the L3, where they vanish or the core takes what they read, and in the core. What streams
// do of loops that vanish is counted to an iteration.
func TestPass(t *testing.T) {
	configs := []string{"ns-decouple", "ns"}
	if invariants.Enabled { // the others take long
		configs = append(configs, "ns-no-comp", "ns-core")
	}
	const n, rounds = 12000, 150
	for _, config := range configs {
		p, opt := sweep(t, n, rounds)
		full, elsewhere := sampled(t, p, opt, config, nil)
		memory := p.Memory
		p, opt = sweep(t, n, rounds)
		r, counted := sampled(t, p, opt, config, &Sampling{Share: 0.05, Window: 8000})
		require.Equal(t, memory, p.Memory)
		require.Equal(t, elsewhere, counted)
		if config == "ns-decouple" {
			require.Equal(t, int64(rounds*(2*n-2)), counted)
		}
		t.Logf("%s: %d cycles, %d by %+v", config, full.Cycles, r.Cycles, r.Sample)
		for _, l := range r.Streams.Loops {
			require.Greater(t, l.Passed, int64(4*rounds/2), "%s, loop over %s", config, l.Var)
		}
		require.InDelta(t, full.Cycles, r.Cycles, max(0.1, r.Sample.Bound)*float64(full.Cycles))
	}
}

// TestPassRows is the same of streams that go through all rows of a thread: all or none of them are skipped.
func TestPassRows(t *testing.T) {
	const m, n, k = int64(64), int64(1024), int64(120)
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
	ctx := context.Background()
	const m, n, k = int64(64), int64(4096), int64(2)
	for _, config := range []string{"near-l3", "ns-decouple", "ns"} {
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
					s := &sampler{r: r, spec: Sampling{Window: 2000}, window: 4000, base: make([]int64, len(r.m.Cores)), spans: []span{{work: 5}}, left: float64(work), random: rand.New(rand.NewPCG(1, 1))}
					now, before := r.m.Engine.Now(), s.all()
					s.begin(now)
					require.Equal(t, now+1000, s.next)
					require.NoError(t, s.step(ctx, now))
					end := r.m.Engine.Now()
					require.Equal(t, fill, s.part)
					require.Equal(t, end+1000, s.next)
					require.Positive(t, s.advanced)
					require.EqualValues(t, 5+s.all()-before, s.spans[0].work)
					require.GreaterOrEqual(t, s.spans[0].work, 5+s.advanced)
					require.EqualValues(t, end-now, s.ended)
				})
			}
		}
	}
}
