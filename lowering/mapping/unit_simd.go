package mapping

// priceSIMD prices lanes beside banks. All units of the first level run the same
// command, so that writing registers of one of them takes a command of all.
func (q *Problem) priceSIMD(s *shape, p *price) Violation {
	u := q.Platform.SIMD
	k, m := int64(1), int64(1)
	for d := range s.f.dims {
		if s.f.Reduction(d) {
			k *= s.size[d]
		} else {
			m *= s.size[d]
		}
	}
	if m > int64(u.Lanes) {
		return BadColumns
	}
	acc := q.accRegisters()
	src1, src2 := &q.tensors[s.m.Tensor(Src1)], &q.tensors[s.m.Tensor(Src2)]
	regs := q.sourceRegisters(s)
	if acc*s.inner+regs+1 > int64(u.Registers) {
		return BadRows
	}
	// Columns of the bank: one for each k of each tile in time.
	columns := k
	for l := range q.loops {
		if src1.indexed>>l&1 == 1 {
			columns *= int64(s.m.Factor[SlotWave][l]) * int64(s.m.Factor[SlotTile][l])
			if columns > u.BankBytes {
				return BadRows
			}
		}
	}
	if columns*int64(u.ColumnBytes) > u.BankBytes {
		return BadRows
	}
	p.columns = m
	p.unit[Compute] = k * s.inner * int64(u.MACCycles)
	if rows := ceilDiv(k*int64(u.ColumnBytes), int64(u.RowBytes)); rows > 1 {
		p.unit[Idle] = rows * int64(u.RowMissCycles)
	} else {
		p.write[Src1] = int64(u.RowMissCycles)
	}
	different := func(indexed uint16) int64 { // contents among the units of the first level
		n := int64(1)
		for l := range q.loops {
			if indexed>>l&1 == 1 {
				n *= int64(s.m.Factor[SlotLevel][l])
			}
		}
		return n
	}
	p.write[Src2] = regs * different(src2.indexed) * int64(u.RegisterWriteCycles)
	p.finish[Drain] = acc * s.inner * s.spatial[0] * int64(u.RegisterReadCycles)
	if !src1.static || q.Options.Cold {
		p.bankWrite = columns * different(src1.indexed) * int64(u.RegisterWriteCycles)
	}
	return Legal
}

// accRegisters returns the registers of a sum for all lanes.
func (q *Problem) accRegisters() int64 {
	u := q.Platform.SIMD
	return ceilDiv(int64(u.Lanes)*int64(u.AccumulatorBits), 8*int64(u.ColumnBytes))
}

// sourceRegisters returns the registers of the second source: scalars side by side, or
// a register for each k and accumulator.
func (q *Problem) sourceRegisters(s *shape) int64 {
	u := q.Platform.SIMD
	k := int64(1)
	for d := range s.f.dims {
		if s.f.Reduction(d) {
			k *= s.size[d]
		}
	}
	n := k * s.inner
	if s.f.indexes[Src2] == s.f.indexes[Src1] {
		return n
	}
	return ceilDiv(n*bytesOf(1, q.tensors[s.m.Tensor(Src2)].bits), int64(u.ColumnBytes))
}
