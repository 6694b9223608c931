package noc

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		name          string
		width, height int
		dst           map[int]int
	}{
		{"neighbor", 8, 8, map[int]int{0: 9, 7: 8, 56: 1, 63: 0}},
		{"neighbor", 4, 2, map[int]int{0: 5, 3: 4, 7: 0}},
		{"tornado", 8, 8, map[int]int{0: 27, 63: 18}},
		{"tornado", 5, 3, map[int]int{0: 7, 14: 1}},
		{"transpose", 8, 8, map[int]int{1: 8, 8: 1, 9: 9, 62: 55}},
		{"transpose", 3, 3, map[int]int{1: 3, 5: 7}},
		{"bitcomp", 8, 8, map[int]int{0: 63, 42: 21}},
		{"bitrev", 8, 8, map[int]int{1: 32, 6: 24, 63: 63}},
		{"bitrev", 4, 2, map[int]int{1: 4, 6: 3}},
		{"shuffle", 8, 8, map[int]int{1: 2, 32: 1, 33: 3}},
	} {
		p, err := LookupPattern(c.name)
		require.NoError(t, err)
		cfg := DefaultConfig(c.width, c.height)
		require.NoError(t, p.Check(cfg))
		tr := newTraffic(cfg, p, 1, 1, 1)
		for src, dst := range c.dst {
			require.Equal(t, dst, p.dst(tr, src), "%s from %d", c.name, src)
		}
		seen := map[int]bool{}
		for src := range cfg.Nodes() {
			seen[p.dst(tr, src)] = true
		}
		require.Len(t, seen, cfg.Nodes(), "%s is a permutation", c.name)
	}
}

func TestRandomPatterns(t *testing.T) {
	cfg := DefaultConfig(5, 3)
	counts := map[string][]int{}
	for _, name := range []string{"uniform", "hotspot", "randperm"} {
		p, err := LookupPattern(name)
		require.NoError(t, err)
		tr := newTraffic(cfg, p, 1, 1, 1)
		counts[name] = make([]int, 15)
		for i := range 150_000 {
			counts[name][p.dst(tr, i%15)]++
		}
	}
	for node := range 15 {
		require.InDelta(t, 10_000, counts["uniform"][node], 500)
		if node == 7 {
			require.InDelta(t, 9_000+15_000, counts["hotspot"][node], 1000)
		} else {
			require.InDelta(t, 9_000, counts["hotspot"][node], 500)
		}
		require.Equal(t, 10_000, counts["randperm"][node])
	}
	p, err := LookupPattern("randperm")
	require.NoError(t, err)
	require.NotEqual(t, newTraffic(cfg, p, 1, 1, 1).perm, newTraffic(cfg, p, 1, 1, 2).perm)
}

// TestLoadIsBernoulli counts the packets that start: the mean is that of the load
// and the variance that of independent cycles.
func TestLoadIsBernoulli(t *testing.T) {
	cfg := DefaultConfig(4, 4)
	p, err := LookupPattern("neighbor")
	require.NoError(t, err)
	tr := newTraffic(cfg, p, 0.3, 3, 1)
	n, err := New(cfg)
	require.NoError(t, err)
	const cycles = 20_000
	var square float64
	for range cycles {
		before := n.counters.Injected
		require.NoError(t, tr.inject(n, 0))
		d := float64(n.counters.Injected-before) - 1.6
		square += d * d
		n.AdvanceTo(n.Now() + 1)
	}
	require.InEpsilon(t, 1.6*cycles, float64(n.counters.Injected), 0.02)
	require.InEpsilon(t, 16*0.1*0.9, square/cycles, 0.05)
}

func TestExperimentRefuses(t *testing.T) {
	for _, c := range []struct {
		change func(e *Experiment)
		want   string
	}{
		{func(e *Experiment) { e.Pattern = "rush" }, `noc: traffic "rush", expected one of uniform, neighbor, tornado, transpose, bitcomp, bitrev, shuffle, randperm, hotspot`},
		{func(e *Experiment) { e.Config.Width = 0 }, "noc: width 0, expected 1 to 64"},
		{func(e *Experiment) { e.Pattern, e.Config.Width = "transpose", 4 }, "noc: traffic transpose: mesh of 4x8 nodes, expected a square one"},
		{func(e *Experiment) { e.Pattern, e.Config.Width = "bitrev", 3 }, "noc: traffic bitrev: mesh of 3x8 nodes, expected a number of nodes that is a power of two, at least 2"},
		{func(e *Experiment) { e.Load = 0 }, "noc: load 0, expected flits per node and cycle above 0 up to 1"},
		{func(e *Experiment) { e.Load = 1.5 }, "noc: load 1.5, expected flits per node and cycle above 0 up to 1"},
		{func(e *Experiment) { e.Flits = 0 }, "noc: packets of 0 flits, expected 1 to 65536"},
		{func(e *Experiment) { e.Flits = 65537 }, "noc: packets of 65537 flits, expected 1 to 65536"},
		{func(e *Experiment) { e.Window = -1 }, "noc: window of -1 cycles, expected at least 0"},
	} {
		e := Experiment{Config: DefaultConfig(8, 8), Pattern: "uniform", Load: 0.1, Flits: 1}
		c.change(&e)
		_, err := e.Run(context.Background())
		require.EqualError(t, err, c.want)
	}
}

func TestExperimentLimits(t *testing.T) {
	for _, change := range []func(e *Experiment){
		func(e *Experiment) { e.Flits = 65536 }, func(e *Experiment) { e.Load = 1 }, func(e *Experiment) { e.Window = 0 }, func(e *Experiment) { e.Warmup = -5 },
	} {
		e := Experiment{Config: DefaultConfig(8, 8), Pattern: "uniform", Load: 0.1, Flits: 1}
		change(&e)
		require.NoError(t, e.Validate())
	}
	// Without a warm-up and a window there are 10,000 and 100,000 cycles; all packets of the
	// window, from the last of which on none is looked at, are there soon after.
	m, err := Experiment{Config: DefaultConfig(2, 1), Pattern: "neighbor", Load: 0.01, Flits: 1, Seed: 3}.Run(context.Background())
	require.NoError(t, err)
	require.InDelta(t, 110_000, m.Cycles, 20)
	require.InDelta(t, 2*100_000*0.01, m.Packets, 200)
}

func TestExperimentIsDeterministic(t *testing.T) {
	e := Experiment{Config: DefaultConfig(4, 4), Pattern: "uniform", Load: 0.3, Flits: 2, Seed: 5, Warmup: 100, Window: 2000}
	a, err := e.Run(context.Background())
	require.NoError(t, err)
	b, err := e.Run(context.Background())
	require.NoError(t, err)
	require.Equal(t, a, b)
	e.Seed++
	b, err = e.Run(context.Background())
	require.NoError(t, err)
	require.NotEqual(t, a, b)
}

// TestSaturation offers more than the mesh takes: transpose crosses its diagonal
// links with half of all packets.
func TestSaturation(t *testing.T) {
	e := Experiment{Config: DefaultConfig(8, 8), Pattern: "transpose", Load: 0.9, Flits: 1, Seed: 1, Warmup: 500, Window: 2000}
	m, err := e.Run(context.Background())
	require.NoError(t, err)
	require.True(t, m.Saturated)
	require.Positive(t, m.Lost)
	require.Less(t, m.Accepted, 0.5)
	require.LessOrEqual(t, m.Busiest, 1.0)
	require.Greater(t, m.Busiest, 0.8)

	// Slightly above capacity, 1/7, all packets arrive after a while, but the later
	// they start the later.
	e.Load, e.Window = 0.16, 20_000
	m, err = e.Run(context.Background())
	require.NoError(t, err)
	require.True(t, m.Saturated)
	require.Zero(t, m.Lost)
	e.Load = 0.125
	m, err = e.Run(context.Background())
	require.NoError(t, err)
	require.False(t, m.Saturated)
}

// share is the probability that a packet goes from one node to another.
func share(t *testing.T, p Pattern, tr *traffic, src, dst int) float64 {
	t.Helper()
	nodes := float64(tr.cfg.Nodes())
	switch p.Name {
	case "uniform":
		return 1 / nodes
	case "hotspot":
		if dst == tr.cfg.Height/2*tr.cfg.Width+tr.cfg.Width/2 {
			return hotShare + (1-hotShare)/nodes
		}
		return (1 - hotShare) / nodes
	}
	if p.dst(tr, src) == dst {
		return 1
	}
	return 0
}

// TestCapacity adds up what each link would have to carry for a load of 1: no
// network takes more than the load that fills the busiest link, and a good one
// takes most of that (Dally and Towles, section 3.3). So each pattern is stable at
// three quarters of it and not at a tenth more.
func TestCapacity(t *testing.T) {
	cfg := DefaultConfig(8, 8)
	ways := newNaive(cfg)
	for _, p := range Patterns() {
		tr := newTraffic(cfg, p, 1, 1, 1)
		links := map[[2]int]float64{}
		for src := range 64 {
			for dst := range 64 {
				s := share(t, p, tr, src, dst)
				way := ways.way(src, dst)
				for i := range way[1:] {
					links[[2]int{way[i], way[i+1]}] += s
				}
				links[[2]int{dst, dst}] += s // to the node
			}
		}
		busiest := 1.0 // from a node
		for _, l := range links {
			busiest = max(busiest, l)
		}
		require.InDelta(t, 1/busiest, tr.capacity(), 1e-9, p.Name)
		if p.Name == "neighbor" {
			require.Equal(t, 1.0, busiest)
			continue // takes all that its nodes can start
		}
		e := Experiment{Config: cfg, Pattern: p.Name, Load: 0.75 / busiest, Flits: 1, Seed: 1, Warmup: 500, Window: 2500}
		m, err := e.Run(context.Background())
		require.NoError(t, err)
		require.False(t, m.Saturated, "%s at %g", p.Name, e.Load)
		require.InEpsilon(t, e.Load, m.Accepted, 0.05)
		require.Less(t, m.Queue, 30.0, "%s at %g", p.Name, e.Load)
		if p.Name != "hotspot" { // whose busiest link is that to a node
			require.InDelta(t, 0.75, m.Busiest, 0.08, "%s at %g", p.Name, e.Load)
		}
		e.Load = 1.1 / busiest
		grown, err := e.Run(context.Background())
		require.NoError(t, err)
		require.Greater(t, grown.Max, m.Max+100, "%s at %g", p.Name, e.Load)
		require.True(t, grown.Saturated, "whatever the window")
	}
}

// TestCapacityOfOtherMeshes compares with the ways of the naive model, along x first and
// along y first, where rows and columns differ in length.
func TestCapacityOfOtherMeshes(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {4, 2}, {2, 8}, {8, 4}, {16, 1}} {
		for _, yx := range []bool{false, true} {
			cfg := DefaultConfig(size[0], size[1])
			cfg.YX = yx
			ways := newNaive(cfg)
			for _, p := range Patterns() {
				if p.Check(cfg) != nil {
					continue
				}
				tr := newTraffic(cfg, p, 1, 1, 3)
				links := map[[2]int]float64{}
				for src := range cfg.Nodes() {
					for dst := range cfg.Nodes() {
						s := share(t, p, tr, src, dst)
						way := ways.way(src, dst)
						for i := range way[1:] {
							links[[2]int{way[i], way[i+1]}] += s
						}
						links[[2]int{dst, dst}] += s
					}
				}
				busiest := 1.0
				for _, l := range links {
					busiest = max(busiest, l)
				}
				require.InDelta(t, 1/busiest, tr.capacity(), 1e-9, "%s on %v, y first: %v", p.Name, size, yx)
			}
		}
	}
}

// TestLatencyGrowsWithLoad holds for every pattern, and the latency of a low load
// is about that of an empty network.
func TestLatencyGrowsWithLoad(t *testing.T) {
	for _, p := range Patterns() {
		var latencies []float64
		for _, load := range []float64{0.01, 0.1} {
			e := Experiment{Config: DefaultConfig(8, 8), Pattern: p.Name, Load: load, Flits: 2, Seed: 1, Warmup: 500, Window: 3000}
			m, err := e.Run(context.Background())
			require.NoError(t, err)
			require.False(t, m.Saturated, p.Name)
			latencies = append(latencies, m.Queue)
			require.InDelta(t, m.Latency, m.Empty+m.Queue, 1e-9)
		}
		require.Less(t, latencies[0], 0.5, p.Name)
		require.True(t, slices.IsSorted(latencies), "%s %v", p.Name, latencies)
	}
}

func TestExperimentStops(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := errors.New("enough")
	timer := time.AfterFunc(time.Millisecond, func() { cancel(stop) })
	defer timer.Stop()
	e := Experiment{Config: DefaultConfig(8, 8), Pattern: "uniform", Load: 0.3, Flits: 1, Window: 1 << 40}
	_, err := e.Run(ctx)
	require.ErrorIs(t, err, stop)
}
