package sram

import "context"

// SelfTestKernel finds the stuck cells of the rows that a kernel uses, those of
// its constants included, as [SelfTest] does: the host writes zeros to all of
// them and reads them back, then ones. It finds the stuck latches of the
// technology too: both values are loaded into each latch and written from it to a
// row, once the cells are known to be right.
//
// Cells come in order of first use of the row, then by bitline, and latches
// after another. A latch of a bitline on which a cell is stuck is not judged: its
// value would have to pass through the cell. It takes time linear in the rows
// used times bitlines.
func SelfTestKernel(ctx context.Context, k *Kernel, f Faults, cols int, seed uint64) ([]StuckAt, []StuckLatch, error) {
	rows := k.UsedRows()
	// To the test all rows are alike, and none holds a constant.
	tech := *k.Tech
	tech.Reserved = 0
	march := &Kernel{Tech: &tech, Rows: k.Rows}
	for _, r := range rows {
		march.Inputs = append(march.Inputs, Port{Base: r, Width: 1})
		march.Outputs = append(march.Outputs, Port{Base: r, Width: 1})
	}
	var found []StuckAt
	bad := make([]bool, cols) // bitlines with a stuck cell
	if err := bothValues(ctx, march, f, cols, seed, func(output, bitline int, got bool) {
		found = append(found, StuckAt{Place{0, rows[output]}, bitline, got})
		bad[bitline] = true
	}); err != nil {
		return nil, nil, err
	}
	var latches []StuckLatch
	for l := range k.Tech.Latches().Each() {
		through := &Kernel{Tech: &tech, Rows: k.Rows}
		if len(rows) == 0 || !through.passLatch(l, rows[0]) {
			continue
		}
		if err := bothValues(ctx, through, f, cols, seed, func(_, bitline int, got bool) {
			if !bad[bitline] {
				latches = append(latches, StuckLatch{l, bitline, got})
			}
		}); err != nil {
			return nil, nil, err
		}
	}
	return found, latches, nil
}

// bothValues executes a kernel, whose outputs are its inputs, on zeros and then
// on ones, and reports each bit that is not what was put in.
func bothValues(ctx context.Context, k *Kernel, f Faults, cols int, seed uint64, wrong func(output, bitline int, got bool)) error {
	code, err := k.Compile()
	if err != nil {
		return err
	}
	f.RandomStuck = min(f.RandomStuck, len(k.Inputs)*cols)
	fk, err := code.WithFaults(f, cols)
	if err != nil {
		return err
	}
	w := (cols + 63) / 64
	in, out := make([]uint64, len(k.Inputs)*w), make([]uint64, len(k.Outputs)*w)
	machine := fk.NewMachine()
	for _, value := range []bool{false, true} {
		if value {
			for i := range in {
				in[i] = ^uint64(0)
			}
		}
		if err := machine.RunContext(ctx, out, in, w, seed); err != nil {
			return err
		}
		for i := range k.Outputs {
			for b := range cols {
				if got := out[i*w+b/64]>>(b%64)&1 != 0; got != value {
					wrong(i, b, got)
				}
			}
		}
	}
	return nil
}

// passLatch makes k load a latch from a row and write it back to that row, by
// the first instructions of the technology that do so; false if there are none.
func (k *Kernel) passLatch(l Latch, row int) bool {
	load, write := -1, -1
	for i := range k.Tech.Ops {
		op := &k.Tech.Ops[i]
		loads := op.Operands == 1 && op.Reads == 0 || op.Resets && op.Operands == 2
		if load < 0 && op.Sets == l && !op.Writes && loads {
			load = i
		}
		if write < 0 && op.Writes && op.Operands == 0 && op.Reads == l {
			write = i
		}
	}
	if load < 0 || write < 0 {
		return false
	}
	k.Inputs = []Port{{Base: row, Width: 1}}
	k.Outputs = []Port{{Base: row, Width: 1}}
	m := Micro{Op: Opcode(load), Src: [3]Operand{Row(row, false)}}
	if k.Tech.Ops[load].Operands == 2 {
		m.Src[1] = m.Src[0]
	}
	k.Instrs = []Micro{m, {Op: Opcode(write), Dst: uint16(row)}}
	return true
}
