package sparse

import (
	"fmt"
	"strings"
)

// Register is what a field of an instruction names.
type Register uint8

// Registers. LoopCount can only be written. Line is what a word of a walker comes from, or
// goes to, along the line of the bank.
const (
	RegNone Register = iota
	Walker1Reg
	Walker2Reg
	Walker3Reg
	Reg1
	Reg2
	Reg3
	ConstReg
	LoopCount
	Line // as a source: [RegNone]
)

func (r Register) String() string {
	return [...]string{"-", "w1", "w2", "w3", "r1", "r2", "r3", "const", "loop", "line"}[r]
}

// Condition selects between the two next instructions.
type Condition uint8

// Conditions; the first next instruction is taken where they hold.
const (
	Always    Condition = iota
	IfLocal             // the index of the indirect access is one that this SPU accumulates
	IfLoop              // the loop counter is above 0
	IfNonzero           // of the result of operation 2
	IfUnclean           // Walker3Reg, before the operations
	IfChanged           // operation 2 changed its register
	IfBelow             // Walker1Reg is below Walker2Reg, before the operations
	IfAbove             // Walker1Reg is above Walker2Reg, before the operations
	IfRow               // the walker has more of its row: the instruction repeats, a pair each link cycle
)

// Shift says when a walker's word is accessed and its one-hot value shifted.
type Shift uint8

// The conditions of accesses.
const (
	NoAccess    Shift = iota
	Access            // and shift
	OnTrue            // access and shift if the condition holds
	OnFalse           // access and shift unless it does
	PairOnTrue        // shift, access and shift if it holds: the rest of a pair is skipped
	Hold              // access, no shift
	HoldOnTrue        // access if the condition holds, no shift
	SkipOnFalse       // no access, shift unless the condition holds
)

// Where a clean indicator goes, or a pair.
const (
	CleanNowhere  = iota
	CleanToWalker // the index is appended by walker 2; an operand that is the indicator counts too
	CleanToBank   // indicator and index are sent to the dispatcher
	PairDown      // index and Reg1 are sent down if the condition holds
)

// Instruction is an instruction of table 1. The result of operation 1 goes to Reg1,
// that of operation 2 to its first source. Operations and the transfer see the
// registers as they were; walkers write what is then in theirs, and read at the end.
type Instruction struct {
	NextPC1, NextPC2 uint8
	Cond             Condition
	DecLoop          bool
	Op1, Op2         Op
	Src1Op1, Src2Op1 Register
	Src1Op2, Src2Op2 Register
	Shift            [3]Shift
	Write            [3]bool
	RegSrc, RegDst   Register
	IndirectSrc      Register // Walker1Reg, Walker2Reg or Reg3
	IndirectDst      uint8    // walker 1 to 3; 0: none
	LongLocal        bool     // long indices are accumulated onto the replica, else sent down
	CheckClean       bool
	CleanIndex       Register // Walker1Reg, Walker2Reg or Reg3
	CleanDst         uint8
}

// Field is a field of an instruction.
type Field struct {
	Name string `json:"field"`
	Bits int    `json:"bits"`
	get  func(in *Instruction) uint64
	set  func(in *Instruction, v uint64)
}

func b(v bool) uint64 {
	if v {
		return 1
	}
	return 0
}

// twoBits are the registers that a field of two bits can name.
var twoBits = [4]Register{RegNone, Walker1Reg, Walker2Reg, Reg3}

func two(r Register) uint64 {
	for i, v := range twoBits {
		if v == r {
			return uint64(i)
		}
	}
	return 0
}

// Fields returns the 24 fields of table 1 in its order.
func Fields() []Field {
	reg := func(name string, bits int, at func(in *Instruction) *Register) Field {
		return Field{name, bits, func(in *Instruction) uint64 { return uint64(*at(in)) }, func(in *Instruction, v uint64) { *at(in) = Register(v) }}
	}
	flag := func(name string, at func(in *Instruction) *bool) Field {
		return Field{name, 1, func(in *Instruction) uint64 { return b(*at(in)) }, func(in *Instruction, v uint64) { *at(in) = v == 1 }}
	}
	list := []Field{
		{"NextPC1", 3, func(in *Instruction) uint64 { return uint64(in.NextPC1) }, func(in *Instruction, v uint64) { in.NextPC1 = uint8(v) }},
		{"NextPC2", 3, func(in *Instruction) uint64 { return uint64(in.NextPC2) }, func(in *Instruction, v uint64) { in.NextPC2 = uint8(v) }},
		{"NextPC_Cond", 4, func(in *Instruction) uint64 { return uint64(in.Cond) }, func(in *Instruction, v uint64) { in.Cond = Condition(v) }},
		flag("DecLoop", func(in *Instruction) *bool { return &in.DecLoop }),
		{"OpCode1", 4, func(in *Instruction) uint64 { return uint64(in.Op1) }, func(in *Instruction, v uint64) { in.Op1 = Op(v) }},
		{"OpCode2", 4, func(in *Instruction) uint64 { return uint64(in.Op2) }, func(in *Instruction, v uint64) { in.Op2 = Op(v) }},
		reg("Src1Op1", 3, func(in *Instruction) *Register { return &in.Src1Op1 }),
		reg("Src2Op1", 3, func(in *Instruction) *Register { return &in.Src2Op1 }),
		reg("Src1Op2", 3, func(in *Instruction) *Register { return &in.Src1Op2 }),
		reg("Src2Op2", 3, func(in *Instruction) *Register { return &in.Src2Op2 }),
	}
	for w := range 3 {
		list = append(list, Field{fmt.Sprintf("ShiftCond%d", w+1), 3, func(in *Instruction) uint64 { return uint64(in.Shift[w]) }, func(in *Instruction, v uint64) { in.Shift[w] = Shift(v) }})
	}
	for w := range 3 {
		list = append(list, flag(fmt.Sprintf("ReadWrite%d", w+1), func(in *Instruction) *bool { return &in.Write[w] }))
	}
	return append(list,
		reg("RegSrc", 3, func(in *Instruction) *Register { return &in.RegSrc }),
		reg("RegDst", 4, func(in *Instruction) *Register { return &in.RegDst }),
		Field{"IndirectAccSrc", 2, func(in *Instruction) uint64 { return two(in.IndirectSrc) }, func(in *Instruction, v uint64) { in.IndirectSrc = twoBits[v] }},
		Field{"IndirectAccDst", 2, func(in *Instruction) uint64 { return uint64(in.IndirectDst) }, func(in *Instruction, v uint64) { in.IndirectDst = uint8(v) }},
		flag("LongEntryTreat", func(in *Instruction) *bool { return &in.LongLocal }),
		flag("CheckCleanVal", func(in *Instruction) *bool { return &in.CheckClean }),
		Field{"CleanIndexSrc", 2, func(in *Instruction) uint64 { return two(in.CleanIndex) }, func(in *Instruction, v uint64) { in.CleanIndex = twoBits[v] }},
		Field{"CleanPairDst", 2, func(in *Instruction) uint64 { return uint64(in.CleanDst) }, func(in *Instruction, v uint64) { in.CleanDst = uint8(v) }},
	)
}

// InstructionBits is the width of an instruction.
func InstructionBits() (bits int) {
	for _, f := range Fields() {
		bits += f.Bits
	}
	return bits
}

// Encode returns the bits of an instruction, the first field lowest.
func (in *Instruction) Encode() (word uint64) {
	at := 0
	for _, f := range Fields() {
		v := f.get(in)
		if v>>f.Bits != 0 {
			panic(fmt.Sprintf("sparse: %s is %d, which takes more than %d bits", f.Name, v, f.Bits))
		}
		word |= v << at
		at += f.Bits
	}
	return word
}

// DecodeInstruction is the inverse of Encode.
func DecodeInstruction(word uint64) (in Instruction) {
	for _, f := range Fields() {
		f.set(&in, word&(1<<f.Bits-1))
		word >>= f.Bits
	}
	return in
}

// String prints an instruction in one line.
func (in Instruction) String() string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if in.IndirectDst > 0 && in.IndirectSrc != RegNone {
		add("w%d @ [%s]", in.IndirectDst, in.IndirectSrc)
	}
	if in.Op1 != OpNone {
		add("r1 = %s(%s, %s)", in.Op1, in.Src1Op1, in.Src2Op1)
	}
	if in.Op2 != OpNone {
		add("%s = %s(%s, %s)", in.Src1Op2, in.Op2, in.Src1Op2, in.Src2Op2)
	}
	switch {
	case in.RegDst != RegNone && in.RegSrc == RegNone:
		add("%s = %s", in.RegDst, Line)
	case in.RegDst != RegNone:
		add("%s = %s", in.RegDst, in.RegSrc)
	}
	for w, s := range in.Shift {
		if s == NoAccess {
			continue
		}
		verb := "read"
		if in.Write[w] {
			verb = "write"
		}
		add("%s w%d%s", verb, w+1, [...]string{"", "", " if true", " if false", " of the next pair if true", " hold", " hold if true", " skip if false"}[s])
	}
	if in.DecLoop {
		add("loop--")
	}
	if in.CheckClean {
		add("check clean")
	}
	if in.CleanDst != CleanNowhere {
		add("%s %s", [...]string{"", "append", "indicate", "send down"}[in.CleanDst], in.CleanIndex)
	}
	if in.LongLocal {
		add("long local")
	}
	if in.Cond == Always {
		add("goto %d", in.NextPC1)
	} else {
		add("%s ? %d : %d", [...]string{"", "local", "loop", "nonzero", "unclean", "changed", "w1 < w2", "w1 > w2", "row"}[in.Cond], in.NextPC1, in.NextPC2)
	}
	return strings.Join(parts, "; ")
}
