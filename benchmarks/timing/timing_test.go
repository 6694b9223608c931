package timing

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/figuretest"
	"github.com/bitsched/bitsched/tile/uop"
)

func referenceFile(t testing.TB, name string) []Point {
	path := filepath.Join("..", "..", "..", "shared", "data", "timing", name)
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("the measurements %s are not at ../shared/data/timing", name)
	}
	require.NoError(t, err)
	defer file.Close()
	points, err := ReadPoints(name, file)
	require.NoError(t, err)
	return points
}

// TestReference measures a share of the points of cores and caches, short ones: each
// within its tolerance. `bitsched reference` measures all.
func TestReference(t *testing.T) {
	points := referenceFile(t, "core_cache.csv")
	require.Len(t, points, 309)
	kinds := map[string]bool{}
	for i, p := range points {
		c := p.core
		// Those of vadd in the L1 need the queues at its ports.
		ports := c.Prefetch != "none" && c.Kernel.Name == "vadd" && c.Kernel.Bytes < 32<<10
		if c.Warm+c.Instr > 40_000 || i%4 != 0 && !ports {
			continue
		}
		o, err := p.Run(context.Background())
		require.NoError(t, err)
		require.Equal(t, Within, o.Verdict, "%s: %g, reference %g", o.ID, o.Ours, o.Reference)
		kinds[c.Core+" "+c.Kernel.Name] = true
	}
	require.Greater(t, len(kinds), 12)
}

func TestDRAMPoints(t *testing.T) {
	points := referenceFile(t, "dram_latency_load.csv")
	require.Len(t, points, 453)
	for i, p := range points {
		if i%50 != 0 {
			continue
		}
		o, err := p.Run(context.Background())
		require.NoError(t, err)
		require.NotEqual(t, Beyond, o.Verdict, "%s: %g, reference %g", o.ID, o.Ours, o.Reference)
	}
}

// TestWarm: the micro-ops that touch lines are as many as the reference says. Half of
// those that are measured follow them.
func TestWarm(t *testing.T) {
	for _, p := range referenceFile(t, "core_cache.csv") {
		c := p.core
		half := c.Warm - c.Kernel.Warm()
		require.InDelta(t, float64(c.Instr)/2, half, 6, c.ID)
	}
}

// TestKernels checks bodies against the text of the reference.
func TestKernels(t *testing.T) {
	for _, c := range []struct {
		kernel                       Kernel
		ops, loads, stores, branches int // of a body
	}{
		{Kernel{Name: "chase", Bytes: 1 << 14, Params: map[string]int{"chains": 4}}, 33, 32, 0, 1},
		{Kernel{Name: "stream", Bytes: 1 << 14, Params: map[string]int{"S": 8, "ind": 8}}, 10, 8, 0, 1},
		{Kernel{Name: "reduce", Bytes: 1 << 14}, 25, 8, 0, 1},
		{Kernel{Name: "vadd", Bytes: 24 << 10}, 41, 16, 8, 1},
		{Kernel{Name: "copy", Bytes: 1 << 14}, 25, 8, 8, 1},
		{Kernel{Name: "store", Bytes: 1 << 14}, 17, 0, 8, 1},
		{Kernel{Name: "gather", Bytes: 1 << 14}, 25, 8, 0, 1},
		{Kernel{Name: "indirect", Bytes: 1 << 14}, 33, 16, 0, 1},
		{Kernel{Name: "alu", Bytes: 1 << 14, Params: map[string]int{"lat": 3, "chains": 4}}, 25, 0, 0, 1},
	} {
		require.NoError(t, c.kernel.Validate())
		th := c.kernel.Thread()
		var b uop.Batch
		for range c.kernel.Warm() {
			b.Reset()
			_, err := th.Next(&b, 1)
			require.NoError(t, err)
			require.Len(t, b.Ops, 1)
			require.Less(t, b.Ops[0].PC, uint32(kernelPC))
		}
		b.Reset()
		_, err := th.Next(&b, 1)
		require.NoError(t, err)
		require.NoError(t, b.Check())
		var loads, stores, branches int
		for i, op := range b.Ops {
			require.Equal(t, uint32(kernelPC+4*i), op.PC)
			switch op.Kind {
			case uop.Load:
				loads++
			case uop.Store:
				stores++
			case uop.Branch:
				branches++
				require.NotZero(t, op.Flags&uop.Taken)
			}
		}
		require.Equal(t, []int{c.ops, c.loads, c.stores, c.branches}, []int{len(b.Ops), loads, stores, branches}, c.kernel.Name)
	}
}

// TestChase: every chain is one cycle through all its lines.
func TestChase(t *testing.T) {
	k := Kernel{Name: "chase", Bytes: 64 * 96, Params: map[string]int{"chains": 3}}
	th := &stream{k: &k, state: 1}
	th.body = th.kernel()
	var b uop.Batch
	_, err := th.Next(&b, 3*32)
	require.NoError(t, err)
	seen := map[uint64]bool{}
	n := 0
	for _, op := range b.Ops {
		if op.Kind == uop.Load && n < 96 {
			n++
			seen[op.Addr] = true
			require.Zero(t, (op.Addr-regionA)%64)
		}
	}
	require.Len(t, seen, 96)
}

// TestSearch: the branches of a search follow from its key.
func TestSearch(t *testing.T) {
	k := Kernel{Name: "bsearch", Bytes: 1 << 14}
	th := &stream{k: &k, state: 1}
	th.body = th.kernel()
	for range 50 {
		var b uop.Batch
		_, err := th.Next(&b, 1)
		require.NoError(t, err)
		require.NoError(t, b.Check())
		steps := 0
		for _, op := range b.Ops {
			if op.Kind == uop.Load {
				steps++
			}
		}
		require.InDelta(t, math.Log2(1<<14/8), steps, 1)
		last := b.Ops[len(b.Ops)-1]
		require.Equal(t, uint32(kernelPC+0x54), last.PC)
	}
}

const coreHeader = "point_id,core,prefetch,memory,kernel,F_bytes,params,warm_instr,instr,cycles,use\n"

func TestReadPointsRefuses(t *testing.T) {
	row := func(from, to string) string {
		return coreHeader + strings.Replace("a,ooo8,none,fixed,chase,16384,chains=2,1256,2000,5000,tol2\n", from, to, 1)
	}
	_, err := ReadPoints("p.csv", strings.NewReader(row("", "")))
	require.NoError(t, err)
	for want, text := range map[string]string{
		"p.csv:1:1: empty file":                        "",
		"p.csv:1:1: no column point_id":                "a,b\n",
		"p.csv:2:1: no measurements":                   coreHeader,
		`p.csv:2:3: core "ooo9", expected ooo8,`:       row("ooo8", "ooo9"),
		`p.csv:2:19: kernel "chases"`:                  row("chase", "chases"),
		`F_bytes "many", expected a number from`:       row("16384", "many"),
		`params "chains", expected parameters as in`:   row("chains=2", "chains"),
		`with chians=2, expected a parameter`:          row("chains=2", "chians=2"),
		`cycles "-1", expected a positive number`:      row("5000", "-1"),
		`use "tol1", expected calibrate`:               row("tol2", "tol1"),
		"p.csv:2:1: 12 fields, expected 11":            row("5000", "5000,1"),
		"expected at least one after at least the 256": row("1256", "12"),
		`p.csv:3:1: point_id "a"`:                      row("", "") + "a,ooo8,none,fixed,chase,16384,chains=2,1256,2000,5000,tol2\n",
	} {
		_, err := ReadPoints("p.csv", strings.NewReader(text))
		require.ErrorContains(t, err, want)
	}
}

func FuzzReadPoints(f *testing.F) {
	f.Add(coreHeader + "a,ooo8,none,fixed,chase,16384,chains=2,1256,2000,5000,tol2\n")
	f.Add("point_id,speed_MTps,channels,mapping,pattern,arrival,offered_frac_of_peak,achieved_GBps,saturated,read_latency_avg_clk,read_latency_p50_clk,measured_clocks\n" +
		"b,3200,1,rorababgcoch,seq,even,0.5,12,0,100,50,1000\n")
	f.Fuzz(func(t *testing.T, text string) {
		points, err := ReadPoints("f.csv", strings.NewReader(text))
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "f.csv:"), err)
			return
		}
		require.NotEmpty(t, points)
	})
}

func TestFigure(t *testing.T) {
	require.Nil(t, Figure("none", nil))
	var outcomes []*Outcome
	for i, d := range []float64{-80, -3, 0, 12, 60} {
		o := &Outcome{ID: fmt.Sprint("p", i), Series: []string{"chase", "vadd"}[i%2], Quantity: []string{"cycles", "bandwidth"}[i/3], Reference: 1000 * float64(i+1), Tolerance: 5}
		o.Ours = o.Reference * (1 + d/100)
		o.judge()
		outcomes = append(outcomes, o)
	}
	svg := Figure("Deviation", outcomes)
	require.NoError(t, xml.Unmarshal(svg, new(struct{})))
	shapes := figuretest.Read(t, svg)
	for _, o := range outcomes {
		s := figuretest.Hinted(t, shapes, fmt.Sprintf("%s: %.4g, reference %.4g, %+.1f %%", o.ID, o.Ours, o.Reference, o.Deviation))
		require.Equal(t, o.Verdict == Beyond, s.Cross())
	}
	texts := figuretest.Texts(shapes)
	require.True(t, slices.Contains(texts, "vadd"))
}
