package mapstudy

import (
	"context"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/lowering/mapping"
	"github.com/bitsched/bitsched/lowering/mapping/dnn"
	"github.com/bitsched/bitsched/lowering/mapping/plan"
	"github.com/bitsched/bitsched/lowering/mapping/platform"
	"github.com/bitsched/bitsched/lowering/mapping/search"
)

// Figures derived by hand from the rules of section V-B, not by this code.
func TestBindingsOfThePaper(t *testing.T) {
	ops := dnn.Table4Operators(dnn.DefaultBits)
	rows, err := Bindings(context.Background(), PaperPlatforms, ops, true)
	require.NoError(t, err)
	sized := map[string]int64{"C1": 1472, "C2": 448, "C4": 416, "C5": 1248, "C6": 816, "C8": 816, "C9": 360, "C10": 360, "G1": 96}
	for _, c := range rows {
		conv := c.Operator[0] == 'C'
		want := map[string]int64{"mvm": 56, "bulk": 180, "lane": 56, "lane2": 105}[c.Function]
		switch {
		case !conv && c.Function == "mvm":
			want = 2
		case !conv:
			continue
		case c.MayBeEmpty != "":
			want = 405
		}
		require.Equal(t, want, c.Total, "%s %s", c.Operator, c.Function)
		if conv && c.Function == "mvm" {
			require.Equal(t, int64(7), c.InOrder)
			require.Equal(t, int64(49), c.Swapped)
		}
		if w, ok := sized[c.Operator]; ok && c.Platform == "mvm-reram" {
			require.Equal(t, w, c.Sized, c.Operator)
		}
	}
}

func TestWrongBindingOfFig4IsRefused(t *testing.T) {
	msg, err := WrongBinding(context.Background())
	require.NoError(t, err)
	require.Contains(t, msg, "B2")
	require.Contains(t, msg, "F[0,0,0,0] against F[0,0,1,0]")
}

func TestComputeOnlySteps(t *testing.T) {
	p, err := platform.Load("mvm-reram")
	require.NoError(t, err)
	rows, mean, err := ComputeOnly(p, dnn.Table4Operators(dnn.DefaultBits))
	require.NoError(t, err)
	want := [][4]int64{{98, 4, 50176, 784}, {18, 10, 12544, 502}, {2, 2, 12544, 98}, {36, 20, 3136, 262}, {4, 4, 3136, 49}, {36, 36, 3136, 448},
		{72, 72, 784, 262}, {16, 16, 784, 49}, {144, 144, 784, 784}, {288, 288, 392, 392}, {576, 576, 588, 588}}
	for i, r := range rows {
		require.Equal(t, want[i], [4]int64{r.Baseline, r.Im2col, r.Before, r.After}, r.Operator)
	}
	require.InDelta(t, 66.34, mean, 0.01)
}

// The bars of a figure sum to the cycles that are printed, with what is done in arrays beside products.
func TestFiguresShowAllCycles(t *testing.T) {
	p, err := platform.Load("logic-sram")
	require.NoError(t, err)
	for _, work := range []string{"resnet18", "conv:N=1,K=8,H=8,W=8,C=8,R=3,S=3"} {
		net, err := dnn.Lookup(work, 1, dnn.DefaultBits)
		require.NoError(t, err)
		for _, nonlinear := range []bool{false, true} {
			rep, err := plan.Map(context.Background(), context.Background(), net, p, plan.Options{Optimizer: "template", Evals: 1, Execute: "none", Nonlinear: nonlinear})
			require.NoError(t, err)
			require.Equal(t, nonlinear, len(rep.Passes) > 0)
			sum := int64(0)
			for _, m := range regexp.MustCompile(`: ([0-9]+) cycles(, [0-9.]+ %)?</title>`).FindAllSubmatch(MappingFigure(rep), -1) {
				n, err := strconv.ParseInt(string(m[1]), 10, 64)
				require.NoError(t, err)
				sum += n
			}
			require.Equal(t, rep.Cycles, sum, "%s, nonlinear %t", work, nonlinear)
		}
	}
}

// Areas by hand, of two mappings and a reference of 219 cycles and 220 pJ.
func TestRaceOfFronts(t *testing.T) {
	spot := func(cycles int64, pj float64) search.Spot {
		return search.Spot{Cost: mapping.Cost{Cycles: cycles, Units: 1}, Picojoules: pj}
	}
	fast, thrifty := spot(100, 200), spot(199, 100)
	all := search.Front([]search.Spot{thrifty, fast, spot(300, 300)})
	r := raceOfFronts("op", "p", map[string][][]search.Spot{"both": {{fast, thrifty}}, "one": {{fast}, {thrifty}}, "neither": {{spot(300, 300)}}}, all)
	require.Equal(t, int64(199+19+1), r.Cycles)
	require.InDelta(t, 220, r.Picojoules, 1e-9)
	whole := 119.0*20 + 20*100
	require.InDelta(t, 1, r.Mean["both"], 1e-9)
	require.InDelta(t, (119*20+20*120)/2/whole, r.Mean["one"], 1e-9)
	require.InDelta(t, 119*20/whole, r.Worst["one"], 1e-9)
	require.Zero(t, r.Mean["neither"])
}

// Intervals of a small operator are those of the exhaustive optimum at the ends of every range.
func TestSensitivity(t *testing.T) {
	ctx := context.Background()
	op, err := dnn.Parse("gemm:M=5,K=6,N=4", dnn.DefaultBits)
	require.NoError(t, err)
	swings, intervals, err := Sensitivity(ctx, Options{Platforms: []string{"pnm-hbm"}, Evals: 1000, Seed: 1, Threads: 1}, []*dnn.Operator{op})
	require.NoError(t, err)
	p, err := platform.Load("pnm-hbm")
	require.NoError(t, err)
	saved := func(p *platform.Platform) float64 {
		q, err := mapping.New(ctx, op, p, mapping.Options{})
		require.NoError(t, err)
		all, err := search.Lookup("exhaustive")
		require.NoError(t, err)
		r, err := all.Search(ctx, q, search.Options{Threads: 1})
		require.NoError(t, err)
		m, err := search.Baseline(q).Apply(q)
		require.NoError(t, err)
		var c mapping.Cost
		require.Equal(t, mapping.Legal, q.Cost(m, &c))
		return 100 * (1 - float64(r.Score)/float64(c.Cycles))
	}
	least := saved(p)
	most := least
	require.InDelta(t, least, intervals[0].Default, 1e-9)
	require.NotEmpty(t, swings)
	for _, s := range swings {
		for v, at := range map[float64]*float64{s.Low: s.AtLow, s.High: s.AtHigh} {
			q, err := p.With(s.Field, v)
			require.NoError(t, err)
			require.NotNil(t, at)
			require.InDelta(t, saved(q), *at, 1e-9, "%s %v", s.Field, v)
			least, most = min(least, *at), max(most, *at)
		}
	}
	require.InDelta(t, least, intervals[0].Low, 1e-9)
	require.InDelta(t, most, intervals[0].High, 1e-9)
}
