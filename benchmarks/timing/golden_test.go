package timing

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"flag"
	"fmt"
	"hash"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/system/machine"
	"github.com/bitsched/bitsched/tile"
	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
	"github.com/bitsched/bitsched/tile/uop"
)

var updateGolden = flag.Bool("update", false, "write the digests anew")

// mixThreads execute all kinds of micro-ops on lines that they share with each other
// and on lines of their own: gathers and scatters, accesses that cross lines, atomic
// operations, fences, and branches that cannot be foretold.
func mixThreads(n int, bytes uint64) (list []uop.Thread) {
	for k := range uint64(n) {
		rng := rand.New(rand.NewPCG(k, 11))
		left := 160 + 1760/n
		address := func(align uint64) uint64 {
			switch rng.IntN(4) {
			case 0: // a few lines of all
				return regionA + uint64(rng.IntN(24))*lineBytes + uint64(rng.IntN(int(lineBytes/align)))*align
			case 1:
				return regionB + rng.Uint64N(bytes/align)*align
			}
			return regionC + k*bytes + rng.Uint64N(bytes/align)*align
		}
		reg := func() uop.Reg { return uop.Reg(1 + rng.IntN(40)) }
		list = append(list, &loop{body: func(t *loop) uop.Status {
			kind := uop.Kind(rng.IntN(int(uop.NumKinds)))
			op := uop.Op{PC: uint32(kind), Kind: kind, Lanes: 1, Dst: reg(), Src: [3]uop.Reg{reg(), reg()}}
			var data []byte
			switch kind {
			case uop.Load:
				op.Size, op.Lanes, op.Flags = 64, 16, uop.Racy
				op.Addr, data = address(16), make([]byte, 64)
			case uop.Store:
				op.Dst, op.Size = 0, 8
				op.Addr, data = address(4), word(rng.Uint64())
			case uop.Gather, uop.Scatter:
				op.Lanes, op.Size, op.Flags = 8, 64, uop.Racy
				if kind == uop.Scatter {
					op.Dst, op.Flags = 0, 0
				}
				for range 8 {
					data = append(data, word(address(8))...)
				}
				op.Addr = binary.LittleEndian.Uint64(data)
				data = append(data, make([]byte, 64)...)
			case uop.Atomic:
				op.RMW, op.Size = uop.Add, 8
				op.Addr, data = address(8), word(1)
			case uop.Branch:
				op.Dst = 0
				if rng.IntN(3) == 0 {
					op.Flags = uop.Taken
				}
			case uop.Fence:
				op.Dst, op.Src = 0, [3]uop.Reg{}
			}
			if kind != uop.Fence && kind != uop.Atomic || rng.IntN(4) == 0 {
				t.add(op, data)
			}
			if left--; left == 0 {
				return uop.Done
			}
			return uop.More
		}})
	}
	return list
}

// goldenRun is a run whose cycles are held against those of the repository.
type goldenRun struct {
	name    string
	machine string
	core    string
	tiles   int // in x and in y; small caches if it is not 8
	change  func(m *tile.Machine)
	spec    func(s *machine.Spec)
	threads int
	bytes   uint64
}

func goldenRuns() (list []goldenRun) {
	for _, c := range []string{"io4", "ooo4", "ooo8"} {
		for _, kernel := range []struct {
			name  string
			bytes uint64
		}{{"mix", 64 << 10}, {"stream", 192 << 10}, {"stream-again", 48 << 10}, {"chase", 32 << 10}, {"barrier", 1 << 20}} {
			list = append(list, goldenRun{name: kernel.name, machine: "nsc", core: c, tiles: 2, threads: 4, bytes: kernel.bytes})
		}
	}
	for _, kernel := range []struct {
		name  string
		bytes uint64
	}{{"mix", 16 << 10}, {"stream", 384 << 10}, {"stream-again", 768 << 10}, {"barrier", 1 << 20}, {"false-sharing", 1 << 20}} {
		list = append(list, goldenRun{name: kernel.name, machine: "nsc", core: "ooo8", tiles: 8, threads: 64, bytes: kernel.bytes})
	}
	list = append(list,
		goldenRun{name: "mix", machine: "infinity-stream", core: "ooo8", tiles: 8, threads: 64, bytes: 16 << 10},
		goldenRun{name: "stream", machine: "infinity-stream", core: "ooo8", tiles: 8, threads: 64, bytes: 384 << 10},
		goldenRun{name: "mix", machine: "nsc", core: "ooo8", tiles: 2, threads: 4, bytes: 64 << 10, change: func(m *tile.Machine) {
			m.L1D.Replacement, m.L2.Replacement, m.L3.Replacement, m.Prefetch.L1, m.Prefetch.L2 = "lru", "lru", "lru", "ip-stride", "ip-stride"
		}},
		goldenRun{name: "stream-again", machine: "nsc", core: "ooo8", tiles: 2, threads: 4, bytes: 96 << 10, spec: func(s *machine.Spec) {
			s.Memory.DRAM, s.Memory.Fixed = nil, &mem.FixedSpec{Latency: 160, Bus: 5}
			s.Core.LoadSelect, s.Core.EarlyLQ, s.Core.StoreBuffer, s.Core.SharedPorts, s.Core.StorePorts = "slot", true, 16, true, 2
		}},
		goldenRun{name: "mix", machine: "nsc", core: "ooo8", tiles: 2, threads: 4, bytes: 64 << 10, spec: func(s *machine.Spec) { s.Private.L1.Sharers = 2 }})
	return list
}

// digest executes a run: its cycles, and a hash of the cycle and the place of every
// commit, of the bytes that loads found, of links and of counters.
func (g *goldenRun) digest(t *testing.T) string {
	d, err := tile.LoadMachine(g.machine)
	require.NoError(t, err)
	d.Core = g.core
	if g.tiles != 8 {
		d.Mesh.Cols, d.Mesh.Rows, d.NoC.MemoryControllers = g.tiles, g.tiles, 1
		d.L1D.Bytes, d.L2.Bytes, d.L3.ArraysPerWay = 4<<10, 16<<10, 1
	}
	if g.change != nil {
		g.change(d)
	}
	spec, err := machine.Of(d)
	require.NoError(t, err)
	if g.spec != nil {
		g.spec(spec)
	}
	m, err := machine.New(spec)
	require.NoError(t, err)
	threads := mixThreads
	for _, b := range Micros() {
		if b.Name == g.name {
			threads = b.threads
		}
	}
	h := sha256.New()
	for i, c := range m.Cores {
		c.OnCommit = func(now event.Time, op *uop.Op, got []byte) {
			var at [20]byte
			binary.LittleEndian.PutUint64(at[:], uint64(now))
			binary.LittleEndian.PutUint64(at[8:], uint64(i))
			binary.LittleEndian.PutUint32(at[16:], op.PC)
			h.Write(at[:])
			h.Write(got)
		}
	}
	require.NoError(t, m.Run(context.Background(), threads(g.threads, g.bytes)...))
	cycles, ops := uint64(0), uint64(0)
	for i, c := range m.Cores {
		n, p := &c.Counters, &m.Caches[i].Counters
		cycles = max(cycles, n.Cycles)
		ops += n.Committed
		note(h, n.Forwarded, n.Replayed, n.StallEmpty, n.StallLoad, n.StallStore, n.StallUnit, n.FullROB, n.FullLQ, n.FullSQ, m.TLBs[i].Counters.L2Misses)
		for _, l := range []*mem.LevelCounters{&p.L1, &p.L2} {
			note(h, l.LoadMisses, l.WriteMisses, l.Merged, l.Full, l.MissLatency, l.Prefetches, l.PrefetchesUsed)
		}
		note(h, p.Upgrades, p.Invalidations, p.Forwards, p.WriteBacks, p.CleanBacks)
	}
	for _, x := range m.Homes {
		n := &x.Counters
		note(h, n.Hits, n.Misses, n.MissLatency, n.Forwards, n.Invalidated, n.WrittenBack, n.Waits, n.DirectoryMax)
	}
	for _, x := range m.DDR {
		for _, n := range x.Channels() {
			note(h, n.Reads, n.Writes, n.ReadHits, n.WriteHits, n.Activates, n.Refreshes)
		}
	}
	note(h, m.Network.Messages, m.Network.Bytes, m.Mesh.Links(), m.Mesh.Counters().Cycles)
	return fmt.Sprintf("%s %s %s %dx%d: %d micro-ops, %d cycles, %x", g.name, g.machine, g.core, g.tiles, g.tiles, ops, cycles, h.Sum(nil)[:12])
}

func note(h hash.Hash, values ...any) {
	for _, v := range values {
		fmt.Fprintf(h, "%+v\n", v)
	}
}

// TestGolden holds runs against digests in testdata/golden.txt, so that what makes the
// simulator faster changes no cycle. What changes the model writes them anew (-update).
func TestGolden(t *testing.T) {
	path := filepath.Join("testdata", "golden.txt")
	var got []string
	for _, g := range goldenRuns() {
		got = append(got, g.digest(t))
	}
	text := strings.Join(got, "\n") + "\n"
	if *updateGolden {
		require.NoError(t, os.MkdirAll("testdata", 0o777))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, strings.Split(string(want), "\n"), strings.Split(text, "\n"))
}
