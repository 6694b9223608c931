package cost

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/bitsched/bitsched/internal/position"
	"github.com/bitsched/bitsched/internal/strictyaml"
)

//go:embed data/*.yaml
var data embed.FS

// ErrUnknown is wrapped by the error of [Load] for a name that is no table.
var ErrUnknown = errors.New("cost: no such table")

// Table is what one source publishes.
type Table struct {
	Name   string  `yaml:"name" json:"name"`
	Title  string  `yaml:"title" json:"title"`
	Array  *Size   `yaml:"array" json:"array"` // that the values are for; nil = not stated
	Values []Value `yaml:"values" json:"values"`
}

// Size is the size of an array.
type Size struct {
	Rows int `yaml:"rows" json:"rows"`
	Cols int `yaml:"cols" json:"cols"`
}

// Value is one figure with where it comes from.
type Value struct {
	What       string   `yaml:"what" json:"what"`                   // one of the quantities below, or "other"
	Name       string   `yaml:"name" json:"name,omitempty"`         // what "other" is; such values are only listed
	Value      *float64 `yaml:"value" json:"value"`                 // nil = included elsewhere
	Included   string   `yaml:"included" json:"included,omitempty"` // the line that pays for it
	Unit       string   `yaml:"unit" json:"unit"`
	NodeNM     *float64 `yaml:"node_nm" json:"node_nm"`     // technology node, nm; nil = not stated
	VoltageV   *float64 `yaml:"voltage_v" json:"voltage_v"` // supply, V; nil = not stated
	Source     string   `yaml:"source" json:"source"`
	Where      string   `yaml:"where" json:"where"` // section or table of the source
	Confirmed  *bool    `yaml:"confirmed" json:"confirmed"`
	Derivation string   `yaml:"derivation" json:"derivation,omitempty"` // how it follows from what the source says
	Note       string   `yaml:"note" json:"note,omitempty"`
}

// Units of each kind of quantity.
var (
	energyUnits = []string{"pJ", "compute", "access"}
	timeUnits   = []string{"ns", "cycle"}
)

// LineBytes is what tables give the energies of hosts and DRAM for: their unit, whatever
// the lines of a machine are.
const LineBytes = 64

var ofLines = fmt.Sprintf("lines of %d bytes", LineBytes)

// quantities are what a table may say, with the units for it. Energies and times
// of compute, copy, read, write and access (read or write alike) are of one row
// operation on all bitlines of an array; those of htree and transpose of a row
// that is moved or transposed; those of host and dram of [LineBytes]; those of
// noc of a byte that goes over one link of the network between banks.
var quantities = map[string][]string{
	"compute.energy": energyUnits, "compute.time": timeUnits,
	"copy.energy": energyUnits, "copy.time": timeUnits,
	"read.energy": energyUnits, "read.time": timeUnits,
	"write.energy": energyUnits, "write.time": timeUnits,
	"access.energy": energyUnits, "access.time": timeUnits,
	"htree.energy": energyUnits, "htree.time": timeUnits,
	"transpose.energy": energyUnits, "transpose.time": timeUnits,
	"host.energy": energyUnits, "host.time": timeUnits,
	"dram.energy": energyUnits, "noc.energy": energyUnits,
	"core.energy": energyUnits, // of a micro-op of a core, its L1 left out
	"l1.energy":   energyUnits, // of a word of 64 bits of the L1
	"l2.energy":   energyUnits, // of an access to the L2
	"near.energy": energyUnits, // of an operation on elements near the memory
	// Of a lane of 32 bits of a vector unit, on top of the micro-op.
	"lane-add.energy": energyUnits, "lane-multiply.energy": energyUnits,
	// Of a stack of DRAM: a row that is loaded or stored, an operation on a word,
	// a comparison, a pair shifted out of a row, and a pair over a segment of each link.
	"row.energy": energyUnits, "alu.energy": energyUnits, "logic.energy": energyUnits, "shift.energy": energyUnits,
	"line.energy": energyUnits, "ring.energy": energyUnits, "tsv.energy": energyUnits,
	"leakage.power":  {"mW"},         // of an array
	"core.power":     {"mW"},         // leakage of a core without its caches
	"array.area":     {"um2", "mm2"}, // of an array
	"array.overhead": {"%"},          // of compute logic, on top of array.area
}

// Get returns the value of a quantity, nil if the table has none.
func (t *Table) Get(what string) *Value {
	for i := range t.Values {
		if v := &t.Values[i]; v.What == what && what != "other" {
			return v
		}
	}
	return nil
}

// unit is that of all energies or all times of the table, "" if it has none.
func (t *Table) unit(kind string) string {
	for i := range t.Values {
		if v := &t.Values[i]; strings.HasSuffix(v.What, kind) {
			return v.Unit
		}
	}
	return ""
}

// Tables returns the tables that come with the program, by name.
func Tables() []*Table {
	var tables []*Table
	for _, name := range Names() {
		tables = append(tables, builtIn(name))
	}
	return tables
}

// Names returns the names of [Tables].
func Names() []string { return strictyaml.Names(data, "data") }

// builtIn reads a table that comes with the program.
func builtIn(name string) *Table {
	text, err := data.ReadFile("data/" + name + ".yaml")
	if err != nil {
		panic(err) // the name is one of those that were listed
	}
	t, err := Parse(bytes.NewReader(text), name+".yaml")
	if err != nil {
		panic(err) // a test reads them all
	}
	return t
}

// Load returns the table of a name, or reads one from a file: what has a dot or
// a separator of paths in it is a file.
func Load(nameOrFile string) (*Table, error) {
	if slices.Contains(Names(), nameOrFile) {
		return builtIn(nameOrFile), nil
	}
	if !strings.ContainsAny(nameOrFile, `./\`) {
		return nil, fmt.Errorf("%w: %q, expected %s, or a file (with a . or / in its name)", ErrUnknown, nameOrFile, strings.Join(Names(), ", "))
	}
	f, err := os.Open(nameOrFile)
	if err != nil {
		return nil, fmt.Errorf("cost: %w", err)
	}
	defer f.Close()
	return Parse(f, nameOrFile)
}

// Parse reads a table; file is its name in errors, which are of type
// [*SyntaxError]. It is strict, see package strictyaml: unknown and repeated
// fields, unknown quantities and units, and values without a source are errors.
func Parse(r io.Reader, file string) (*Table, error) {
	doc, err := strictyaml.Read(r, file, "a table of costs")
	if err != nil {
		return nil, err
	}
	var t Table
	if err := doc.Decode(&t); err != nil {
		return nil, err
	}
	if at, msg := t.check(); msg != "" {
		return nil, doc.Errorf(at, "%s", msg)
	}
	return &t, nil
}

// SyntaxError says where a table is wrong, and what was expected.
type SyntaxError = position.Error

// check returns what is wrong with the table, and the path of it in the text; ""
// for nothing.
func (t *Table) check() (at, msg string) {
	switch {
	case t.Name == "":
		return "name", "no name"
	case t.Title == "":
		return "title", "no title"
	case t.Array != nil && (t.Array.Rows < 1 || t.Array.Cols < 1):
		return "array", fmt.Sprintf("array of %d rows and %d cols, expected at least 1", t.Array.Rows, t.Array.Cols)
	case len(t.Values) == 0:
		return "values", "no values"
	}
	seen := map[string]bool{}
	for i := range t.Values {
		v := &t.Values[i]
		at := fmt.Sprintf("values[%d]", i)
		if msg := v.check(); msg != "" {
			return at, msg
		}
		if v.What == "other" {
			continue
		}
		if seen[v.What] {
			return at, "second value of " + v.What
		}
		seen[v.What] = true
		for _, kind := range []string{".energy", ".time"} {
			if u := t.unit(kind); strings.HasSuffix(v.What, kind) && u != v.Unit {
				return at, fmt.Sprintf("%s in %s, expected %s as before", v.What, v.Unit, u)
			}
		}
	}
	return "", ""
}

// check returns what is wrong with the value, "" if nothing.
func (v *Value) check() string {
	units, known := quantities[v.What]
	switch {
	case v.What == "":
		return "no what, expected a quantity such as compute.energy"
	case v.What == "other" && v.Name == "":
		return "other without a name"
	case v.What != "other" && !known:
		return fmt.Sprintf("unknown quantity %q", v.What)
	case v.What != "other" && v.Name != "":
		return v.What + " with a name, which is for other"
	case v.Unit == "":
		return v.What + " without a unit"
	case known && !slices.Contains(units, v.Unit):
		return fmt.Sprintf("%s in %q, expected %s", v.What, v.Unit, strings.Join(units, " or "))
	case v.Value == nil && v.Included == "":
		return v.What + " without a value"
	case v.Value != nil && v.Included != "":
		return v.What + " has a value and is included elsewhere, expected one of both"
	case v.Included != "" && v.Included != "compute" && v.Included != "copy":
		return fmt.Sprintf("%s included in %q, expected compute or copy", v.What, v.Included)
	case v.Value != nil && !(*v.Value >= 0 && *v.Value <= math.MaxFloat32):
		return fmt.Sprintf("%s is %v, expected a number that is not negative", v.What, *v.Value)
	case v.NodeNM != nil && !(*v.NodeNM > 0):
		return fmt.Sprintf("node of %v nm, expected more than 0", *v.NodeNM)
	case v.VoltageV != nil && !(*v.VoltageV > 0):
		return fmt.Sprintf("%v V, expected more than 0", *v.VoltageV)
	case v.Source == "":
		return v.What + " without a source"
	case v.Where == "":
		return v.What + " without where in the source"
	case v.Confirmed == nil:
		return v.What + " without confirmed: true or false"
	}
	return ""
}

// Figure is the value with its unit.
func (v *Value) Figure() string {
	switch {
	case v.Included != "":
		return "included in " + v.Included
	case v.Unit == "%":
		return fmt.Sprintf("%g %%", *v.Value)
	case strings.HasSuffix(v.What, ".energy") && v.Unit != "pJ":
		return fmt.Sprintf("%g x %s", *v.Value, v.Unit)
	}
	return fmt.Sprintf("%g %s", *v.Value, v.Unit)
}

// Label is the quantity, or the name of another value.
func (v *Value) Label() string {
	if v.What == "other" {
		return v.Name
	}
	return v.What
}

// Origin says at which node and voltage the value holds, where it comes from and
// whether that was confirmed.
func (v *Value) Origin() string {
	var b strings.Builder
	if v.NodeNM != nil {
		fmt.Fprintf(&b, "%g nm, ", *v.NodeNM)
	} else {
		b.WriteString("node not stated, ")
	}
	if v.VoltageV != nil {
		fmt.Fprintf(&b, "%g V", *v.VoltageV)
	} else {
		b.WriteString("voltage not stated")
	}
	if *v.Confirmed {
		b.WriteString("; confirmed; ")
	} else {
		b.WriteString("; NOT CONFIRMED; ")
	}
	b.WriteString(v.Source + ", " + v.Where)
	if v.Derivation != "" {
		b.WriteString("; derived: " + v.Derivation)
	}
	if v.Note != "" {
		b.WriteString("; note: " + v.Note)
	}
	return b.String()
}
