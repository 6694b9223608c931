package sram

func init() { register(&XMG) }

// Micro-instructions of [XMG].
const (
	XMGMaj Opcode = iota
	XMGXor
)

// XMG is the instruction set that [Program] has too, on one array.
var XMG = Technology{
	Name:   "xmg",
	Doc:    "majority and parity of three rows, each negated or not",
	Source: "XMG-GPPIC, as MASIM uses it (MASIM, section II-B); constants are free there",
	Negate: true,
	Ops: []MicroInfo{
		XMGMaj: {Name: "maj", Operands: 3, Writes: true, Class: ClassCompute, Doc: "majority of three operands"},
		XMGXor: {Name: "xor", Operands: 3, Writes: true, Class: ClassCompute, Doc: "parity of three operands"},
	},
	translate: func(m *Micro, slot func(Operand) uint32, dst uint32) microOp {
		return translateXMG(Op(m.Op), dst, slot(m.Src[0]), slot(m.Src[1]), slot(m.Src[2]))
	},
	exec: func(ops []microOp, rows [][groupWords]uint64) { fastest.large(ops, rows) },
}
