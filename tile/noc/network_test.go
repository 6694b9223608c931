package noc

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// seq is the low bits of the position of a flit in its packet.
func (f flit) seq() int { return int(f>>seqShift) & (1<<seqBits - 1) }

// randomConfig is a small mesh with odd numbers.
func randomConfig(rng *rand.Rand, width, height int) Config {
	return Config{
		Width: 1 + rng.IntN(width), Height: 1 + rng.IntN(height),
		VCs: 1 + rng.IntN(5), Depth: 1 + rng.IntN(6),
		RouterCycles: 2 + rng.IntN(4), LinkCycles: 1 + rng.IntN(3), CreditCycles: 1 + rng.IntN(3), LinkBytes: 32, YX: rng.IntN(3) == 0,
	}
}

// randomPacket may be a multicast, of at most the flits of a buffer.
func randomPacket(rng *rand.Rand, cfg Config, multicasts float64) Packet {
	nodes := cfg.Nodes()
	p := Packet{Src: rng.IntN(nodes), Dst: rng.IntN(nodes), Flits: 1 + rng.IntN(2*cfg.Depth+3)}
	if rng.Float64() < multicasts {
		p.Flits = 1 + rng.IntN(cfg.Depth)
		for range 1 + rng.IntN(nodes) {
			p.Dsts = append(p.Dsts, rng.IntN(nodes))
		}
	}
	return p
}

func sortDeliveries(d []Delivery) {
	slices.SortFunc(d, func(a, b Delivery) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Tag, b.Tag), cmp.Compare(a.Src, b.Src), cmp.Compare(a.Dst, b.Dst))
	})
	// Which of the nodes reached in the last cycle is the last one is a matter of
	// order.
	for i := range d {
		d[i].Last = false
	}
}

// TestNetworkIsTheNaiveModel compares every delivery of random traffic, from
// sparse to saturated, with the model that follows the definitions.
func TestNetworkIsTheNaiveModel(t *testing.T) {
	for seed := range uint64(24) {
		rng := rand.New(rand.NewPCG(seed, 1))
		cfg := randomConfig(rng, 4, 4)
		multicasts := []float64{0, 0.3, 1}[seed%3]
		more := []float64{0.05, 0.3, 0.8}[rng.IntN(3)] // probability of a further packet
		t.Run(fmt.Sprintf("%d/%+v", seed, cfg), func(t *testing.T) {
			n, err := New(cfg)
			require.NoError(t, err)
			slow := newNaive(cfg)
			var got []Delivery
			n.OnDelivery = func(d Delivery) { got = append(got, d) }
			tag := uint64(0)
			for n.Now() < 300 {
				for rng.Float64() < more {
					p := randomPacket(rng, cfg, multicasts)
					p.Tag = tag
					tag++
					require.NoError(t, n.Inject(p))
					slow.inject(p)
				}
				next := n.Now() + 1 + int64(rng.IntN(4))
				n.AdvanceTo(next)
				slow.advanceTo(next)
				require.NoError(t, n.Check())
			}
			for range 1000 {
				if n.Idle() {
					break
				}
				n.AdvanceTo(n.Now() + 50)
				slow.advanceTo(n.Now())
			}
			require.True(t, n.Idle(), "not drained at %d", n.Now())
			require.Len(t, got, int(n.Counters().Delivered))
			sortDeliveries(got)
			sortDeliveries(slow.done)
			require.Equal(t, slow.done, got)
			c := n.Counters()
			require.Equal(t, slow.hops, c.FlitHops)
			links := uint64(0)
			for _, l := range n.Links() {
				links += l.Flits
			}
			require.Equal(t, slow.hops, links)
		})
	}
}

// TestPatternsAreTheNaiveModel is the same for each pattern at a high load, on the
// buffers of the comparison with BookSim.
func TestPatternsAreTheNaiveModel(t *testing.T) {
	cfg := DefaultConfig(4, 4)
	for _, p := range Patterns() {
		for _, flits := range []int{1, 3} {
			n, err := New(cfg)
			require.NoError(t, err)
			slow := newNaive(cfg)
			var got []Delivery
			n.OnDelivery = func(d Delivery) { got = append(got, d) }
			tr := newTraffic(cfg, p, 0.6, flits, 1)
			for i := range uint64(50) {
				require.NoError(t, tr.inject(n, i))
				for id := range n.packets {
					if k := &n.packets[id]; k.injected == n.Now() && k.waiting > 0 {
						slow.inject(Packet{Src: int(k.src), Dst: int(k.dst), Flits: flits, Tag: i})
					}
				}
				n.AdvanceTo(n.Now() + 1)
				slow.advanceTo(n.Now())
			}
			require.NotEmpty(t, got)
			sortDeliveries(got)
			sortDeliveries(slow.done)
			require.Equal(t, slow.done, got, "%s, %d flits", p.Name, flits)
		}
	}
}

// drain advances until no packet is left.
func drain(t *testing.T, n *Network, limit int64) {
	t.Helper()
	for !n.Idle() {
		next := n.NextEvent()
		require.Greater(t, next, n.Now())
		require.Less(t, next, limit, "not drained")
		n.AdvanceTo(next)
	}
	require.Equal(t, Never, n.NextEvent())
}

// TestEveryFlitArrivesOnceAndInOrder looks at each flit that is ejected, under
// loads far above what the network takes and for all kinds of meshes.
func TestEveryFlitArrivesOnceAndInOrder(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 2))
		cfg := randomConfig(rng, 8, 8)
		n, err := New(cfg)
		require.NoError(t, err)
		type end struct {
			tag  uint64
			node int
		}
		want := map[end]int{} // flits
		got := map[end]int{}
		packets := map[uint64]Packet{}
		n.onEject = func(node, _ int, f flit) {
			k := &n.packets[f.packet()]
			e := end{k.tag, node}
			require.Equal(t, got[e]&(1<<seqBits-1), f.seq())
			require.Equal(t, f.seq() == int(k.flits)-1, f.tail())
			got[e]++
		}
		n.OnDelivery = func(d Delivery) {
			e := end{d.Tag, d.Dst}
			require.Equal(t, want[e], got[e], "all flits before the delivery")
			require.Equal(t, packets[d.Tag].Src, d.Src)
			require.Equal(t, n.Now(), d.At)
		}
		for tag := range uint64(300) {
			p := randomPacket(rng, cfg, float64(seed%4)/4)
			p.Tag = tag
			packets[tag] = p
			require.NoError(t, n.Inject(p))
			for _, d := range p.Dsts {
				want[end{tag, d}] = p.Flits
			}
			if p.Dsts == nil {
				want[end{tag, p.Dst}] = p.Flits
			}
			n.AdvanceTo(n.Now() + int64(rng.IntN(2)))
		}
		drain(t, n, 1_000_000)
		require.Equal(t, want, got)
		c := n.Counters()
		require.Equal(t, uint64(300), c.Injected)
		require.Equal(t, uint64(300), c.Completed)
		require.Equal(t, uint64(len(want)), c.Delivered)

		// Once the last credits are back, everything is as it was at the start.
		n.AdvanceTo(n.Now() + 1000)
		empty, err := New(cfg)
		require.NoError(t, err)
		require.Zero(t, n.pending)
		for i := range n.routers {
			r, fresh := &n.routers[i], &empty.routers[i]
			for v := range r.out {
				require.Equal(t, fresh.out[v].credits, r.out[v].credits)
			}
			require.Equal(t, fresh.free, r.free)
			for o := range r.outputs {
				require.Zero(t, r.outputs[o].request|r.outputs[o].ask)
			}
		}
		require.False(t, n.busy())
	}
}

// TestPatternsDrain floods meshes with each pattern, alone and with multicasts in
// between, on one virtual channel of one flit up to many, and expects all packets.
func TestPatternsDrain(t *testing.T) {
	for _, p := range Patterns() {
		t.Run(p.Name, func(t *testing.T) {
			for seed := range uint64(6) {
				rng := rand.New(rand.NewPCG(seed, 3))
				cfg := randomConfig(rng, 8, 8)
				side := 1 << (1 + rng.IntN(3))
				cfg.Width, cfg.Height = side, side
				require.NoError(t, p.Check(cfg))
				n, err := New(cfg)
				require.NoError(t, err)
				tr := newTraffic(cfg, p, 1, 1+rng.IntN(2*cfg.Depth), seed)
				for range 200 {
					require.NoError(t, tr.inject(n, 0))
					if seed%2 == 1 && rng.IntN(4) == 0 {
						require.NoError(t, n.Inject(randomPacket(rng, cfg, 1)))
					}
					n.AdvanceTo(n.Now() + 1)
				}
				drain(t, n, 1_000_000)
			}
		})
	}
}

// TestZeroLoadLatency sends one packet at a time.
func TestZeroLoadLatency(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 4))
		cfg := randomConfig(rng, 9, 9)
		// A packet is slower than the formula where credits do not come back in time.
		cfg.Depth += cfg.RouterCycles + cfg.LinkCycles + cfg.CreditCycles
		n, err := New(cfg)
		require.NoError(t, err)
		var got []Delivery
		n.OnDelivery = func(d Delivery) { got = append(got, d) }
		for range 20 {
			p := randomPacket(rng, cfg, 0.3)
			n.AdvanceTo(n.Now() + int64(rng.IntN(100)))
			start := n.Now()
			got = got[:0]
			require.NoError(t, n.Inject(p))
			drain(t, n, start+10_000)
			require.NotEmpty(t, got)
			for _, d := range got {
				require.Equal(t, cfg.ZeroLoadLatency(p.Src, d.Dst, p.Flits), d.At-start, "%+v to %d", p, d.Dst)
			}
			n.AdvanceTo(n.Now() + 100)
		}
	}
	cfg := DefaultConfig(8, 8)
	require.Equal(t, int64(5*15+2+2), cfg.ZeroLoadLatency(0, 63, 3))
	require.Equal(t, int64(7), cfg.ZeroLoadLatency(9, 9, 1))
}

// TestStepsDoNotMatter advances by single cycles, by NextEvent, and by far.
func TestStepsDoNotMatter(t *testing.T) {
	run := func(seed uint64, advance func(n *Network, to int64)) ([]Delivery, Counters) {
		rng := rand.New(rand.NewPCG(seed, 5))
		cfg := randomConfig(rng, 6, 6)
		n, err := New(cfg)
		require.NoError(t, err)
		var got []Delivery
		n.OnDelivery = func(d Delivery) { got = append(got, d) }
		for tag := range uint64(100) {
			p := randomPacket(rng, cfg, 0.2)
			p.Tag = tag
			require.NoError(t, n.Inject(p))
			advance(n, n.Now()+int64(rng.ExpFloat64()*20))
		}
		advance(n, 20_000)
		require.True(t, n.Idle())
		return got, n.Counters()
	}
	for seed := range uint64(10) {
		far, c := run(seed, func(n *Network, to int64) { n.AdvanceTo(to) })
		single, d := run(seed, func(n *Network, to int64) {
			for n.Now() < to {
				n.AdvanceTo(n.Now() + 1)
			}
		})
		events, e := run(seed, func(n *Network, to int64) {
			for n.NextEvent() <= to {
				n.AdvanceTo(n.NextEvent())
			}
			n.AdvanceTo(to)
		})
		require.Equal(t, far, single)
		require.Equal(t, far, events)
		require.Equal(t, c, d)
		require.Equal(t, c, e)
	}
}

// TestNextEventIsNotLate advances to the cycle before NextEvent, in which nothing
// may be delivered.
func TestNextEventIsNotLate(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 6))
	cfg := DefaultConfig(5, 4)
	n, err := New(cfg)
	require.NoError(t, err)
	require.Equal(t, Never, n.NextEvent())
	early := false
	n.OnDelivery = func(Delivery) { require.False(t, early) }
	for range 500 {
		if rng.IntN(3) == 0 {
			require.NoError(t, n.Inject(randomPacket(rng, cfg, 0.2)))
		}
		if next := n.NextEvent(); next != Never {
			early = true
			n.AdvanceTo(next - 1)
			early = false
			n.AdvanceTo(next)
		}
	}
}

// TestMulticastSavesLinks compares the links of a multicast with the union of the
// ways, and with what the same message costs as single packets.
func TestMulticastSavesLinks(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 7))
		cfg := randomConfig(rng, 8, 8)
		p := randomPacket(rng, cfg, 1)
		one, err := New(cfg)
		require.NoError(t, err)
		reached := map[int]int{}
		one.OnDelivery = func(d Delivery) { reached[d.Dst]++ }
		require.NoError(t, one.Inject(p))
		drain(t, one, 100_000)

		slow := newNaive(cfg)
		many, err := New(cfg)
		require.NoError(t, err)
		links := map[[2]int]bool{}
		want := map[int]int{}
		for _, d := range p.Dsts {
			if want[d] > 0 {
				continue
			}
			want[d] = 1
			require.NoError(t, many.Inject(Packet{Src: p.Src, Dst: d, Flits: p.Flits}))
			way := slow.way(p.Src, d)
			for i := range way[1:] {
				links[[2]int{way[i], way[i+1]}] = true
			}
		}
		drain(t, many, 100_000)
		require.Equal(t, want, reached)
		a, b := one.Counters(), many.Counters()
		require.Equal(t, uint64(len(links)*p.Flits), a.FlitHops)
		require.LessOrEqual(t, a.FlitHops, b.FlitHops)
		require.Equal(t, a.FlitHops*uint64(cfg.LinkBytes), one.ByteHops())
	}
	// A broadcast takes a link for each node but one. Single packets take 448 in a
	// mesh of 8 x 8.
	for _, side := range []int{8, MaxRadix} {
		n, err := New(DefaultConfig(side, side))
		require.NoError(t, err)
		all := make([]int, side*side)
		for i := range all {
			all[i] = i
		}
		require.NoError(t, n.Inject(Packet{Src: 0, Dsts: all, Flits: 1}))
		drain(t, n, 1000)
		c := n.Counters()
		require.Equal(t, uint64(side*side-1), c.FlitHops)
		require.Equal(t, uint64(side*side), c.Delivered)
		require.Equal(t, int64(5*(2*side-1)+2), n.Now())
		for _, l := range n.Links() {
			require.LessOrEqual(t, l.Flits, uint64(1))
		}
	}
}

// TestInjectInDelivery answers each packet from within the callback, as a memory
// would.
func TestInjectInDelivery(t *testing.T) {
	cfg := DefaultConfig(4, 4)
	n, err := New(cfg)
	require.NoError(t, err)
	const rounds = 20
	answers := 0
	var at []int64
	n.OnDelivery = func(d Delivery) {
		at = append(at, d.At)
		if answers++; answers < rounds {
			require.NoError(t, n.Inject(Packet{Src: d.Dst, Dst: d.Src, Flits: 2}))
		}
	}
	require.NoError(t, n.Inject(Packet{Src: 0, Dst: 15, Flits: 2}))
	drain(t, n, 10_000)
	require.Len(t, at, rounds)
	for i, a := range at {
		require.Equal(t, int64(i+1)*cfg.ZeroLoadLatency(0, 15, 2), a)
	}
}

// TestNoAllocation fails if the cycle loop allocates once its lists have grown.
func TestNoAllocation(t *testing.T) {
	cfg := DefaultConfig(8, 8)
	n, err := New(cfg)
	require.NoError(t, err)
	uniform, err := LookupPattern("uniform")
	require.NoError(t, err)
	tr := newTraffic(cfg, uniform, 0.3, 3, 1)
	cycles := func(k int) {
		for range k {
			require.NoError(t, tr.inject(n, 0))
			n.AdvanceTo(n.Now() + 1)
		}
	}
	cycles(20_000)
	require.Less(t, testing.AllocsPerRun(5, func() { cycles(200) }), 3.0)
}

func TestInjectRefuses(t *testing.T) {
	n, err := New(DefaultConfig(4, 2))
	require.NoError(t, err)
	for _, c := range []struct {
		p    Packet
		want string
	}{
		{Packet{Src: -1, Flits: 1}, "noc: source -1, expected 0 to 7"},
		{Packet{Src: 8, Flits: 1}, "noc: source 8, expected 0 to 7"},
		{Packet{Dst: 8, Flits: 1}, "noc: destination 8, expected 0 to 7"},
		{Packet{Dst: 1}, "noc: packet of 0 flits, expected at least 1"},
		{Packet{Dsts: []int{}, Flits: 1}, "noc: multicast to no node"},
		{Packet{Dsts: []int{1, 9}, Flits: 1}, "noc: destination 9, expected 0 to 7"},
		{Packet{Dsts: []int{1, 2}, Flits: 9}, "noc: multicast of 9 flits, expected at most the 8 of a buffer"},
	} {
		require.EqualError(t, n.Inject(c.p), c.want)
	}
	require.True(t, n.Idle())
	require.NoError(t, n.Inject(Packet{Dsts: []int{1}, Flits: 9}), "one node is no multicast")

	for _, c := range []struct {
		change func(c *Config)
		want   string
	}{
		{func(c *Config) { c.Width = 0 }, "noc: width 0, expected 1 to 64"},
		{func(c *Config) { c.Height = 65 }, "noc: height 65, expected 1 to 64"},
		{func(c *Config) { c.VCs = 13 }, "noc: virtual channels 13, expected 1 to 12"},
		{func(c *Config) { c.Depth = 0 }, "noc: flits of a buffer 0, expected 1 to 4096"},
		{func(c *Config) { c.RouterCycles = 1 }, "noc: cycles of a router 1, expected 2 to 64"},
		{func(c *Config) { c.LinkCycles = 0 }, "noc: cycles of a link 0, expected 1 to 64"},
		{func(c *Config) { c.CreditCycles = 65 }, "noc: cycles of a credit 65, expected 1 to 64"},
		{func(c *Config) { c.LinkBytes = 0 }, "noc: bytes of a link 0, expected 1 to 65536"},
	} {
		cfg := DefaultConfig(4, 2)
		c.change(&cfg)
		_, err := New(cfg)
		require.EqualError(t, err, c.want)
	}
}
