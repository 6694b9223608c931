package system

import (
	"bytes"
	"context"
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/kernels"
	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/sram/cost"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tile"
	"github.com/bitsched/bitsched/tile/tensor"
)

// fourBanks is a machine whose counts are easy to follow: a mesh of 2x2 banks of four
// arrays of 64 bitlines. Its H-tree has 5 levels and takes 512 bitlines a cycle; a
// link carries 32 bytes, so that a packet of 64 bytes has 3 flits. A router takes 4
// cycles and a link 1; a barrier over four banks takes 2 x (2 + 3 x 5) + 3 = 37. DRAM
// gives 4 x 25.6 GB/s at 2 GHz, 51.2 bytes a cycle.
func fourBanks(t *testing.T) *tile.Machine {
	m := tile.Default()
	m.Mesh.Cols, m.Mesh.Rows = 2, 2
	m.L3.ComputeWays, m.L3.ArraysPerWay = 1, 4
	m.Array.Cols = 64
	m.L3.LineBytes, m.NoC.MemoryControllers = 8, 4
	require.NoError(t, m.Check())
	require.Equal(t, 4, m.ArraysPerBank())
	return m
}

// pattern reads a pattern.
func pattern(t *testing.T, s string) lowering.Pattern {
	p, err := lowering.ParsePattern(s)
	require.NoError(t, err)
	return p
}

// counted is what commands are counted with. Step 0 has a kernel of eight instructions:
// two computes, a move, a write, and four that set a latch: by two rows, by one (a constant is a row), by none.
type counted struct {
	*analytic
	*counter
	t    *testing.T
	plan *lowering.Plan
}

func newCounted(t *testing.T, m *tile.Machine) *counted {
	k, err := sram.ParseKernel(strings.NewReader(`.kernel neural-cache 1
.array rows=64
.input a 0 2
and 2 0 1
xor 3 0 1
copy 4 0
carry #0 #0
tag.and 0 1
tag.ncarry
wtag 5
tag.copy 0
.output y 2 1
.end
`), "eight")
	require.NoError(t, err)
	code, err := k.Compile()
	require.NoError(t, err)
	return &counted{newAnalytic(m, nil), newCounter(m, &Report{}), t, &lowering.Plan{Graph: &tdfg.Graph{Name: "g"}, Steps: []lowering.Step{{Code: code}, {}}}}
}

func (c *counted) do(cmds ...lowering.Command) {
	c.work(&Work{Kind: Executed, Plan: c.plan, Commands: cmds})
}

// work hands work to the counters and the clock, whose cycles are those of the report.
func (c *counted) work(w *Work) {
	c.cycles, c.byteHops = c.report.Cycles, c.report.ByteHops
	require.NoError(c.t, c.counter.Consume(context.Background(), w))
	require.NoError(c.t, c.analytic.Consume(context.Background(), w))
	c.report.Cycles, c.report.ByteHops = c.cycles, c.byteHops
}

// TestCommandCounts counts commands that stay in their arrays by hand.
func TestCommandCounts(t *testing.T) {
	c := newCounted(t, fourBanks(t))
	of := func(s string) lowering.Pattern { return pattern(t, s) }

	// Eight instructions on tiles 0 to 5: four of bank 0, two of bank 1.
	c.do(lowering.Command{Kind: lowering.Compute, Whole: true, Tiles: of("0:1:6"), Rows: 1})
	require.Equal(t, []int64{8, 8, 0, 0}, c.busy)
	require.Equal(t, Report{Commands: 1, Operations: 6 * 64, RowOps: 6 * 8, Cycles: Cycles{Compute: 8},
		Instructions: cost.Kinds{Computes: 12, Moves: 6, Writes: 6, LatchReads: 12, Latches: 6, LatchOnly: 6}}, *c.report)
	*c.report = Report{}
	c.do(lowering.Command{Kind: lowering.Compute, Bitlines: of("3:2:10"), Tiles: of("7")})
	require.Equal(t, []int64{8, 16, 0, 0}, c.busy)
	require.EqualValues(t, 10, c.report.Operations)

	// A constant of 8 bits is written row by row.
	*c.report = Report{}
	c.do(lowering.Command{Kind: lowering.Fill, Bitlines: of("0:1:10"), Tiles: of("1:2:2"), Rows: 8})
	require.Equal(t, []int64{16, 16, 0, 0}, c.busy)
	require.Equal(t, Report{Commands: 1, RowOps: 16, Cycles: Cycles{Compute: 8}, Instructions: cost.Kinds{Writes: 16}}, *c.report)

	// 16 rows are copied in as many cycles, and no byte leaves its bitline.
	*c.report = Report{}
	c.do(lowering.Command{Kind: lowering.Copy, Whole: true, Tiles: of("4:1:2"), Rows: 16})
	require.Equal(t, []int64{16, 32, 0, 0}, c.busy)
	require.Equal(t, Report{Commands: 1, RowOps: 32, Cycles: Cycles{Move: 16}, Instructions: cost.Kinds{Moves: 32}, WithinRows: 32}, *c.report)

	// 60 bitlines of two tiles, 16 bits each, are 240 bytes.
	*c.report = Report{}
	c.do(lowering.Command{Kind: lowering.ShiftIntra, Bitlines: of("0:1:60"), Tiles: of("8:1:2"), Rows: 16, BitlineDist: 4})
	require.Equal(t, []int64{16, 32, 16, 0}, c.busy)
	require.Equal(t, Report{Commands: 1, RowOps: 32, IntraBytes: 240, Cycles: Cycles{Move: 16}, Instructions: cost.Kinds{Moves: 32}, WithinRows: 32}, *c.report)

	// The barrier begins when bank 1 is done, and nothing is under way.
	*c.report = Report{}
	c.do(lowering.Command{Kind: lowering.Sync})
	require.Equal(t, []int64{69, 69, 69, 69}, c.busy)
	require.EqualValues(t, 69, c.now())
	require.Equal(t, Report{Commands: 1, Syncs: 1, Cycles: Cycles{Sync: 37}}, *c.report)

	// Where a row moves by 16 bitlines a cycle, 17 take two; all 64 bitlines are 64 bytes.
	m := fourBanks(t)
	m.Array.ShiftBitlines = 16
	c = newCounted(t, m)
	c.do(lowering.Command{Kind: lowering.ShiftIntra, Whole: true, Tiles: of("3"), Rows: 8, BitlineDist: -17})
	require.Equal(t, []int64{16, 0, 0, 0}, c.busy)
	require.Equal(t, Report{Commands: 1, RowOps: 16, IntraBytes: 64, Cycles: Cycles{Move: 16}, Instructions: cost.Kinds{Moves: 16}, WithinRows: 16}, *c.report)

	// Where leaves of the H-tree decide, 64 bitlines of an array are two cycles of 4 bytes for
	// each of 16 rows. Tiles 0 to 2 go on by one over two levels of the tree, and tile 3 to the
	// next bank, whose packets are no slower.
	m = fourBanks(t)
	m.HTree.LeafBytes = 4
	parts, _ := shiftBetween(m, tile.NewTiming(m), &lowering.Command{Kind: lowering.ShiftInter, Whole: true, Tiles: of("0:1:4"), Rows: 16, TileDist: 1, Copies: 1, TileStride: 1})
	require.Equal(t, []tensor.Part{{Bank: 0, Cycles: 3 * 2 * 16, Tree: 3 * 2 * 16}}, parts)
	parts, _ = shiftBetween(m, tile.NewTiming(m), &lowering.Command{Kind: lowering.ShiftInter, Whole: true, Tiles: of("0"), Rows: 16, TileDist: 1, Copies: 3, TileStride: 1})
	require.Equal(t, []tensor.Part{{Bank: 0, Cycles: 2 * 16, Tree: 2 * 16}}, parts, "forks of the tree copy")

	// Programs of technologies without kinds are computes.
	k, err := sram.ParseKernel(strings.NewReader(".kernel xmg 1\n.array rows=64\n.input a 0 2\nxor 2 0 1 #0\nmaj 3 0 1 2\n.output y 2 1\n.end\n"), "two")
	require.NoError(t, err)
	require.Equal(t, cost.Kinds{Computes: 2}, c.counter.kernel(k))
	require.Equal(t, cost.Kinds{Computes: 2}, c.counter.kernel(k))
}

// TestTransferCounts counts shifts between tiles by hand. Tile t lies in bank t/4;
// banks 0 and 1 are neighbours, as are 0 and 2, 1 and 3, 2 and 3.
func TestTransferCounts(t *testing.T) {
	of := func(s string) lowering.Pattern { return pattern(t, s) }
	for _, c := range []struct {
		name   string
		cmd    lowering.Command
		busy   []int64
		arrive int64
		want   Report
	}{
		// 64 bitlines of a tile go to the next tile of the bank: 16 rows and 5 levels.
		{"within a bank", lowering.Command{Whole: true, Tiles: of("1"), Rows: 16, TileDist: 1, Copies: 1, TileStride: 1},
			[]int64{21, 0, 0, 0}, 0,
			Report{InterBytes: 64 * 2, Cycles: Cycles{Inter: 21}, Instructions: cost.Kinds{LatchReads: 16, Writes: 16}}},
		// Of the 256 bitlines of each of banks 0 and 1, those of tile 3 go to bank 1 and
		// those of tile 7 to bank 2: 128 bytes, which are 2 packets of 3 flits, over 1 and 2
		// links. The second packet is injected 3 cycles after the first, takes 2 cycles to the
		// first router, 5 for each of 3 routers, and 2 more for its last flit.
		{"to the next bank", lowering.Command{Whole: true, Tiles: of("0:1:8"), Rows: 16, TileDist: 1, Copies: 1, TileStride: 1},
			[]int64{21, 21, 0, 0}, 3 + 2 + 15 + 2,
			Report{InterBytes: 2 * 256 * 2, ByteHops: 2 * 3 * 32 * (1 + 2), Cycles: Cycles{Inter: 21}, Instructions: cost.Kinds{LatchReads: 8 * 16, Writes: 8 * 16}}},
		// All of a bank leaves it: 1024 bytes are 16 packets, which take 48 cycles to inject
		// and 5 until the first one is out of the tree. The last one begins at cycle 45.
		{"a whole bank", lowering.Command{Whole: true, Tiles: of("8:1:4"), Rows: 32, TileDist: 4, Copies: 1, TileStride: 1},
			[]int64{0, 0, 53, 0}, 45 + 2 + 10 + 2,
			Report{InterBytes: 1024, ByteHops: 16 * 96, Cycles: Cycles{Inter: 53}, Instructions: cost.Kinds{LatchReads: 4 * 32, Writes: 4 * 32}}},
		// Back from bank 3 to 0, 10 bitlines of two tiles: 80 bytes are two packets.
		{"some bitlines", lowering.Command{Bitlines: of("3:1:10"), Tiles: of("12:1:2"), Rows: 32, TileDist: -12, Copies: 1, TileStride: 1},
			[]int64{0, 0, 0, 37}, 3 + 2 + 15 + 2,
			Report{InterBytes: 80, ByteHops: 2 * 96 * 2, Cycles: Cycles{Inter: 37}, Instructions: cost.Kinds{LatchReads: 2 * 32, Writes: 2 * 32}}},
		// Tiles 0 and 1 go to bank 2, tiles 2 and 3 to bank 3 behind it: 512 bytes and 8 packets
		// each, which are injected one after another. The last of all begins at cycle 45.
		{"to two banks", lowering.Command{Whole: true, Tiles: of("0:1:4"), Rows: 32, TileDist: 10, Copies: 1, TileStride: 1},
			[]int64{53, 0, 0, 0}, 45 + 2 + 15 + 2,
			Report{InterBytes: 1024, ByteHops: 8*96 + 8*96*2, Cycles: Cycles{Inter: 53}, Instructions: cost.Kinds{LatchReads: 4 * 32, Writes: 4 * 32}}},
		// A broadcast within the bank.
		{"to three tiles", lowering.Command{Bitlines: of("0:1:8"), Tiles: of("0"), Rows: 32, TileDist: 1, Copies: 3, TileStride: 1},
			[]int64{37, 0, 0, 0}, 0,
			Report{InterBytes: 32, Cycles: Cycles{Inter: 37}, Instructions: cost.Kinds{LatchReads: 32, Writes: 3 * 32}}},
		// The four tiles of bank 1 get one packet of 32 bytes together.
		{"to seven tiles", lowering.Command{Bitlines: of("0:1:16"), Tiles: of("0"), Rows: 32, TileDist: 1, Copies: 7, TileStride: 1},
			[]int64{37, 0, 0, 0}, 2 + 10 + 2,
			Report{InterBytes: 64, ByteHops: 96, Cycles: Cycles{Inter: 37}, Instructions: cost.Kinds{LatchReads: 32, Writes: 7 * 32}}},
		// One packet for three banks is sent over three links, not the four of three packets.
		{"to all banks", lowering.Command{Bitlines: of("0:1:8"), Tiles: of("1"), Rows: 32, TileDist: 2, Copies: 4, TileStride: 4},
			[]int64{37, 0, 0, 0}, 2 + 15 + 2,
			Report{InterBytes: 32, ByteHops: 96 * 3, Cycles: Cycles{Inter: 37}, Instructions: cost.Kinds{LatchReads: 32, Writes: 4 * 32}}},
		// Tile 0 goes to tiles 2 and 3, the others to bank 1 too: 192 bitlines, 12 packets,
		// the last of which is injected from cycle 33 on.
		{"some leave", lowering.Command{Whole: true, Tiles: of("0:1:4"), Rows: 32, TileDist: 2, Copies: 2, TileStride: 1},
			[]int64{41, 0, 0, 0}, 33 + 2 + 10 + 2,
			Report{InterBytes: 1024, ByteHops: 12 * 96, Cycles: Cycles{Inter: 41}, Instructions: cost.Kinds{LatchReads: 4 * 32, Writes: 8 * 32}}},
	} {
		x := newCounted(t, fourBanks(t))
		c.cmd.Kind = lowering.ShiftInter
		x.do(c.cmd)
		c.want.Commands = 1
		c.want.SentRows, c.want.ReceivedRows = c.want.Instructions.LatchReads, c.want.Instructions.Writes // nothing else reads or writes
		require.Equal(t, c.want, *x.report, c.name)
		require.Equal(t, c.busy, x.busy, c.name)
		require.Equal(t, c.arrive, x.arrive, c.name)

		// Once more, after bank 0 was busy: packets begin when all that send can.
		*x.report = Report{}
		first := max(100, x.busy[0])
		x.busy[0] = first
		begin := int64(0)
		for b, n := range c.busy {
			if n > 0 {
				begin = max(begin, x.busy[b])
			}
		}
		x.do(c.cmd)
		require.Equal(t, c.want, *x.report, c.name)
		require.Equal(t, first+c.busy[0], x.busy[0], c.name)
		if c.arrive > 0 {
			require.Equal(t, begin+c.arrive, x.arrive, c.name)
		}

		// A barrier waits for banks and packets: 37 cycles behind the last of them.
		*x.report = Report{}
		last := max(x.busy[0], x.busy[1], x.busy[2], x.busy[3])
		end := max(last, x.arrive)
		require.Equal(t, end, x.now())
		x.do(lowering.Command{Kind: lowering.Sync})
		require.Equal(t, Report{Commands: 1, Syncs: 1, Cycles: Cycles{Sync: end - last + 37}}, *x.report, c.name)
		require.Equal(t, []int64{end + 37, end + 37, end + 37, end + 37}, x.busy)
		require.Equal(t, end+37, x.now())
	}
}

// TestLastPackets: packets of an early shift may arrive after those of a later one.
func TestLastPackets(t *testing.T) {
	x := newCounted(t, fourBanks(t))
	x.do(lowering.Command{Kind: lowering.ShiftInter, Whole: true, Tiles: pattern(t, "8:1:4"), Rows: 32, TileDist: 4, Copies: 1, TileStride: 1})
	last := x.arrive
	require.EqualValues(t, 45+2+10+2, last)
	x.do(lowering.Command{Kind: lowering.ShiftInter, Bitlines: pattern(t, "0:1:8"), Tiles: pattern(t, "0"), Rows: 8, TileDist: 4, Copies: 1, TileStride: 1})
	require.Equal(t, last, x.arrive)
	x.do(lowering.Command{Kind: lowering.Sync})
	require.Equal(t, last+37, x.now())
}

// TestSlowNetwork gives links of 8 bytes: a packet is 9 flits, one more than a buffer
// has by default, and a multicast must fit into one.
func TestSlowNetwork(t *testing.T) {
	m := fourBanks(t)
	m.NoC.LinkBytes, m.NoC.LinkCycles, m.NoC.RouterStages = 8, 2, 4
	x := newCounted(t, m)
	x.do(lowering.Command{Kind: lowering.ShiftInter, Bitlines: pattern(t, "0:1:8"), Tiles: pattern(t, "1"), Rows: 32, TileDist: 2, Copies: 4, TileStride: 4})
	// 1 + 2 cycles to the first router, 3 + 2 for each of three, and 8 more flits.
	require.EqualValues(t, 3+15+8, x.arrive)
	require.EqualValues(t, 9*8*3, x.report.ByteHops)
}

// TestWideMesh has two rows of four banks: bank 4 is above bank 0.
func TestWideMesh(t *testing.T) {
	m := fourBanks(t)
	m.Mesh.Cols = 4
	x := newCounted(t, m)
	x.do(lowering.Command{Kind: lowering.ShiftInter, Whole: true, Tiles: pattern(t, "1"), Rows: 16, TileDist: 16, Copies: 1, TileStride: 1})
	require.EqualValues(t, 2*96, x.report.ByteHops)
	require.EqualValues(t, 3+2+10+2, x.arrive)
}

// TestHostCounts counts lowering and DRAM by hand.
func TestHostCounts(t *testing.T) {
	c := newCounted(t, fourBanks(t))
	c.busy[2], c.arrive = 10, 12
	// Two steps at 200, four commands at 150; tiles 0 to 5 are in two banks and tile 9 in
	// one, at 4 each.
	c.work(&Work{Kind: Lowered, Plan: c.plan, JIT: lowered(c.plan, []lowering.Command{
		{Kind: lowering.Compute, Tiles: pattern(t, "0:1:6")}, {Kind: lowering.Sync}, {Kind: lowering.Near}, {Kind: lowering.Fill, Tiles: pattern(t, "9")},
	}, c.analytic.m.ArraysPerBank())})
	const jit = 2*200 + 4*150 + 3*4
	require.Equal(t, Report{Cycles: Cycles{JIT: jit}}, *c.report)
	require.Equal(t, []int64{12 + jit, 12 + jit, 12 + jit, 12 + jit}, c.busy)

	// 1000 bytes at 51.2 a cycle are 19.5 cycles; 100 are 2.
	*c.report = Report{}
	c.work(&Work{Kind: Transferred, Name: "a", Bytes: 1000, Moved: 900, Load: true})
	c.work(&Work{Kind: Transferred, Name: "b", Bytes: 100, Moved: 100})
	require.Equal(t, Report{DRAMBytes: 1100, LoadBytes: 1000, MovedBytes: 1000, MovedInBytes: 900, Cycles: Cycles{DRAM: 20 + 2}}, *c.report)
	require.EqualValues(t, 12+jit+22, c.now())

	// Nothing is counted once the run is to stop.
	*c.report = Report{}
	stopped, stop := context.WithCancel(context.Background())
	stop()
	require.ErrorIs(t, c.commands(stopped, c.plan, []lowering.Command{{Kind: lowering.Sync}}), context.Canceled)
	require.Equal(t, Report{}, *c.report)
}

// TestRunCounts has all counters of a small kernel, worked out by hand. Elements are 32
// bits; 256 of them lie in four tiles of 64 bitlines, all in bank 0.
func TestRunCounts(t *testing.T) {
	ctx := context.Background()
	p, err := cfront.Compile(ctx, "k.c", `void k(int N, int T, const int A[N], int B[N]) {
		inf_array(A, N);
		inf_array(B, N);
		#pragma bitsched region
		for (int t = 0; t < T; t++) {
			for (int i = 1; i < N; i++) B[i] = A[i - 1] + 5;
		}
	}`, cfront.Options{})
	require.NoError(t, err)
	m := fourBanks(t)
	sizes := map[string]int64{"N": 256, "T": 3}
	got, err := Run(ctx, p, sizes, nil, Options{Machine: m, TimingOnly: true})
	require.NoError(t, err)
	prepared, err := Prepare(ctx, p, sizes, Options{Machine: m})
	require.NoError(t, err)
	plan := prepared.Plans[p.Regions()[0].Graph]
	var kinds []lowering.StepKind
	for _, s := range plan.Steps {
		kinds = append(kinds, s.Kind)
	}
	require.Equal(t, []lowering.StepKind{lowering.MoveStep, lowering.ComputeStep, lowering.CopyStep}, kinds)
	add := int64(plan.Steps[1].Program.Latency())

	// Of each region, the commands are a shift of bitlines 0 to 62 of four tiles, a
	// transfer of bitline 63 of three tiles, a sync, the sum on four tiles, and copies of
	// bitlines 1 to 63 of tile 0 and of the whole tiles 1 to 3.
	const commands, syncs = 6, 1
	const move = 32 + 2*32 // the copies follow each other in the bank
	const inter = 32 + 5
	want := Report{
		Tile: "64", Arrays: 4, Regions: 3, Commands: 3 * commands, Memoized: 2, Syncs: 3 * syncs,
		Operations: 3 * 4 * 64,
		RowOps:     3 * (4*32 + 4*add + 32 + 3*32),
		IntraBytes: 3 * 4 * 63 * 4,
		InterBytes: 3 * 3 * 4,
		LoadBytes:  2 * 1024, MovedBytes: 2 * 2 * 1024, MovedInBytes: 2 * 1024,
		WithinRows: 3 * 4 * 2 * 32, SentRows: 3 * 3 * 32, ReceivedRows: 3 * 3 * 32,
		DRAMBytes: 2 * 2 * 1024, // in and out: it is not known that A does not change
		Cycles: Cycles{
			DRAM:    4 * (1024*10/512 + 1),
			JIT:     3*200 + commands*150 + 5*4,
			Move:    3 * move,
			Inter:   3 * inter,
			Compute: 3 * add,
			Sync:    3 * 37,
		},
	}
	c := &want.Cycles
	c.Total = c.DRAM + c.JIT + c.Move + c.Inter + c.Compute + c.Sync // one bank does everything
	require.Positive(t, got.LowerSeconds)
	require.Positive(t, got.WallSeconds)
	require.Equal(t, 1, got.Threads)
	got.Host = Host{}
	want.Instructions = got.Instructions // TestEnergy counts these
	require.Equal(t, want, *got)
}

// TestFinalCounts counts the last steps of a sum by hand: 3008 elements lie in 12 tiles
// of 256, so that 11 additions are left.
func TestFinalCounts(t *testing.T) {
	ctx := context.Background()
	k, err := kernels.Get("array_sum")
	require.NoError(t, err)
	sizes := map[string]int64{"N": 3008}
	p, err := cfront.Compile(ctx, k.File, k.Source, cfront.Options{Defines: sizes})
	require.NoError(t, err)
	r, err := Run(ctx, p, sizes, k.Data(sizes, 1).Memory(), Options{Machine: tile.Default(), Fidelity: Word})
	require.NoError(t, err)
	require.Equal(t, "256", r.Tile)
	require.EqualValues(t, 11, r.FinalOps)
	require.EqualValues(t, 11, r.NearOps)

	// 100 elements fill no cache line, so that all is near: 99 additions, and one to the
	// first value of the sum.
	sizes = map[string]int64{"N": 100}
	near, err := cfront.Compile(ctx, k.File, k.Source, cfront.Options{Defines: sizes})
	require.NoError(t, err)
	r, err = Run(ctx, near, sizes, k.Data(sizes, 1).Memory(), Options{Machine: tile.Default()})
	require.NoError(t, err)
	require.EqualValues(t, 1, r.NearRegions)
	require.EqualValues(t, 99+1, r.NearOps)
	require.Zero(t, r.FinalOps)
}

// TestReasons has regions near the memory in three rounds, and the reason of each once.
func TestReasons(t *testing.T) {
	k, err := kernels.Get("stencil1d")
	require.NoError(t, err)
	sizes := map[string]int64{"N": 100, "T": 3}
	p, err := cfront.Compile(context.Background(), k.File, k.Source, cfront.Options{Defines: sizes})
	require.NoError(t, err)
	r, err := Run(context.Background(), p, sizes, nil, Options{Machine: tile.Default(), TimingOnly: true})
	require.NoError(t, err)
	require.EqualValues(t, 6, r.Regions)
	require.EqualValues(t, 6, r.NearRegions)
	require.Len(t, r.Reasons, 2)
	for i, region := range p.Regions() {
		require.Equal(t, region.Graph.Name+": not in memory: innermost dimension does not align with cache lines: 100 elements, expected a multiple of 16",
			strings.ReplaceAll(r.Reasons[i].String(), "lowering: ", ""))
	}
}

// TestEquation2 is Eq. 2 at its boundary: cores do 64 x 16 operations a cycle, so that N
// additions take N/1024 cycles, and in memory they take the length of the program and
// 200 for each of the three nodes of the graph.
func TestEquation2(t *testing.T) {
	ctx := context.Background()
	k, err := kernels.Get("vec_add")
	require.NoError(t, err)
	const inside = 638 + 3*200
	for n, near := range map[int64]int64{1024 * inside: 1, 1024*(inside+1) - 16: 1, 1024 * (inside + 1): 0} {
		sizes := map[string]int64{"N": n}
		p, err := cfront.Compile(ctx, k.File, k.Source, cfront.Options{Defines: sizes})
		require.NoError(t, err)
		r, err := Run(ctx, p, sizes, nil, Options{Machine: tile.Default(), Decide: true, TimingOnly: true})
		require.NoError(t, err)
		require.Equal(t, near, r.NearRegions, n)
		if near == 1 {
			require.Equal(t, []Reason{{Region: "vec_add", Kind: Decided}}, r.Reasons)
		}
	}
}

// TestStats writes a report of different numbers, and finds each under its name.
func TestStats(t *testing.T) {
	r := &Report{
		Arrays: 1, Regions: 32, NearRegions: 3, Commands: 11, Memoized: 12, Syncs: 13, NearSteps: 14, Operations: 15, RowOps: 16, NearOps: 17, FinalOps: 18,
		Cycles:       Cycles{Total: 4, DRAM: 5, JIT: 6, Move: 7, Inter: 8, Compute: 9, Sync: 10},
		Instructions: cost.Kinds{Computes: 19, Moves: 20, Writes: 21, LatchReads: 22, Latches: 23, LatchOnly: 24},
		IntraBytes:   25, InterBytes: 26, ByteHops: 27, DRAMBytes: 28, NearBytes: 29, Host: Host{LowerSeconds: 30.25, WallSeconds: 31.5},
		LoadBytes: 33, WithinRows: 34, SentRows: 35, ReceivedRows: 36, Compared: 37, Patched: 38, MovedBytes: 39, MovedInBytes: 40,
	}
	read := func() map[string]float64 {
		var b bytes.Buffer
		require.NoError(t, r.WriteStats(&b))
		lines := strings.Split(strings.TrimSpace(b.String()), "\n")
		require.Equal(t, "---------- Begin Simulation Statistics ----------", lines[0])
		require.Equal(t, "---------- End Simulation Statistics   ----------", lines[len(lines)-1])
		got := map[string]float64{}
		for _, l := range lines[1 : len(lines)-1] {
			f := strings.Fields(l)
			require.Equal(t, "#", f[2])
			require.Contains(t, []string{"(Cycle)", "(Count)", "(Byte)", "(Second)"}, f[len(f)-1])
			require.NotContains(t, got, f[0])
			v, err := strconv.ParseFloat(f[1], 64)
			require.NoError(t, err)
			got[f[0]] = v
		}
		return got
	}
	want := map[string]float64{
		"system.arrays": 1, "system.compared": 37, "system.regions": 32, "system.regions::near": 3, "system.cycles": 4, "system.cycles::dram": 5, "system.cycles::jit": 6,
		"system.cycles::move": 7, "system.cycles::interTile": 8, "system.cycles::compute": 9, "system.cycles::sync": 10, "system.commands": 11,
		"system.regions::memoized": 12, "system.syncs": 13, "system.nearSteps": 14, "system.operations": 15, "system.rowOps": 16, "system.nearOps": 17,
		"system.finalOps": 18, "system.instructions::computes": 19, "system.instructions::moves": 20, "system.instructions::writes": 21, "system.instructions::latchReads": 22,
		"system.instructions::latches": 23, "system.instructions::latchOnly": 24, "system.bytes.intraTile": 25, "system.bytes.interTile": 26, "system.noc.byteHops": 27,
		"system.dram.bytes": 28, "system.nearBytes": 29, "host.lowerSeconds": 30.25, "host.seconds": 31.5,
		"system.dram.bytes::load": 33, "system.rows::within": 34, "system.rows::sent": 35, "system.rows::received": 36, "system.regions::patched": 38, "system.bytes.transposed": 39, "system.bytes.transposed::load": 40,
	}
	require.Equal(t, want, read())

	// Where all regions were near the memory there are no cycles.
	r.NearRegions = r.Regions
	want["system.regions::near"] = 32
	maps.DeleteFunc(want, func(name string, _ float64) bool { return strings.HasPrefix(name, "system.cycles") })
	require.Equal(t, want, read())
}
