package masim

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

// Symbolic executes a program on functions in the place of bits, and returns the
// circuit that it computes: the functions of the inputs that lie in the rows of
// the outputs at the end. It takes any program that the machine would execute,
// a valid schedule or not; an error is one of [sram.Compile]. It takes
// O(instructions) time, some 24 bytes for each compute and 4 for each row used.
func Symbolic(p *sram.Program) (*xmg.Graph, error) {
	// Afterwards no row is read before it is written, and none out of range.
	if _, err := sram.Compile(p); err != nil {
		return nil, fmt.Errorf("masim: symbolic execution: %w", err)
	}
	g := xmg.New("program")
	g.Grow(len(p.Inputs) + p.Computes())
	rows := sram.NewRowTable(p.Geometry)
	for _, in := range p.Inputs {
		rows.Set(in.Array, in.Row, uint32(g.AddInput(in.Name)))
	}
	read := func(array int, o sram.Operand) xmg.Lit {
		if o.IsConst() {
			return xmg.False.NotIf(o == sram.One)
		}
		return xmg.Lit(rows.Get(array, o.Row())).NotIf(o.Negated())
	}
	for i := range p.Instrs {
		in := &p.Instrs[i]
		at := int(in.Array)
		var l xmg.Lit
		switch in.Op {
		case sram.Maj:
			l = g.Maj(read(at, in.Src[0]), read(at, in.Src[1]), read(at, in.Src[2]))
		case sram.Xor:
			l = g.Xor(read(at, in.Src[0]), read(at, in.Src[1]), read(at, in.Src[2]))
		case sram.Copy:
			l = read(int(in.From), in.Src[0])
		}
		rows.Set(at, int(in.Dst), uint32(l))
	}
	for _, out := range p.Outputs {
		g.AddOutput(out.Name, read(out.Array, out.Operand))
	}
	return g, nil
}

// Prove decides whether a program computes a circuit for all inputs: it executes
// the program on functions (see [Symbolic]) and compares the result with the
// circuit by [xmg.Equivalent], whose answer it returns; of a witness, A is the
// value of the circuit and B that of the program. Unlike [Check] it does not ask
// how the program computes, unlike [Verify] it does not rest on patterns.
//
// An error means that the machine refuses the program, that the numbers of
// inputs or outputs differ, or that ctx ended, with what was known by then.
func Prove(ctx context.Context, circuit *xmg.Graph, p *sram.Program, opt xmg.EquivalenceOptions) (xmg.Equivalence, error) {
	g, err := Symbolic(p)
	if err != nil {
		return xmg.Equivalence{}, err
	}
	e, err := xmg.Equivalent(ctx, circuit, g, opt)
	if err != nil {
		return e, fmt.Errorf("masim: prove: %w", err)
	}
	return e, nil
}
