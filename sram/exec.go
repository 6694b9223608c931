package sram

// The two interpreters of microOps, one a group size. The loops index arrays of
// fixed length through pointers, which the compiler does without bounds checks;
// masks of all zeros or ones stand for negations, so that only the kind of an
// operation is branched on. A destination may be one of the operands: each word
// is read before it is written.

// neg returns the mask of a negation bit: all ones if bit 0 of x is set.
func neg(x uint32) uint64 { return -uint64(x & 1) }

func execLarge(ops []microOp, rows [][groupWords]uint64) {
	for i := range ops {
		op := &ops[i]
		d := &rows[op.dst>>4]
		n := neg(op.dst >> 3)
		switch op.dst & 7 {
		case opMaj3:
			a, b, c := &rows[op.a>>1], &rows[op.b>>1], &rows[op.c>>1]
			if m := neg(op.a); m|n == 0 {
				for k := 0; k < groupWords; k += 4 {
					d[k] = (a[k]^b[k])&(a[k]^c[k]) ^ a[k]
					d[k+1] = (a[k+1]^b[k+1])&(a[k+1]^c[k+1]) ^ a[k+1]
					d[k+2] = (a[k+2]^b[k+2])&(a[k+2]^c[k+2]) ^ a[k+2]
					d[k+3] = (a[k+3]^b[k+3])&(a[k+3]^c[k+3]) ^ a[k+3]
				}
			} else {
				for k := 0; k < groupWords; k += 4 {
					x0, x1, x2, x3 := a[k]^m, a[k+1]^m, a[k+2]^m, a[k+3]^m
					d[k] = (x0^b[k])&(x0^c[k]) ^ x0 ^ n
					d[k+1] = (x1^b[k+1])&(x1^c[k+1]) ^ x1 ^ n
					d[k+2] = (x2^b[k+2])&(x2^c[k+2]) ^ x2 ^ n
					d[k+3] = (x3^b[k+3])&(x3^c[k+3]) ^ x3 ^ n
				}
			}
		case opXor3:
			a, b, c := &rows[op.a>>1], &rows[op.b>>1], &rows[op.c>>1]
			for k := 0; k < groupWords; k += 4 {
				d[k] = a[k] ^ b[k] ^ c[k] ^ n
				d[k+1] = a[k+1] ^ b[k+1] ^ c[k+1] ^ n
				d[k+2] = a[k+2] ^ b[k+2] ^ c[k+2] ^ n
				d[k+3] = a[k+3] ^ b[k+3] ^ c[k+3] ^ n
			}
		case opAnd2:
			a, b, ma, mb := &rows[op.a>>1], &rows[op.b>>1], neg(op.a), neg(op.b)
			for k := 0; k < groupWords; k += 4 {
				d[k] = (a[k]^ma)&(b[k]^mb) ^ n
				d[k+1] = (a[k+1]^ma)&(b[k+1]^mb) ^ n
				d[k+2] = (a[k+2]^ma)&(b[k+2]^mb) ^ n
				d[k+3] = (a[k+3]^ma)&(b[k+3]^mb) ^ n
			}
		case opXor2:
			a, b := &rows[op.a>>1], &rows[op.b>>1]
			for k := 0; k < groupWords; k += 4 {
				d[k] = a[k] ^ b[k] ^ n
				d[k+1] = a[k+1] ^ b[k+1] ^ n
				d[k+2] = a[k+2] ^ b[k+2] ^ n
				d[k+3] = a[k+3] ^ b[k+3] ^ n
			}
		case opMove:
			a := &rows[op.a>>1]
			for k := 0; k < groupWords; k += 4 {
				d[k] = a[k] ^ n
				d[k+1] = a[k+1] ^ n
				d[k+2] = a[k+2] ^ n
				d[k+3] = a[k+3] ^ n
			}
		case opFill:
			for k := range d {
				d[k] = n
			}
		}
	}
}

func execSmall(ops []microOp, rows [][smallWords]uint64) {
	for i := range ops {
		op := &ops[i]
		d := &rows[op.dst>>4]
		n := neg(op.dst >> 3)
		switch op.dst & 7 {
		case opMaj3:
			a, b, c, m := &rows[op.a>>1], &rows[op.b>>1], &rows[op.c>>1], neg(op.a)
			x0, x1, x2, x3 := a[0]^m, a[1]^m, a[2]^m, a[3]^m
			d[0] = (x0^b[0])&(x0^c[0]) ^ x0 ^ n
			d[1] = (x1^b[1])&(x1^c[1]) ^ x1 ^ n
			d[2] = (x2^b[2])&(x2^c[2]) ^ x2 ^ n
			d[3] = (x3^b[3])&(x3^c[3]) ^ x3 ^ n
		case opXor3:
			a, b, c := &rows[op.a>>1], &rows[op.b>>1], &rows[op.c>>1]
			d[0] = a[0] ^ b[0] ^ c[0] ^ n
			d[1] = a[1] ^ b[1] ^ c[1] ^ n
			d[2] = a[2] ^ b[2] ^ c[2] ^ n
			d[3] = a[3] ^ b[3] ^ c[3] ^ n
		case opAnd2:
			a, b, ma, mb := &rows[op.a>>1], &rows[op.b>>1], neg(op.a), neg(op.b)
			d[0] = (a[0]^ma)&(b[0]^mb) ^ n
			d[1] = (a[1]^ma)&(b[1]^mb) ^ n
			d[2] = (a[2]^ma)&(b[2]^mb) ^ n
			d[3] = (a[3]^ma)&(b[3]^mb) ^ n
		case opXor2:
			a, b := &rows[op.a>>1], &rows[op.b>>1]
			d[0] = a[0] ^ b[0] ^ n
			d[1] = a[1] ^ b[1] ^ n
			d[2] = a[2] ^ b[2] ^ n
			d[3] = a[3] ^ b[3] ^ n
		case opMove:
			a := &rows[op.a>>1]
			d[0], d[1], d[2], d[3] = a[0]^n, a[1]^n, a[2]^n, a[3]^n
		case opFill:
			d[0], d[1], d[2], d[3] = n, n, n, n
		}
	}
}
