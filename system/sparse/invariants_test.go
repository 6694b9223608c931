package sparse

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bitsched/bitsched/lowering/arith"
	"github.com/bitsched/bitsched/system/sparse/matrix"
)

// small is a stack of a few SPUs.
func small(layers, banks, pairs int) *Machine {
	m := Default()
	m.Organisation.Layers, m.Organisation.Banks, m.Organisation.Subarrays, m.Organisation.Vaults = layers, banks, 2*(pairs+1), 2
	m.LongPercent = 5
	return m
}

// TestRandom runs applications on random matrices, stacks, variants and readings:
// each run compares its result with the reference, every SPU with its interpreted
// programs, and asserts the invariants. All variants have one digest.
func TestRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(4, 80).Draw(t, "n")
		nnz := rapid.IntRange(1, n*(n-1)/4).Draw(t, "edges") * 2
		m, err := matrix.Generate(fmt.Sprintf("gen:uniform,n=%d,nnz=%d,undirected", n, nnz), rapid.Uint64().Draw(t, "seed"))
		require.NoError(t, err)
		mach := small(rapid.IntRange(1, 3).Draw(t, "layers"), rapid.IntRange(1, 5).Draw(t, "banks"), rapid.IntRange(2, 4).Draw(t, "pairs"))
		keys, values := ReadingAlternatives()
		for i, key := range keys {
			require.NoError(t, mach.SetReadings([]string{key + "=" + rapid.SampledFrom(values[i]).Draw(t, key)}))
		}
		require.NoError(t, mach.SetReadings([]string{"lanes=" + rapid.SampledFrom([]string{"32", "64"}).Draw(t, "lanes")}))
		mach.Links.Port = rapid.IntRange(1, 300).Draw(t, "port")
		mach.Links.Credit = rapid.IntRange(1, 64).Draw(t, "credit")
		app := rapid.SampledFrom(Apps()).Draw(t, "app").Name
		typ := rapid.SampledFrom([]Type{F32, U32}).Draw(t, "type")
		buffer := rapid.SampledFrom([]int{0, 0, 2, 3}).Draw(t, "buffer")
		o := DefaultAppOptions()
		o.Queries, o.Top, o.Density = 2, min(3, n), 0.3
		if app == "pagerank" {
			o.Iterations = 2
		}
		digest := ""
		for _, v := range Variants() {
			cfg := Config{Machine: mach, Variant: v, Type: typ, Long: rapid.SampledFrom([]int{-1, 0, 3}).Draw(t, "long"), Seed: 1, Threads: rapid.IntRange(1, 3).Draw(t, "threads"), Check: true, Every: 1, Instr: 1, Buffer: buffer}
			res, err := Run(context.Background(), app, m, o, cfg, nil)
			require.NoError(t, err, v.Name)
			if res.Type != U32 {
				continue
			}
			if digest != "" {
				require.Equal(t, digest, res.Digest, v.Name)
			}
			digest = res.Digest
		}
	})
}

// TestThreads asserts equal results, cycles and counters for any number of threads.
func TestThreads(t *testing.T) {
	m, err := matrix.Generate("gen:rmat,scale=10,undirected", 2)
	require.NoError(t, err)
	var want *Result
	for _, n := range []int{1, 2, 5} {
		cfg := config(Default(), "v3")
		cfg.Threads, cfg.Instr = n, 64
		o := DefaultAppOptions()
		o.Iterations = 2
		res, err := Run(context.Background(), "pagerank", m, o, cfg, nil)
		require.NoError(t, err)
		if want != nil {
			require.Equal(t, want, res)
		}
		want = res
	}
}

// TestRounds shrinks the buffers of dispatchers to two rows: cycles and rounds
// change, the result does not.
func TestRounds(t *testing.T) {
	m, err := matrix.Generate("gen:rmat,scale=9,undirected", 2)
	require.NoError(t, err)
	run := func(buffer int) *Result {
		cfg := config(small(2, 4, 3), "v3")
		cfg.Type, cfg.Buffer = U32, buffer
		o := DefaultAppOptions()
		o.Iterations = 2
		res, err := Run(context.Background(), "pagerank", m, o, cfg, nil)
		require.NoError(t, err)
		return res
	}
	large, tiny := run(0), run(2)
	require.Equal(t, large.Digest, tiny.Digest)
	require.Equal(t, 2, large.Rounds)
	require.Greater(t, tiny.Rounds, 20)
	require.Greater(t, tiny.Cycles, large.Cycles)
	require.Equal(t, large.Pairs, tiny.Pairs)
}

// TestRoundOnColumn fills a dispatcher while pairs are still on their way up a column:
// the round ends when they are there.
func TestRoundOnColumn(t *testing.T) {
	m, err := matrix.Generate("gen:uniform,n=39,nnz=92,undirected", 0xd4)
	require.NoError(t, err)
	for _, balance := range []string{"nnz", "count"} {
		mach := small(3, 1, 2)
		mach.Readings.Balance, mach.Links.Lanes, mach.Links.Port, mach.Links.Credit = balance, 32, 1, 1
		cfg := config(mach, "v1")
		cfg.Buffer = 2
		_, err := Run(context.Background(), "cc", m, DefaultAppOptions(), cfg, nil)
		require.NoError(t, err)
	}
}

// TestSaturated has distances beyond 32 bits: they are not reached.
func TestSaturated(t *testing.T) {
	text := "%%MatrixMarket matrix coordinate integer general\n4 4 3\n2 1 2147483647\n3 2 2147483647\n4 3 500\n"
	m, _, err := matrix.Read(strings.NewReader(text), "f", matrix.Options{})
	require.NoError(t, err)
	o := DefaultAppOptions()
	o.Source = 0
	for _, v := range []string{"v1", "v3"} {
		res, err := Run(context.Background(), "sssp", m, o, config(small(1, 2, 2), v), nil)
		require.NoError(t, err)
		require.Equal(t, []uint32{0, 2147483647, 4294967294, math.MaxUint32}, res.Values)
	}
}

// TestReceived leaves SPUs two rows for the pairs that they receive: more rounds of
// steps 4 and 5, the same result.
func TestReceived(t *testing.T) {
	m, err := matrix.Generate("gen:rmat,scale=9,undirected", 2)
	require.NoError(t, err)
	o := DefaultAppOptions()
	o.Iterations = 2
	run := func(rows int) *Result {
		cfg := config(small(1, 3, 3), "v3")
		cfg.Type = U32
		if rows > 0 {
			cfg.Machine.Organisation.RowsPerSubarray = rows
		}
		res, err := Run(context.Background(), "pagerank", m, o, cfg, nil)
		require.NoError(t, err)
		return res
	}
	large := run(0)
	tiny := run((large.Layout.Needed + 3) / 2)
	require.Equal(t, large.Digest, tiny.Digest)
	require.Greater(t, tiny.Rounds, large.Rounds)
}

// TestLaws are the closed forms of sections 2 and 8 of the specification.
func TestLaws(t *testing.T) {
	m, err := matrix.Generate("gen:rmat,scale=12,undirected", 2)
	require.NoError(t, err)
	run := func(variant string, change func(m *Machine, c *Config)) *Result {
		mach := Default()
		mach.Organisation.Layers = 2
		cfg := config(mach, variant)
		cfg.Type, cfg.Instr, cfg.Every = U32, 64, 0
		if change != nil {
			change(mach, &cfg)
		}
		o := DefaultAppOptions()
		o.Iterations = 1
		res, err := Run(context.Background(), "pagerank", m, o, cfg, nil)
		require.NoError(t, err)
		return res
	}
	one := func(m *Machine, _ *Config) { m.Readings.Ring = "one" }
	// A symmetric pattern: pairs go h and 64-h hops equally often.
	for _, v := range []string{"v1", "v3"} {
		require.InDelta(t, 32, run(v, one).MeanRing, 1e-12, v)
	}
	// Without long columns v3 is v1.
	v1 := run("v1", func(m *Machine, _ *Config) { m.Readings.V1Place = "same-bank" })
	v3 := run("v3", func(_ *Machine, c *Config) { c.Long = 0 })
	require.Equal(t, v1.Cycles, v3.Cycles)
	require.Equal(t, v1.Pairs, v3.Pairs)
	// Replication changes nothing for remote pairs.
	require.Equal(t, run("v2", nil).Pairs.Remote, run("v3", nil).Pairs.Remote)
	// The clock changes no count.
	slow := run("v3", func(m *Machine, _ *Config) { m.Clocks.SPU = 41 })
	fast := run("v3", nil)
	require.Equal(t, fast.Pairs, slow.Pairs)
	require.Equal(t, fast.Counters.RingHops, slow.Counters.RingHops)
	require.Greater(t, slow.Cycles, fast.Cycles)
	// Steps add up, and the busiest SPU is at least the mean one.
	sum := int64(0)
	for _, s := range fast.Steps {
		sum += s.Cycles
		require.GreaterOrEqual(t, float64(s.Busiest), s.Mean)
	}
	require.Equal(t, fast.Cycles, sum)
}

// TestBound asserts that the busiest link takes no longer than the network does, with
// equal results, pairs and hops.
func TestBound(t *testing.T) {
	m, err := matrix.Generate("gen:rmat,scale=7,undirected", 2)
	require.NoError(t, err)
	for _, app := range []string{"pagerank", "bfs", "spmspv"} {
		for _, v := range []string{"hypo", "v2", "v3"} {
			for _, readings := range []string{"ring=both", "ring=one", "route=ring", "dispatch=spu"} {
				for _, buffer := range []int{0, 3} {
					run := func(bound bool) *Result {
						mach := small(2, 6, 3)
						require.NoError(t, mach.SetReadings([]string{readings}))
						cfg := config(mach, v)
						cfg.Type, cfg.Bound, cfg.Buffer, cfg.Instr = U32, bound, buffer, 7
						o := DefaultAppOptions()
						if app == "pagerank" {
							o.Iterations = 1
						}
						res, err := Run(context.Background(), app, m, o, cfg, nil)
						require.NoError(t, err)
						return res
					}
					cycle, bound := run(false), run(true)
					require.LessOrEqual(t, bound.Cycles, cycle.Cycles, "%s %s %s", app, v, readings)
					require.Equal(t, cycle.Digest, bound.Digest)
					if cycle.Rounds > bound.Rounds {
						continue // after a round, fewer outputs are clean
					}
					require.Equal(t, cycle.Counters.RingHops, bound.Counters.RingHops)
					require.Equal(t, cycle.Counters.TSVHops, bound.Counters.TSVHops)
					require.Equal(t, cycle.Counters.LineHops, bound.Counters.LineHops)
				}
			}
		}
	}
}

// TestPermuted runs a matrix and the same one renumbered: distances go along.
func TestPermuted(t *testing.T) {
	m, err := matrix.Generate("gen:grid2d,width=20,height=9", 1)
	require.NoError(t, err)
	to, err := m.Order("random", 3)
	require.NoError(t, err)
	levels := func(m *matrix.Matrix, source int) []uint32 {
		o := DefaultAppOptions()
		o.Source = source
		res, err := Run(context.Background(), "bfs", m, o, config(small(2, 3, 3), "v3"), nil)
		require.NoError(t, err)
		return res.Levels
	}
	a, b := levels(m, 5), levels(m.Permute(to), int(to[5]))
	for v, l := range a {
		require.Equal(t, l, b[to[v]])
	}
}

// naiveRing moves single objects, one after the other in each cycle: the oracle of
// the words of occupied slots.
func naiveRing(banks int, both bool, queues [][]flit, way func(from, to int) (int, int)) (arrivals []string) {
	type object struct {
		f    flit
		at   int
		left int
		d    int
	}
	var moving []*object
	port := make([][2][]flit, banks)
	for b, q := range queues {
		for _, f := range q {
			d, _ := way(b, f.bank())
			port[b][d] = append(port[b][d], f)
		}
	}
	for t := 0; t < 100000; t++ {
		var stay []*object
		taken := map[[2]int]bool{}
		for _, o := range moving {
			if o.left == 0 {
				arrivals = append(arrivals, fmt.Sprintf("%d %d>%d", t, o.f.idx(), o.f.bank()))
				continue
			}
			stay = append(stay, o)
			taken[[2]int{o.at, o.d}] = true
		}
		moving = stay
		waits := false
		for b := range banks {
			for d := range 2 {
				if len(port[b][d]) == 0 {
					continue
				}
				waits = true
				if taken[[2]int{b, d}] {
					continue
				}
				f := port[b][d][0]
				port[b][d] = port[b][d][1:]
				_, h := way(b, f.bank())
				moving = append(moving, &object{f, b, h, d})
			}
		}
		if !waits && len(moving) == 0 {
			return arrivals
		}
		for _, o := range moving {
			o.left--
			if o.d == 0 {
				o.at = (o.at + 1) % banks
			} else {
				o.at = (o.at + banks - 1) % banks
			}
		}
	}
	return nil
}

// TestRingAgainstObjects compares the ring with single objects, cycle by cycle.
func TestRingAgainstObjects(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		banks := rapid.IntRange(2, 12).Draw(t, "banks")
		mach := small(1, banks, 2)
		mach.Readings.Ring = rapid.SampledFrom([]string{"one", "both"}).Draw(t, "ring")
		r := &runner{m: mach, time: newTiming(mach), toLink: newRatio(1200, 164), toSPU: newRatio(164, 1200), threads: 1}
		n := newNetwork(r)
		n.reset()
		n.ringOnly = true
		queues := make([][]flit, banks)
		for k := range rapid.IntRange(1, 60).Draw(t, "pairs") {
			b := rapid.IntRange(0, banks-1).Draw(t, "from")
			to := (b + rapid.IntRange(1, banks-1).Draw(t, "by")) % banks
			f := newFlit(uint32(k), 0, 0, 0, 0, uint8(to))
			queues[b] = append(queues[b], f)
			d, _ := n.way(b, to)
			n.rings[0].queue[d][b].push(f)
			n.note(0, b)
		}
		want := naiveRing(banks, n.both, queues, n.way)
		count := map[string]int{}
		for _, a := range want {
			count[a]++
		}
		g := &n.rings[0]
		n.arrived = func(at int64, f flit) { count[fmt.Sprintf("%d %d>%d", at, f.idx(), f.bank())]-- }
		for at := int64(0); at == 0 || g.inFlight > 0 || n.waiting(); at += n.window {
			n.ring(0, at, at+n.window)
		}
		for a, k := range count {
			require.Zero(t, k, a)
		}
		require.Equal(t, g.hops, g.busy)
		require.EqualValues(t, len(want), g.pairs)
		require.Zero(t, bits.OnesCount64(g.occupied[0]&^g.freedAll(0)))
	})
}

// TestInstructions encodes and decodes the instructions of all programs.
func TestInstructions(t *testing.T) {
	require.Equal(t, 60, InstructionBits())
	require.Len(t, Fields(), 24)
	for _, a := range append(Apps(), App{Name: "scatter"}) {
		list, err := Lower(a.Name, Variant{Replicate: true}, F32)
		require.NoError(t, err)
		for _, p := range list {
			require.LessOrEqual(t, len(p.Code), 8)
			for _, in := range p.Code {
				require.Equal(t, in, DecodeInstruction(in.Encode()))
				require.Zero(t, in.Encode()>>60)
			}
		}
	}
}

// TestScatter holds the kernel of figure 9 to its closed forms, interpreted and pair
// by pair: 1 + 3n + loads R + R, and 2n + loads R.
func TestScatter(t *testing.T) {
	for _, c := range []struct {
		index  string
		cycles int64
	}{{"identity", 21910}, {"remote", 14600}} {
		for _, instr := range []bool{false, true} {
			res, err := Scatter{PerSPU: 6400, Index: c.index, Instr: instr, Threads: 1}.Run(context.Background(), small(1, 3, 2))
			require.NoError(t, err)
			require.Equal(t, c.cycles, res.Cycles)
		}
	}
	for _, index := range []string{"reverse", "stride=5", "random", "identity", "remote"} {
		_, err := Scatter{PerSPU: 640, Index: index, Instr: true, Network: true, Threads: 2}.Run(context.Background(), small(2, 3, 2))
		require.NoError(t, err, index)
	}
	// The position moves forward only: 63 places from a word to the one before.
	res, err := Scatter{PerSPU: 64, Index: "reverse", Instr: true, Threads: 1}.Run(context.Background(), small(1, 1, 2))
	require.NoError(t, err)
	require.EqualValues(t, 1+3*64+2*9+9+63*8+9, res.Cycles)
}

// TestInfeasible has the errors of what does not fit.
func TestInfeasible(t *testing.T) {
	m, err := matrix.Generate("gen:rmat,scale=10,undirected", 1)
	require.NoError(t, err)
	run := func(change func(m *Machine)) error {
		mach := small(1, 2, 2)
		change(mach)
		_, err := Run(context.Background(), "pagerank", m, DefaultAppOptions(), config(mach, "v3"), nil)
		return err
	}
	err = run(func(m *Machine) { m.Organisation.RowsPerSubarray = 20 })
	require.ErrorIs(t, err, ErrInfeasible)
	require.Regexp(t, `^SPU \d+ needs \d+ of 40 rows, \d+ of 10240 bytes$`, err.Error())
	err = run(func(m *Machine) { m.Logic.SRAM = 100 })
	require.ErrorIs(t, err, ErrInfeasible)
	require.EqualError(t, err, "long entries need 832 bytes, the logic layer has 200")
}

// TestWays checks the hops of rings of both kinds: h, or the shorter of h and k-h.
func TestWays(t *testing.T) {
	for _, kind := range []string{"one", "both"} {
		mach := Default()
		mach.Readings.Ring = kind
		r := &runner{m: mach, time: newTiming(mach), toLink: newRatio(1200, 164), toSPU: newRatio(164, 1200), threads: 1}
		n := newNetwork(r)
		for from := range 64 {
			for to := range 64 {
				h := (to - from + 64) % 64
				want := h
				if kind == "both" {
					want = min(h, 64-h)
				}
				d, hops := n.way(from, to)
				require.Equal(t, want, hops)
				require.Equal(t, d == 1, hops != h || kind == "both" && h == 32 && from%2 == 1)
			}
		}
		// Link cycles are whole ones: a pair is in the port when the SPU cycle has ended.
		for c := int64(0); c < 1000; c++ {
			require.GreaterOrEqual(t, r.link(c)*164, c*1200)
			require.Less(t, (r.link(c)-1)*164, c*1200)
			require.Equal(t, c, r.spuAfter(r.link(c)))
		}
	}
}

// TestTraffic holds rings under load to closed forms.
func TestTraffic(t *testing.T) {
	for _, c := range []struct {
		pattern, ring string
		hops, rate    float64
		within        float64
	}{
		{"uniform", "one", 32, 2, .02}, {"uniform", "both", 1024. / 63, 128 * 63 / 1024., .03},
		{"tornado", "one", 31, 64. / 31, .01}, {"neighbor", "both", 1, 64, .01}, {"bitcomp", "both", 16, 4, .01},
	} {
		mach := Default()
		mach.Readings.Ring = c.ring
		res, err := RingTraffic{Pattern: c.pattern, Pairs: 200000, Seed: 1}.Run(context.Background(), mach)
		require.NoError(t, err)
		require.InEpsilon(t, c.hops, res.MeanHops, .005, c.pattern)
		require.InEpsilon(t, c.rate, res.Rate, c.within, c.pattern)
	}
}

// TestChip executes on the SRAM chip: equal digests, every pair through the mesh, and
// interpreted SPUs.
func TestChip(t *testing.T) {
	m, err := matrix.Generate("gen:rmat,scale=9,undirected", 2)
	require.NoError(t, err)
	for _, app := range []string{"pagerank", "bfs", "sssp", "cc", "spknn", "svm", "spmspv"} {
		o := DefaultAppOptions()
		o.Queries = 2
		if app == "pagerank" {
			o.Iterations = 2
		}
		cfg := config(small(1, 4, 3), "v3")
		cfg.Type = U32
		want, err := Run(context.Background(), app, m, o, cfg, nil)
		require.NoError(t, err)
		for _, coalesce := range []int{1, 8} {
			res, err := RunChip(context.Background(), app, m, o, ChipConfig{Type: U32, Seed: 1, Check: true, Instr: 16, Coalesce: coalesce})
			require.NoError(t, err, app)
			require.Equal(t, want.Digest, res.Digest)
			require.Equal(t, res.PairsIn, res.PairsOut)
			require.NotZero(t, res.Packets)
			require.True(t, res.Resident)
		}
	}
}

// TestApplyBits executes PageRank's step 6 in the bitlines: equal bits, another time.
func TestApplyBits(t *testing.T) {
	m, err := matrix.Generate("gen:rmat,scale=7,undirected", 2)
	require.NoError(t, err)
	o := DefaultAppOptions()
	o.Iterations = 2
	for _, typ := range []Type{U32, F32} {
		run := func(apply string) *ChipResult {
			res, err := RunChip(context.Background(), "pagerank", m, o, ChipConfig{Type: typ, Seed: 1, Check: true, Coalesce: 8, Apply: apply})
			require.NoError(t, err)
			return res
		}
		spu, bits := run(ApplySPU), run(ApplyBits)
		require.Equal(t, spu.Digest, bits.Digest)
		require.Equal(t, spu.ApplyBits, bits.ApplyBits)
		require.Equal(t, spu.ApplySPU, bits.ApplySPU)
		require.Equal(t, spu.Cycles-spu.ApplySPU, bits.Cycles-bits.ApplyBits)
		b := bitApply{lines: 10, words: 4}
		b.add, err = arith.Build(context.Background(), arith.Spec{Op: "int32.add"})
		require.NoError(t, err)
		b.mul = b.add
		require.EqualValues(t, 2*6+3*2*b.add.Latency(), b.take(21))
	}
	_, err = RunChip(context.Background(), "bfs", m, o, ChipConfig{Type: U32, Coalesce: 8, Apply: ApplyBits})
	require.ErrorContains(t, err, "expected pagerank")
}

// TestLine compares a line with its definition: a slot for each cycle at the
// dispatcher, taken by the farthest SPU whose pair is in its port in time; and a
// dispatcher with places for some pairs only never has more.
func TestLine(t *testing.T) {
	const pairs = 4
	mach := small(1, 1, pairs)
	r := newRunnerOn(context.Background(), &Placement{Matrix: &matrix.Matrix{Rows: pairs, Cols: pairs}, RowFirst: []uint32{0, 1, 2, 3, 4}, ColFirst: []uint32{0, 1, 2, 3, 4}, Base: make([]int64, 5), OffBase: make([]int64, 5)},
		Semiring{}, Config{Machine: mach, Threads: 1})
	n := r.net
	for _, room := range []int32{1 << 20, 9} {
		n.cap = room
		n.reset()
		st := &n.stations[0]
		st.direct, st.lastA, n.reserved[0], st.port = fifo{}, -1, 0, 0
		left := [pairs]int{20, 20, 3, 7}
		send := func(s int, free int64) bool {
			u := &r.spus[s]
			if left[s] == 0 {
				return false
			}
			left[s]--
			u.cycles = max(u.cycles, free) + 1
			// All reach the line in time for the same slot.
			r.ports[s], u.state = port{flit: newFlit(0, 0, r.link(u.cycles)-int64(s), s, 0, 0), way: wayBank}, stPending
			return true
		}
		var ready [pairs]int64
		for s := range pairs {
			r.spus[s] = spu{}
			send(s, 0)
			st.port |= 1 << s
			n.ports[0] = 1
			ready[s] = r.ports[s].ready()
		}
		for t := int64(0); t < 4096; t += n.window {
			n.lines(0, t, t+n.window, send)
		}
		seen := map[int64]bool{}
		for k := range st.direct.size() {
			f := st.direct.at(k)
			require.False(t, seen[f.ready()], "two pairs in slot %d", f.ready())
			seen[f.ready()] = true
			if k == 0 { // the first slot that any of the ports reaches
				first := ready[0] + 1
				for s := range pairs {
					first = min(first, ready[s]+int64(s)+1)
				}
				require.Equal(t, first, f.ready())
			}
		}
		require.Equal(t, min(50, int(room)), st.direct.size())
		require.Equal(t, room < 50, n.raised[0])
	}
}
