package stream

import (
	"math"

	"github.com/bitsched/bitsched/tdfg/scalar"
)

// exec executes the instructions in iterations from to end of loop l, whose
// variable is first in iteration 0. It returns the iteration that opBreak ended
// the loop at, or end.
func (m *machine) exec(code []instr, l *loop, first, from, end int64) (int64, error) {
	return m.execFrom(code, 0, l, first, from, end)
}

// execFrom is exec from an instruction on.
func (m *machine) execFrom(code []instr, start int, l *loop, first, from, end int64) (int64, error) {
	regs, step := m.regs, l.src.Stride()
	for it := from; it < end; it++ {
		if l.reg >= 0 {
			regs[l.reg] = scalar.Value(first + it*step)
		}
		for pc := start; pc < len(code); pc++ {
			in := &code[pc]
			switch in.op {
			case opLoad, opStore:
				p := &m.plans[in.c]
				at := p.base + it*p.stride
				if !p.ok {
					var err error
					if at, err = m.locate(in.c); err != nil {
						return it, err
					}
				}
				if in.op == opLoad {
					regs[in.dst] = p.data[at] & in.mask
				} else {
					p.data[at] = regs[in.a]
				}
			case opMove:
				regs[in.dst] = regs[in.a]
			case opSkip:
				if regs[in.a]&1 == 0 {
					if in.fallback >= 0 {
						regs[in.fallback] = 0
					}
					pc = int(in.c) - 1
				} else {
					m.executed[in.b]++
				}
			case opBreak:
				if regs[in.a]&1 == 0 {
					return it, nil
				}
			case opAdd:
				regs[in.dst] = (regs[in.a] + regs[in.b]) & in.mask
			case opSub:
				regs[in.dst] = (regs[in.a] - regs[in.b]) & in.mask
			case opMul:
				regs[in.dst] = regs[in.a] * regs[in.b] & in.mask
			case opEq:
				regs[in.dst] = flag(regs[in.a] == regs[in.b])
			case opNe:
				regs[in.dst] = flag(regs[in.a] != regs[in.b])
			case opLt:
				regs[in.dst] = flag(int64(regs[in.a]<<in.pad) < int64(regs[in.b]<<in.pad))
			case opLe:
				regs[in.dst] = flag(int64(regs[in.a]<<in.pad) <= int64(regs[in.b]<<in.pad))
			case opMin:
				a, b := regs[in.a], regs[in.b]
				if int64(b<<in.pad) < int64(a<<in.pad) {
					a = b
				}
				regs[in.dst] = a
			case opMax:
				a, b := regs[in.a], regs[in.b]
				if int64(b<<in.pad) > int64(a<<in.pad) {
					a = b
				}
				regs[in.dst] = a
			case opExtend:
				regs[in.dst] = scalar.Value(int64(regs[in.a]<<in.pad)>>in.pad) & in.to.Mask()
			case opFLt:
				regs[in.dst] = flag(float(regs[in.a]) < float(regs[in.b]))
			case opFLe:
				regs[in.dst] = flag(float(regs[in.a]) <= float(regs[in.b]))
			case opFAdd:
				regs[in.dst] = fp32(float(regs[in.a]) + float(regs[in.b]))
			case opFSub:
				regs[in.dst] = fp32(float(regs[in.a]) - float(regs[in.b]))
			case opFMul:
				regs[in.dst] = fp32(float(regs[in.a]) * float(regs[in.b]))
			case opSelect:
				if regs[in.a]&1 != 0 {
					regs[in.dst] = regs[in.b]
				} else {
					regs[in.dst] = regs[in.c]
				}
			case opConvert:
				regs[in.dst] = scalar.Convert(in.typ, in.to, regs[in.a])
			case opEval:
				switch in.arity {
				case 1:
					regs[in.dst] = scalar.Eval(in.what, in.typ, regs[in.a])
				case 2:
					regs[in.dst] = scalar.Eval(in.what, in.typ, regs[in.a], regs[in.b])
				default:
					regs[in.dst] = scalar.Eval(in.what, in.typ, regs[in.a], regs[in.b], regs[in.c])
				}
			}
		}
	}
	return end, nil
}

func flag(b bool) scalar.Value {
	if b {
		return 1
	}
	return 0
}

func float(v scalar.Value) float32 { return math.Float32frombits(uint32(v)) }

// fp32 returns the bits of a result; a NaN is the canonical one of package scalar.
// The argument is rounded: a product is not fused with what follows.
func fp32(f float32) scalar.Value {
	if f != f {
		return 0x7fc00000
	}
	return scalar.Value(math.Float32bits(f))
}
