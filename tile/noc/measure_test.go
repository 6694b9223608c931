package noc

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMeasurement counts every statistic of an experiment once more, from a list of all
// deliveries and by its definition.
func TestMeasurement(t *testing.T) {
	for _, e := range []Experiment{
		{Config: DefaultConfig(4, 3), Pattern: "uniform", Load: 0.2, Flits: 3, Seed: 4, Warmup: 200, Window: 1500},
		{Config: DefaultConfig(3, 5), Pattern: "tornado", Load: 0.05, Flits: 1, Seed: 5, Warmup: -1, Window: 700},
		{Config: DefaultConfig(4, 4), Pattern: "transpose", Load: 0.9, Flits: 2, Seed: 6, Warmup: 50, Window: 300},
	} {
		m, err := e.Run(context.Background())
		require.NoError(t, err)

		warmup := max(e.Warmup, 0)
		end := warmup + e.Window
		n, err := New(e.Config)
		require.NoError(t, err)
		p, err := LookupPattern(e.Pattern)
		require.NoError(t, err)
		tr := newTraffic(e.Config, p, e.Load, e.Flits, e.Seed)
		var all []Delivery
		started := int64(0)
		n.OnDelivery = func(d Delivery) { all = append(all, d) }
		for n.Now() < m.Cycles {
			before := n.Counters().Injected
			require.NoError(t, tr.inject(n, 0))
			if n.Now() >= warmup && n.Now() < end {
				started += int64(n.Counters().Injected - before)
			}
			n.AdvanceTo(n.Now() + 1)
		}

		var took []int64
		var latency, hops, empty, accepted float64
		var sum, queue, count [10]float64
		for _, d := range all {
			if d.At >= warmup && d.At < end {
				accepted += float64(d.Flits)
			}
			if d.Injected < warmup || d.Injected >= end {
				continue
			}
			w := e.Config.Width
			routers := math.Abs(float64(d.Src%w-d.Dst%w)) + math.Abs(float64(d.Src/w-d.Dst/w)) + 1
			idle := 2 + 5*routers + float64(e.Flits-1) // a cycle and a link, routers of 4 and a link each, further flits
			l := d.At - d.Injected
			took = append(took, l)
			latency += float64(l)
			hops += routers
			empty += idle
			batch := 0
			for int64(batch+1)*e.Window <= 10*(d.Injected-warmup) {
				batch++
			}
			sum[batch] += float64(l)
			queue[batch] += float64(l) - idle
			count[batch]++
		}
		slices.Sort(took)
		k := float64(len(took))
		require.EqualValues(t, k, m.Packets)
		require.Equal(t, started-int64(k), m.Lost)
		require.InDelta(t, latency/k, m.Latency, 1e-9)
		require.InDelta(t, hops/k, m.Hops, 1e-9)
		require.InDelta(t, empty/k, m.Empty, 1e-9)
		require.InDelta(t, (latency-empty)/k, m.Queue, 1e-9)
		require.Equal(t, took[len(took)-1], m.Max)
		p99 := int64(0)
		for longer := len(took); 100*longer > len(took); {
			p99++
			longer = 0
			for _, l := range took {
				if l > p99 {
					longer++
				}
			}
		}
		require.Equal(t, p99, m.P99)
		require.InDelta(t, accepted/float64(e.Window)/float64(e.Config.Nodes()), m.Accepted, 1e-9)
		require.Equal(t, e.Load > m.Capacity || m.Lost > 0 || queue[9]/count[9] > 2*queue[0]/count[0]+50, m.Saturated)
		require.Equal(t, e.Pattern == "transpose", m.Saturated)

		mean, square := 0.0, 0.0
		for i := range sum {
			mean += sum[i] / count[i] / 10
		}
		for i := range sum {
			square += math.Pow(sum[i]/count[i]-mean, 2)
		}
		require.InDelta(t, 2.262*math.Sqrt(square/9)/math.Sqrt(10), m.Interval, 1e-9)

		flits, busiest := uint64(0), uint64(0)
		for _, l := range m.Links {
			flits += l.Flits
			busiest = max(busiest, l.Flits)
		}
		require.Equal(t, n.Links(), m.Links)
		require.Equal(t, flits, m.FlitHops)
		require.Equal(t, 32*flits, m.ByteHops)
		require.InDelta(t, float64(busiest)/float64(m.Cycles), m.Busiest, 1e-12)

		// It ends with the window, or when all of its packets are there, or gives up after two
		// windows more.
		last := end
		for _, d := range all {
			if d.Injected >= warmup && d.Injected < end {
				last = max(last, d.At)
			}
		}
		if m.Lost > 0 {
			last = end + 2*e.Window
		}
		require.Equal(t, last, m.Cycles)
	}
}

// TestUtilisation sends a packet of three flits over one of the two links of two
// routers.
func TestUtilisation(t *testing.T) {
	n, err := New(DefaultConfig(2, 1))
	require.NoError(t, err)
	most, mean := n.Utilisation()
	require.Equal(t, [2]float64{0, 0}, [2]float64{most, mean})
	require.NoError(t, n.Inject(Packet{Src: 0, Dst: 1, Flits: 3}))
	n.AdvanceTo(30)
	most, mean = n.Utilisation()
	require.InDelta(t, 3./30, most, 1e-12)
	require.InDelta(t, 3./60, mean, 1e-12)
	require.Equal(t, []Link{{From: 0, To: 1, Flits: 3}, {From: 1, To: 0, Flits: 0}}, n.Links())
	require.EqualValues(t, 96, n.ByteHops())

	// One router has no links, and delivers to its own node.
	n, err = New(DefaultConfig(1, 1))
	require.NoError(t, err)
	require.NoError(t, n.Inject(Packet{Src: 0, Dst: 0, Flits: 3}))
	n.AdvanceTo(30)
	most, mean = n.Utilisation()
	require.Equal(t, [2]float64{0, 0}, [2]float64{most, mean})
	require.EqualValues(t, 1, n.Counters().Completed)
	require.Zero(t, n.ByteHops())
}

// TestConfig has the default by the values of its sources, and flits of messages.
func TestConfig(t *testing.T) {
	c := DefaultConfig(8, 4)
	require.Equal(t, Config{Width: 8, Height: 4, VCs: 4, Depth: 8, RouterCycles: 4, LinkCycles: 1, CreditCycles: 1, LinkBytes: 32}, c)
	for bytes, flits := range map[int]int{0: 1, 1: 1, 32: 1, 33: 2, 64: 2, 65: 3} {
		require.Equal(t, flits, c.Flits(bytes), bytes)
	}
	require.Equal(t, 32, c.Nodes())
	require.Equal(t, 0, c.Distance(9, 9))
	require.Equal(t, 7+3, c.Distance(0, 31))
	require.Equal(t, 7+3, c.Distance(31, 0))
	require.Equal(t, 2+1, c.Distance(8, 2))
	for _, x := range []struct {
		at       func(c *Config) *int
		what     string
		min, max int
	}{
		{func(c *Config) *int { return &c.Width }, "width", 1, 64},
		{func(c *Config) *int { return &c.Height }, "height", 1, 64},
		{func(c *Config) *int { return &c.VCs }, "virtual channels", 1, 12},
		{func(c *Config) *int { return &c.Depth }, "flits of a buffer", 1, 4096},
		{func(c *Config) *int { return &c.RouterCycles }, "cycles of a router", 2, 64},
		{func(c *Config) *int { return &c.LinkCycles }, "cycles of a link", 1, 64},
		{func(c *Config) *int { return &c.CreditCycles }, "cycles of a credit", 1, 64},
		{func(c *Config) *int { return &c.LinkBytes }, "bytes of a link", 1, 65536},
	} {
		for v, ok := range map[int]bool{x.min - 1: false, x.min: true, x.max: true, x.max + 1: false} {
			c := DefaultConfig(8, 4)
			*x.at(&c) = v
			if ok {
				require.NoError(t, c.Validate(), "%s %d", x.what, v)
			} else {
				require.ErrorContains(t, c.Validate(), "noc: "+x.what+" ")
			}
		}
	}
}
