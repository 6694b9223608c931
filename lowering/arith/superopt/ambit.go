package superopt

import (
	"context"
	"slices"

	"github.com/bitsched/bitsched/sram"
)

// AmbitBody is a loop body of [sram.Ambit]: it reads the bits of two operands, a and
// b, which are variables 0 and 1, makes Sum of them and of the carry, variable 2, and
// stores it in a row; and it leaves Carry where the carry was. The carry is in cells
// only: the body reads no other row than the two, and stores nothing but the sum.
type AmbitBody struct {
	Sum, Carry Value
}

// Cells of Ambit, as its latches in order.
const (
	t0 = iota
	t1
	t2
	t3
	dcc0
	dcc1
	ambitCells
)

// ambitWires are the cells that an address reaches: by their wordlines, and by the
// second wordlines of dual-contact cells (Ambit, MICRO 2017, table 1).
var ambitWires = [16]struct{ plain, inverted []int }{
	{plain: []int{t0}}, {plain: []int{t1}}, {plain: []int{t2}}, {plain: []int{t3}},
	{plain: []int{dcc0}}, {inverted: []int{dcc0}}, {plain: []int{dcc1}}, {inverted: []int{dcc1}},
	{plain: []int{t0}, inverted: []int{dcc0}}, {plain: []int{t1}, inverted: []int{dcc1}},
	{plain: []int{t2, t3}}, {plain: []int{t0, t3}},
	{plain: []int{t0, t1, t2}}, {plain: []int{t1, t2, t3}}, {plain: []int{dcc0, t1, t2}}, {plain: []int{dcc1, t0, t3}},
}

// ambitCommand goes from an address, or a source of 16 and up: a, b, 0, 1; to an
// address, the row of the sum (16) or nowhere (17).
type ambitCommand struct {
	op       sram.Opcode
	from, to int
}

const (
	toSum     = 16
	toNowhere = 17
)

// ambitState packs six tables of eight bits; which cells nobody knows; which held the
// carry at the start and have been read since, unwritten; which are unwritten; and
// whether the sum is stored.
type ambitState struct {
	cells   [ambitCells]uint8
	unknown uint8
	read    uint8
	first   uint8
	stored  bool
}

func ambitCommands() []ambitCommand {
	var list []ambitCommand
	for from := range 20 {
		for to := range 18 {
			var op sram.Opcode
			var ok bool
			switch {
			case from < 16 && to == toNowhere:
				op, ok = sram.AP(from)
			case from < 16:
				op, ok = sram.AAP(from, to)
			case to < 16:
				op, ok = sram.AAP(sram.AmbitD, to)
			}
			if ok {
				list = append(list, ambitCommand{op, from, to})
			}
		}
	}
	return list
}

// Search looks for the shortest body of at most most commands where the carry begins
// in the cells that are given, bit i for cell i in the order T0 to T3, DCC0, DCC1; in
// those of inverted, as its complement.
func (b *AmbitBody) Search(ctx context.Context, cells, inverted uint8, most, work int) (Result, error) {
	list := ambitCommands()
	start := ambitState{unknown: ^cells & (1<<ambitCells - 1), first: cells}
	for i := range start.cells {
		if cells>>i&1 != 0 {
			start.cells[i] = uint8(Var(2))
			if inverted>>i&1 != 0 {
				start.cells[i] = ^start.cells[i]
			}
		}
	}
	return search(ctx, most, func(n int, r *Result) ([]sram.Micro, error) {
		nodes := []node[ambitState]{{state: start, parent: -1}}
		seen := map[ambitState]bool{start: true}
		memo := map[[ambitCells]uint8]int{}
		from := 0
		for depth := 1; depth <= n; depth++ {
			end := len(nodes)
			for at := from; at < end; at++ {
				if r.Tried += len(list); r.Tried > work {
					return nil, ErrWork
				}
				if at&1023 == 0 && ctx.Err() != nil {
					return nil, ctx.Err()
				}
				for k := range list {
					s := nodes[at].state
					if !b.step(&s, &list[k]) || s == nodes[at].state || b.missing(&s, &start, memo) > n-depth || depth < n && seen[s] {
						continue
					}
					if depth < n {
						seen[s] = true
						nodes = append(nodes, node[ambitState]{s, int32(at), int32(k)})
						continue
					}
					var code []sram.Micro
					for _, i := range append(path(nodes, int32(at)), int32(k)) {
						c := list[i]
						m := sram.Micro{Op: c.op}
						if c.from >= 16 {
							m.Src[0] = [...]sram.Operand{sram.Row(0, false), sram.Row(1, false), sram.Zero, sram.One}[c.from-16]
						}
						if c.to == toSum {
							m.Dst = 2
						}
						code = append(code, m)
					}
					return code, nil
				}
			}
			from = end
		}
		return nil, nil
	})
}

// step executes a command and reports whether it is of use: it reads nothing unknown,
// and stores nothing but the sum.
func (b *AmbitBody) step(s *ambitState, c *ambitCommand) bool {
	var v uint8
	if c.from >= 16 {
		v = [...]uint8{uint8(Var(0)), uint8(Var(1)), 0, 0xff}[c.from-16]
	} else {
		w := &ambitWires[c.from]
		var sources [3]uint8
		n := 0
		for _, i := range w.plain {
			if s.unknown>>i&1 != 0 {
				return false
			}
			s.read |= 1 << i & s.first
			sources[n] = s.cells[i]
			n++
		}
		for _, i := range w.inverted {
			if s.unknown>>i&1 != 0 {
				return false
			}
			s.read |= 1 << i & s.first
			sources[n] = ^s.cells[i]
			n++
		}
		if v = sources[0]; n == 3 {
			v = uint8(Maj(Value(sources[0]), Value(sources[1]), Value(sources[2])))
			for _, i := range w.plain {
				s.write(i, v)
			}
		}
	}
	switch c.to {
	case toNowhere:
	case toSum:
		if v != uint8(b.Sum) || s.stored {
			return false
		}
		s.stored = true
	default:
		for _, i := range ambitWires[c.to].plain {
			s.write(i, v)
		}
		for _, i := range ambitWires[c.to].inverted {
			s.write(i, ^v)
		}
	}
	return true
}

func (s *ambitState) write(i int, v uint8) {
	s.cells[i] = v
	s.unknown &^= 1 << i
	s.first &^= 1 << i
}

// missing returns how many commands a state needs at least. Loads of the operands and
// activations of triples are different commands; a store of the sum may be one of a
// triple. What is a variable, its complement or a constant counts as at hand.
func (b *AmbitBody) missing(s *ambitState, start *ambitState, memo map[[ambitCells]uint8]int) int {
	sum, carry := uint8(b.Sum), uint8(b.Carry)
	var made [ambitCells]uint8 // values that are neither, up to complement
	var support uint8
	k, hasSum, hasCarry := 0, false, false
	for i, v := range s.cells {
		if s.unknown>>i&1 != 0 {
			continue
		}
		hasSum = hasSum || v == sum || ^v == sum
		hasCarry = hasCarry || v == carry || ^v == carry
		for j := range 3 {
			x := uint8(Var(j))
			if (v&x)>>(1<<j) != v&^x {
				support |= 1 << j
			}
		}
		if !literal(v) {
			made[k] = min(v, ^v)
			k++
		}
	}
	n := 0
	if !s.stored && hasSum {
		n = 1
	} else if !s.stored {
		slices.Sort(made[:])
		m, ok := memo[made]
		if !ok {
			m = b.majorities(made)
			memo[made] = m
		}
		if n = m; m == 1 && !hasCarry { // the last one is the sum
			n = 2
		}
		for _, x := range []uint8{1, 2} {
			if support&x == 0 {
				n++
			}
		}
	}
	if !hasCarry {
		n = max(n, 1)
	}
	// Where the carry was read it must be again.
	for i, v := range s.cells {
		want := carry
		if start.cells[i] != uint8(Var(2)) {
			want = ^want
		}
		if s.read>>i&1 != 0 && v != want {
			return max(n, 1)
		}
	}
	if s.read == 0 {
		n = max(n, 1)
	}
	return n
}

// majorities returns how many are needed at least to make the sum of variables,
// constants, the values that are made, and complements: 1, 2, or 3 for more.
func (b *AmbitBody) majorities(made [ambitCells]uint8) int {
	at := []uint8{0, uint8(Var(0)), uint8(Var(1)), uint8(Var(2))}
	for _, v := range made {
		if v != 0 {
			at = append(at, v)
		}
	}
	is := func(at []uint8, want func(uint8) bool) bool {
		for i := range at {
			for j := range i {
				for k := range j {
					for p := range 4 { // all polarities but for that of the result
						x, y, z := at[i], at[j]^-uint8(p&1), at[k]^-uint8(p>>1)
						if want(uint8(Maj(Value(x), Value(y), Value(z)))) {
							return true
						}
					}
				}
			}
		}
		return false
	}
	sum := func(v uint8) bool { return v == uint8(b.Sum) || ^v == uint8(b.Sum) }
	switch {
	case is(at, sum):
		return 1
	case is(at, func(v uint8) bool { return is(append(at[:len(at):len(at)], v), sum) }):
		return 2
	}
	return 3
}

// literal reports whether a table is a variable, its complement or a constant.
func literal(v uint8) bool {
	for j := range 3 {
		if x := uint8(Var(j)); v == x || v == ^x {
			return true
		}
	}
	return v == 0 || v == 0xff
}
