package arith

import (
	"context"
	"fmt"
	"slices"

	"github.com/bitsched/bitsched/sram"
)

func init() { register(&sram.Ambit, commands{}) }

// commands makes programs of ambit from the circuits of operations.
type commands struct{}

func (commands) supports(o *Operation) bool { return o.circuit != nil }

// build translates the gates of the circuit in the order in which it was built. A
// majority loads its operands into the rows of a triple, unless they are there;
// the sum and the carry of a full adder are made together (see adder).
func (commands) build(ctx context.Context, p *Program, _ *Store) error {
	g, err := p.graph()
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	m := newAmbitMaker(p.Kernel, listOf(g))
	m.run()
	code, rows := tidy(p.Kernel, m.code)
	if rows > p.Kernel.Usable() {
		return p.tooLarge(rows)
	}
	p.Kernel.Instrs = code
	return nil
}

// The computing rows, and the addresses that reach one of them.
const (
	cellT0 = iota
	cellT1
	cellT2
	cellT3
	cellDCC0
	cellDCC1
	numCells
)

var (
	plainAddress    = [numCells]int{0, 1, 2, 3, 4, 6}
	invertedAddress = [numCells]int{cellDCC0: 5, cellDCC1: 7}
	triples         = [...]struct {
		address int
		cells   [3]int
	}{
		{14, [3]int{cellDCC0, cellT1, cellT2}},
		{15, [3]int{cellDCC1, cellT0, cellT3}},
		{12, [3]int{cellT0, cellT1, cellT2}},
		{13, [3]int{cellT1, cellT2, cellT3}},
	}
)

// nothing is what a cell holds that no one knows: no literal.
const nothing = ^uint32(0)

// command is an instruction whose rows are numbered without end; tidy gives them
// rows of the array.
type command struct {
	op       sram.Opcode
	dst, src int // data rows, or none; src may be a constant row
}

// Rows that are none of the array's data rows.
const (
	noRow   = -1
	zeroRow = -2
	oneRow  = -3
)

// ambitMaker translates gates one after another. A literal is value<<1 |
// complement as in a gateList.
type ambitMaker struct {
	k    *sram.Kernel
	l    *gateList
	code []command

	cell  [numCells]uint32 // literal that each computing row holds, or nothing
	row   []int            // row that holds a value, or its complement; -1 = none
	flip  []bool           // the row holds the complement
	uses  []int            // gates and outputs that a value still waits for
	fixed []int            // row of the result that a value must be stored in, or -1
	want  []uint32         // the literal that this row must hold
	next  int              // rows are named apart at first, compactRows joins them
}

func newAmbitMaker(k *sram.Kernel, l *gateList) *ambitMaker {
	n := 1 + l.inputs + len(l.gates)
	m := &ambitMaker{k: k, l: l, row: make([]int, n), flip: make([]bool, n), uses: make([]int, n), fixed: make([]int, n), want: make([]uint32, n)}
	for i := range m.cell {
		m.cell[i] = nothing
	}
	for v := range m.row {
		m.row[v], m.fixed[v] = -1, -1
	}
	v := 1
	for _, in := range k.Inputs {
		for j := range in.Width {
			m.row[v] = in.Base + j
			v++
		}
	}
	out := k.Outputs[0]
	for i, o := range l.outputs {
		v := int(o >> 1)
		m.uses[v]++
		if v > l.inputs && m.fixed[v] < 0 {
			m.fixed[v], m.want[v] = out.Base+i, o
		}
	}
	for _, g := range l.gates {
		for _, s := range g.src {
			m.uses[s>>1]++
		}
	}
	m.next = out.Base + out.Width
	return m
}

func (m *ambitMaker) run() {
	l := m.l
	partner := l.partners()
	done := make([]bool, len(l.gates))
	for i, g := range l.gates {
		if done[i] {
			continue
		}
		done[i] = true
		switch j := partner[i]; {
		case j >= 0:
			done[j] = true
			if !g.xor {
				i, j = j, i
			}
			m.adder(i, j)
		case !g.xor:
			m.majority(i)
		case slices.ContainsFunc(g.src[:], func(s uint32) bool { return s < 2 }):
			m.parity2(i)
		default:
			m.adder(i, -1)
		}
	}
	out := m.k.Outputs[0]
	for i, o := range l.outputs {
		if v := int(o >> 1); m.fixed[v] != out.Base+i || m.row[v] != out.Base+i {
			m.output(out.Base+i, o)
		}
	}
}

// partners finds the parity and the majority of the same three values: the sum
// and the carry of a full adder. Each has the number of the other, or -1.
func (l *gateList) partners() []int {
	key := func(g gateOp) [3]uint32 {
		k := [3]uint32{g.src[0] >> 1, g.src[1] >> 1, g.src[2] >> 1}
		slices.Sort(k[:])
		return k
	}
	partner := make([]int, len(l.gates))
	waiting := map[[4]uint32]int{}
	for i, g := range l.gates {
		partner[i] = -1
		k := key(g)
		other := [4]uint32{k[0], k[1], k[2], 1}
		mine := [4]uint32{k[0], k[1], k[2], 0}
		if g.xor {
			other, mine = mine, other
		}
		if j, ok := waiting[other]; ok {
			partner[i], partner[j] = j, i
			delete(waiting, other)
		} else {
			waiting[mine] = i
		}
	}
	return partner
}

// aap adds the command that activates two places.
func (m *ambitMaker) aap(from, to place) {
	op, ok := sram.AAP(from.address, to.address)
	if !ok {
		panic(fmt.Sprintf("arith: no command from address %d to %d", from.address, to.address))
	}
	m.code = append(m.code, command{op, to.row, from.row})
}

// triple activates a triple and nothing else.
func (m *ambitMaker) triple(address int) {
	op, _ := sram.AP(address)
	m.code = append(m.code, command{op, noRow, noRow})
}

// place is what one activation reaches: an address of computing rows, or
// sram.AmbitD and a row.
type place struct{ address, row int }

func cellPlace(address int) place { return place{address, noRow} }
func dataRow(row int) place       { return place{sram.AmbitD, row} }

var (
	constZeros = dataRow(zeroRow)
	constOnes  = dataRow(oneRow)
)

// find returns where the literal can be read as it is, cells first.
func (m *ambitMaker) find(l uint32) (place, bool) {
	for c, x := range m.cell {
		if x == l {
			return cellPlace(plainAddress[c]), true
		}
		if x == l^1 && c >= cellDCC0 {
			return cellPlace(invertedAddress[c]), true
		}
	}
	return m.findRow(l)
}

// findRow looks at the data rows only.
func (m *ambitMaker) findRow(l uint32) (place, bool) {
	switch v := l >> 1; {
	case l == 0:
		return constZeros, true
	case l == 1:
		return constOnes, true
	case m.row[v] >= 0 && m.flip[v] == (l&1 != 0):
		return dataRow(m.row[v]), true
	}
	return place{}, false
}

// read activates a place, then an address of computing rows.
func (m *ambitMaker) read(from place, to int) { m.aap(from, cellPlace(to)) }

// load brings a literal into a cell, through the dual-contact cell via where
// only its complement is at hand; via is -1 where that is not needed.
func (m *ambitMaker) load(l uint32, c, via int) {
	if m.cell[c] == l {
		return
	}
	m.save(c)
	if from, ok := m.source(l, plainAddress[c]); ok {
		m.read(from, plainAddress[c])
	} else if c < cellDCC0 {
		m.load(l, via, -1)
		m.read(cellPlace(plainAddress[via]), plainAddress[c])
	} else if from, ok := m.source(l^1, invertedAddress[c]); ok {
		m.read(from, invertedAddress[c])
	} else {
		panic(fmt.Sprintf("arith: value %d is nowhere", l>>1))
	}
	m.cell[c] = l
}

// source returns where a literal can be read from by a command that goes on to an
// address.
func (m *ambitMaker) source(l uint32, to int) (place, bool) {
	for c, x := range m.cell {
		if x == l && legal(plainAddress[c], to) {
			return cellPlace(plainAddress[c]), true
		}
		if x == l^1 && c >= cellDCC0 && legal(invertedAddress[c], to) {
			return cellPlace(invertedAddress[c]), true
		}
	}
	return m.findRow(l)
}

// legal reports whether there is an instruction from one address to another.
func legal(from, to int) bool {
	_, ok := sram.AAP(from, to)
	return ok
}

// commandsFor returns how many commands load takes.
func (m *ambitMaker) commandsFor(l uint32, c int) int {
	if m.cell[c] == l {
		return 0
	}
	if _, ok := m.source(l, plainAddress[c]); ok {
		return 1
	}
	if c >= cellDCC0 {
		return 1
	}
	return 2
}

// held reports whether a value is in a data row or in a cell other than c.
func (m *ambitMaker) held(v uint32, c int) bool {
	if m.row[v] >= 0 {
		return true
	}
	for i, x := range m.cell {
		if i != c && x != nothing && x>>1 == v {
			return true
		}
	}
	return false
}

// save stores what a cell holds in a data row, if it is still needed and nowhere
// else.
func (m *ambitMaker) save(c int) {
	x := m.cell[c]
	if x == nothing || x < 2 || m.uses[x>>1] == 0 || m.held(x>>1, c) {
		return
	}
	m.store(c)
}

// store stores what a cell holds in the data row of its value.
func (m *ambitMaker) store(c int) {
	x := m.cell[c]
	from := plainAddress[c]
	v := x >> 1
	if m.fixed[v] >= 0 && m.want[v] != x && c >= cellDCC0 {
		from, x = invertedAddress[c], x^1
	}
	m.aap(cellPlace(from), dataRow(m.claim(x)))
}

// claim gives the value of a literal the row that holds the literal from now on.
func (m *ambitMaker) claim(x uint32) int {
	v := x >> 1
	r := m.fixed[v]
	if r < 0 || m.want[v] != x {
		r = m.next
		m.next++
	}
	m.row[v], m.flip[v] = r, x&1 != 0
	return r
}

// saveAll stores what cells hold that is needed and nowhere else.
func (m *ambitMaker) saveAll(but ...uint32) {
	for c, x := range m.cell {
		if x != nothing && x >= 2 && m.uses[x>>1] > 0 && m.row[x>>1] < 0 && !slices.Contains(but, x>>1) {
			m.store(c)
		}
	}
}

// used counts the operands of a gate as served.
func (m *ambitMaker) used(g gateOp) {
	for _, s := range g.src {
		m.uses[s>>1]--
	}
}

var orders = [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}

// majority loads the operands into the triple where that takes the fewest
// commands, stores of what is overwritten included.
func (m *ambitMaker) majority(i int) {
	g := m.l.gates[i]
	v := uint32(1 + m.l.inputs + i)
	best, bestCost := [2]int{}, 1<<30
	var negated bool
	for _, neg := range []bool{false, true} { // the complements give the complement
		for t, triple := range triples {
			for o, order := range orders {
				cost := 0
				if neg {
					cost = 1 // for what is complemented later
				}
				for j, c := range triple.cells {
					l := flipIf(g.src[order[j]], neg)
					cost += 2 * m.commandsFor(l, c)
					if x := m.cell[c]; x != nothing && x >= 2 && x != l && m.uses[x>>1] > 0 && m.row[x>>1] < 0 && !m.heldOutside(x>>1, triple.cells) {
						cost += 2
					}
				}
				if cost < bestCost {
					best, bestCost, negated = [2]int{t, o}, cost, neg
				}
			}
		}
	}
	triple, order := triples[best[0]], orders[best[1]]
	var l [3]uint32
	for j := range l {
		l[j] = flipIf(g.src[order[j]], negated)
	}
	for _, c := range triple.cells { // what is lost and still needed
		if x := m.cell[c]; x != nothing && x >= 2 && m.row[x>>1] < 0 && !m.heldOutside(x>>1, triple.cells) && (m.uses[x>>1] > 1 || !slices.Contains(l[:], x)) && m.uses[x>>1] > 0 {
			m.store(c)
		}
	}
	m.fill(triple.cells, l)
	m.used(g)
	y := flipIf(v<<1, negated)
	for _, c := range triple.cells {
		m.cell[c] = y
	}
	m.finish(triple.address, y)
}

func flipIf(l uint32, neg bool) uint32 {
	if neg {
		return l ^ 1
	}
	return l
}

// heldOutside reports whether a value is in a cell that is none of those.
func (m *ambitMaker) heldOutside(v uint32, cells [3]int) bool {
	for c, x := range m.cell {
		if x != nothing && x>>1 == v && !slices.Contains(cells[:], c) {
			return true
		}
	}
	return false
}

// fill loads literals into the cells of a triple. A literal whose only source is a
// cell that another one overwrites goes first, or through a data row.
func (m *ambitMaker) fill(cells [3]int, l [3]uint32) {
	via := cellDCC0
	if cells[0] == cellDCC0 {
		via = cellDCC1
	}
	var done [3]bool
	for range 3 {
		pick := -1
		for j := range 3 {
			if done[j] {
				continue
			}
			// Who needs what is in the cell that j overwrites?
			blocked := false
			for i := range 3 {
				if i != j && !done[i] && m.cell[cells[i]] != l[i] && m.cell[cells[j]] != nothing && m.cell[cells[j]] != l[j] && m.cell[cells[j]]>>1 == l[i]>>1 && !m.held(l[i]>>1, cells[j]) {
					blocked = true
				}
			}
			if !blocked {
				pick = j
				break
			}
		}
		if pick < 0 { // a circle: store one
			for j := range 3 {
				if !done[j] {
					m.store(cells[j])
					pick = j
					break
				}
			}
		}
		if m.commandsFor(l[pick], cells[pick]) == 2 {
			m.save(via)
			if x := m.cell[via]; x != nothing && !m.held(x>>1, via) { // an operand to come
				for i := range 3 {
					if !done[i] && l[i]>>1 == x>>1 {
						m.store(via)
						break
					}
				}
			}
		}
		m.load(l[pick], cells[pick], via)
		done[pick] = true
	}
}

// finish activates a triple whose cells are said to hold y already, and stores y
// where it is needed again. The complement is stored where the result wants that.
func (m *ambitMaker) finish(address int, y uint32) {
	switch v := y >> 1; {
	case m.uses[v] == 0:
		m.triple(address)
	case m.fixed[v] < 0 || m.want[v] == y:
		m.aap(cellPlace(address), dataRow(m.claim(y)))
	case m.cell[cellDCC0] == y:
		m.triple(address)
		m.store(cellDCC0)
	case m.cell[cellDCC1] == y:
		m.triple(address)
		m.store(cellDCC1)
	default:
		m.save(cellDCC0)
		m.read(cellPlace(address), invertedAddress[cellDCC0])
		m.cell[cellDCC0] = y ^ 1
		m.store(cellDCC0)
	}
}

// parity2 is Ambit's XOR of two values: a triple computes ~p & q, the other one
// p & ~q, and a third their OR. Seven commands.
func (m *ambitMaker) parity2(i int) {
	g := m.l.gates[i]
	var in []uint32
	odd := uint32(0)
	for _, s := range g.src {
		if odd ^= s & 1; s>>1 != 0 {
			in = append(in, s&^1)
		}
	}
	y := uint32(1+m.l.inputs+i)<<1 | odd
	m.used(g)
	if len(in) < 2 { // the parity of one value, or a constant
		l := uint32(0)
		if len(in) == 1 {
			l = in[0]
		}
		m.saveAll()
		m.load(l, cellDCC0, -1)
		m.cell[cellDCC0] = y
		m.store(cellDCC0)
		return
	}
	for _, x := range in {
		m.uses[x>>1]++ // until they have been read
	}
	m.saveAll()
	for n, address := range []int{8, 9} {
		v := in[n] >> 1
		m.read(dataRow(m.row[v]), address)
		if m.flip[v] { // the parity of the complement of one is the complement
			y ^= 1
		}
	}
	m.read(constZeros, 10)
	m.triple(14)
	m.triple(15)
	m.read(constOnes, 2)
	for _, x := range in {
		m.uses[x>>1]--
	}
	m.cell = [numCells]uint32{y, y, y, nothing, nothing, nothing}
	m.finish(12, y)
}

// atHand returns the literal of a value that its data row holds, or that the
// value will be stored as.
func (m *ambitMaker) atHand(l uint32) uint32 {
	v := l >> 1
	if m.row[v] >= 0 {
		return flipIf(v<<1, m.flip[v])
	}
	for _, x := range m.cell {
		if x != nothing && x>>1 == v {
			return x
		}
	}
	return l
}

// adder makes the parity of three values, gate i, and their majority, gate j, or
// -1 if nobody asks for that. With p, q and r in T0, T2 and T3, T1 and DCC1,
//
//	y = maj(~p, q, r) in DCC0, T1, T2
//	m = maj(p, q, r) in DCC1, T0, T3
//	s = maj(~m, p, y) in DCC0, T1, T2
//
// since s is p where p and y are unlike m, and y where m tells that two of the
// three are equal to it. It takes eight commands, and seven where r is in the cells of
// the majority before it, as along the carries of an addition.
func (m *ambitMaker) adder(i, j int) {
	if m.borrower(i, j) {
		return
	}
	g := m.l.gates[i]
	parity := uint32(0)
	src := g.src
	for _, s := range src {
		parity ^= s & 1
	}
	negated := uint32(0) // the complement of the majority comes out
	if j >= 0 {
		src = m.l.gates[j].src
	} else { // polarities are free
		for n := range src {
			src[n] = m.atHand(src[n])
		}
	}
	own := src[0]&1 ^ src[1]&1 ^ src[2]&1
	sum := uint32(1+m.l.inputs+i)<<1 | parity ^ own
	flipped := [3]uint32{src[0] ^ 1, src[1] ^ 1, src[2] ^ 1}
	if m.complements(flipped, sum^1) < m.complements(src, sum) {
		src, negated, sum = flipped, 1, sum^1
	}
	m.used(g)
	carry := nothing
	if j >= 0 {
		carry = uint32(1+m.l.inputs+j)<<1 | negated
		m.used(m.l.gates[j])
	}
	// r is what is in cells, q what is complemented.
	r := 0
	inCells := func(l uint32) int {
		n := 0
		for c, x := range m.cell {
			if x == l {
				n++
				if c == cellDCC1 || c == cellT1 {
					n += 10
				}
			}
		}
		return n
	}
	for n := range src {
		if inCells(src[n]) > inCells(src[r]) {
			r = n
		}
	}
	p, q := (r+1)%3, (r+2)%3
	switch p1, q1 := m.directly(src[p]), m.directly(src[q]); {
	case !p1 && q1, p1 && q1 && m.justStored(src[p]): // the store and the load of q become one command
		p, q = q, p
	}
	for _, x := range src {
		m.uses[x>>1]++ // until they have been read
	}
	m.saveAll(src[r] >> 1)
	if x := src[r] >> 1; m.row[x] < 0 && m.uses[x] > 1 {
		m.saveAll()
	}
	loadR := func() {
		if m.cell[cellDCC1] != src[r] {
			m.load(src[r], cellDCC1, -1)
		}
		if m.cell[cellT1] != src[r] {
			m.read(cellPlace(plainAddress[cellDCC1]), plainAddress[cellT1])
			m.cell[cellT1] = src[r]
		}
	}
	// q before p, since its complement may go through DCC0.
	if from, ok := m.findRow(src[q]); ok && m.outside(src[r], cellT2, cellT3) {
		m.read(from, 10)
		m.cell[cellT2], m.cell[cellT3] = nothing, nothing
		loadR()
	} else {
		loadR()
		if ok {
			m.read(from, 10)
		} else {
			m.load(src[q], cellDCC0, -1)
			m.read(cellPlace(plainAddress[cellDCC0]), 10)
		}
	}
	m.cell[cellT2], m.cell[cellT3] = src[q], src[q]
	direct := true // DCC1 keeps the majority
	if from, ok := m.findRow(src[p]); ok {
		m.read(from, 8)
		m.triple(14)
		m.carryTriple()
		m.read(from, 1)
	} else {
		m.load(src[p]^1, cellDCC0, -1)
		m.read(cellPlace(invertedAddress[cellDCC0]), 0)
		from, _ := m.findRow(src[p] ^ 1)
		m.triple(14)
		m.carryTriple()
		m.read(from, invertedAddress[cellDCC1])
		m.read(cellPlace(plainAddress[cellDCC1]), 1)
		direct = false
	}
	for _, x := range src {
		m.uses[x>>1]--
	}
	m.cell = [numCells]uint32{cellT0: carry, cellT3: carry, cellDCC1: carry, cellT1: sum, cellT2: sum, cellDCC0: sum}
	if !direct {
		m.cell[cellDCC1] = nothing
	}
	m.finish(14, sum)
	if carry != nothing && m.uses[carry>>1] > 0 && m.fixed[carry>>1] >= 0 {
		if direct {
			m.store(cellDCC1)
		} else {
			m.store(cellT0)
		}
	}
}

// borrower makes the parity of p, q and r and the majority of ~p, q and r, where the
// gates are these up to complements that are at hand, and reports whether it did. With
// r in DCC1 and T3, ~r in T2, q and ~q in T0 and DCC0, p and ~p in T1 and DCC1,
//
//	y = maj(p, q, ~r) in T0, T1, T2
//	m = maj(~p, y, r) in DCC1, T0, T3 and T1
//	s = maj(~q, m, y) in DCC0, T1, T2
//
// which superopt found. It takes six commands where r is in the cells of the majority
// before it, as along the borrows of a subtraction, and seven where it is in a row.
func (m *ambitMaker) borrower(i, j int) bool {
	g := m.l.gates[i]
	parity := g.src[0]&1 ^ g.src[1]&1 ^ g.src[2]&1
	var p, q, sum, negated uint32
	r := nothing
	least := 8
	if slices.ContainsFunc(g.src[:], func(l uint32) bool { return m.cell[cellDCC1]>>1 == l>>1 || m.cell[cellT1]>>1 == l>>1 }) {
		least = 7
	}
	for flip := range uint32(2) {
		src := g.src
		if j >= 0 {
			src = m.l.gates[j].src
		}
		for _, o := range orders {
			l := [3]uint32{src[o[0]] ^ flip ^ 1, src[o[1]] ^ flip, src[o[2]] ^ flip}
			if j < 0 { // complements are free
				l = [3]uint32{m.atHand(l[0]), m.atHand(l[1]), m.atHand(l[2])}
			}
			cost := 6
			if m.cell[cellDCC1] != l[2] || m.cell[cellT3] != l[2] {
				cost++
				if _, ok := m.findRow(l[2]); !ok {
					continue
				}
			}
			_, ok0 := m.findRow(l[0])
			_, ok1 := m.findRow(l[1])
			y := uint32(1+m.l.inputs+i)<<1 | parity ^ l[0]&1 ^ l[1]&1 ^ l[2]&1
			if v := y >> 1; m.uses[v] > 0 && m.fixed[v] >= 0 && m.want[v] != y {
				cost++
			}
			if ok0 && ok1 && cost < least {
				least, p, q, r, sum, negated = cost, l[0], l[1], l[2], y, flip
			}
		}
	}
	if r == nothing {
		return false
	}
	m.used(g)
	carry := nothing
	if j >= 0 {
		carry = uint32(1+m.l.inputs+j)<<1 | negated
		m.used(m.l.gates[j])
	}
	m.saveAll()
	if m.cell[cellDCC1] != r || m.cell[cellT3] != r {
		from, _ := m.findRow(r)
		m.read(from, 15)
	}
	m.read(cellPlace(invertedAddress[cellDCC1]), 2)
	for _, x := range [2]struct {
		l  uint32
		to int
	}{{p, 9}, {q, 8}} {
		from, _ := m.findRow(x.l)
		m.read(from, x.to)
	}
	m.triple(12)
	m.read(cellPlace(15), 1)
	m.cell = [numCells]uint32{cellT0: carry, cellT3: carry, cellDCC1: carry, cellT1: sum, cellT2: sum, cellDCC0: sum}
	m.finish(14, sum)
	if carry != nothing && m.uses[carry>>1] > 0 && m.fixed[carry>>1] >= 0 {
		m.store(cellDCC1)
	}
	return true
}

// complements returns about how many commands complements take where a full adder
// has these operands and this sum.
func (m *ambitMaker) complements(src [3]uint32, sum uint32) int {
	n := 0
	for _, l := range src {
		if _, ok := m.findRow(l); !ok && !slices.Contains(m.cell[:], l) {
			n++
		}
	}
	if v := sum >> 1; m.uses[v] > 0 && m.fixed[v] >= 0 && m.want[v] != sum {
		n++
	}
	return n
}

// justStored reports whether the last command stored the literal.
func (m *ambitMaker) justStored(l uint32) bool {
	r := m.row[l>>1]
	return r >= 0 && len(m.code) > 0 && m.code[len(m.code)-1].dst == r
}

// outside reports whether a value is in a data row or in a cell other than two.
func (m *ambitMaker) outside(l uint32, a, b int) bool {
	if m.row[l>>1] >= 0 || l < 2 {
		return true
	}
	for c, x := range m.cell {
		if c != a && c != b && x != nothing && x>>1 == l>>1 {
			return true
		}
	}
	return false
}

// carryTriple leaves the majority in DCC1, T0 and T3 and its complement in DCC0.
func (m *ambitMaker) carryTriple() { m.read(cellPlace(15), invertedAddress[cellDCC0]) }

// directly reports whether a data row holds the literal as it is.
func (m *ambitMaker) directly(l uint32) bool {
	_, ok := m.findRow(l)
	return ok || m.row[l>>1] < 0
}

// output writes a literal to a row of the result that it did not get before.
func (m *ambitMaker) output(r int, l uint32) {
	from, ok := m.findRow(l)
	if !ok {
		from, ok = m.find(l)
	}
	if !ok {
		m.saveAll()
		m.load(l, cellDCC0, -1)
		from = cellPlace(plainAddress[cellDCC0])
	}
	m.aap(from, dataRow(r))
}
