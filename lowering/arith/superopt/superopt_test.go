package superopt

import (
	"context"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/sram"
)

// neuralBodies are steps that operations repeat, with the least length that was proved.
var neuralBodies = []struct {
	name  string
	body  NeuralBody
	least int
	found bool // within the length that is looked at
}{
	{"a bit of a subtraction", subtraction(1), 2, true},
	{"two bits of a subtraction in three", subtraction(2), 4, false},
	{"a bit of a negation where a row says so", NeuralBody{
		Vars: 3, // bit, sign, carry
		Rows: []Place{
			{Name: "x", Start: Known(Var(0)), Fixed: true}, {Name: "s", Start: Known(Var(1)), Fixed: true},
			{Name: "d", Goal: Known(Var(0) ^ Var(1) ^ Var(2))}, {Name: "t"},
		},
		Carry: Place{Start: Known(Var(2)), Goal: Known((Var(0) ^ Var(1)) & Var(2))},
	}, 2, true},
	{"a bit of a comparison", NeuralBody{
		Vars:  3,
		Rows:  []Place{{Name: "a", Start: Known(Var(0)), Fixed: true}, {Name: "b", Start: Known(Var(1)), Fixed: true}, {Name: "t"}, {Name: "u"}},
		Carry: Place{Start: Known(Var(2)), Goal: Known(Maj(Var(0), ^Var(1), Var(2)))},
	}, 2, true},
	{"a stage's limit: whether it moves, in a row and the tag, and whether it still binds", NeuralBody{
		Vars: 3, // a bit of the limit, no limit, zeros to move into
		Rows: []Place{
			{Name: "bit", Start: Known(Var(0)), Fixed: true}, {Name: "unbounded", Start: Known(Var(1)), Fixed: true},
			{Name: "zeros", Start: Known(Var(2)), Fixed: true},
			{Name: "stay", Goal: Known(^(Var(2) & (Var(0) | Var(1))))}, {Name: "next", Goal: Known(Var(1) | Var(0)&^Var(2))},
		},
		Tag: Place{Goal: Known(Var(2) & (Var(0) | Var(1)))},
	}, 4, true},
	{"a quotient's bit: the carry in the tag, a row and its complement in another", NeuralBody{
		Vars:  1,
		Rows:  []Place{{Name: "q", Goal: Known(Var(0))}, {Name: "not", Goal: Known(^Var(0))}},
		Carry: Place{Start: Known(Var(0)), Goal: Known(Var(0))},
		Tag:   Place{Goal: Known(Var(0))},
	}, 3, true},
}

// subtraction is a body of some bits: a + ~b + carry, operands in rows.
func subtraction(bits int) NeuralBody {
	b := NeuralBody{Vars: 2*bits + 1}
	carry := Var(2 * bits)
	b.Carry.Start = Known(carry)
	for i := range bits {
		x, y := Var(2*i), Var(2*i+1)
		b.Rows = append(b.Rows, Place{Name: "a", Start: Known(x), Fixed: true}, Place{Name: "b", Start: Known(y), Fixed: true},
			Place{Name: "d", Goal: Known(x ^ ^y ^ carry)})
		carry = Maj(x, ^y, carry)
	}
	b.Rows = append(b.Rows, Place{Name: "t"})
	b.Carry.Goal = Known(carry)
	return b
}

// TestNeuralBodies finds each body again, proves that there is none shorter, and
// executes it in an array.
func TestNeuralBodies(t *testing.T) {
	for _, x := range neuralBodies {
		r, err := x.body.Search(t.Context(), min(x.least, 4-b2i(!x.found)), 1<<28)
		require.NoError(t, err, x.name)
		require.Equal(t, x.least, r.AtRest, x.name)
		require.Equal(t, x.found, r.Code != nil, x.name)
		t.Logf("%s: %d at least, %d instructions executed", x.name, r.AtRest, r.Tried)
		if r.Code != nil {
			replayNeural(t, &x.body, r.Code)
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// replayNeural executes a body in an array for all values of its variables, with rows
// and latches that are unknown at the start at random.
func replayNeural(t *testing.T, b *NeuralBody, code []sram.Micro) {
	t.Helper()
	n := len(b.Rows)
	// Rows n and n+1 bring the latches in and out.
	k := &sram.Kernel{Tech: &sram.NeuralCache, Rows: n + 6, Inputs: []sram.Port{{Name: "in", Base: 0, Width: n + 2}}, Outputs: []sram.Port{{Name: "out", Base: 0, Width: n + 4}}}
	carry, tag := sram.Row(n, false), sram.Row(n+1, false)
	k.Instrs = append(k.Instrs, sram.Micro{Op: sram.NCCarry, Src: [3]sram.Operand{carry, carry}}, sram.Micro{Op: sram.NCTagCopy, Src: [3]sram.Operand{tag}})
	k.Instrs = append(k.Instrs, code...)
	k.Instrs = append(k.Instrs, sram.Micro{Op: sram.NCWriteCarry, Dst: uint16(n + 2)}, sram.Micro{Op: sram.NCWriteTag, Dst: uint16(n + 3)})
	c, err := k.Compile()
	require.NoError(t, err)
	s := c.NewState()
	rng := rand.New(rand.NewPCG(3, 4))
	mask := Value(1)<<(1<<b.Vars) - 1
	if b.Vars == 6 {
		mask = ^Value(0)
	}
	for range 8 {
		for i, p := range b.places() {
			if s.Row(i)[0] = rng.Uint64(); p.Start != nil {
				s.Row(i)[0] = uint64(*p.Start)
			}
		}
		s.Run()
		for i, p := range b.places() {
			got := s.Row(i)[0]
			if i >= n {
				got = s.Row(i + 2)[0]
			}
			if p.Goal != nil {
				require.Equal(t, *p.Goal&mask, Value(got)&mask, "%s", p.Name)
			}
		}
	}
}

// TestAmbitBorrow finds the body of a subtraction on Ambit, of which lowering/arith
// makes its programs, and executes it in a subarray.
func TestAmbitBorrow(t *testing.T) {
	a, b, c := Var(0), Var(1), Var(2)
	body := AmbitBody{Sum: a ^ b ^ c, Carry: Maj(^a, b, c)}
	r, err := body.Search(t.Context(), 1<<dcc1|1<<t3, 0, 6, 1<<28)
	require.NoError(t, err)
	require.Len(t, r.Code, 6)
	t.Logf("%d commands executed", r.Tried)
	k := &sram.Kernel{Tech: &sram.Ambit, Rows: 8, Inputs: []sram.Port{{Name: "a", Base: 0, Width: 1}, {Name: "b", Base: 1, Width: 1}, {Name: "c", Base: 3, Width: 1}},
		Outputs: []sram.Port{{Name: "s", Base: 2, Width: 1}, {Name: "m", Base: 4, Width: 2}}}
	add := func(from, to int, dst, src int) {
		op, ok := sram.AAP(from, to)
		require.True(t, ok)
		k.Instrs = append(k.Instrs, sram.Micro{Op: op, Dst: uint16(dst), Src: [3]sram.Operand{sram.Row(src, false)}})
	}
	add(sram.AmbitD, 6, 0, 3)
	add(sram.AmbitD, 3, 0, 3)
	k.Instrs = append(k.Instrs, r.Code...)
	for i, from := range []int{6, 3} {
		op, _ := sram.AAP(from, sram.AmbitD)
		k.Instrs = append(k.Instrs, sram.Micro{Op: op, Dst: uint16(4 + i)})
	}
	code, err := k.Compile()
	require.NoError(t, err)
	s := code.NewState()
	for i, v := range map[int]Value{0: a, 1: b, 3: c} {
		s.Row(i)[0] = uint64(v)
	}
	s.Run()
	require.Equal(t, uint64(body.Sum), s.Row(2)[0])
	require.Equal(t, uint64(body.Carry), s.Row(4)[0])
	require.Equal(t, uint64(body.Carry), s.Row(5)[0])
}

// TestMajorities holds the bound on majorities against what is known: the parity of
// three takes three of them, the majority one.
func TestMajorities(t *testing.T) {
	a, b, c := Var(0), Var(1), Var(2)
	x := AmbitBody{Sum: a ^ b ^ c, Carry: Maj(a, b, c)}
	require.Equal(t, 3, x.majorities([ambitCells]uint8{}))
	require.Equal(t, 1, x.majorities([ambitCells]uint8{uint8(Maj(a, b, c)), uint8(Maj(^a, b, c))}))
	x.Sum = Maj(a, b, ^c)
	require.Equal(t, 1, x.majorities([ambitCells]uint8{}))
}

// TestStops: a search that may not work has proved what it has proved.
func TestStops(t *testing.T) {
	b := subtraction(1)
	r, err := b.Search(t.Context(), 4, 1000)
	require.ErrorIs(t, err, ErrWork)
	require.Nil(t, r.Code)
	require.Equal(t, 2, r.AtRest)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = (&AmbitBody{Sum: Var(0), Carry: Var(2)}).Search(ctx, 63, 0, 3, 1<<20)
	require.ErrorIs(t, err, context.Canceled)
}

// TestAmbitAnyCells asks for bodies of an adder and a subtraction with the carry in any
// cells, of either polarity: some CPU minutes, with BITSCHED_SUPEROPT=1.
func TestAmbitAnyCells(t *testing.T) {
	if os.Getenv("BITSCHED_SUPEROPT") == "" {
		t.Skip("BITSCHED_SUPEROPT=1 searches for some minutes")
	}
	a, b, c := Var(0), Var(1), Var(2)
	for _, x := range []struct {
		name  string
		carry Value
		most  int
	}{{"adder", Maj(a, b, c), 6}, {"subtraction", Maj(^a, b, c), 5}} {
		body, least := AmbitBody{Sum: a ^ b ^ c, Carry: x.carry}, 1<<30
		for inverted := range 64 {
			r, err := body.Search(t.Context(), 63, uint8(inverted), x.most, 1<<40)
			require.NoError(t, err)
			least = min(least, r.AtRest)
			if r.Code != nil {
				for _, m := range r.Code {
					t.Log(inverted, sram.Ambit.Ops[m.Op].Name, m.Src[0])
				}
			}
		}
		t.Logf("%s: %d commands at least, wherever the carry is", x.name, least)
	}
}
