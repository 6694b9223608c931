package tile

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/bitsched/bitsched/internal/position"
	"github.com/bitsched/bitsched/internal/strictyaml"
	"github.com/bitsched/bitsched/sram"
)

//go:embed data/*.yaml
var data embed.FS

// Machine is the description of a chip. What a file leaves out is as in
// [Default], but for the name, which then is that of the file, and the title.
type Machine struct {
	Name     string  `yaml:"name"`
	Title    string  `yaml:"title"`
	ClockGHz float64 `yaml:"clock_ghz"`
	Mesh     Mesh    `yaml:"mesh"`
	L3       L3      `yaml:"l3"`
	Array    Array   `yaml:"array"`
	HTree    HTree   `yaml:"htree"`
	NoC      NoC     `yaml:"noc"`
	DRAM     DRAM    `yaml:"dram"`
	Streams  Streams `yaml:"streams"`
	LOT      LOT     `yaml:"lot"`
}

// Mesh is the arrangement of tiles, each with a core and a bank of the L3.
type Mesh struct {
	Cols int `yaml:"cols"`
	Rows int `yaml:"rows"`
}

// L3 is the last-level cache; there is a bank in each tile.
type L3 struct {
	Ways            int `yaml:"ways"`         // of a bank
	ComputeWays     int `yaml:"compute_ways"` // of these, for transposed data
	ArraysPerWay    int `yaml:"arrays_per_way"`
	LatencyCycles   int `yaml:"latency_cycles"`
	InterleaveBytes int `yaml:"interleave_bytes"` // of addresses among banks
	LineBytes       int `yaml:"line_bytes"`
}

// Array is an SRAM array.
type Array struct {
	Rows       int    `yaml:"rows"`
	Cols       int    `yaml:"cols"`
	Technology string `yaml:"technology"` // one of sram.Technologies
	CostTable  string `yaml:"cost_table"` // a table of package sram/cost, or a file

	ShiftBitlines int `yaml:"shift_bitlines"` // that a row is shifted by in a cycle at most; 0: any
}

// HTree is the wiring within a bank.
type HTree struct {
	Levels         int `yaml:"levels"`
	BandwidthBytes int `yaml:"bandwidth_bytes"` // in all, a cycle
}

// NoC is the network between tiles.
type NoC struct {
	LinkBytes         int `yaml:"link_bytes"` // a cycle
	LinkCycles        int `yaml:"link_cycles"`
	RouterStages      int `yaml:"router_stages"`
	MemoryControllers int `yaml:"memory_controllers"`
}

// DRAM is a channel of the memory.
type DRAM struct {
	BandwidthGBs float64 `yaml:"bandwidth_gb_s"`
	TransferMTs  int     `yaml:"transfer_mt_s"`
}

// Streams are the stream engines at the banks.
type Streams struct {
	PerBank           int `yaml:"per_bank"`
	BufferBytes       int `yaml:"buffer_bytes"`
	ComputeInitCycles int `yaml:"compute_init_cycles"`
}

// LOT is the layout override table.
type LOT struct {
	Regions int `yaml:"regions"`
}

// MaxCells bounds the bits of the arrays of a machine that compute, in bytes: all
// of them are modelled.
const MaxCells = 8 << 30

// Banks returns the number of banks of the L3, one a tile.
func (m *Machine) Banks() int { return m.Mesh.Cols * m.Mesh.Rows }

// ArraysPerBank returns the number of arrays of a bank that compute.
func (m *Machine) ArraysPerBank() int { return m.L3.ComputeWays * m.L3.ArraysPerWay }

// Arrays returns the number of arrays that compute.
func (m *Machine) Arrays() int { return m.Banks() * m.ArraysPerBank() }

// Bitlines returns the number of bitlines that compute. By the cycles of an
// operation it gives the peak of Eq. 1 in operations a cycle.
func (m *Machine) Bitlines() int { return m.Arrays() * m.Array.Cols }

// Technology returns the technology of the arrays.
func (m *Machine) Technology() *sram.Technology {
	t, err := sram.LookupTechnology(m.Array.Technology)
	if err != nil {
		panic(err) // a machine is checked when it is made
	}
	return t
}

// UsableRows returns the rows of an array that hold words: all but those that the
// technology reserves.
func (m *Machine) UsableRows() int { return m.Array.Rows - m.Technology().Reserved }

// Effective returns the whole description, in a form that [ParseMachine] reads
// back to an equal machine.
func (m *Machine) Effective() string {
	text, err := yaml.Marshal(m)
	if err != nil {
		panic(err) // numbers and strings always have a form
	}
	return string(text)
}

// Default returns the machine of the paper.
func Default() *Machine {
	text, err := data.ReadFile("data/infinity-stream.yaml")
	if err != nil {
		panic(err) // it is embedded
	}
	m, err := parseOnto(Machine{}, bytes.NewReader(text), "infinity-stream.yaml")
	if err != nil {
		panic(err) // a test reads it
	}
	return m
}

// MachineNames returns the names of the machines that come with the program.
func MachineNames() []string {
	files, err := fs.Glob(data, "data/*.yaml")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(path.Base(f), ".yaml")
	}
	return files
}

// ErrUnknownMachine is wrapped by the error of [LoadMachine] for a name that is no
// machine.
var ErrUnknownMachine = errors.New("tile: no such machine")

// LoadMachine returns the machine of a name, or reads one from a file: what has a
// dot or a separator of paths in it is a file.
func LoadMachine(nameOrFile string) (*Machine, error) {
	if !strings.ContainsAny(nameOrFile, `./\`) {
		text, err := data.ReadFile("data/" + nameOrFile + ".yaml")
		if err != nil {
			return nil, fmt.Errorf("%w: %q, expected %s, or a file (with a . or / in its name)", ErrUnknownMachine, nameOrFile, strings.Join(MachineNames(), ", "))
		}
		return parseOnto(*Default(), bytes.NewReader(text), nameOrFile+".yaml")
	}
	f, err := os.Open(nameOrFile)
	if err != nil {
		return nil, fmt.Errorf("tile: %w", err)
	}
	defer f.Close()
	return ParseMachine(f, nameOrFile)
}

// MachineError says where a description is wrong, and what was expected.
type MachineError = position.Error

// ParseMachine reads a description; file is its name in errors, which are of type
// [*MachineError]. It is strict, see package strictyaml.
func ParseMachine(r io.Reader, file string) (*Machine, error) {
	m := *Default()
	name := filepath.Base(file)
	m.Name, m.Title = cmp.Or(strings.TrimSuffix(name, filepath.Ext(name)), name), "after "+m.Name
	return parseOnto(m, r, file)
}

// parseOnto reads a description over the fields of m.
func parseOnto(m Machine, r io.Reader, file string) (*Machine, error) {
	doc, err := strictyaml.Read(r, file, "the description of a machine")
	if err != nil {
		return nil, err
	}
	if err := doc.Decode(&m); err != nil {
		return nil, err
	}
	if field, msg := m.check(); msg != "" {
		return nil, doc.Errorf(field, "%s %s", field, msg)
	}
	return &m, nil
}

// Check reports the first thing that is wrong with a machine, or nil. Machines
// that were read have passed it.
func (m *Machine) Check() error {
	if field, msg := m.check(); msg != "" {
		return fmt.Errorf("tile: machine %s: %s %s", m.Name, field, msg)
	}
	return nil
}

// check returns what is wrong with which field, "" if nothing.
func (m *Machine) check() (field, msg string) {
	if m.Name == "" {
		return "name", "is empty"
	}
	for _, c := range []struct {
		field    string
		v        int
		min, max int
	}{
		{"mesh.cols", m.Mesh.Cols, 1, 64},
		{"mesh.rows", m.Mesh.Rows, 1, 64},
		{"l3.ways", m.L3.Ways, 1, 64},
		{"l3.compute_ways", m.L3.ComputeWays, 1, m.L3.Ways},
		{"l3.arrays_per_way", m.L3.ArraysPerWay, 1, 1024},
		{"l3.latency_cycles", m.L3.LatencyCycles, 1, 1 << 20},
		{"l3.interleave_bytes", m.L3.InterleaveBytes, m.L3.LineBytes, 1 << 30},
		{"l3.line_bytes", m.L3.LineBytes, 1, 4096},
		{"array.rows", m.Array.Rows, 1, 1024}, // wordlines have 10 bits in Table 1
		{"array.cols", m.Array.Cols, 64, sram.GroupCols},
		{"array.shift_bitlines", m.Array.ShiftBitlines, 0, m.Array.Cols},
		{"htree.levels", m.HTree.Levels, 1, 16},
		{"htree.bandwidth_bytes", m.HTree.BandwidthBytes, 1, 1 << 20},
		{"noc.link_bytes", m.NoC.LinkBytes, 1, 1 << 16}, // those of noc.Config
		{"noc.link_cycles", m.NoC.LinkCycles, 1, 64},
		{"noc.router_stages", m.NoC.RouterStages, 4, 65}, // one is the link behind the router
		{"noc.memory_controllers", m.NoC.MemoryControllers, 1, m.Mesh.Cols * m.Mesh.Rows},
		{"dram.transfer_mt_s", m.DRAM.TransferMTs, 1, 1 << 20},
		{"streams.per_bank", m.Streams.PerBank, 0, 1 << 20},
		{"streams.buffer_bytes", m.Streams.BufferBytes, 0, 1 << 30},
		{"streams.compute_init_cycles", m.Streams.ComputeInitCycles, 0, 1 << 20},
		{"lot.regions", m.LOT.Regions, 1, 1 << 16},
	} {
		if c.v < c.min || c.v > c.max {
			return c.field, fmt.Sprintf("is %d, expected %d to %d", c.v, c.min, c.max)
		}
	}
	powerOfTwo := func(n int) bool { return n&(n-1) == 0 }
	switch {
	case !(m.ClockGHz > 0 && m.ClockGHz <= 1000):
		return "clock_ghz", fmt.Sprintf("is %v, expected more than 0, at most 1000", m.ClockGHz)
	case !(m.DRAM.BandwidthGBs > 0 && m.DRAM.BandwidthGBs <= 1e6):
		return "dram.bandwidth_gb_s", fmt.Sprintf("is %v, expected more than 0, at most 1000000", m.DRAM.BandwidthGBs)
	case !powerOfTwo(m.Array.Cols):
		return "array.cols", fmt.Sprintf("is %d, expected a power of two", m.Array.Cols)
	case !powerOfTwo(m.L3.LineBytes):
		return "l3.line_bytes", fmt.Sprintf("is %d, expected a power of two", m.L3.LineBytes)
	case m.L3.InterleaveBytes%m.L3.LineBytes != 0:
		return "l3.interleave_bytes", fmt.Sprintf("is %d, expected a multiple of line_bytes, %d", m.L3.InterleaveBytes, m.L3.LineBytes)
	case m.Array.CostTable == "":
		return "array.cost_table", "is empty, expected the name of a table of costs"
	}
	t, err := sram.LookupTechnology(m.Array.Technology)
	if err != nil {
		return "array.technology", strings.Replace(err.Error(), "sram: no technology", "is", 1)
	}
	if m.Array.Rows <= t.Reserved {
		return "array.rows", fmt.Sprintf("is %d, expected more than the %d that %s reserves", m.Array.Rows, t.Reserved, t.Name)
	}
	if n := int64(m.Bitlines()) * int64(m.Array.Rows) / 8; n > MaxCells {
		return "l3", fmt.Sprintf("has %d bytes of cells that compute, expected at most %d", n, int64(MaxCells))
	}
	return "", ""
}
