package sram

import "context"

// SelfTest finds the stuck cells of the rows that a program uses, whatever the
// program computes: it writes zeros to every such row and reads them back, then
// ones. A cell that is stuck at one value does not take the other, so that each
// of them is found; these are the march elements w0 r0 w1 r1 (MATS; van de Goor,
// Testing semiconductor memories). It runs as two programs on a [FaultyMachine],
// with all faults of f in force and every bitline in use.
//
// The result is in order of first use of the row, then by bitline. It takes time
// linear in the rows used times bitlines.
func SelfTest(ctx context.Context, p *Program, f Faults, seed uint64) ([]StuckAt, error) {
	rows := UsedRows(p)
	w := (p.Geometry.Cols + 63) / 64
	var found []StuckAt
	for _, value := range []bool{false, true} {
		c, err := Compile(fillProgram(p.Geometry, rows, value))
		if err != nil {
			return nil, err
		}
		fc, err := c.WithFaults(f)
		if err != nil {
			return nil, err
		}
		out := make([]uint64, len(rows)*w)
		if err := fc.NewMachine().RunContext(ctx, out, nil, w, seed); err != nil {
			return nil, err
		}
		for i, at := range rows {
			for b := range p.Geometry.Cols {
				if got := out[i*w+b/64]>>(b%64)&1 != 0; got != value {
					found = append(found, StuckAt{at, b, got})
				}
			}
		}
	}
	return found, nil
}

// UsedRows returns the rows that hold an input or are written, in order of first use.
func UsedRows(p *Program) []Place {
	var rows []Place
	seen := NewRowTable(p.Geometry)
	use := func(at Place) {
		if seen.Get(at.Array, at.Row) == 0 {
			seen.Set(at.Array, at.Row, 1)
			rows = append(rows, at)
		}
	}
	for _, in := range p.Inputs {
		use(in.Place)
	}
	for i := range p.Instrs {
		use(Place{int(p.Instrs[i].Array), int(p.Instrs[i].Dst)})
	}
	return rows
}

// fillProgram writes a value to rows, and has each of them as an output.
func fillProgram(g Geometry, rows []Place, value bool) *Program {
	c := Zero
	if value {
		c = One
	}
	p := &Program{Geometry: g}
	for _, at := range rows {
		p.Instrs = append(p.Instrs, Instr{Op: Xor, Array: uint16(at.Array), Dst: uint16(at.Row), Src: [3]Operand{c, Zero, Zero}})
		p.Outputs = append(p.Outputs, Output{Array: at.Array, Operand: Row(at.Row, false)})
	}
	return p
}
