package arith

import (
	"context"

	"github.com/bitsched/bitsched/sram"
)

func init() { register(&sram.NeuralCache, microcode{}) }

// ncCode writes the instructions of an operation: args and res are rows or
// constants.
type ncCode func(a *asm, t Type, args []word, res word)

// ncTable is the microcode of neural-cache.
var ncTable = map[ID]ncCode{
	IntMul:            ncMultiply(false, mulLow),
	IntAdd:            ncAdd,
	IntSub:            ncSub,
	IntNeg:            ncNeg,
	IntAbs:            ncAbs,
	IntEqual:          ncEqual(false),
	IntNotEqual:       ncEqual(true),
	IntLess:           ncLess(true, false, false),
	IntLessEqual:      ncLess(true, true, true),
	IntGreater:        ncLess(true, true, false),
	IntGreaterEqual:   ncLess(true, false, true),
	UintLess:          ncLess(false, false, false),
	UintLessEqual:     ncLess(false, true, true),
	UintGreater:       ncLess(false, true, false),
	UintGreaterEqual:  ncLess(false, false, true),
	IntMin:            ncMinMax(true, false),
	IntMax:            ncMinMax(true, true),
	UintMin:           ncMinMax(false, false),
	UintMax:           ncMinMax(false, true),
	IntSelect:         ncSelect,
	IntAnd:            ncLogic(opAnd),
	IntOr:             ncLogic(opOr),
	IntXor:            ncLogic(opXor),
	IntNot:            ncNot,
	IntShiftLeft:      ncShift(shiftLeft),
	UintShiftRight:    ncShift(shiftRight),
	IntShiftRight:     ncShift(shiftSigned),
	IntRotateLeft:     ncShift(rotateLeft),
	IntRotateRight:    ncShift(rotateRight),
	IntMulHigh:        ncMultiply(true, mulHigh),
	UintMulHigh:       ncMultiply(false, mulHigh),
	IntMulWide:        ncMultiply(true, mulFull),
	UintMulWide:       ncMultiply(false, mulFull),
	IntMAC:            ncMac,
	IntDiv:            ncDivide(true, false),
	UintDiv:           ncDivide(false, false),
	IntRem:            ncDivide(true, true),
	UintRem:           ncDivide(false, true),
	UintSqrt:          ncSqrt,
	IntPopcount:       ncPopcount,
	IntLeadingZeros:   ncLeadingZeros,
	IntWiden:          ncWiden(true),
	UintWiden:         ncWiden(false),
	IntNarrow:         func(a *asm, _ Type, x []word, d word) { a.copyWord(d, x[0]) },
	IntReLU:           ncReLU,
	FloatSqrt:         ncFloatSqrt,
	FloatAdd:          ncFloatAdd(false),
	FloatSub:          ncFloatAdd(true),
	FloatMul:          ncFloatMul,
	FloatFMA:          ncFloatFMA,
	FloatDiv:          ncFloatDiv,
	FloatEqual:        ncFloatCompare(orderEqual),
	FloatNotEqual:     ncFloatCompare(orderNotEqual),
	FloatLess:         ncFloatCompare(orderLess),
	FloatLessEqual:    ncFloatCompare(orderLessEqual),
	FloatGreater:      ncFloatCompare(orderGreater),
	FloatGreaterEqual: ncFloatCompare(orderGreaterEqual),
	FloatMin:          ncFloatMinMax(false),
	FloatMax:          ncFloatMinMax(true),
	FloatNeg:          ncFloatSign(true),
	FloatAbs:          ncFloatSign(false),
	FloatFromInt:      ncFloatFromInt,
	FloatToInt:        ncFloatToInt,
}

func init() {
	for _, f := range Formats {
		ncTable[floatTo(f)] = ncFloatConvert(f)
	}
}

// microcode assembles programs of neural-cache.
type microcode struct{}

func (microcode) supports(o *Operation) bool { return ncTable[o.ID] != nil }

func (microcode) build(_ context.Context, p *Program, _ *Store) error {
	k, out := p.Kernel, p.Kernel.Outputs[0]
	a := &asm{base: out.Base + out.Width}
	args := make([]word, len(p.Op.Args))
	for i, v := range p.Spec.Const {
		args[i] = constWord(v, p.Op.ArgWidth(p.Type, i))
	}
	for i, in := range k.Inputs {
		args[p.Args[i]] = portWord(in)
	}
	ncTable[p.Op.ID](a, p.Type, args, portWord(out))
	if n := a.base + len(a.used); n > k.Usable() {
		return p.tooLarge(n)
	}
	k.Instrs = a.code
	removeDead(k)
	return nil
}
