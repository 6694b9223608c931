package fused_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/workload"
	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/system/fused"
	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tile"
	"github.com/bitsched/bitsched/tile/tc"
)

// execute runs a kernel and compares its memory with that of the sequential program.
func execute(t testing.TB, name string, sizes map[string]int64, opt fused.Options) *fused.Report {
	k, err := workload.Builtin(name, false)
	require.NoError(t, err)
	require.NoError(t, k.CompileWhole(context.Background(), sizes, nil, true))
	r, err := runKernel(t, k, opt)
	require.NoError(t, err)
	return r
}

func runKernel(t testing.TB, k *workload.Kernel, opt fused.Options) (*fused.Report, error) {
	ctx := context.Background()
	m, err := k.Arguments(ctx, 1, nil)
	require.NoError(t, err)
	before, _ := k.Streams(m.Clone())
	begins := m.Clone()
	arrays, args := k.Streams(m)
	p := &fused.Program{Program: &multicore.Program{Graph: k.Whole, Memory: arrays, Args: args, Reassociate: k.Reassociate}, Tensors: k.Program, Sizes: k.Sizes, Arrays: begins}
	if k.Parts != nil {
		p.Tensors = k.Parts
	}
	r, err := fused.Run(ctx, p, opt)
	if err != nil {
		return r, err
	}
	if k.Builtin != nil && k.Builtin.Whole {
		require.NoError(t, k.Builtin.Check(k.Sizes, begins, m))
	}
	v, err := fused.Check(ctx, p, before, r, opt)
	if err == nil {
		require.Empty(t, v.First)
	}
	return r, err
}

func small(t testing.TB) *tile.Machine {
	m, err := tile.LoadMachine("infinity-stream-small")
	require.NoError(t, err)
	return m
}

func TestWorkloads(t *testing.T) {
	for _, name := range []string{"vec_add", "stencil1d", "array_sum", "mm_outer", "gauss_elim", "conv2d", "dwt2d", "stencil2d", "stencil3d", "conv3d", "mm_inner", "kmeans_inner", "kmeans_outer", "kmeans_transposed", "gather_mlp_inner", "gather_mlp_outer"} {
		for _, config := range []string{"in-l3", "inf-s"} {
			t.Run(name+"/"+config, func(t *testing.T) {
				r := execute(t, name, nil, fused.Options{Options: multicore.Options{Config: config, Machine: small(t), Threads: 8}})
				t.Logf("%d cycles, %+v", r.Report.Cycles, r.Cycles)
				for _, x := range r.Regions {
					t.Logf("%+v", x)
				}
			})
		}
	}
}

// TestTile runs a region with tiles of a given shape, and of one that no array has.
func TestTile(t *testing.T) {
	opt := fused.Options{Options: multicore.Options{Config: "inf-s", Machine: small(t), Threads: 8}}
	sizes := map[string]int64{"N": 64, "M": 64, "T": 1}
	require.Equal(t, "16x16", execute(t, "stencil2d", sizes, opt).Arrays.Tile)
	opt.Tile = lowering.Shape{64, 4}
	require.Equal(t, "64x4", execute(t, "stencil2d", sizes, opt).Arrays.Tile)
	opt.Tile = lowering.Shape{64, 2}
	k, err := workload.Builtin("stencil2d", false)
	require.NoError(t, err)
	require.NoError(t, k.CompileWhole(context.Background(), sizes, nil, true))
	_, err = runKernel(t, k, opt)
	require.ErrorContains(t, err, "tiles of 64x2 have 128 elements, expected 256")
}

// TestTrace adds up what a trace shows of regions in memory: what thread 0 waited for is the
// breakdown of the report, and commands of a bank follow each other.
func TestTrace(t *testing.T) {
	trace := &multicore.Trace{}
	r := execute(t, "kmeans_outer", nil, fused.Options{Options: multicore.Options{Config: "inf-s", Machine: small(t), Threads: 8, Trace: trace}})
	var b bytes.Buffer
	require.NoError(t, trace.Write(&b))
	var doc struct {
		TraceEvents []struct {
			Ph, Name string
			Tid      int
			Ts, Dur  int64
		} `json:"traceEvents"`
	}
	require.NoError(t, json.Unmarshal(b.Bytes(), &doc))
	sums, banks := map[string]int64{}, map[string]int64{}
	regions := int64(0)
	end := map[int]int64{}
	for _, e := range doc.TraceEvents {
		switch track := e.Tid - 1; {
		case e.Ph != "X":
		case track == multicore.RegionTrack:
			regions += e.Dur
		case track == multicore.TensorTrack:
			sums[e.Name] += e.Dur
		case track >= multicore.TensorBanksAre:
			banks[e.Name] += e.Dur
			if e.Name == "compute" || e.Name == "move" || e.Name == "move between tiles" {
				require.GreaterOrEqual(t, e.Ts, end[track], "bank %d", track-multicore.TensorBanksAre)
				end[track] = e.Ts + e.Dur
			}
		}
	}
	c := &r.Cycles
	require.Equal(t, c.Regions, regions)
	for name, want := range map[string]int64{"drain": c.Drain, "flush ways": c.Flush, "load": c.DRAM, "spill": c.Spill, "JIT": c.JIT, "streams": c.Near, "reduce": c.Final, "write back": c.Return + c.Behind + r.WriteBack} {
		require.Equal(t, want, sums[name], name)
	}
	require.GreaterOrEqual(t, c.Compute+c.Move+c.Between+c.Sync, sums["commands"])
	for _, name := range []string{"load", "compute", "move", "sync", "stream", "write back"} {
		require.Positive(t, banks[name], name)
	}
}

// pieces has regions with other statements between, two of them of one function.
const pieces = `#include "bitsched.h"
static void smooth(int N, int by, const float X[N], float Y[N])
{
#pragma bitsched region
#pragma omp parallel for
	for (int i = 1; i < N - 1; i++)
		Y[i] = by * (X[i - 1] + X[i + 1]);
}
void pieces(int N, float A[N], float B[N], int32_t I[N], float s[1])
{
	inf_array(A, N);
	inf_array(B, N);
	inf_array(I, N);
	inf_array(s, 1);
	smooth(N, 2, A, B);
	for (int i = 0; i < 64; i++)
		B[I[i]] += A[i];
	smooth(N, 3, B, A);
	float sum = 0;
	for (int i = 0; i < 64; i++)
		sum += A[i];
	s[0] = sum;
#pragma bitsched region
#pragma omp parallel for
	for (int i = 0; i < N; i++)
		B[i] = A[i] * B[i];
}
`

// TestParts has regions that are parts of a function: of the stages of the function, three
// are in arrays, and threads change what they read and read what they wrote.
func TestParts(t *testing.T) {
	k := workload.FromSource("pieces.c", pieces, nil)
	require.NoError(t, k.CompileWhole(context.Background(), map[string]int64{"N": 8192}, nil, false))
	require.NoError(t, k.NoParts)
	for _, config := range []string{"in-l3", "inf-s", "inf-s-nojit"} {
		r, err := runKernel(t, k, fused.Options{Options: multicore.Options{Config: config, Machine: small(t), Threads: 4}})
		require.NoError(t, err)
		require.Len(t, r.Regions, 3)
		var names, places []string
		all := int64(0)
		for i, s := range r.Report.Stages {
			names, places = append(names, s.Name+" "+s.At), append(places, s.Place)
			all += s.Cycles
			require.GreaterOrEqual(t, s.Cycles, int64(0), "stage %d", i)
		}
		require.Equal(t, []string{"smooth 15:2", " 17:5", "smooth 18:2", " 21:10", " 22:2", " 26:10"}, names)
		require.Equal(t, []string{"arrays", "arrays", "arrays"}, []string{places[0], places[2], places[5]})
		require.NotContains(t, []string{places[1], places[3]}, "arrays")
		require.InEpsilon(t, r.Report.Cycles, all, 0.05, "stages are all of the run")
	}
}

// TestPointNet runs both classifiers in each configuration with arrays, compared with their definition.
func TestPointNet(t *testing.T) {
	sizes := map[string]int64{"P": 64, "D": 16, "K1": 16, "K2": 8, "H6": 8, "A3": 16, "B3": 16, "C3": 16, "F1": 16, "F2": 4, "F3": 3, "N3": 4}
	for name, sets := range map[string]string{"pointnet_ssg": "12", "pointnet_msg": "456789"} {
		all := maps.Clone(sizes)
		for _, s := range sets {
			for _, d := range "ABC" {
				all[string(d)+string(s)] = 16
			}
			all["N"+string(s)] = 2 + int64(s)%2
		}
		if name == "pointnet_ssg" {
			delete(all, "H6")
		}
		configs := []string{"inf-s"}
		if invariants.Enabled { // the others take long
			configs = append(configs, "in-l3", "inf-s-nojit")
		}
		for _, config := range configs {
			r := execute(t, name, all, fused.Options{Options: multicore.Options{Config: config, Machine: small(t), Threads: 4}})
			layers := 0
			for _, s := range r.Report.Stages {
				if s.Name == "layer" || s.Name == "layer_blocks" || s.Name == "layer_three" {
					layers++
					require.Equal(t, multicore.InArrays, s.Place)
				} else {
					require.NotEqual(t, multicore.InArrays, s.Place)
				}
			}
			want := 3 * len(sets)
			if name == "pointnet_msg" { // SA6 has two batches
				want += 3
			}
			require.Equal(t, want, layers)
		}
	}
}

// own is a kernel whose region is in memory, and whose other loop changes what that reads.
const own = `#include "bitsched.h"
void own(int N, int T, int U, float A[N], float B[N], int32_t I[N])
{
	inf_array(A, N);
	inf_array(B, N);
	inf_array(I, N);
#pragma bitsched region
	for (int t = 0; t < T; t++) {
		for (int u = 0; u < U; u++)
#pragma omp parallel for
			for (int i = 1; i < N - 1; i++)
				B[i] += A[i - 1] + A[i + 1];
		for (int i = 0; i < 64; i++)
			A[I[i]] += B[i];
	}
}
`

func ownKernel(t testing.TB, sizes map[string]int64) *workload.Kernel {
	k := workload.FromSource("own.c", own, nil)
	require.NoError(t, k.CompileWhole(context.Background(), sizes, nil, false))
	return k
}

// TestBetween has cores change a part of an array between two regions that read it.
func TestBetween(t *testing.T) {
	for _, config := range []string{"in-l3", "inf-s"} {
		opt := fused.Options{Options: multicore.Options{Config: config, Machine: small(t), Threads: 4}}
		r, err := runKernel(t, ownKernel(t, map[string]int64{"N": 8192, "T": 3, "U": 2}), opt)
		require.NoError(t, err)
		require.EqualValues(t, 6, r.Regions[0].InMemory)
		if config == "in-l3" {
			require.Positive(t, r.Refetched)
			require.Positive(t, r.Tensor.Requests)
		}
	}
}

// TestMutants breaks what keeps values right: each is found, by a wrong value, a check or a
// deadlock.
func TestMutants(t *testing.T) {
	k := ownKernel(t, map[string]int64{"N": 8192, "T": 3, "U": 2})
	opt := fused.Options{Options: multicore.Options{Config: "in-l3", Machine: small(t), Threads: 2}}
	for _, part := range []fused.Broken{fused.NoRefresh, fused.NoNewest, fused.NoSettle} {
		broken := opt
		broken.BrokenTensor = part
		_, err := runKernel(t, k, broken)
		require.ErrorIs(t, err, multicore.ErrInternal, part)
	}
	seen := map[tc.MessageKind]bool{}
	for kind := range tc.NumMessages {
		for _, how := range []string{"lost", "one less"} {
			broken, done := opt, false
			broken.InterceptTensor = func(m *tc.Message) bool {
				if m.Kind != kind || done || how == "one less" && m.Count == 0 {
					return true
				}
				done = true
				if how == "one less" {
					m.Count--
					return true
				}
				return false
			}
			_, err := runKernel(t, k, broken)
			if !done {
				continue
			}
			seen[kind] = true
			if !errors.Is(err, multicore.ErrDeadlock) {
				require.ErrorIs(t, err, multicore.ErrInternal, "%s %s", kind, how)
				continue
			}
			require.ErrorContains(t, err, "ensor", "%s %s", kind, how) // who waits for what
		}
	}
	require.GreaterOrEqual(t, len(seen), 7)
}

// TestBorrowed: of the lines that streams borrow, those that they write as a whole (X) come without
// bytes, those that they only read (F, index) go back without, and banks go through their elements
// at the same time where no iteration needs another.
func TestBorrowed(t *testing.T) {
	r := execute(t, "gather_mlp_outer", map[string]int64{"M": 128, "N": 64, "K": 32, "R": 128}, fused.Options{Options: multicore.Options{Config: "inf-s", Machine: small(t), Threads: 4}})
	require.EqualValues(t, 128*(64+32)*4/64, r.Tensor.Whole, "X and Y")
	require.EqualValues(t, 16, r.Tensor.Walks, "as many banks have a part of X")
}

// TestWhole: lines that a region writes as a whole do not come from memory. C of the outer
// product is set to 0 first.
func TestWhole(t *testing.T) {
	r := execute(t, "mm_outer", map[string]int64{"M": 64, "N": 64, "K": 4}, fused.Options{Options: multicore.Options{Config: "inf-s", Machine: small(t), Threads: 2}})
	require.EqualValues(t, 64*64*4/64, r.Tensor.Whole)
	require.EqualValues(t, (64*64+2*64*4)*4/64, r.Tensor.Fetched)
}

// tiny is a machine of few bitlines: 16,384.
func tiny(t testing.TB) *tile.Machine {
	m, err := tile.LoadMachine("infinity-stream-slice")
	require.NoError(t, err)
	m.L3.ArraysPerWay = 1
	return m
}

// TestInParts has arrays larger than all bitlines: regions are executed in parts, with all bits
// those of the whole. A part reads what lies around it, and the last one is shorter.
func TestInParts(t *testing.T) {
	if !invariants.Enabled {
		t.Skip("takes long: go test -tags invariants")
	}
	for _, c := range []struct {
		name  string
		sizes map[string]int64
		parts int64
	}{
		{"vec_add", map[string]int64{"N": 40000}, 3},
		{"stencil1d", map[string]int64{"N": 40960, "T": 2}, 12},
		{"stencil2d", map[string]int64{"N": 256, "M": 160, "T": 1}, 6},
		{"mm_outer", map[string]int64{"M": 256, "N": 128, "K": 2}, 6},
		{"stencil3d", map[string]int64{"L": 9, "N": 64, "M": 64, "T": 1}, 0},
	} {
		for _, config := range []string{"in-l3", "inf-s"} {
			opt := fused.Options{Options: multicore.Options{Config: config, Machine: tiny(t), Threads: 4}, Parts: true}
			r := execute(t, c.name, c.sizes, opt)
			for _, u := range r.Regions {
				require.Equal(t, u.Reached, u.InMemory, "%s in %s: %s", c.name, config, u.Why)
			}
			if c.parts > 0 {
				require.Equal(t, c.parts, r.Parts, c.name)
			}
			opt.Parts = false
			require.Zero(t, execute(t, c.name, c.sizes, opt).Parts)
		}
	}
}

// inPlace reads what an earlier part would have written, which parts may not.
const inPlace = `#include "bitsched.h"
void inPlace(int N, float A[N])
{
	inf_array(A, N);
#pragma bitsched region
	for (int i = 0; i < N - 1; i++)
		A[i] = A[i] + A[i + 1];
}
`

func TestNoParts(t *testing.T) {
	k := workload.FromSource("in_place.c", inPlace, nil)
	require.NoError(t, k.CompileWhole(context.Background(), map[string]int64{"N": 40960}, nil, false))
	r, err := runKernel(t, k, fused.Options{Options: multicore.Options{Config: "inf-s", Machine: tiny(t), Threads: 2}, Parts: true})
	require.NoError(t, err)
	require.Zero(t, r.Parts)
	require.Contains(t, r.Regions[0].Why, "other parts write")
	r = execute(t, "mm_inner", map[string]int64{"M": 256, "N": 128, "K": 4}, fused.Options{Options: multicore.Options{Config: "inf-s", Machine: tiny(t), Threads: 2}, Parts: true})
	require.Zero(t, r.Parts)
	require.Contains(t, r.Regions[0].Why, "not in parts: ")
}

// TestOverlap has lowering that arrays do not wait for: as much in all, and less time.
func TestOverlap(t *testing.T) {
	opt := fused.Options{Options: multicore.Options{Config: "inf-s", Machine: small(t), Threads: 2}}
	plain := execute(t, "stencil1d", map[string]int64{"N": 4096, "T": 3}, opt)
	opt.Overlap = true
	r := execute(t, "stencil1d", map[string]int64{"N": 4096, "T": 3}, opt)
	require.Equal(t, plain.Cycles.JIT, r.Cycles.JIT+r.Cycles.Hidden)
	require.Equal(t, plain.Report.Cycles-r.Cycles.Hidden, r.Report.Cycles)
	opt.BankLowering = true
	banks := execute(t, "stencil1d", map[string]int64{"N": 4096, "T": 3}, opt)
	require.Less(t, banks.Cycles.JIT+banks.Cycles.Hidden, plain.Cycles.JIT)
}

// TestForecast compares what auto-predicted expects of parts in memory with the time that they take, where an array is written as a
// whole, where others come, and where one has to leave first.
func TestForecast(t *testing.T) {
	m, err := tile.LoadMachine("infinity-stream-slice")
	require.NoError(t, err)
	r := execute(t, "kmeans_outer", map[string]int64{"N": 1024, "K": 32, "D": 8}, fused.Options{Options: multicore.Options{Config: fused.AutoPredicted, Machine: m, Threads: 4}})
	require.Positive(t, r.Cycles.Return)
	for _, q := range r.Choices {
		memory := q.Places[2]
		t.Logf("%s %+v", q.Name, q.Places)
		require.Equal(t, q.Reached, memory.Times)
		require.InEpsilon(t, memory.Cycles, memory.Predicted, 1.0/3, q.Name)
	}
}

// TestForecastViews runs regions of views by what is expected of them: what these take where their
// array is on bitlines, too, is not in that (docs/fused.md).
func TestForecastViews(t *testing.T) {
	r := execute(t, "dwt2d", map[string]int64{"N": 64, "M": 64}, fused.Options{Options: multicore.Options{Config: fused.AutoPredicted, Machine: slice(t), Threads: 4}})
	require.Len(t, r.Choices, 2)
	for _, q := range r.Choices {
		memory := q.Places[2]
		t.Logf("%s %+v", q.Name, q.Places)
		require.Equal(t, q.Reached, memory.Times)
		require.Positive(t, memory.Predicted)
	}
	// All lines of an array come for the half of its elements that a view has.
	r, err := runKernel(t, compiled(t, "halves", map[string]int64{"N": 65536}), fused.Options{Options: multicore.Options{Config: fused.AutoPredicted, Machine: slice(t), Threads: 4}})
	require.NoError(t, err)
	require.Len(t, r.Choices, 1)
	memory := r.Choices[0].Places[2]
	t.Logf("%+v", memory)
	require.EqualValues(t, 1, memory.Times)
	require.InEpsilon(t, memory.Cycles, memory.Predicted, 0.1)
}
