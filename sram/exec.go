package sram

// The two interpreters of microOps, one a group size. The loops index arrays of
// fixed length through pointers, which the compiler does without bounds checks;
// masks of all zeros or ones stand for negations and, where groups are small, for
// the operation. A destination may be one of the operands: each word is read
// before it is written.

// neg returns the mask of a negation bit: all ones if bit 0 of x is set.
func neg(x uint32) uint64 { return -uint64(x & 1) }

// execLarge branches on the operation, which is guessed wrong once in a while
// but then does the least work for each word.
func execLarge(ops []microOp, rows [][groupWords]uint64) {
	for i := range ops {
		op := &ops[i]
		d := &rows[op.dst>>dstShift]
		a := &rows[op.a>>1]
		n := neg(op.dst / bitNegate)
		switch {
		case op.dst&bitMove != 0:
			for k := 0; k < groupWords; k += 4 {
				d[k] = a[k] ^ n
				d[k+1] = a[k+1] ^ n
				d[k+2] = a[k+2] ^ n
				d[k+3] = a[k+3] ^ n
			}
		case op.dst&bitXor != 0:
			b, c := &rows[op.b>>1], &rows[op.c>>1]
			for k := 0; k < groupWords; k += 4 {
				d[k] = a[k] ^ b[k] ^ c[k] ^ n
				d[k+1] = a[k+1] ^ b[k+1] ^ c[k+1] ^ n
				d[k+2] = a[k+2] ^ b[k+2] ^ c[k+2] ^ n
				d[k+3] = a[k+3] ^ b[k+3] ^ c[k+3] ^ n
			}
		default:
			b, c, m := &rows[op.b>>1], &rows[op.c>>1], neg(op.a)
			for k := 0; k < groupWords; k += 4 {
				x0, x1, x2, x3 := a[k]^m, a[k+1]^m, a[k+2]^m, a[k+3]^m
				d[k] = (x0^b[k])&(x0^c[k]) ^ x0 ^ n
				d[k+1] = (x1^b[k+1])&(x1^c[k+1]) ^ x1 ^ n
				d[k+2] = (x2^b[k+2])&(x2^c[k+2]) ^ x2 ^ n
				d[k+3] = (x3^b[k+3])&(x3^c[k+3]) ^ x3 ^ n
			}
		}
	}
}

// execSmall has no branch, since one guessed wrong costs more than the work on
// four words: with t = a^b and u = a^c, the majority is t&u ^ a and the parity
// t ^ c, that is t&(u|s) ^ a ^ u&s with s all zeros or all ones.
func execSmall(ops []microOp, rows [][smallWords]uint64) {
	for i := range ops {
		op := &ops[i]
		d, a, b, c := &rows[op.dst>>dstShift], &rows[op.a>>1], &rows[op.b>>1], &rows[op.c>>1]
		m, n, s := neg(op.a), neg(op.dst/bitNegate), neg(op.dst)
		x0, x1, x2, x3 := a[0]^m, a[1]^m, a[2]^m, a[3]^m
		u0, u1, u2, u3 := x0^c[0], x1^c[1], x2^c[2], x3^c[3]
		d[0] = (x0^b[0])&(u0|s) ^ x0 ^ u0&s ^ n
		d[1] = (x1^b[1])&(u1|s) ^ x1 ^ u1&s ^ n
		d[2] = (x2^b[2])&(u2|s) ^ x2 ^ u2&s ^ n
		d[3] = (x3^b[3])&(u3|s) ^ x3 ^ u3&s ^ n
	}
}
