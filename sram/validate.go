package sram

import "fmt"

// MaxCols is the largest number of columns of a Geometry.
const MaxCols = 1 << 30

// InstrError says which instruction of a program is wrong, and why.
type InstrError struct {
	Index int // of the instruction in Program.Instrs, from 0
	Instr Instr
	Msg   string
}

func (e *InstrError) Error() string {
	return fmt.Sprintf("sram: instruction %d (%v): %s", e.Index, e.Instr, e.Msg)
}

// Validate reports why the geometry is not one, or nil.
func (g Geometry) Validate() error {
	switch {
	case g.Arrays < 1 || g.Arrays > MaxArrays:
		return fmt.Errorf("sram: %d arrays, expected 1 to %d", g.Arrays, MaxArrays)
	case g.Rows < 1 || g.Rows > MaxRows:
		return fmt.Errorf("sram: %d rows, expected 1 to %d", g.Rows, MaxRows)
	case g.Cols < 1 || g.Cols > MaxCols:
		return fmt.Errorf("sram: %d columns, expected 1 to %d", g.Cols, MaxCols)
	}
	return nil
}

// Validate reports the first way in which p is not well-formed, or nil: the
// geometry within its limits, all arrays and rows within the geometry, no two
// inputs in one row, copies between different arrays and of plain rows, fields
// without use zero, constant outputs in array 0. It takes time linear in p.
//
// An instruction at fault gives an [*InstrError]; instructions are numbered from
// 0. Parse returns only programs that are valid. What Validate does not look at
// is which rows hold something: see [Program.CheckRows].
func (p *Program) Validate() error {
	g := p.Geometry
	if err := g.Validate(); err != nil {
		return err
	}
	taken := NewRowTable(g)
	for i, in := range p.Inputs {
		if in.Array < 0 || in.Array >= g.Arrays || in.Row < 0 || in.Row >= g.Rows {
			return fmt.Errorf("sram: input %d (%s) in array %d row %d, expected one of %d arrays of %d rows",
				i, in.Name, in.Array, in.Row, g.Arrays, g.Rows)
		}
		if j := taken.Get(in.Array, in.Row); j != 0 {
			return fmt.Errorf("sram: inputs %d (%s) and %d (%s) are both in array %d row %d",
				j-1, p.Inputs[j-1].Name, i, in.Name, in.Array, in.Row)
		}
		taken.Set(in.Array, in.Row, uint32(i+1))
	}
	for i := range p.Instrs {
		if msg := p.Instrs[i].validate(g); msg != "" {
			return &InstrError{Index: i, Instr: p.Instrs[i], Msg: msg}
		}
	}
	for i, o := range p.Outputs {
		switch {
		case o.Operand.IsConst():
			if o.Array != 0 {
				return fmt.Errorf("sram: constant output %d (%s) in array %d, expected array 0", i, o.Name, o.Array)
			}
		case o.Array < 0 || o.Array >= g.Arrays || o.Operand.Row() >= g.Rows:
			return fmt.Errorf("sram: output %d (%s) in array %d row %d, expected one of %d arrays of %d rows",
				i, o.Name, o.Array, o.Operand.Row(), g.Arrays, g.Rows)
		}
	}
	return nil
}

// validate returns what is wrong with an instruction, "" if nothing.
func (i *Instr) validate(g Geometry) string {
	if i.Op > Copy {
		return "no such operation, expected maj, xor or copy"
	}
	if int(i.Array) >= g.Arrays {
		return fmt.Sprintf("array %d, expected 0 to %d", i.Array, g.Arrays-1)
	}
	if int(i.Dst) >= g.Rows {
		return fmt.Sprintf("destination row %d, expected 0 to %d", i.Dst, g.Rows-1)
	}
	if i.Op == Copy {
		s := i.Src[0]
		switch {
		case int(i.From) >= g.Arrays:
			return fmt.Sprintf("source array %d, expected 0 to %d", i.From, g.Arrays-1)
		case i.From == i.Array:
			return "copy from an array to itself, expected another array"
		case s.IsConst() || s.Negated():
			return fmt.Sprintf("copy of %v, expected a plain row", s)
		case s.Row() >= g.Rows:
			return fmt.Sprintf("source row %d, expected 0 to %d", s.Row(), g.Rows-1)
		case i.Src[1] != 0 || i.Src[2] != 0:
			return "copy with more than one operand, expected zero in the others"
		}
		return ""
	}
	if i.From != 0 { // the text form would lose it
		return fmt.Sprintf("source array %d of an operation without one, expected 0", i.From)
	}
	for _, s := range i.Src {
		if !s.IsConst() && s.Row() >= g.Rows {
			return fmt.Sprintf("operand row %d, expected 0 to %d", s.Row(), g.Rows-1)
		}
	}
	return ""
}

// What a row holds, for CheckRows.
const (
	rowWritten = 1
	rowInput   = 2
)

// CheckRows reports the first instruction of a valid program that writes a row
// of an input or reads a row that holds nothing yet, as an [*InstrError], or the
// first output in such a row. A program is a straight line, so this is exact:
// what it lets pass never reads garbage when executed.
func (p *Program) CheckRows() error {
	held := NewRowTable(p.Geometry)
	for _, in := range p.Inputs {
		held.Set(in.Array, in.Row, rowInput)
	}
	for i := range p.Instrs {
		ins := &p.Instrs[i]
		from, srcs := int(ins.Array), ins.Src[:]
		if ins.Op == Copy {
			from, srcs = int(ins.From), ins.Src[:1]
		}
		for _, s := range srcs {
			if !s.IsConst() && held.Get(from, s.Row()) == 0 {
				return &InstrError{i, *ins, fmt.Sprintf("reads row %d of array %d, which was never written", s.Row(), from)}
			}
		}
		switch held.Get(int(ins.Array), int(ins.Dst)) {
		case rowInput:
			return &InstrError{i, *ins, fmt.Sprintf("writes row %d of array %d, which holds an input", ins.Dst, ins.Array)}
		case 0:
			held.Set(int(ins.Array), int(ins.Dst), rowWritten)
		}
	}
	for i, o := range p.Outputs {
		if !o.Operand.IsConst() && held.Get(o.Array, o.Operand.Row()) == 0 {
			return fmt.Errorf("sram: output %d (%s) in row %d of array %d, which was never written", i, o.Name, o.Operand.Row(), o.Array)
		}
	}
	return nil
}
