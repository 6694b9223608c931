package fused_test

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/workload"
	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/system/fused"
	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile"
	"github.com/bitsched/bitsched/tile/tc"
)

var singles = []string{"base", "near-l3", "in-l3", "inf-s"}

// compiled is a workload, or a file of testdata.
func compiled(t testing.TB, name string, sizes map[string]int64) *workload.Kernel {
	var k *workload.Kernel
	if text, err := os.ReadFile("testdata/" + name + ".c"); err == nil {
		k = workload.FromSource(name+".c", string(text), nil)
	} else {
		k, err = workload.Builtin(name, false)
		require.NoError(t, err)
	}
	require.NoError(t, k.CompileWhole(context.Background(), sizes, nil, true))
	return k
}

// started returns a program with its memory, and that memory once more.
func started(t testing.TB, k *workload.Kernel) (*fused.Program, stream.Memory) {
	m, err := k.Arguments(context.Background(), 1, nil)
	require.NoError(t, err)
	before, _ := k.Streams(m.Clone())
	arrays, args := k.Streams(m.Clone())
	return &fused.Program{Program: &multicore.Program{Graph: k.Whole, Memory: arrays, Args: args, Reassociate: k.Reassociate}, Tensors: k.Regions(), Sizes: k.Sizes, Arrays: m}, before
}

// alone runs a configuration without rehearsals.
func alone(t testing.TB, k *workload.Kernel, config string, opt fused.Options) int64 {
	p, _ := started(t, k)
	opt.Config = config
	if fused.Find(config) == nil {
		r, err := multicore.Run(context.Background(), p.Program, opt.Options)
		require.NoError(t, err)
		return r.Cycles
	}
	r, err := fused.Run(context.Background(), p, opt)
	require.NoError(t, err)
	return r.Report.Cycles
}

func slice(t testing.TB) *tile.Machine {
	m, err := tile.LoadMachine("infinity-stream-slice")
	require.NoError(t, err)
	return m
}

// autoCases are functions of which each is fastest elsewhere.
var autoCases = []struct {
	name    string
	sizes   map[string]int64
	machine func(t testing.TB) *tile.Machine
	threads int
	best    string // single configuration; "": two of about the same
	mixes   bool   // and faster with parts at different places
	long    bool
}{
	{name: "mm_outer", sizes: map[string]int64{"M": 32, "N": 128, "K": 8}, machine: small, threads: 16, best: "inf-s"},
	{name: "stencil2d", sizes: map[string]int64{"M": 32, "N": 256, "T": 1}, machine: small, threads: 16, best: "near-l3"},
	{name: "mm_inner", sizes: map[string]int64{"M": 4, "N": 32, "K": 16}, machine: small, threads: 16, best: "near-l3"},
	{name: "horner", sizes: map[string]int64{"N": 32768, "T": 3}, machine: slice, threads: 4},
	{name: "dot", sizes: map[string]int64{"N": 16384}, machine: slice, threads: 4, best: "near-l3"},
	{name: "transpose", sizes: map[string]int64{"N": 128}, machine: slice, threads: 4, best: "in-l3", mixes: true},
	{name: "counts", sizes: map[string]int64{"N": 64, "M": 256}, machine: slice, threads: 4, mixes: true},
	{name: "prefix", sizes: map[string]int64{"N": 64, "M": 256}, machine: slice, threads: 4, best: "inf-s", mixes: true, long: true},
	{name: "matvec", sizes: map[string]int64{"N": 64}, machine: slice, threads: 4, mixes: true, long: true},
	{name: "shrink", sizes: map[string]int64{"N": 16384, "T": 4}, machine: slice, threads: 4, long: true},
}

// TestAuto is never slower than a configuration that does the same with all parts, and faster where
// parts differ; its memory is that of the sequential program. The report names what was rehearsed.
func TestAuto(t *testing.T) {
	for _, c := range autoCases {
		if c.long && !invariants.Enabled {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			k := compiled(t, c.name, c.sizes)
			opt := fused.Options{Options: multicore.Options{Machine: c.machine(t), Threads: c.threads}}
			cycles := map[string]int64{}
			for _, config := range singles {
				cycles[config] = alone(t, k, config, opt)
			}
			best := slices.MinFunc(singles, func(a, b string) int { return int(cycles[a] - cycles[b]) })
			if c.best != "" {
				require.Equal(t, c.best, best, "%v", cycles)
			}
			opt.Config, opt.Rehearse = fused.Auto, fused.RehearseOptions{Threads: 2, Check: true}
			p, before := started(t, k)
			r, err := fused.Run(context.Background(), p, opt)
			require.NoError(t, err)
			t.Logf("%v, auto %d: %+v", cycles, r.Report.Cycles, r.Rehearsed)
			require.LessOrEqual(t, r.Report.Cycles, cycles[best])
			require.Equal(t, c.mixes, r.Report.Cycles < cycles[best])
			v, err := fused.Check(context.Background(), p, before, r, opt)
			require.NoError(t, err)
			require.Empty(t, v.First)

			h := r.Rehearsed
			require.LessOrEqual(t, len(h.Runs), fused.DefaultRehearsals)
			chosen := 0
			for _, q := range h.Runs {
				if n, ok := cycles[q.Plan]; ok && !q.Cut {
					require.Equal(t, n, q.Cycles, q.Plan)
				} else if ok { // until others had taken less
					require.Less(t, q.Cycles, n, q.Plan)
				}
				if q.Chosen {
					chosen++
					require.Equal(t, r.Report.Cycles, q.Cycles)
				}
				require.GreaterOrEqual(t, q.Cycles, r.Report.Cycles)
			}
			require.Equal(t, 1, chosen)
			for _, config := range singles {
				require.True(t, slices.ContainsFunc(h.Runs, func(q fused.Rehearsal) bool { // without regions, in-l3 is base
					return q.Plan == config || q.Cycles == cycles[config]
				}) || slices.ContainsFunc(h.Left, func(text string) bool { return strings.HasPrefix(text, config+":") }), "%s: %+v", config, h)
			}
			require.NotEmpty(t, h.Parts)
			for _, q := range h.Parts {
				require.NotEmpty(t, q.Turns, q.Name)
				require.True(t, slices.ContainsFunc(q.Places, func(x fused.PartPlace) bool { return x.Measured }), q.Name)
			}
		})
	}
}

// TestRehearsalsAsAlone has runs of configurations that share the rehearsals of auto: each is as it is
// alone, though what each part takes is noted in them, and auto as without these.
func TestRehearsalsAsAlone(t *testing.T) {
	for _, c := range []struct {
		name  string
		sizes map[string]int64
	}{
		{"conv2d", map[string]int64{"M": 64, "N": 64}},
		{"gauss_elim", map[string]int64{"N": 12}}, // parts in a loop
		{"counts", map[string]int64{"N": 32, "M": 256}},
		{"bfs_push", nil}, // without regions
	} {
		k := compiled(t, c.name, c.sizes)
		opt := fused.Options{Options: multicore.Options{Machine: slice(t), Threads: 4}}
		p, _ := started(t, k)
		h := fused.NewRehearsals(p, opt)
		text := func(r *fused.Report) string {
			again := *r.Rehearsed
			again.Seconds, again.Runs = 0, slices.Clone(again.Runs)
			for i := range again.Runs {
				again.Runs[i].Seconds = 0
			}
			made, err := json.Marshal(&again)
			require.NoError(t, err)
			return string(made)
		}
		for _, config := range singles {
			r, err := h.Run(context.Background(), config, p)
			require.NoError(t, err)
			require.Equal(t, alone(t, k, config, opt), r.Report.Cycles, "%s in %s", c.name, config)
			require.Equal(t, config, r.Config)
			require.Nil(t, h.Verdict(r), "no comparison was asked for")
		}
		auto, err := h.Run(context.Background(), fused.Auto, p)
		require.NoError(t, err)
		for _, threads := range []int{1, 2} {
			q, _ := started(t, k)
			opt.Config, opt.Rehearse.Threads = fused.Auto, threads
			r, err := fused.Run(context.Background(), q, opt)
			require.NoError(t, err)
			require.Equal(t, text(auto), text(r), "%s, %d threads", c.name, threads)
			require.Equal(t, p.Memory, q.Memory)
		}
	}
}

// TestOracle: at most what auto takes, of all combinations, and of others where there are too many.
func TestOracle(t *testing.T) {
	for name, all := range map[string]bool{"counts": true, "matvec": false} {
		k := compiled(t, name, map[string]map[string]int64{"counts": {"N": 16, "M": 256}, "matvec": {"N": 16}}[name])
		opt := fused.Options{Options: multicore.Options{Machine: slice(t), Threads: 4}, Rehearse: fused.RehearseOptions{Check: true}}
		p, before := started(t, k)
		h := fused.NewRehearsals(p, opt)
		auto, err := h.Run(context.Background(), fused.Auto, p)
		require.NoError(t, err)
		r, err := h.Run(context.Background(), fused.Oracle, p)
		require.NoError(t, err)
		require.LessOrEqual(t, r.Report.Cycles, auto.Report.Cycles)
		require.True(t, r.Rehearsed.Whole)
		if all {
			require.Equal(t, 2*2*3, r.Rehearsed.Combinations) // banks, a loop, and a region
		} else {
			require.Equal(t, 2*2*2*3, r.Rehearsed.Combinations)
		}
		require.Greater(t, len(r.Rehearsed.Runs), len(auto.Rehearsed.Runs))
		for _, x := range []*fused.Report{auto, r} {
			require.Positive(t, h.Verdict(x).Elements)
			require.Empty(t, h.Verdict(x).First)
		}
		v, err := fused.Check(context.Background(), p, before, r, opt)
		require.NoError(t, err)
		require.Empty(t, v.First)
		again, err := h.Run(context.Background(), fused.Auto, p)
		require.NoError(t, err)
		require.Equal(t, auto.Rehearsed, again.Rehearsed)
	}
}

// TestRehearsalsStop ends auto when the first region begins: it has the fastest run until then.
func TestRehearsalsStop(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	k := compiled(t, "counts", map[string]int64{"N": 16, "M": 256})
	opt := fused.Options{Options: multicore.Options{Machine: slice(t), Threads: 4, Config: fused.Auto}, InterceptTensor: func(*tc.Message) bool { cancel(); return false }}
	p, before := started(t, k)
	r, err := fused.Run(ctx, p, opt)
	require.NoError(t, err)
	require.True(t, r.Rehearsed.Stopped)
	require.Len(t, r.Rehearsed.Runs, 2)
	v, err := fused.Check(context.Background(), p, before, r, opt)
	require.NoError(t, err)
	require.Empty(t, v.First)
	p, _ = started(t, k)
	_, err = fused.Run(ctx, p, opt)
	require.ErrorIs(t, err, context.Canceled)
}

// TestRehearsalsFew has fewer rehearsals than there are configurations, of which the report names the
// others, and one that fails.
func TestRehearsalsFew(t *testing.T) {
	k := compiled(t, "counts", map[string]int64{"N": 16, "M": 256})
	opt := fused.Options{Options: multicore.Options{Machine: slice(t), Threads: 4, Config: fused.Auto}, Rehearse: fused.RehearseOptions{Most: 1}}
	p, _ := started(t, k)
	r, err := fused.Run(context.Background(), p, opt)
	require.NoError(t, err)
	require.Len(t, r.Rehearsed.Runs, 1)
	require.Len(t, r.Rehearsed.Left, 3)
	needs := compiled(t, "matvec", map[string]int64{"N": 16}) // threads read what a region has written
	opt.Rehearse.Most, opt.BrokenTensor, opt.Rehearse.Check = 0, fused.NoSettle, true
	p, _ = started(t, needs)
	_, err = fused.Run(context.Background(), p, opt)
	require.ErrorIs(t, err, multicore.ErrInternal)
	opt.BrokenTensor, opt.MaxCycles = "", 0
	p, _ = started(t, k)
	r, err = fused.Run(context.Background(), p, opt)
	require.NoError(t, err)
	opt.MaxCycles = r.Report.Cycles // others take longer
	p, _ = started(t, k)
	again, err := fused.Run(context.Background(), p, opt)
	require.NoError(t, err)
	require.Equal(t, r.Report.Cycles, again.Report.Cycles)
	opt.MaxCycles = 1000
	p, _ = started(t, k)
	r, err = fused.Run(context.Background(), p, opt)
	require.ErrorIs(t, err, multicore.ErrMaxCycles)
	require.NotEmpty(t, r.Report.Stopped)
}

// TestAutoPredicted chooses by what it expects, with all bits right, within 3 % of the fastest of all other
// configurations, of kernels of which each is fastest elsewhere.
func TestAutoPredicted(t *testing.T) {
	for _, c := range []struct {
		name  string
		sizes map[string]int64
	}{
		{"mm_outer", map[string]int64{"M": 32, "N": 128, "K": 8}},  // in memory
		{"stencil2d", map[string]int64{"M": 32, "N": 256, "T": 1}}, // with streams at the L3
		{"gauss_elim", map[string]int64{"N": 12}},                  // on cores without prefetchers
	} {
		opt := fused.Options{Options: multicore.Options{Machine: small(t), Threads: 16}}
		k := compiled(t, c.name, c.sizes)
		least := int64(0)
		for _, config := range singles {
			if n := alone(t, k, config, opt); least == 0 || n < least {
				least = n
			}
		}
		opt.Config = fused.AutoPredicted
		r := execute(t, c.name, c.sizes, opt)
		require.LessOrEqual(t, float64(r.Report.Cycles), 1.03*float64(least), c.name)
		for _, q := range r.Choices {
			times := int64(0)
			for _, p := range q.Places {
				times += p.Times
				require.Equal(t, p.Times > 0, p.Cycles > 0, "%s of %s", q.Name, c.name)
				if p.Times > 0 {
					require.Positive(t, p.Predicted)
					if p.Cycles > 4000 {
						require.InEpsilon(t, p.Cycles, p.Predicted, 0.4, "%s of %s", q.Name, c.name)
					}
				}
			}
			require.Equal(t, q.Reached, times, "%s of %s", q.Name, c.name)
		}
	}
}
