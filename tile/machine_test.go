package tile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tile"
)

func TestMachineReadsBack(t *testing.T) {
	m := tile.Default()
	back, err := tile.ParseMachine(strings.NewReader(m.Effective()), "effective.yaml")
	require.NoError(t, err)
	require.Equal(t, m, back)
	require.Equal(t, m.Effective(), back.Effective())

	// What a file leaves out is as in the default, also inside of a section.
	m, err = tile.ParseMachine(strings.NewReader("name: half\narray: {rows: 512, cols: 512}\nl3:\n  compute_ways: 4\n"), "half.yaml")
	require.NoError(t, err)
	want := tile.Default()
	want.Name, want.Title = "half", "after infinity-stream"
	want.Array.Rows, want.Array.Cols, want.L3.ComputeWays = 512, 512, 4
	require.Equal(t, values(want), values(m))
	require.NoError(t, m.Check())
	unnamed, err := tile.ParseMachine(strings.NewReader("title: t\narray: {rows: 512}\n"), "chips/mine.v2.yaml")
	require.NoError(t, err)
	require.Equal(t, []string{"mine.v2", "t"}, []string{unnamed.Name, unnamed.Title})
	back, err = tile.ParseMachine(strings.NewReader(m.Effective()), "effective.yaml")
	require.NoError(t, err)
	require.Equal(t, m, back)
}

// values are those of all parameters, without their sources.
func values(m *tile.Machine) (list []string) {
	for _, p := range m.Parameters() {
		list = append(list, p.Path+" = "+p.Value)
	}
	return list
}

func TestLoadMachine(t *testing.T) {
	for _, name := range tile.MachineNames() {
		m, err := tile.LoadMachine(name)
		require.NoError(t, err)
		require.Equal(t, name, m.Name)
	}
	file := filepath.Join(t.TempDir(), "m.yaml")
	require.NoError(t, os.WriteFile(file, []byte("name: mine\n"), 0o644))
	m, err := tile.LoadMachine(file)
	require.NoError(t, err)
	require.Equal(t, "mine", m.Name)
	_, err = tile.LoadMachine("mine")
	require.ErrorIs(t, err, tile.ErrUnknownMachine)
	require.EqualError(t, err, `tile: no such machine: "mine", expected champsim-io4, champsim-ooo4, champsim-ooo8, infinity-stream, infinity-stream-base, infinity-stream-simulator, infinity-stream-simulator-slice, infinity-stream-slice, infinity-stream-small, nsc, nsc-simulator, nsc-simulator-small, nsc-small, or a file (with a . or / in its name)`)
	_, err = tile.LoadMachine("no/such.yaml")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestMachineErrors(t *testing.T) {
	for _, c := range [][2]string{
		{"", "m.yaml:1: empty, expected the description of a machine"},
		{"name: x\nwyas: 3\n", "m.yaml:2: unknown key \"wyas\", expected version, title, base, clock_ghz, mesh, core, cores, tlb, l1i, l1d, l2, l3, prefetch, array, htree, transpose, noc, dram, memory, streams, lot, tensor, jit or threads\n    2 | wyas: 3"},
		{"name: x\nname: y\n", "m.yaml:2: key \"name\" a second time, first on line 1\n    2 | name: y"},
		{"l3:\n  ways: many\n", "m.yaml:2: l3.ways is \"many\", expected a whole number\n    2 |   ways: many"},
		{"clock_ghz: fast\n", "m.yaml:1: clock_ghz is \"fast\", expected a number\n    1 | clock_ghz: fast"},
		{"name: x\nspeed: " + strings.Repeat("9", 300) + "\n", "m.yaml:2: unknown key \"speed\", expected version, title, base, clock_ghz, mesh, core, cores, tlb, l1i, l1d, l2, l3, prefetch, array, htree, transpose, noc, dram, memory, streams, lot, tensor, jit or threads"},
		{"version: 1\n", "m.yaml:1: version is 1, expected 2 to 2\n    1 | version: 1"},
		{"name: x\nstreams:\n  per_bank: 3\n", "m.yaml:3: streams.per_bank of version 1 of descriptions, expected streams.l3.per_bank\n    3 |   per_bank: 3"},
		{"base: tiny\n", "m.yaml:1: base is \"tiny\", expected one of " + strings.Join(tile.MachineNames(), ", ") + "\n    1 | base: tiny"},
		{"core: ooo16\n", "m.yaml:1: core is \"ooo16\", expected one of io4, ooo4, ooo8\n    1 | core: ooo16"},
		{"cores:\n  ooo8:\n    iq: 0\n", "m.yaml:3: cores.ooo8.iq is 0, expected 1 to 4096\n    3 |     iq: 0"},
		{"l2: {ways: 3}\n", "m.yaml:1: l2.bytes is 262144, expected a power of two by 3 ways of lines of 64 bytes\n    1 | l2: {ways: 3}"},
		{"tlb: {l1: {entries: 12}}\n", "m.yaml:1: tlb.l1.entries is 12, expected a multiple of ways, 8\n    1 | tlb: {l1: {entries: 12}}"},
		{"dram: {mapping: rorababgch}\n", "m.yaml:1: dram.mapping is \"rorababgch\", expected each of ro, ra, bg, ba, ch and co once, as in rorababgcoch, and -xor behind if banks are hashed\n    1 | dram: {mapping: rorababgch}"},
		{"dram: {timing: {ccd_l: 3}}\n", "m.yaml:1: dram.timing.ccd_l is 3, expected at least ccd_s, 4\n    1 | dram: {timing: {ccd_l: 3}}"},
		{"noc: {routing: zigzag}\n", "m.yaml:1: noc.routing is \"zigzag\", expected one of xy, yx\n    1 | noc: {routing: zigzag}"},
		{"name: x\nl3:\n  ways: 17.5\n", "m.yaml:3: l3.ways is 17.5, expected a whole number\n    3 |   ways: 17.5"},
		{"l3: {ways: .inf}\n", "m.yaml:1: l3.ways is .inf, expected a whole number in range\n    1 | l3: {ways: .inf}"},
		{"clock_ghz: [1]\n", "m.yaml:1: clock_ghz is a list, expected a number\n    1 | clock_ghz: [1]"},
		{"l3: {ways: 99999999999999999999}\n", "m.yaml:1: l3.ways is 99999999999999999999, expected a whole number in range\n    1 | l3: {ways: 99999999999999999999}"},
		{"name: \xff\n", "m.yaml:1: not UTF-8, expected the description of a machine"},
		{strings.Repeat("#", 1<<16+1), "m.yaml:1: more than 65536 bytes, expected the description of a machine"},
		{"l3:\n  ways: 8\n", "m.yaml:1: l3.compute_ways is 16, expected 0 to 8\n    1 | l3:"},
		{"name: x\nl3:\n  compute_ways: 20 # too many\n", "m.yaml:3: l3.compute_ways is 20, expected 0 to 18\n    3 |   compute_ways: 20 # too many"},
		{"array: {cols: 96}\n", "m.yaml:1: array.cols is 96, expected a power of two\n    1 | array: {cols: 96}"},
		{"array: {rows: 2}\n", "m.yaml:1: array.rows is 2, expected more than the 2 that neural-cache reserves\n    1 | array: {rows: 2}"},
		{"array:\n  technology: dram\n", "m.yaml:2: array.technology is \"dram\", expected one of ambit, neural-cache, xmg\n    2 |   technology: dram"},
		{"array: {cost_table: \"\"}\n", "m.yaml:1: array.cost_table is empty, expected the name of a table of costs\n    1 | array: {cost_table: \"\"}"},
		{"clock_ghz: .nan\n", "m.yaml:1: clock_ghz is NaN, expected more than 0, at most 1000\n    1 | clock_ghz: .nan"},
		{"dram: {bandwidth_gb_s: 0}\n", "m.yaml:1: dram.bandwidth_gb_s is 0, expected more than 0, at most 1000000\n    1 | dram: {bandwidth_gb_s: 0}"},
		{"name: \"\"\n", "m.yaml:1: name is empty\n    1 | name: \"\""},
		{"l3: {line_bytes: 48}\n", "m.yaml:1: l3.line_bytes is 48, expected a power of two\n    1 | l3: {line_bytes: 48}"},
		{"l3: {interleave_bytes: 100}\n", "m.yaml:1: l3.interleave_bytes is 100, expected a multiple of line_bytes, 64\n    1 | l3: {interleave_bytes: 100}"},
		{"mesh: {cols: 64, rows: 64}\narray: {rows: 512}\n", "m.yaml:1: l3 has 17179869184 bytes of cells that compute, expected at most 8589934592\n    1 | mesh: {cols: 64, rows: 64}"},
		{"name: a\n---\nname: b\n", "m.yaml:3: a second document, expected one, the description of a machine\n    3 | name: b"},
	} {
		_, err := tile.ParseMachine(strings.NewReader(c[0]), "m.yaml")
		require.EqualError(t, err, c[1])
		var e *tile.MachineError
		require.ErrorAs(t, err, &e)
	}
	m := tile.Default()
	m.LOT.Regions = 0
	require.EqualError(t, m.Check(), "tile: machine infinity-stream: lot.regions is 0, expected 1 to 65536")
}

// TestMachineLimits sets each number to the least and the greatest that it may be, and
// one beyond. Where sizes are asked for together, others make room first.
func TestMachineLimits(t *testing.T) {
	for _, c := range []struct {
		field    string
		at       func(m *tile.Machine) *int
		min, max int
		room     func(m *tile.Machine)
	}{
		{"mesh.cols", func(m *tile.Machine) *int { return &m.Mesh.Cols }, 1, 64, func(m *tile.Machine) { m.NoC.MemoryControllers = 1 }},
		{"mesh.rows", func(m *tile.Machine) *int { return &m.Mesh.Rows }, 1, 64, func(m *tile.Machine) { m.NoC.MemoryControllers = 1 }},
		{"l3.ways", func(m *tile.Machine) *int { return &m.L3.Ways }, 1, 64, func(m *tile.Machine) { m.L3.ComputeWays = 1 }},
		{"l3.compute_ways", func(m *tile.Machine) *int { return &m.L3.ComputeWays }, 0, 18, nil},
		{"l3.arrays_per_way", func(m *tile.Machine) *int { return &m.L3.ArraysPerWay }, 1, 1024, func(m *tile.Machine) { m.Mesh.Rows, m.NoC.MemoryControllers = 1, 8 }},
		{"l3.latency_cycles", func(m *tile.Machine) *int { return &m.L3.LatencyCycles }, 1, 1 << 20, nil},
		{"l3.interleave_bytes", func(m *tile.Machine) *int { return &m.L3.InterleaveBytes }, 64, 1 << 30, nil},
		{"l3.line_bytes", func(m *tile.Machine) *int { return &m.L3.LineBytes }, 1, 4096, func(m *tile.Machine) { m.L3.InterleaveBytes = 1 << 13 }},
		{"array.rows", func(m *tile.Machine) *int { return &m.Array.Rows }, 3, 1024, nil},
		{"array.cols", func(m *tile.Machine) *int { return &m.Array.Cols }, 64, 2048, nil},
		{"array.shift_bitlines", func(m *tile.Machine) *int { return &m.Array.ShiftBitlines }, 0, 256, nil},
		{"htree.levels", func(m *tile.Machine) *int { return &m.HTree.Levels }, 1, 16, nil},
		{"htree.bandwidth_bytes", func(m *tile.Machine) *int { return &m.HTree.BandwidthBytes }, 1, 1 << 20, nil},
		{"noc.link_bytes", func(m *tile.Machine) *int { return &m.NoC.LinkBytes }, 1, 1 << 16, nil},
		{"noc.link_cycles", func(m *tile.Machine) *int { return &m.NoC.LinkCycles }, 1, 64, nil},
		{"noc.router_stages", func(m *tile.Machine) *int { return &m.NoC.RouterStages }, 3, 65, nil},
		{"noc.memory_controllers", func(m *tile.Machine) *int { return &m.NoC.MemoryControllers }, 1, 64, nil},
		{"dram.transfer_mt_s", func(m *tile.Machine) *int { return &m.DRAM.TransferMTs }, 1, 1 << 20, nil},
		{"streams.l3.per_bank", func(m *tile.Machine) *int { return &m.Streams.L3.PerBank }, 0, 1 << 20, nil},
		{"streams.l3.buffer_bytes", func(m *tile.Machine) *int { return &m.Streams.L3.BufferBytes }, 0, 1 << 30, nil},
		{"streams.l3.compute_init_cycles", func(m *tile.Machine) *int { return &m.Streams.L3.ComputeInitCycles }, 0, 1 << 20, nil},
		{"lot.regions", func(m *tile.Machine) *int { return &m.LOT.Regions }, 1, 1 << 16, nil},
	} {
		for v, ok := range map[int]bool{c.min - 1: false, c.min: true, c.max: true, c.max + 1: false} {
			m := tile.Default()
			if c.room != nil {
				c.room(m)
			}
			*c.at(m) = v
			if !ok {
				require.ErrorContains(t, m.Check(), "tile: machine infinity-stream: "+c.field+" is ")
				continue
			}
			require.NoError(t, m.Check(), "%s = %d", c.field, v)
			// What a machine may have the network can be made of.
			n := m.NoCConfig()
			require.NoError(t, n.Validate(), "%s = %d", c.field, v)
		}
	}
}

// TestEveryLimit sets each number to the ends of its range, and one beyond: below and
// above them the error names the parameter, and within them no range is against it.
func TestEveryLimit(t *testing.T) {
	numbers := 0
	for _, p := range tile.Default().Parameters() {
		if p.Source == "" {
			continue // a name
		}
		err := tile.Default().Set(p.Path, "-1000000000000000000")
		if err == nil {
			continue // a text
		}
		_, text, ok := strings.Cut(err.Error(), p.Path+" is -1000000000000000000, expected ")
		if !ok {
			continue // no whole number
		}
		var least, most int
		_, err = fmt.Sscanf(text, "%d to %d", &least, &most)
		require.NoError(t, err, text)
		for v, good := range map[int]bool{least - 1: false, least: true, most: true, most + 1: false} {
			beyond := fmt.Sprintf("%s is %d, expected %d to %d", p.Path, v, least, most)
			err := tile.Default().Set(p.Path, strconv.Itoa(v))
			if good && err != nil {
				require.NotContains(t, err.Error(), beyond)
			} else if !good {
				require.ErrorContains(t, err, beyond)
			}
		}
		numbers++
	}
	require.Greater(t, numbers, 150)
}

// TestEveryValueHasASource: nothing in a machine that comes with the program is
// without a word on where it is from.
func TestEveryValueHasASource(t *testing.T) {
	for _, name := range tile.MachineNames() {
		m, err := tile.LoadMachine(name)
		require.NoError(t, err)
		for _, p := range m.Parameters() {
			if slices.Contains([]string{"version", "name", "title", "base"}, p.Path) {
				continue
			}
			require.NotRegexp(t, `\.yaml:|^changed by|^$`, p.Source, "%s of %s", p.Path, name)
			for _, r := range p.Reading {
				require.NoError(t, m.Set(p.Path, r), "a reading that can be taken")
			}
		}
	}
}

func TestSet(t *testing.T) {
	m := tile.Default()
	require.NoError(t, m.Set("l3.latency_cycles", "40"))
	require.Equal(t, 40, m.L3.LatencyCycles)
	require.Contains(t, m.Effective(), "  latency_cycles: 40                     # changed by the program\n")
	for _, c := range [][2]string{
		{"l3.latency", "no parameter \"l3.latency\" of machines"},
		{"l3.latency_cycles", "l3.latency_cycles is \"many\", expected a whole number"},
		{"clock_ghz", "clock_ghz is \"many\", expected a number"},
		{"prefetch.stride.cross_pages", "prefetch.stride.cross_pages is \"many\", expected true or false"},
		{"dram.reading", "dram.reading = many: dram.reading is \"many\", expected one of per-controller, total"},
	} {
		require.EqualError(t, m.Set(c[0], "many"), "tile: "+c[1])
	}
	require.Equal(t, 20, tile.Default().L3.LatencyCycles)
}

// TestUnmodelled: a value on which nothing depends is told where no machine that comes with the program has it.
func TestUnmodelled(t *testing.T) {
	for _, name := range tile.MachineNames() {
		m, err := tile.LoadMachine(name)
		require.NoError(t, err)
		require.Empty(t, m.Unmodelled(), name)
	}
	m := tile.Default()
	m.Name = "mine"
	require.NoError(t, m.Set("noc.controller_place", "corners")) // as in some of them
	require.NoError(t, m.Set("l3.latency_cycles", "97"))         // figures depend on it
	require.Empty(t, m.Unmodelled())
	require.NoError(t, m.Set("l3.queue_entries", "97"))
	list := m.Unmodelled()
	require.Len(t, list, 1)
	require.Equal(t, []string{"l3.queue_entries", "97"}, []string{list[0].Path, list[0].Value})
}

func TestRates(t *testing.T) {
	m := tile.Default()
	require.Equal(t, 1024.0, m.PeakOps(32), "Eq. 1: a vector of 16 words a cycle and core")
	m.Cores.OOO8.FPSIMD = "4-pipelined"
	require.Equal(t, 4096.0, m.PeakOps(32))
	m.Cores.OOO8.FPSIMD = "2-unpipelined"
	require.Equal(t, 2048.0, m.PeakOps(32))
	m.Core = "ooo4"
	require.Equal(t, 1024.0, m.PeakOps(32))
	require.InDelta(t, 25.6/2*16, m.DRAMBytesPerCycle(), 1e-9)
	m.DRAM.Reading = "total"
	require.InDelta(t, 25.6/2, m.DRAMBytesPerCycle(), 1e-9)

	w := tile.JITWork{Steps: 3, Commands: 10, Banks: 7}
	require.EqualValues(t, 3*200+10*150+7*4, m.JITCycles(w))
	m.JIT.Reading = "command-once"
	require.Zero(t, m.JITCycles(w))
	w.FirstOfRegion = true
	require.EqualValues(t, 100, m.JITCycles(w))
	m.JIT.Reading = "paper-mean"
	require.Zero(t, m.JITCycles(w))
	w.FirstOfProgram = true
	require.EqualValues(t, 440_000, m.JITCycles(w))
	require.Equal(t, 3, tile.NewTiming(m).RemoteCost())
}

// TestControllers compares with the places of gem-forge's MeshDir_XY.py, and finds each
// controller a tile of its own where there are enough.
func TestControllers(t *testing.T) {
	m := tile.Default()
	for k := range 16 {
		i, j := k/4, k%4
		require.Equal(t, 8*(2*i+j%2)+2*j+i%2, m.Controller(k))
	}
	m.NoC.MemoryControllers, m.NoC.Controllers = 4, "corners"
	for k, want := range []int{0, 7, 56, 63} {
		require.Equal(t, want, m.Controller(k))
	}
	for _, place := range []string{"tiled", "edges"} {
		for cols := 1; cols <= 9; cols++ {
			for rows := 1; rows <= 9; rows++ {
				for n := 1; n <= cols*rows; n++ {
					if place == "edges" && n > min(cols, 2)*rows {
						continue
					}
					m.Mesh.Cols, m.Mesh.Rows, m.NoC.MemoryControllers, m.NoC.Controllers = cols, rows, n, place
					seen := map[int]bool{}
					for k := range n {
						at := m.Controller(k)
						require.False(t, seen[at] || at < 0 || at >= cols*rows, "%s: controller %d of %d at %d of %dx%d", place, k, n, at, cols, rows)
						seen[at] = true
					}
				}
			}
		}
	}
}

// FuzzParseMachine holds what is accepted to reading back.
func FuzzParseMachine(f *testing.F) {
	f.Add("name: x\nl3:\n  ways: 4\n  compute_ways: 2\n")
	// A section at a time: the fuzzer makes inputs of interest shorter for a minute each, and
	// runs nothing else meanwhile.
	section := ""
	for line := range strings.Lines(tile.Default().Effective()) {
		if !strings.HasPrefix(line, " ") && section != "" {
			f.Add(section)
			section = ""
		}
		section += line
	}
	f.Add(section)
	f.Add("array: {rows: 512}\n")
	f.Fuzz(func(t *testing.T, s string) {
		m, err := tile.ParseMachine(strings.NewReader(s), "m.yaml")
		if err != nil {
			return
		}
		back, err := tile.ParseMachine(strings.NewReader(m.Effective()), "effective.yaml")
		require.NoError(t, err)
		require.Equal(t, m, back)
	})
}
