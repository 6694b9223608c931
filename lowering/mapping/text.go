package mapping

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/bitsched/bitsched/internal/strictyaml"
)

// textForm is the form of a mapping in a file. Factors and orders name loops; factors
// of 1 are left out.
type textForm struct {
	Operator string                    `yaml:"operator"` // hash
	Platform string                    `yaml:"platform"` // hash
	Work     string                    `yaml:"work"`
	Function string                    `yaml:"function"`
	Operands map[string]string         `yaml:"operands"` // of the function: tensors
	Slots    map[string]map[string]int `yaml:"slots"`
	Wave     []string                  `yaml:"wave_order"`
	Tile     []string                  `yaml:"tile_order"`
	Double   bool                      `yaml:"double_wave"`
	DoubleT  bool                      `yaml:"double_tile"`
	Keep     []string                  `yaml:"keep"`
}

// Write writes a mapping as text that [Problem.Read] reads back.
func (q *Problem) Write(w io.Writer, m *Mapping) error {
	var b bytes.Buffer
	f := &q.functions[m.Function]
	fmt.Fprintf(&b, "# %s on %s\n", q.Op, q.Platform.Name)
	fmt.Fprintf(&b, "operator: %q\nplatform: %q\nwork: %q\nfunction: %s\n", q.Op.Hash(), q.Platform.Hash(), q.Op.Name, f.Name)
	fmt.Fprintf(&b, "operands: {")
	for o := range f.Operands {
		if o > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s: %s", f.Operands[o].Name, q.Op.Tensors[m.Tensor(o)].Name)
	}
	b.WriteString("}\nslots:\n")
	for s := range NumSlots {
		var parts []string
		for l := range q.loops {
			if m.Factor[s][l] > 1 {
				parts = append(parts, fmt.Sprintf("%s: %d", q.Op.Loops[l].Name, m.Factor[s][l]))
			}
		}
		if len(parts) > 0 {
			fmt.Fprintf(&b, "  %s: {%s}\n", q.SlotName(f, s), strings.Join(parts, ", "))
		}
	}
	order := func(o *[MaxLoops]uint8) string {
		var names []string
		for i := range q.loops {
			names = append(names, q.Op.Loops[o[i]].Name)
		}
		return strings.Join(names, ", ")
	}
	fmt.Fprintf(&b, "wave_order: [%s] # the outermost first\ntile_order: [%s]\n", order(&m.Wave), order(&m.Tile))
	var keep []string
	for o := range f.Operands {
		if m.Keep[o] {
			keep = append(keep, f.Operands[o].Name)
		}
	}
	fmt.Fprintf(&b, "double_wave: %v\ndouble_tile: %v\nkeep: [%s]\n", m.Double, m.DoubleTile, strings.Join(keep, ", "))
	_, err := w.Write(b.Bytes())
	return err
}

// Read reads a mapping for this problem; file is its name in errors, which are of type
// [*position.Error]. It is strict, refuses mappings of other operators and platforms, and
// illegal ones, whose errors wrap an [*IllegalError].
func (q *Problem) Read(r io.Reader, file string) (*Mapping, error) {
	doc, err := strictyaml.Read(r, file, "a mapping")
	if err != nil {
		return nil, err
	}
	m, err := q.read(doc)
	if err != nil {
		return nil, err
	}
	err = q.Check(m)
	if ill := (*IllegalError)(nil); errors.As(err, &ill) {
		at := doc.Errorf(ill.Field, "illegal: %s", ill.Msg)
		at.Err = ill
		return nil, at
	}
	return m, nil // Check has no other errors
}

func (q *Problem) read(doc *strictyaml.Document) (*Mapping, error) {
	var t textForm
	if err := doc.Decode(&t); err != nil {
		return nil, err
	}
	if t.Operator != q.Op.Hash() {
		return nil, doc.Errorf("operator", "operator %s (%s), expected %s of %s", t.Operator, t.Work, q.Op.Hash(), q.Op.Name)
	}
	if t.Platform != q.Platform.Hash() {
		return nil, doc.Errorf("platform", "platform %s, expected %s of %s", t.Platform, q.Platform.Hash(), q.Platform.Name)
	}
	m := Unit()
	found := false
	for i := range q.functions {
		if q.functions[i].Name == t.Function {
			m.Function, found = uint8(i), true
		}
	}
	if !found {
		return nil, doc.Errorf("function", "function %q, expected one of platform %s", t.Function, q.Platform.Name)
	}
	f := &q.functions[m.Function]
	if len(t.Operands) != 3 {
		return nil, doc.Errorf("operands", "%d operands, expected 3", len(t.Operands))
	}
	m.Swap = t.Operands[f.Operands[Src1].Name] == q.Op.Tensors[1].Name
	for o := range f.Operands {
		if got, want := t.Operands[f.Operands[o].Name], q.Op.Tensors[m.Tensor(o)].Name; got != want {
			return nil, doc.Errorf("operands", "tensor %q on %s, expected %s", got, f.Operands[o].Name, want)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Slots)) {
		factors := t.Slots[name]
		slot := -1
		for s := range NumSlots {
			if q.SlotName(f, s) == name && (s >= SlotInner || s < f.dims) && (s < SlotLevel+q.levels || s >= SlotWave) {
				slot = s
			}
		}
		if slot < 0 {
			return nil, doc.Errorf("slots."+name, "slot %q, expected a dimension of %s, inner, a level of %s, waves or tiles", name, f.Name, q.Platform.Name)
		}
		for _, loop := range slices.Sorted(maps.Keys(factors)) {
			l, v := q.Op.Loop(loop), factors[loop]
			if l < 0 {
				return nil, doc.Errorf("slots."+name, "loop %q, expected one of %s", loop, q.Op)
			}
			if v < 1 || v > 1<<30 {
				return nil, doc.Errorf("slots."+name+"."+loop, "factor %d of %s, expected 1 to %d", v, loop, 1<<30)
			}
			m.Factor[slot][l] = uint32(v)
		}
	}
	order := func(field string, names []string, to *[MaxLoops]uint8) error {
		if len(names) != q.loops {
			return doc.Errorf(field, "%s has %d loops, expected a permutation of all %d", field, len(names), q.loops)
		}
		seen := map[string]bool{}
		for i, n := range names {
			l := q.Op.Loop(n)
			if l < 0 || seen[n] {
				return doc.Errorf(field, "%s has %q, expected each loop once", field, n)
			}
			seen[n] = true
			to[i] = uint8(l)
		}
		return nil
	}
	if err := order("wave_order", t.Wave, &m.Wave); err != nil {
		return nil, err
	}
	if err := order("tile_order", t.Tile, &m.Tile); err != nil {
		return nil, err
	}
	m.Double, m.DoubleTile, m.Keep = t.Double, t.DoubleT, [3]bool{}
	for _, k := range t.Keep {
		ok := false
		for o := range f.Operands {
			if f.Operands[o].Name == k {
				m.Keep[o], ok = true, true
			}
		}
		if !ok {
			return nil, doc.Errorf("keep", "operand %q, expected one of %s", k, f.Name)
		}
	}
	return &m, nil
}

// String is the mapping as text.
func (q *Problem) String(m *Mapping) string {
	var b strings.Builder
	_ = q.Write(&b, m) // a Builder takes everything
	return b.String()
}
