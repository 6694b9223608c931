package system

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/kernels"
	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/lowering/arith"
	"github.com/bitsched/bitsched/sram/cost"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tile"
)

// TestEveryParameter changes each parameter of a machine: then a figure of some run
// changes, or the parameter is one of those that are said not to be modelled, and
// none does.
func TestEveryParameter(t *testing.T) {
	if !invariants.Enabled {
		t.Skip("takes long: go test -tags invariants")
	}
	ctx := context.Background()
	var work []struct {
		p     *tdfg.Program
		sizes map[string]int64
	}
	for _, w := range []struct {
		name  string
		sizes map[string]int64
	}{{"stencil2d", map[string]int64{"N": 256, "M": 128, "T": 2}}, {"vec_add", map[string]int64{"N": 60 << 10}}, {"array_sum", map[string]int64{"N": 60 << 10}}, {"mm_outer", map[string]int64{"N": 256, "M": 128, "K": 8}}} {
		k, err := kernels.Get(w.name)
		require.NoError(t, err)
		p, err := cfront.Compile(ctx, k.File, k.Source, cfront.Options{Defines: w.sizes})
		require.NoError(t, err)
		work = append(work, struct {
			p     *tdfg.Program
			sizes map[string]int64
		}{p, w.sizes})
	}
	// Machines of four banks, for the different readings and cores.
	var bases []*tile.Machine
	for _, set := range []string{
		"core=ooo8 jit.reading=host-fitted",
		"core=ooo4 jit.reading=command-once cores.ooo4.fp_simd=4-pipelined dram.reading=total",
		"core=io4 jit.reading=paper-mean cores.io4.fp_simd=2-unpipelined",
		"core=ooo8 jit.reading=command-once cores.ooo8.fp_simd=4-pipelined",
		"core=io4 jit.reading=command-once cores.io4.fp_simd=4-pipelined",
		"mesh.cols=5 mesh.rows=3 l3.arrays_per_way=1 noc.vcs=1",
	} {
		m := tile.Default()
		m.Mesh.Cols, m.Mesh.Rows = 2, 2
		for _, s := range append(strings.Fields("noc.memory_controllers=2 l3.arrays_per_way=4"), strings.Fields(set)...) {
			path, value, _ := strings.Cut(s, "=")
			require.NoError(t, m.Set(path, value))
		}
		bases = append(bases, m)
	}
	programs := arith.NewStore("")
	// Figures of the runs, up to the first that is not as before.
	figures := func(m *tile.Machine, before []string) (list []string) {
		table, err := cost.Load(m.Array.CostTable)
		if err != nil {
			return []string{err.Error()}
		}
		add := func(line string) (same bool) {
			list = append(list, line)
			return before == nil || line == before[len(list)-1]
		}
		for _, w := range work {
			for _, decide := range []bool{true, false} {
				r, err := Run(ctx, w.p, w.sizes, nil, Options{Machine: m, TimingOnly: true, Decide: decide, Programs: programs})
				if err != nil {
					if !add(err.Error()) {
						return list
					}
					continue
				}
				r.LowerSeconds, r.WallSeconds = 0, 0
				text, err := json.Marshal([]any{r, r.Energy(m, table), r.FinalCycles(m)})
				require.NoError(t, err)
				if !add(string(text)) {
					return list
				}
			}
		}
		return list
	}
	before, values := make([][]string, len(bases)), make([]map[string]string, len(bases))
	for i, m := range bases {
		values[i] = map[string]string{}
		for _, p := range m.Parameters() {
			values[i][p.Path] = p.Value
		}
		before[i] = figures(m, nil)
		require.Equal(t, before[i], figures(m, nil))
	}
	for _, p := range tile.Default().Parameters() {
		if p.Source == "" {
			continue // a name
		}
		changed := ""
		tried := 0
		for i, base := range bases {
			for _, v := range others(values[i][p.Path], p) {
				m := *base
				if m.Set(p.Path, v) != nil {
					continue // no machine
				}
				tried++
				if !slices.Equal(figures(&m, before[i]), before[i]) {
					changed = v
					break
				}
				// What nothing reads changes nothing, whatever its value.
				if !p.Arrays {
					break
				}
			}
			if changed != "" || !p.Arrays && tried > 0 {
				break
			}
		}
		require.Positive(t, tried, "no other value for %s", p.Path)
		if p.Arrays {
			require.NotEmpty(t, changed, "%s changes no figure: expected it among those that are not modelled", p.Path)
		} else {
			require.Empty(t, changed, "%s changes figures, expected it not among those that are not modelled", p.Path)
		}
	}
}

// others returns values that a parameter may be changed to from one.
func others(value string, p tile.Parameter) []string {
	list := append([]string(nil), p.Reading...)
	if n, err := strconv.Atoi(value); err == nil {
		for _, v := range []int{2 * n, n / 2, 8 * n, n + 1, n - 1, 1} {
			list = append(list, strconv.Itoa(v))
		}
	} else if x, err := strconv.ParseFloat(value, 64); err == nil {
		list = append(list, fmt.Sprint(2*x), fmt.Sprint(x/2))
	}
	switch value {
	case "true":
		list = append(list, "false")
	case "false":
		list = append(list, "true")
	}
	for _, one := range []string{"in", "out", "io4", "ooo4", "ooo8", "gshare", "perceptron", "lru", "tree-plru", "none", "xmg", "cacti-22nm-8kb", "rochrababgco", "corners", "edges", "exclusive", "tree", "yx", "adaptive", "l3", "always", "changed", "turns"} {
		if value != one {
			list = append(list, one)
		}
	}
	return list
}
