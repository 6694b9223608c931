package reproduce

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bitsched/bitsched/system/fused"
	"github.com/bitsched/bitsched/system/multicore"
)

// autoEntry is how far auto is from the best of what it may choose.
var autoEntry = &Entry{
	ID: "infs:auto", Title: "Places chosen by rehearsals and by expected cycles against the best single configuration", Paper: "Infinity Stream decides by Eq. 2",
	Doc: "22 kernels and sizes on small machines, cold, each run compared with the sequential program and the interpreter of graphs: cycles of auto, which takes the fastest of at most ten simulated runs, of auto-predicted, which takes none, and of the oracle, beside those of base, near-l3, in-l3, inf-s, " +
		"and inf-s with Eq. 2. Both sizes are the same",
	Run: infsAuto,
}

// autoPrograms are those whose cycles are looked at. The closed forms of system/fused were
// made on the first twelve.
var autoPrograms = []ownProgram{
	{name: "mm_outer", sizes: map[string]int64{"M": 128, "N": 128, "K": 32}, machine: slice},
	{name: "mm_outer", sizes: map[string]int64{"M": 64, "N": 128, "K": 16}, machine: smallMesh},
	{name: "mm_inner", sizes: map[string]int64{"M": 16, "N": 128, "K": 64}, machine: smallMesh},
	{name: "gather_mlp_outer", sizes: map[string]int64{"M": 1024, "N": 32, "K": 32, "R": 1024}, machine: slice},
	{name: "gather_mlp_outer", sizes: map[string]int64{"M": 512, "N": 32, "K": 16, "R": 512}, machine: smallMesh},
	{name: "vec_add", sizes: map[string]int64{"N": 150000}, machine: smallMesh, threads: 16},
	{name: "stencil2d", sizes: map[string]int64{"M": 256, "N": 256, "T": 2}, machine: smallMesh},
	{name: "kmeans_outer", sizes: map[string]int64{"N": 2048, "K": 32, "D": 16}, machine: slice},
	{name: "dwt2d", sizes: map[string]int64{"M": 128, "N": 128}, machine: slice},
	{name: "sobel", sizes: map[string]int64{"N": 256}, machine: slice},
	{name: "softmax", sizes: map[string]int64{"N": 256}, machine: slice},
	{name: "gemm8", sizes: map[string]int64{"N": 64}, machine: slice},
	{name: "vec_add", sizes: map[string]int64{"N": 65536}, machine: slice},
	{name: "array_sum", sizes: map[string]int64{"N": 131072}, machine: slice},
	{name: "stencil1d", sizes: map[string]int64{"N": 65536, "T": 2}, machine: slice},
	{name: "stencil3d", sizes: map[string]int64{"L": 16, "M": 64, "N": 64, "T": 2}, machine: slice},
	{name: "conv2d", sizes: map[string]int64{"M": 256, "N": 256}, machine: slice},
	{name: "gauss_elim", sizes: map[string]int64{"N": 96}, machine: slice},
	{name: "jacobi", sizes: map[string]int64{"N": 128}, machine: slice},
	{name: "heat3d", sizes: map[string]int64{"N": 32}, machine: slice},
	{name: "atax", sizes: map[string]int64{"N": 256}, machine: slice},
	{name: "floyd_copied", sizes: map[string]int64{"N": 96}, machine: slice},
}

const (
	slice     = "infinity-stream-slice"
	smallMesh = "infinity-stream-small"
)

// autoDistance is how much longer than the fastest single configuration auto may take.
const autoDistance = 0.03

func infsAuto(ctx context.Context, env *Env) (*Measured, error) {
	return compareAuto(ctx, env, autoPrograms)
}

// withEq2 is inf-s that has a region in memory only where Eq. 2 says so.
const withEq2 = "inf-s, Eq. 2"

func compareAuto(ctx context.Context, env *Env, list []ownProgram) (*Measured, error) {
	m := &Measured{}
	single := []string{multicore.Base, "near-l3", "in-l3", "inf-s"}
	chosen := []string{fused.AutoPredicted, fused.Auto, fused.Oracle}
	configs := append(append(slices.Clone(single), withEq2), chosen...)
	t := Table{Title: "Cycles", Head: append([]string{"kernel", "sizes", "machine"}, append(slices.Clone(configs), "fastest of the first four", "auto takes more, %", "rehearsals")...)}
	whole, runs := 0, 0
	within := map[string]int{}
	over := map[string]float64{}
	eq2, oracle := 0.0, 0.0
	err := runOwn(ctx, env, m, "infs:auto", list, configs, func(own *ownProgram, made map[string]*ownPart) {
		row := []string{own.name, own.sizeText(), own.machine}
		for _, config := range configs {
			if p := made[config]; p != nil {
				row = append(row, fmt.Sprint(p.Cycles))
			} else {
				row = append(row, "-")
			}
		}
		if len(made) == len(configs) {
			best := slices.MinFunc(single, func(a, b string) int { return int(made[a].Cycles - made[b].Cycles) })
			more := func(config, than string) float64 {
				return float64(made[config].Cycles)/float64(made[than].Cycles) - 1
			}
			row = append(row, best, fmt.Sprintf("%.1f", 100*more(fused.Auto, best)), fmt.Sprint(made[fused.Auto].Rehearsals))
			whole++
			runs += made[fused.Auto].Rehearsals
			for _, config := range chosen {
				over[config] += math.Log1p(more(config, best))
				if more(config, best) <= autoDistance {
					within[config]++
				}
			}
			eq2 += math.Log1p(more(withEq2, fused.Auto))
			oracle += math.Log1p(more(fused.Auto, fused.Oracle))
		}
		t.Rows = append(t.Rows, row)
	})
	if err != nil {
		return nil, err
	}
	if n := float64(whole); n > 0 {
		m.Add("kernels and sizes compared", "", n)
		m.Add("of these, auto at most 3 % slower than the fastest", "", float64(within[fused.Auto]))
		m.Add("of these, auto-predicted at most 3 % slower", "", float64(within[fused.AutoPredicted]))
		m.Add("auto over the fastest, cycles", "x", math.Exp(over[fused.Auto]/n))
		m.Add("auto-predicted over the fastest, cycles", "x", math.Exp(over[fused.AutoPredicted]/n))
		m.Add("auto over the oracle, cycles", "x", math.Exp(oracle/n))
		m.Add("speedup of auto over inf-s with Eq. 2", "x", math.Exp(eq2/n))
		m.Add("rehearsals of auto, in the mean", "", float64(runs)/n)
	}
	sums := Table{Title: "Over all", Head: []string{"", "value"}}
	for _, v := range m.Values {
		sums.Rows = append(sums.Rows, []string{v.Name, strings.TrimSpace(fmt.Sprintf("%.4g %s", v.Value, v.Unit))})
	}
	m.Tables = []Table{t, sums}
	m.Notes = []string{"means are geometric, but for the number of rehearsals; each run is compared with the sequential program, and units in memory with the interpreter of graphs, bit by bit; rehearsals take no cycles"}
	return m, nil
}
