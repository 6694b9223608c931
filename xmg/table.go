package xmg

type tableBuilder struct{ g *Graph }

func newTableBuilder(g *Graph) *tableBuilder { return &tableBuilder{g} }

func (b *tableBuilder) build(bits uint64, in []Lit) Lit {
	if len(in) == 0 {
		return Lit(bits & 1)
	}
	last := len(in) - 1
	half := uint(1) << last
	mask := uint64(1)<<half - 1
	lo := b.build(bits&mask, in[:last])
	if bits>>half&mask == bits&mask {
		return lo
	}
	return b.g.Mux(in[last], b.build(bits>>half&mask, in[:last]), lo)
}

// tableKind tells whether a table is one XMG gate and whether it is not an AND.
func tableKind(bits uint64, inputs int) (more, ok bool) { return false, inputs < 2 }
