package sram

import (
	"fmt"
	"math/bits"
	"strings"
)

func init() { register(&Ambit) }

// The rows of a subarray that compute, as latches: an instruction reaches them by
// one of the 16 addresses of [Ambit]. The dual-contact cells DCC0 and DCC1 have a
// second wordline that connects them to the complementary bitline.
var ambitRows = [6]Latch{newLatch("t0"), newLatch("t1"), newLatch("t2"), newLatch("t3"), newLatch("dcc0"), newLatch("dcc1")}

// Indices into ambitRows.
const (
	ambitT0 = iota
	ambitT1
	ambitT2
	ambitT3
	ambitDCC0
	ambitDCC1
)

// ambitAddress is what an address of the computing rows activates: rows by their
// wordline, and by the second wordline of dual-contact cells.
type ambitAddress struct{ plain, inverted []int }

// ambitAddresses are B0 to B15 (Ambit, MICRO 2017, table 1).
var ambitAddresses = [16]ambitAddress{
	0:  {plain: []int{ambitT0}},
	1:  {plain: []int{ambitT1}},
	2:  {plain: []int{ambitT2}},
	3:  {plain: []int{ambitT3}},
	4:  {plain: []int{ambitDCC0}},
	5:  {inverted: []int{ambitDCC0}},
	6:  {plain: []int{ambitDCC1}},
	7:  {inverted: []int{ambitDCC1}},
	8:  {plain: []int{ambitT0}, inverted: []int{ambitDCC0}},
	9:  {plain: []int{ambitT1}, inverted: []int{ambitDCC1}},
	10: {plain: []int{ambitT2, ambitT3}},
	11: {plain: []int{ambitT0, ambitT3}},
	12: {plain: []int{ambitT0, ambitT1, ambitT2}},
	13: {plain: []int{ambitT1, ambitT2, ambitT3}},
	14: {plain: []int{ambitDCC0, ambitT1, ambitT2}},
	15: {plain: []int{ambitDCC1, ambitT0, ambitT3}},
}

// rows is the number of rows that the address activates.
func (a ambitAddress) rows() int { return len(a.plain) + len(a.inverted) }

// latches returns the rows as latches, by wordline.
func (a ambitAddress) latches() (plain, inverted Latch) {
	for _, i := range a.plain {
		plain |= ambitRows[i]
	}
	for _, i := range a.inverted {
		inverted |= ambitRows[i]
	}
	return plain, inverted
}

// Ambit is the instruction set of DRAM that activates three rows at once: charge
// sharing leaves their majority on the bitline and in all three cells.
//
//   - aap.X.Y activates X, then Y, then precharges: what the bitlines sensed at X is
//     written to the rows of Y, and at a triple X to its own rows too.
//   - ap.X activates the triple X and precharges.
//
// X and Y are b0 to b15, the addresses of the rows that compute, or d, a row that
// holds data; X may be the constant rows C0 and C1 as well. Only rows that compute
// can be activated together, and only by these 16 addresses. Two rows at once
// are a destination and no source: charge sharing of two would decide nothing.
// A dual-contact cell is activated by one of its wordlines at a time.
// There are no other functions: AND and OR are majorities with a constant row, NOT
// goes through a dual-contact cell. Faults strike the computing rows as they do
// latches.
var Ambit = Technology{
	Name: "ambit",
	Doc:  "majority of three DRAM rows, complement by dual-contact cells; an instruction is an AAP or AP command",
	Source: "Ambit (MICRO 2017), sections 3 to 5 and table 1: triple-row activation, dual-contact cells, address groups B, C and D; " +
		"SIMDRAM (ASPLOS 2021): majority and complement as programs of AAP and AP",
	Reserved:  2,
	Ops:       ambitTable.ops,
	translate: translateAmbit,
	exec:      execAmbit,
}

// ambitForm is an instruction as two addresses.
type ambitForm struct{ from, to ambitPlace }

// ambitPlace is an address 0 to 15, or one of the following.
type ambitPlace int8

const (
	ambitData ambitPlace = 16 + iota // a row that holds data
	ambitNone                        // no second activation
)

func (p ambitPlace) String() string {
	if p == ambitData {
		return "d"
	}
	return fmt.Sprintf("b%d", int8(p))
}

// ambitTable is the instruction set, and the number of each form.
var ambitTable = newAmbitTable()

type ambitForms struct {
	ops    []MicroInfo
	forms  []ambitForm
	number map[ambitForm]Opcode
}

func newAmbitTable() *ambitForms {
	t := &ambitForms{number: map[ambitForm]Opcode{}}
	add := func(f ambitForm, info MicroInfo) {
		t.number[f] = Opcode(len(t.ops))
		t.ops, t.forms = append(t.ops, info), append(t.forms, f)
	}
	var sources []ambitPlace
	for i := range ambitPlace(16) {
		if n := ambitAddresses[i].rows(); n == 1 || n == 3 {
			sources = append(sources, i)
		}
	}
	add(ambitForm{ambitData, ambitData}, MicroInfo{Name: "aap.d.d", Operands: 1, Writes: true, Copies: true, Class: ClassAccess, Doc: "dst = a"})
	for to := range ambitPlace(16) {
		add(ambitForm{ambitData, to}, MicroInfo{Name: "aap.d." + to.String(), Operands: 1, Sets: to.sets(), Class: ClassAccess, Doc: to.doc("a")})
	}
	for _, from := range sources {
		value, sets := from.value()
		class := ClassAccess
		if sets != 0 {
			class = ClassCompute
		}
		add(ambitForm{from, ambitData}, MicroInfo{Name: "aap." + from.String() + ".d", Writes: true, Reads: from.reads(), Sets: sets, Class: class,
			Doc: join(from.docSet(), "dst = "+value)})
		for to := range ambitPlace(16) {
			if to != from && !bothWordlines(from, to) {
				add(ambitForm{from, to}, MicroInfo{Name: "aap." + from.String() + "." + to.String(), Reads: from.reads(), Sets: sets | to.sets(), Class: class,
					Doc: join(from.docSet(), to.doc(value))})
			}
		}
		if sets != 0 {
			add(ambitForm{from, ambitNone}, MicroInfo{Name: "ap." + from.String(), Reads: from.reads(), Sets: sets, Class: ClassLatch, Doc: from.docSet()})
		}
	}
	return t
}

// bothWordlines reports whether two addresses activate a dual-contact cell by one
// wordline each, which would connect it to both bitlines.
func bothWordlines(a, b ambitPlace) bool {
	p, i := ambitAddresses[a].latches()
	q, j := ambitAddresses[b].latches()
	return p&j != 0 || i&q != 0
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; then " + b
}

// sets returns the rows that an address writes when it is activated second.
func (p ambitPlace) sets() Latch {
	plain, inverted := ambitAddresses[p].latches()
	return plain | inverted
}

func (p ambitPlace) reads() Latch { return p.sets() }

// value says what activating the address first senses, and the rows that it sets.
func (p ambitPlace) value() (doc string, sets Latch) {
	plain, inverted := ambitAddresses[p].latches()
	switch {
	case ambitAddresses[p].rows() == 3:
		return "that", plain
	case inverted != 0:
		return "~" + inverted.String(), 0
	}
	return plain.String(), 0
}

func (p ambitPlace) docSet() string {
	if ambitAddresses[p].rows() != 3 {
		return ""
	}
	plain, _ := ambitAddresses[p].latches()
	return fmt.Sprintf("%s = majority of them", plain)
}

func (p ambitPlace) doc(value string) string {
	plain, inverted := ambitAddresses[p].latches()
	var parts []string
	if plain != 0 {
		parts = append(parts, fmt.Sprintf("%v = %s", plain, value))
	}
	if inverted != 0 {
		parts = append(parts, fmt.Sprintf("%v = ~(%s)", inverted, value))
	}
	return strings.Join(parts, "; ")
}

// AmbitD stands for a row that holds data, or a constant row, in [AAP].
const AmbitD = int(ambitData)

// AAP returns the instruction that activates one address after another, each 0 to
// 15 or [AmbitD]; false if there is none.
func AAP(from, to int) (Opcode, bool) {
	op, ok := ambitTable.number[ambitForm{ambitPlace(from), ambitPlace(to)}]
	return op, ok
}

// AP returns the instruction that activates a triple, 12 to 15; false if there is
// none.
func AP(address int) (Opcode, bool) {
	op, ok := ambitTable.number[ambitForm{ambitPlace(address), ambitNone}]
	return op, ok
}

// APOf returns the command that activates the triple which an AAP activates first,
// and nothing else; false if its first address is no triple.
func APOf(aap Opcode) (Opcode, bool) {
	op, ok := ambitTable.number[ambitForm{ambitTable.forms[aap].from, ambitNone}]
	return op, ok
}

// JoinAAP returns the AAP from the first address of one command to the second of
// the next, which reads what the first stored; false if there is none.
func JoinAAP(store, load Opcode) (Opcode, bool) {
	a, b := ambitTable.forms[store], ambitTable.forms[load]
	if a.to != ambitData || b.from != ambitData {
		return 0, false
	}
	op, ok := ambitTable.number[ambitForm{a.from, b.to}]
	return op, ok
}

// A step of execAmbit has in dst the slot that it writes, 0 for none, and the
// rows of the second address that it writes complemented, in a its source as
// slot<<1 | negate, or the rows of a triple, in b the rows that it writes plainly.
const (
	ambitTriple = 1 << 31 // a is a triple
	ambitShift  = 8       // of the slot in dst
)

func translateAmbit(m *Micro, slot func(Operand) uint32, dst uint32) microOp {
	f := ambitTable.forms[m.Op]
	var s microOp
	switch {
	case f.from == ambitData:
		if s.a = slot(m.Src[0]); s.a == 1 { // the constant 1 is the negated row of zeros
			s.a = slotOnes << 1
		}
	case ambitAddresses[f.from].rows() == 3:
		plain, _ := ambitAddresses[f.from].latches()
		s.a, s.b = ambitTriple|uint32(plain), uint32(plain)
	default:
		plain, inverted := ambitAddresses[f.from].latches()
		if inverted != 0 {
			s.a = inverted.slot()<<1 | 1
		} else {
			s.a = plain.slot() << 1
		}
	}
	switch f.to {
	case ambitData:
		s.dst = dst << ambitShift
	case ambitNone:
	default:
		plain, inverted := ambitAddresses[f.to].latches()
		s.b |= uint32(plain)
		s.dst = uint32(inverted)
	}
	return s
}

// execAmbit executes steps on a group of 2048 bitlines.
func execAmbit(ops []microOp, rows [][groupWords]uint64) {
	for i := range ops {
		op := &ops[i]
		var sensed [groupWords]uint64
		if op.a&ambitTriple != 0 {
			l := uint8(op.a)
			x := &rows[slotLatches+bits.TrailingZeros8(l)]
			l &= l - 1
			y := &rows[slotLatches+bits.TrailingZeros8(l)]
			l &= l - 1
			z := &rows[slotLatches+bits.TrailingZeros8(l)]
			for k := range sensed {
				sensed[k] = x[k] ^ (x[k]^y[k])&(x[k]^z[k])
			}
		} else {
			x, n := &rows[op.a>>1], neg(op.a)
			for k := range sensed {
				sensed[k] = x[k] ^ n
			}
		}
		for l := uint8(op.b); l != 0; l &= l - 1 {
			rows[slotLatches+bits.TrailingZeros8(l)] = sensed
		}
		for l := uint8(op.dst); l != 0; l &= l - 1 {
			d := &rows[slotLatches+bits.TrailingZeros8(l)]
			for k := range d {
				d[k] = ^sensed[k]
			}
		}
		if s := op.dst >> ambitShift; s != 0 {
			rows[s] = sensed
		}
	}
}
