package gen

import "github.com/bitsched/bitsched/netlist"

// decoder decodes both halves of the select word and joins each pair of their
// outputs: a gate an output, and few more.
func decoder(b *builder, p params) { b.output("y", b.decode(b.input("s", p.width))) }

func (b *builder) decode(s []lit) []lit {
	switch len(s) {
	case 0:
		return []lit{netlist.True}
	case 1:
		return []lit{s[0].Not(), s[0]}
	}
	low, high := b.decode(s[:len(s)/2]), b.decode(s[len(s)/2:])
	out := make([]lit, 0, len(low)*len(high))
	for _, h := range high {
		for _, l := range low {
			out = append(out, b.And(h, l))
		}
	}
	return out
}

func sizeDecoder(p params) tally { return tally{inputs: int64(p.width), and: decoderGates(p.width)} }

// decoderGates is exact.
func decoderGates(n int) int64 {
	if n < 2 {
		return 0
	}
	return 1<<n + decoderGates(n/2) + decoderGates(n-n/2)
}
