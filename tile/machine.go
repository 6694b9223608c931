package tile

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/bitsched/bitsched/internal/position"
	"github.com/bitsched/bitsched/internal/strictyaml"
	"github.com/bitsched/bitsched/sram"
)

//go:embed data/*.yaml
var data embed.FS

// BankBytes returns the size of a bank of the L3: its arrays.
func (c *L3) BankBytes(m *Machine) int {
	return c.Ways * c.ArraysPerWay * m.Array.Rows * m.Array.Cols / 8
}

// MaxCells bounds the bits of the arrays of a machine that compute, in bytes: all
// of them are modelled.
const MaxCells = 8 << 30

// Banks returns the number of banks of the L3, one a tile.
func (m *Machine) Banks() int { return m.Mesh.Cols * m.Mesh.Rows }

// Links returns the number of links between routers, both directions of each counted.
func (m *Machine) Links() int {
	return 2 * (m.Mesh.Cols*(m.Mesh.Rows-1) + m.Mesh.Rows*(m.Mesh.Cols-1))
}

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

// Default returns the machine of the paper.
func Default() *Machine {
	readDefault.Do(func() {
		text, err := data.ReadFile("data/" + defaultMachine + ".yaml")
		if err != nil {
			panic(err) // it is embedded
		}
		m, err := parse(bytes.NewReader(text), defaultMachine+".yaml", nil)
		if err != nil {
			panic(err) // a test reads it
		}
		readDefault.machine = *m
	})
	m := readDefault.machine
	return &m
}

var readDefault struct {
	sync.Once
	machine Machine
}

// defaultMachine is what descriptions are based on that do not say on what.
const defaultMachine = "infinity-stream"

// MachineNames returns the names of the machines that come with the program.
func MachineNames() []string { return strictyaml.Names(data, "data") }

// ErrUnknownMachine is wrapped by the error of [LoadMachine] for a name that is no
// machine.
var ErrUnknownMachine = errors.New("tile: no such machine")

// LoadMachine returns the machine of a name, or reads one from a file: what has a
// dot or a separator of paths in it is a file.
func LoadMachine(nameOrFile string) (*Machine, error) {
	if !strings.ContainsAny(nameOrFile, `./\`) {
		return builtIn(nameOrFile)
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
func ParseMachine(r io.Reader, file string) (*Machine, error) { return parse(r, file, Default) }

// builtIn reads a machine that comes with the program.
func builtIn(name string) (*Machine, error) {
	if name == defaultMachine {
		return Default(), nil
	}
	text, err := data.ReadFile("data/" + name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("%w: %q, expected %s, or a file (with a . or / in its name)", ErrUnknownMachine, name, strings.Join(MachineNames(), ", "))
	}
	return parse(bytes.NewReader(text), name+".yaml", Default)
}

// renamed are the keys of descriptions of version 1 that have another place now.
var renamed = map[string]string{
	"streams.per_bank":            "streams.l3.per_bank",
	"streams.buffer_bytes":        "streams.l3.buffer_bytes",
	"streams.compute_init_cycles": "streams.l3.compute_init_cycles",
}

// parse reads a description over the machine that it is based on: the one it names,
// or else that of otherwise, if it is not nil.
func parse(r io.Reader, file string, otherwise func() *Machine) (*Machine, error) {
	doc, err := strictyaml.Read(r, file, "the description of a machine")
	if err != nil {
		return nil, err
	}
	m := &Machine{}
	base := doc.Text("base")
	switch {
	case base != "":
		// Those that come with the program are based on each other in no circle.
		if m, err = builtIn(base); err != nil {
			return nil, doc.Errorf("base", "base is %.40q, expected one of %s", base, strings.Join(MachineNames(), ", "))
		}
	case otherwise != nil:
		m = otherwise()
	}
	if m.Name != "" {
		name := filepath.Base(file)
		m.Title, m.Name, m.Base = "after "+m.Name, cmp.Or(strings.TrimSuffix(name, filepath.Ext(name)), name), ""
	}
	for old, now := range renamed {
		if doc.Has(old) {
			return nil, doc.Errorf(old, "%s of version 1 of descriptions, expected %s", old, now)
		}
	}
	if err := doc.Decode(m); err != nil {
		return nil, err
	}
	m.note(doc, filepath.Base(file))
	if field, msg := m.check(); msg != "" {
		return nil, doc.Errorf(field, "%s %s", field, msg)
	}
	return m, nil
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
	if field, msg = m.checkRanges(); msg != "" {
		return field, msg
	}
	d, t := &m.DRAM, &m.DRAM.Timing
	switch {
	case m.L3.ComputeWays > m.L3.Ways:
		return "l3.compute_ways", fmt.Sprintf("is %d, expected 0 to %d", m.L3.ComputeWays, m.L3.Ways)
	case m.L3.InterleaveBytes%m.L3.LineBytes != 0:
		return "l3.interleave_bytes", fmt.Sprintf("is %d, expected a multiple of line_bytes, %d", m.L3.InterleaveBytes, m.L3.LineBytes)
	case m.Array.ShiftBitlines > m.Array.Cols:
		return "array.shift_bitlines", fmt.Sprintf("is %d, expected 0 to %d", m.Array.ShiftBitlines, m.Array.Cols)
	case m.Array.CostTable == "":
		return "array.cost_table", "is empty, expected the name of a table of costs"
	case m.NoC.MemoryControllers > m.Banks():
		return "noc.memory_controllers", fmt.Sprintf("is %d, expected 1 to %d", m.NoC.MemoryControllers, m.Banks())
	case m.L3.BankBytes(m)%(m.L3.Ways*m.L3.LineBytes) != 0:
		return "l3.line_bytes", fmt.Sprintf("is %d, expected a divisor of the %d bytes of a way", m.L3.LineBytes, m.L3.BankBytes(m)/m.L3.Ways)
	case d.DrainAbove >= d.WriteQueue:
		return "dram.drain_above", fmt.Sprintf("is %d, expected 0 to %d", d.DrainAbove, d.WriteQueue-1)
	case !validMapping(d.Mapping):
		return "dram.mapping", fmt.Sprintf("is %.40q, expected each of ro, ra, bg, ba, ch and co once, as in rorababgcoch, and -xor behind if banks are hashed", d.Mapping)
	case t.REFI <= (t.RFC+t.RP)*d.Ranks:
		return "dram.timing.refi", fmt.Sprintf("is %d, expected more than the %d clocks of refreshes of %d ranks", t.REFI, (t.RFC+t.RP)*d.Ranks, d.Ranks)
	case t.CCDL < t.CCDS:
		return "dram.timing.ccd_l", fmt.Sprintf("is %d, expected at least ccd_s, %d", t.CCDL, t.CCDS)
	case t.RRDL < t.RRDS:
		return "dram.timing.rrd_l", fmt.Sprintf("is %d, expected at least rrd_s, %d", t.RRDL, t.RRDS)
	case t.WTRL < t.WTRS:
		return "dram.timing.wtr_l", fmt.Sprintf("is %d, expected at least wtr_s, %d", t.WTRL, t.WTRS)
	}
	for _, c := range []struct {
		field string
		*Cache
	}{{"l1i", &m.L1I}, {"l1d", &m.L1D}, {"l2", &m.L2}} {
		if sets := c.Bytes / (c.Ways * m.L3.LineBytes); c.Bytes%(c.Ways*m.L3.LineBytes) != 0 || sets&(sets-1) != 0 || sets == 0 {
			return c.field + ".bytes", fmt.Sprintf("is %d, expected a power of two by %d ways of lines of %d bytes", c.Bytes, c.Ways, m.L3.LineBytes)
		}
	}
	for _, c := range []struct {
		field string
		*Translations
	}{{"tlb.l1", &m.TLB.L1}, {"tlb.l2", &m.TLB.L2}, {"tlb.streams", &m.TLB.Streams}} {
		if c.Entries%c.Ways != 0 {
			return c.field + ".entries", fmt.Sprintf("is %d, expected a multiple of ways, %d", c.Entries, c.Ways)
		}
	}
	tech, err := sram.LookupTechnology(m.Array.Technology)
	if err != nil {
		return "array.technology", strings.Replace(err.Error(), "sram: no technology", "is", 1)
	}
	if m.Array.Rows <= tech.Reserved {
		return "array.rows", fmt.Sprintf("is %d, expected more than the %d that %s reserves", m.Array.Rows, tech.Reserved, tech.Name)
	}
	if n := int64(m.Bitlines()) * int64(m.Array.Rows) / 8; n > MaxCells {
		return "l3", fmt.Sprintf("has %d bytes of cells that compute, expected at most %d", n, int64(MaxCells))
	}
	return "", ""
}

// validMapping tells whether a mapping of addresses has each field once.
func validMapping(s string) bool {
	s = strings.TrimSuffix(s, "-xor")
	fields := map[string]bool{}
	for ; len(s) >= 2; s = s[2:] {
		if !strings.Contains(" ro ra bg ba ch co ", " "+s[:2]+" ") || fields[s[:2]] {
			return false
		}
		fields[s[:2]] = true
	}
	return s == "" && len(fields) == 6
}
