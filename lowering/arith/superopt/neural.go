package superopt

import (
	"context"
	"math/rand/v2"

	"github.com/bitsched/bitsched/sram"
)

// Place is a row or a latch of a body.
type Place struct {
	Name  string
	Start *Value // what it holds before; nil: nobody knows
	Goal  *Value // what it must hold after; nil: whatever
	Fixed bool   // a row of an operand, which is not written
}

// Known makes a value for a Place.
func Known(v Value) *Value { return &v }

// NeuralBody is a loop body of [sram.NeuralCache] on a few rows, at most maxPlaces-2
// of them, and the two latches.
type NeuralBody struct {
	Vars       int // at most 5 where a place is unknown at the start, else 6
	Rows       []Place
	Carry, Tag Place
}

const maxPlaces = 10

type neuralState [maxPlaces]Value

// neuralInstr is an instruction; operands are rows, then the constants 0 and 1.
type neuralInstr struct {
	op     sram.Opcode
	masked bool
	dst    int8
	a, b   int8
}

// Search looks for the shortest body of at most most instructions, with at most work
// instructions executed. The least body in the order of instructions is found,
// whatever the machine.
func (b *NeuralBody) Search(ctx context.Context, most, work int) (Result, error) {
	instrs := b.instrs()
	var start neuralState
	for i, p := range b.places() {
		start[i] = Var(b.Vars) // all that is unknown is the same: a body for all values does for these
		if p.Start != nil {
			start[i] = *p.Start
		}
	}
	return search(ctx, most, func(n int, r *Result) ([]sram.Micro, error) {
		if n == 0 {
			if b.missing(&start) == 0 {
				return []sram.Micro{}, nil
			}
			return nil, nil
		}
		nodes := []node[neuralState]{{state: start, parent: -1}}
		seen := map[neuralState]bool{start: true}
		from := 0
		for depth := 1; depth <= n; depth++ {
			end := len(nodes)
			for at := from; at < end; at++ {
				if r.Tried += len(instrs); r.Tried > work {
					return nil, ErrWork
				}
				if at&1023 == 0 && ctx.Err() != nil {
					return nil, ctx.Err()
				}
				for k := range instrs {
					s := nodes[at].state
					b.step(&s, &instrs[k])
					if b.missing(&s) > n-depth || depth < n && seen[s] {
						continue
					}
					if depth < n {
						seen[s] = true
						nodes = append(nodes, node[neuralState]{s, int32(at), int32(k)})
						continue
					}
					code := make([]neuralInstr, 0, n)
					for _, i := range append(path(nodes, int32(at)), int32(k)) {
						code = append(code, instrs[i])
					}
					if b.holds(code) {
						return b.micros(code), nil
					}
				}
			}
			from = end
		}
		return nil, nil
	})
}

func (b *NeuralBody) places() []Place {
	return append(append([]Place{}, b.Rows...), b.Carry, b.Tag)
}

// missing returns how many instructions a state needs at least: each writes a row or
// sets the tag, and an addition the carry too.
func (b *NeuralBody) missing(s *neuralState) int {
	n := 0
	for i := range b.Rows {
		if g := b.Rows[i].Goal; g != nil && s[i] != *g {
			n++
		}
	}
	if b.Tag.Goal != nil && s[len(b.Rows)+1] != *b.Tag.Goal {
		n++
	}
	if n == 0 && b.Carry.Goal != nil && s[len(b.Rows)] != *b.Carry.Goal {
		n++
	}
	return n
}

// instrs lists the instructions that differ from each other.
func (b *NeuralBody) instrs() []neuralInstr {
	rows := int8(len(b.Rows))
	zero := rows
	one := rows + 1
	var list []neuralInstr
	type fn struct {
		op   sram.Opcode
		a, b int8
	}
	var logic, sums []fn
	for x := int8(0); x <= one; x++ {
		logic = append(logic, fn{sram.NCCopy, x, zero})
		if x < rows {
			logic = append(logic, fn{sram.NCNot, x, zero})
		}
		for y := x; y <= one; y++ {
			sums = append(sums, fn{sram.NCAdd, x, y})
			for op := sram.NCAnd; x < y && y < rows && op <= sram.NCXnor; op++ {
				logic = append(logic, fn{op, x, y})
			}
		}
	}
	for d := int8(0); d < rows; d++ {
		if b.Rows[d].Fixed {
			continue
		}
		for _, masked := range []bool{false, true} {
			for _, f := range logic {
				list = append(list, neuralInstr{f.op, masked, d, f.a, f.b})
			}
			for _, f := range sums {
				list = append(list, neuralInstr{sram.NCAdd, masked, d, f.a, f.b})
			}
			list = append(list, neuralInstr{op: sram.NCWriteCarry, masked: masked, dst: d})
		}
		list = append(list, neuralInstr{op: sram.NCWriteTag, dst: d})
	}
	for _, f := range sums {
		list = append(list, neuralInstr{op: sram.NCCarry, a: f.a, b: f.b})
	}
	for _, f := range logic {
		list = append(list, neuralInstr{op: f.op - sram.NCAnd + sram.NCTagAnd, a: f.a, b: f.b})
	}
	return append(list, neuralInstr{op: sram.NCTagCarry}, neuralInstr{op: sram.NCTagNotCarry})
}

// step executes an instruction.
func (b *NeuralBody) step(s *neuralState, i *neuralInstr) {
	rows := len(b.Rows)
	read := func(x int8) Value {
		switch int(x) {
		case rows:
			return 0
		case rows + 1:
			return ^Value(0)
		}
		return s[x]
	}
	carry, tag := &s[rows], &s[rows+1]
	x, y := read(i.a), read(i.b)
	var v Value
	op := i.op
	toTag := op >= sram.NCTagAnd && op <= sram.NCTagNot
	if toTag {
		op -= sram.NCTagAnd - sram.NCAnd
	}
	switch op {
	case sram.NCAnd:
		v = x & y
	case sram.NCNand:
		v = ^(x & y)
	case sram.NCOr:
		v = x | y
	case sram.NCNor:
		v = ^(x | y)
	case sram.NCXor:
		v = x ^ y
	case sram.NCXnor:
		v = ^(x ^ y)
	case sram.NCCopy:
		v = x
	case sram.NCNot:
		v = ^x
	case sram.NCAdd:
		v = x ^ y ^ *carry
		*carry = Maj(x, y, *carry)
	case sram.NCWriteTag:
		v = *tag
	case sram.NCWriteCarry:
		v = *carry
	case sram.NCCarry:
		*carry = Maj(x, y, *carry)
		return
	case sram.NCTagCarry:
		*tag = *carry
		return
	case sram.NCTagNotCarry:
		*tag = ^*carry
		return
	}
	switch {
	case toTag:
		*tag = v
	case i.masked:
		s[i.dst] ^= (s[i.dst] ^ v) & *tag
	default:
		s[i.dst] = v
	}
}

// holds executes a body with what is unknown at the start differing from place to
// place.
func (b *NeuralBody) holds(code []neuralInstr) bool {
	rng := rand.New(rand.NewPCG(1, 2))
	half := uint(1) << b.Vars
	if half == 64 {
		return true // nothing is unknown
	}
	fold := func(v Value) Value { return v & (1<<half - 1) }
	for range 64 {
		var s neuralState
		for i, p := range b.places() {
			if s[i] = Value(rng.Uint64()); p.Start != nil {
				s[i] = *p.Start
			}
		}
		for k := range code {
			b.step(&s, &code[k])
		}
		for i, p := range b.places() {
			if p.Goal != nil && fold(s[i]) != fold(*p.Goal) {
				return false
			}
		}
	}
	return true
}

// micros returns the body with its places as rows 0 and up.
func (b *NeuralBody) micros(code []neuralInstr) []sram.Micro {
	operand := func(x int8) sram.Operand {
		switch int(x) {
		case len(b.Rows):
			return sram.Zero
		case len(b.Rows) + 1:
			return sram.One
		}
		return sram.Row(int(x), false)
	}
	var m []sram.Micro
	for _, i := range code {
		k := sram.Micro{Op: i.op, Masked: i.masked}
		info := &sram.NeuralCache.Ops[i.op]
		if info.Writes {
			k.Dst = uint16(i.dst)
		}
		for j, x := range []int8{i.a, i.b}[:info.Operands] {
			k.Src[j] = operand(x)
		}
		m = append(m, k)
	}
	return m
}
