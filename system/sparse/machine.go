package sparse

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/emirpasic/gods/maps/linkedhashmap"
	"github.com/goccy/go-yaml"

	"github.com/bitsched/bitsched/internal/strictyaml"
)

//go:embed data/gearbox.yaml
var gearbox []byte

// Machine is the description of a stack. What a file leaves out is as in [Default].
type Machine struct {
	Name         string       `yaml:"name"`
	Title        string       `yaml:"title"`
	Organisation Organisation `yaml:"organisation"`
	Clocks       Clocks       `yaml:"clocks"`
	Links        Links        `yaml:"links"`
	Logic        Logic        `yaml:"logic"`
	LongPercent  float64      `yaml:"long_percent"`
	Launch       int          `yaml:"launch_cycles"`
	CostTable    string       `yaml:"cost_table"`
	Readings     Readings     `yaml:"readings"`
}

// Organisation is what there is of everything.
type Organisation struct {
	Layers          int `yaml:"layers"`
	Vaults          int `yaml:"vaults"`
	Banks           int `yaml:"banks_per_layer"`
	Subarrays       int `yaml:"subarrays_per_bank"`
	RowBytes        int `yaml:"row_bytes"`
	RowsPerSubarray int `yaml:"rows_per_subarray"`
}

// Clocks are frequencies and the time that a row takes.
type Clocks struct {
	SPU      float64 `yaml:"spu_mhz"`
	Link     float64 `yaml:"link_mhz"`
	RowCycle float64 `yaml:"row_cycle_ns"`
}

// Links are the ways between subarrays, banks and layers.
type Links struct {
	Lanes  int `yaml:"lanes"`
	Port   int `yaml:"port_pairs"`
	Credit int `yaml:"credit_cycles"`
}

// Logic is the part of the logic layer below a vault.
type Logic struct {
	SRAM   int     `yaml:"sram_bytes"`
	Reduce float64 `yaml:"reduce_ns"`
}

// Readings are what we take the paper to mean where it is silent or contradicts
// itself.
type Readings struct {
	Ring      string `yaml:"ring" json:"ring"`
	Dispatch  string `yaml:"dispatch" json:"dispatch"`
	Local     string `yaml:"local" json:"local"`
	Writeback string `yaml:"writeback" json:"writeback"`
	Route     string `yaml:"route" json:"route"`
	Place     string `yaml:"place" json:"place"`
	V1Place   string `yaml:"v1_place" json:"v1_place"`
	Balance   string `yaml:"balance" json:"balance"`
}

// readings lists the alternatives of each field, the default first, in the order in
// which they are printed.
func (r *Readings) fields() *linkedhashmap.Map {
	m := linkedhashmap.New()
	put := func(key string, at *string, values ...string) { m.Put(key, &reading{at, values}) }
	put("ring", &r.Ring, "both", "one")
	put("dispatch", &r.Dispatch, "latch", "spu")
	put("local", &r.Local, "last-local", "last-long")
	put("writeback", &r.Writeback, "hidden", "serial")
	put("route", &r.Route, "tsv", "ring")
	put("place", &r.Place, "same-bank", "same-subarray", "scatter")
	put("v1_place", &r.V1Place, "same-subarray", "same-bank", "scatter")
	put("balance", &r.Balance, "count", "nnz")
	return m
}

type reading struct {
	at     *string
	values []string
}

// ReadingAlternatives lists key=value of each reading, the defaults first.
func ReadingAlternatives() (keys []string, values [][]string) {
	fields := new(Readings).fields()
	for it := fields.Iterator(); it.Next(); {
		keys = append(keys, it.Key().(string))
		values = append(values, it.Value().(*reading).values)
	}
	return keys, values
}

// SetReadings changes readings as a list of key=value says; lanes counts as one.
func (m *Machine) SetReadings(list []string) error {
	fields := m.Readings.fields()
	for _, item := range list {
		key, value, _ := strings.Cut(item, "=")
		if key == "lanes" && (value == "32" || value == "64") {
			m.Links.Lanes = map[string]int{"32": 32, "64": 64}[value]
			continue
		}
		v, ok := fields.Get(key)
		if !ok {
			return fmt.Errorf("unknown reading %q, expected %s or lanes", key, joinKeys(fields))
		}
		f := v.(*reading)
		if !slices.Contains(f.values, value) {
			return fmt.Errorf("reading %s=%q, expected %s", key, value, strings.Join(f.values, " or "))
		}
		*f.at = value
	}
	return nil
}

func joinKeys(m *linkedhashmap.Map) string {
	var keys []string
	for _, k := range m.Keys() {
		keys = append(keys, k.(string))
	}
	return strings.Join(keys, ", ")
}

// Words returns the words of 32 bits of a row.
func (m *Machine) Words() int { return m.Organisation.RowBytes / 4 }

// ComputePairs returns the SPUs of a bank that compute: all but the dispatcher.
func (m *Machine) ComputePairs() int { return m.Organisation.Subarrays/2 - 1 }

// Banks returns the banks of the stack.
func (m *Machine) Banks() int { return m.Organisation.Layers * m.Organisation.Banks }

// SPUs returns the SPUs of the stack that compute.
func (m *Machine) SPUs() int { return m.Banks() * m.ComputePairs() }

// RowsPerSPU returns the rows of a pair of subarrays.
func (m *Machine) RowsPerSPU() int { return 2 * m.Organisation.RowsPerSubarray }

// RowCycles returns the SPU cycles of a row cycle.
func (m *Machine) RowCycles() int64 {
	return int64(math.Ceil(m.Clocks.RowCycle*m.Clocks.SPU/1000 - 1e-9))
}

// bankMHz is the clock of a core at a bank, that of PIMeval's bank-level architecture.
const bankMHz = 200

// BankLevel returns the stack with one core a bank instead of the SPUs that compute:
// it has their rows, and the same dispatcher and links. As it runs the programs of an
// SPU with three rows latched, it is no slower than a core with one row buffer.
func (m *Machine) BankLevel() *Machine {
	b := *m
	b.Name = m.Name + "-bank"
	b.Organisation.RowsPerSubarray *= m.ComputePairs()
	b.Organisation.Subarrays = 4 // two pairs: one computes, one dispatches
	b.Clocks.SPU = bankMHz
	return &b
}

// Bytes returns the capacity of the stack.
func (m *Machine) Bytes() int64 {
	o := m.Organisation
	return int64(o.Layers) * int64(o.Banks) * int64(o.Subarrays) * int64(o.RowsPerSubarray) * int64(o.RowBytes)
}

// Default returns the stack of the paper.
func Default() *Machine {
	m, err := parseOnto(Machine{}, bytes.NewReader(gearbox), "gearbox.yaml")
	if err != nil {
		panic(err) // it is embedded, and a test reads it
	}
	return m
}

// ErrUnknownMachine is wrapped by the error of [LoadMachine] for a name that is no
// stack.
var ErrUnknownMachine = errors.New("sparse: no such machine")

// LoadMachine returns the stack of a name, or reads one from a file: what has a dot
// or a separator of paths in it is a file.
func LoadMachine(nameOrFile string) (*Machine, error) {
	if nameOrFile == "" || nameOrFile == "gearbox" {
		return Default(), nil
	}
	if !strings.ContainsAny(nameOrFile, `./\`) {
		return nil, fmt.Errorf("%w: %q, expected gearbox, or a file (with a . or / in its name)", ErrUnknownMachine, nameOrFile)
	}
	f, err := os.Open(nameOrFile)
	if err != nil {
		var pe *os.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, fmt.Errorf("sparse: read %s: %w", nameOrFile, err)
	}
	defer f.Close()
	return ParseMachine(f, nameOrFile)
}

// ParseMachine reads a description; file is its name in errors, which are
// FILE:LINE: message. Unknown and repeated fields are errors.
func ParseMachine(r io.Reader, file string) (*Machine, error) {
	m := *Default()
	base := filepath.Base(file)
	m.Name = strings.TrimSuffix(base, filepath.Ext(base))
	return parseOnto(m, r, file)
}

// parseOnto reads a description over the fields of m.
func parseOnto(m Machine, r io.Reader, file string) (*Machine, error) {
	doc, err := strictyaml.Read(r, file, "the description of a stack")
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

// Check returns what is wrong with the description.
func (m *Machine) Check() error {
	if field, msg := m.check(); msg != "" {
		return fmt.Errorf("%s %s", field, msg)
	}
	return nil
}

// check returns what is wrong with which field.
func (m *Machine) check() (field, msg string) {
	whole := func(name string, v, least, most int) bool {
		if v < least || v > most {
			field, msg = name, fmt.Sprintf("is %d, expected %d to %d", v, least, most)
		}
		return msg != ""
	}
	number := func(name string, v, least, most float64) bool {
		if !(v >= least && v <= most) {
			field, msg = name, fmt.Sprintf("is %v, expected %v to %v", v, least, most)
		}
		return msg != ""
	}
	o := m.Organisation
	switch {
	case whole("organisation.layers", o.Layers, 1, 64), whole("organisation.vaults", o.Vaults, 1, 64),
		whole("organisation.banks_per_layer", o.Banks, 1, 64), whole("organisation.subarrays_per_bank", o.Subarrays, 4, 64),
		whole("organisation.row_bytes", o.RowBytes, 32, 8192), whole("organisation.rows_per_subarray", o.RowsPerSubarray, 1, 1<<20),
		number("clocks.spu_mhz", m.Clocks.SPU, 1, 5000), number("clocks.link_mhz", m.Clocks.Link, 1, 10000),
		number("clocks.row_cycle_ns", m.Clocks.RowCycle, 0.1, 10000),
		whole("links.port_pairs", m.Links.Port, 1, 1<<20), whole("links.credit_cycles", m.Links.Credit, 1, 64),
		whole("logic.sram_bytes", m.Logic.SRAM, 0, 1<<30), number("logic.reduce_ns", m.Logic.Reduce, 0.01, 1000),
		number("long_percent", m.LongPercent, 0, 100), whole("launch_cycles", m.Launch, 0, 1<<20):
		return field, msg
	case m.Links.Lanes != 32 && m.Links.Lanes != 64:
		return "links.lanes", fmt.Sprintf("is %d, expected 32 or 64", m.Links.Lanes)
	case o.RowBytes&(o.RowBytes-1) != 0:
		return "organisation.row_bytes", fmt.Sprintf("is %d, expected a power of two", o.RowBytes)
	case o.Subarrays%2 != 0:
		return "organisation.subarrays_per_bank", fmt.Sprintf("is %d, expected an even number", o.Subarrays)
	case m.Clocks.SPU > m.Clocks.Link:
		return "clocks.spu_mhz", fmt.Sprintf("is %v, expected at most that of the links, %v", m.Clocks.SPU, m.Clocks.Link)
	}
	for it := m.Readings.fields().Iterator(); it.Next(); {
		f := it.Value().(*reading)
		if !slices.Contains(f.values, *f.at) {
			return "readings." + it.Key().(string), fmt.Sprintf("is %q, expected %s", *f.at, strings.Join(f.values, " or "))
		}
	}
	return "", ""
}

// Effective returns the whole description, in a form that [ParseMachine] reads back
// to an equal stack.
func (m *Machine) Effective() string {
	text, err := yaml.Marshal(m)
	if err != nil {
		panic(err) // numbers and strings always have a form
	}
	return string(text)
}
