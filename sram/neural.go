package sram

func init() { register(&NeuralCache) }

// Latches of [NeuralCache].
var (
	Carry = newLatch("carry") // of the full adder
	Tag   = newLatch("tag")   // enable of the write driver
)

// Micro-instructions of [NeuralCache].
const (
	NCAnd Opcode = iota
	NCNand
	NCOr
	NCNor
	NCXor
	NCXnor
	NCCopy
	NCNot
	NCAdd
	NCWriteTag
	NCWriteCarry
	NCCarry
	NCTagAnd
	NCTagNand
	NCTagOr
	NCTagNor
	NCTagXor
	NCTagXnor
	NCTagCopy
	NCTagNot
	NCTagCarry
	NCTagNotCarry
)

// NeuralCache is the instruction set of compute caches that activate two rows:
// the bitlines give AND and NOR of two rows, logic behind the sense amplifiers
// makes XOR and a full adder with a latched carry of them, and a tag latch
// enables the write driver. Read, logic and write-back make one cycle.
//
// Everything that the bitlines give is symmetric in the two rows, so that there
// is no a AND NOT b in one cycle and a subtraction must first write a
// complement. An instruction sets latches or writes a row; only add does both,
// since the sum is of no use without its carry. The tag gates the write driver
// and nothing else: add changes the carry of all bitlines. A constant operand is
// one of two rows that are reserved for it, so that it costs rows and no logic.
var NeuralCache = Technology{
	Name: "neural-cache",
	Doc:  "AND and NOR of two rows, full adder with carry latch, write-back where a tag latch is set",
	Source: "Neural Cache (ISCA 2018), section IV: two-row activation, sum and carry, tag as write enable, " +
		"write-back of sum, carry or tag; Duality Cache (ISCA 2019); 28 nm compute SRAM (JSSC 2020). " +
		"Assumed beyond: a write driver that swaps its pair for the complement, the tag loaded from any of the functions",
	Reserved: 2,
	Enable:   Tag,
	Ops: []MicroInfo{
		NCAnd:         {Name: "and", Operands: 2, Writes: true, Masked: true, Doc: "dst = a & b"},
		NCNand:        {Name: "nand", Operands: 2, Writes: true, Masked: true, Doc: "dst = ~(a & b)"},
		NCOr:          {Name: "or", Operands: 2, Writes: true, Masked: true, Doc: "dst = a | b"},
		NCNor:         {Name: "nor", Operands: 2, Writes: true, Masked: true, Doc: "dst = ~(a | b)"},
		NCXor:         {Name: "xor", Operands: 2, Writes: true, Masked: true, Doc: "dst = a ^ b"},
		NCXnor:        {Name: "xnor", Operands: 2, Writes: true, Masked: true, Doc: "dst = ~(a ^ b)"},
		NCCopy:        {Name: "copy", Operands: 1, Writes: true, Masked: true, Copies: true, Class: ClassAccess, Doc: "dst = a"},
		NCNot:         {Name: "not", Operands: 1, Writes: true, Masked: true, Class: ClassAccess, Doc: "dst = ~a"},
		NCAdd:         {Name: "add", Operands: 2, Writes: true, Masked: true, Reads: Carry, Sets: Carry, Doc: "dst = a ^ b ^ carry; carry = majority of a, b and carry, whatever the tag"},
		NCWriteTag:    {Name: "wtag", Writes: true, Reads: Tag, Class: ClassWrite, Doc: "dst = tag"},
		NCWriteCarry:  {Name: "wcarry", Writes: true, Masked: true, Reads: Carry, Class: ClassWrite, Doc: "dst = carry"},
		NCCarry:       {Name: "carry", Operands: 2, Reads: Carry, Resets: true, Sets: Carry, Class: ClassLatch, Doc: "carry = majority of a, b and carry; a if both are one row or constant"},
		NCTagAnd:      {Name: "tag.and", Operands: 2, Sets: Tag, Class: ClassLatch, Doc: "tag = a & b"},
		NCTagNand:     {Name: "tag.nand", Operands: 2, Sets: Tag, Class: ClassLatch, Doc: "tag = ~(a & b)"},
		NCTagOr:       {Name: "tag.or", Operands: 2, Sets: Tag, Class: ClassLatch, Doc: "tag = a | b"},
		NCTagNor:      {Name: "tag.nor", Operands: 2, Sets: Tag, Class: ClassLatch, Doc: "tag = ~(a | b)"},
		NCTagXor:      {Name: "tag.xor", Operands: 2, Sets: Tag, Class: ClassLatch, Doc: "tag = a ^ b"},
		NCTagXnor:     {Name: "tag.xnor", Operands: 2, Sets: Tag, Class: ClassLatch, Doc: "tag = ~(a ^ b)"},
		NCTagCopy:     {Name: "tag.copy", Operands: 1, Sets: Tag, Class: ClassLatch, Doc: "tag = a"},
		NCTagNot:      {Name: "tag.not", Operands: 1, Sets: Tag, Class: ClassLatch, Doc: "tag = ~a"},
		NCTagCarry:    {Name: "tag.carry", Reads: Carry, Sets: Tag, Class: ClassLatch, Doc: "tag = carry"},
		NCTagNotCarry: {Name: "tag.ncarry", Reads: Carry, Sets: Tag, Class: ClassLatch, Doc: "tag = ~carry"},
	},
	translate: translateNeural,
	exec:      func(ops []microOp, rows [][groupWords]uint64) { fastest.neural(ops, rows) },
}

// The kinds of steps that execNeural knows: the latches are slots, so that
// loading the tag is a logic operation with the tag as its destination.
const (
	ncAnd = iota
	ncOr
	ncXor
	ncMove
	ncAdd
	ncCarry

	ncKind   = 7      // mask of the kind
	ncMasked = 1 << 3 // write where the tag is set
	ncInvert = 1 << 4
	ncShift  = 5 // of the destination's slot
)

func translateNeural(m *Micro, slot func(Operand) uint32, dst uint32) microOp {
	op := m.Op
	carry, tag := Carry.slot(), Tag.slot()
	kinds := [...]uint32{NCAnd: ncAnd, NCNand: ncAnd | ncInvert, NCOr: ncOr, NCNor: ncOr | ncInvert,
		NCXor: ncXor, NCXnor: ncXor | ncInvert, NCCopy: ncMove, NCNot: ncMove | ncInvert}
	var s microOp
	// An operand is slot<<1 | negate, and the constant 1 is the negated row of zeros.
	for i, to := range []*uint32{&s.a, &s.b} {
		x := slot(m.Src[i])
		if *to = x >> 1; x == 1 {
			*to = slotOnes
		}
	}
	switch {
	case op <= NCNot:
		s.dst = dst<<ncShift | kinds[op]
	case op >= NCTagAnd && op <= NCTagNot:
		s.dst = tag<<ncShift | kinds[op-NCTagAnd]
	case op == NCAdd:
		s.dst = dst<<ncShift | ncAdd
	case op == NCCarry:
		s.dst = carry<<ncShift | ncCarry
	case op == NCWriteTag:
		s.dst, s.a = dst<<ncShift|ncMove, tag
	case op == NCWriteCarry:
		s.dst, s.a = dst<<ncShift|ncMove, carry
	case op == NCTagCarry:
		s.dst, s.a = tag<<ncShift|ncMove, carry
	default:
		s.dst, s.a = tag<<ncShift|ncMove|ncInvert, carry
	}
	if m.Masked {
		s.dst |= ncMasked
	}
	return s
}

// execNeural executes steps on a group of 2048 bitlines. Steps that write only where
// the tag is set have loops of their own: d ^ (d^x)&t is x where t is set, else d.
func execNeural(ops []microOp, rows [][groupWords]uint64) {
	carry, tag := Carry.slot(), Tag.slot()
	for i := range ops {
		op := &ops[i]
		d, a, b := &rows[op.dst>>ncShift], &rows[op.a], &rows[op.b]
		n := neg(op.dst / ncInvert)
		switch op.dst & (ncKind | ncMasked) {
		case ncAnd:
			for k := 0; k < groupWords; k += 4 {
				d[k] = a[k]&b[k] ^ n
				d[k+1] = a[k+1]&b[k+1] ^ n
				d[k+2] = a[k+2]&b[k+2] ^ n
				d[k+3] = a[k+3]&b[k+3] ^ n
			}
		case ncOr:
			for k := 0; k < groupWords; k += 4 {
				d[k] = (a[k] | b[k]) ^ n
				d[k+1] = (a[k+1] | b[k+1]) ^ n
				d[k+2] = (a[k+2] | b[k+2]) ^ n
				d[k+3] = (a[k+3] | b[k+3]) ^ n
			}
		case ncXor:
			for k := 0; k < groupWords; k += 4 {
				d[k] = a[k] ^ b[k] ^ n
				d[k+1] = a[k+1] ^ b[k+1] ^ n
				d[k+2] = a[k+2] ^ b[k+2] ^ n
				d[k+3] = a[k+3] ^ b[k+3] ^ n
			}
		case ncMove:
			for k := 0; k < groupWords; k += 4 {
				d[k] = a[k] ^ n
				d[k+1] = a[k+1] ^ n
				d[k+2] = a[k+2] ^ n
				d[k+3] = a[k+3] ^ n
			}
		case ncAdd:
			c := &rows[carry]
			for k := range groupWords {
				x, y, z := a[k], b[k], c[k]
				t := x ^ y
				d[k] = t ^ z
				c[k] = x ^ t&(x^z)
			}
		case ncCarry:
			c := &rows[carry]
			for k := range groupWords {
				x, z := a[k], c[k]
				c[k] = x ^ (x^b[k])&(x^z)
			}
		case ncAnd | ncMasked:
			t := &rows[tag]
			for k := range groupWords {
				x := d[k]
				d[k] = x ^ (x^a[k]&b[k]^n)&t[k]
			}
		case ncOr | ncMasked:
			t := &rows[tag]
			for k := range groupWords {
				x := d[k]
				d[k] = x ^ (x^(a[k]|b[k])^n)&t[k]
			}
		case ncXor | ncMasked:
			t := &rows[tag]
			for k := range groupWords {
				x := d[k]
				d[k] = x ^ (x^a[k]^b[k]^n)&t[k]
			}
		case ncMove | ncMasked:
			t := &rows[tag]
			for k := 0; k < groupWords; k += 4 {
				x0, x1, x2, x3 := d[k], d[k+1], d[k+2], d[k+3]
				d[k] = x0 ^ (x0^a[k]^n)&t[k]
				d[k+1] = x1 ^ (x1^a[k+1]^n)&t[k+1]
				d[k+2] = x2 ^ (x2^a[k+2]^n)&t[k+2]
				d[k+3] = x3 ^ (x3^a[k+3]^n)&t[k+3]
			}
		case ncAdd | ncMasked:
			c, m := &rows[carry], &rows[tag]
			for k := range groupWords {
				x, y, z, old := a[k], b[k], c[k], d[k]
				t := x ^ y
				c[k] = x ^ t&(x^z)
				d[k] = old ^ (old^t^z)&m[k]
			}
		}
	}
}
