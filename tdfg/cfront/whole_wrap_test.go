package cfront_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// cint is an integer type of C.
type cint struct {
	bits   int
	signed bool
}

func (t cint) String() string {
	if t.signed {
		return fmt.Sprintf("int%d_t", t.bits)
	}
	return fmt.Sprintf("uint%d_t", t.bits)
}

// wrap is what the type has of a number.
func (t cint) wrap(x *big.Int) *big.Int {
	n := new(big.Int).Lsh(big.NewInt(1), uint(t.bits))
	x = new(big.Int).Mod(x, n)
	if t.signed && x.Bit(t.bits-1) == 1 {
		x.Sub(x, n)
	}
	return x
}

// usual is the type of a comparison.
func usual(a, b cint) cint {
	for _, t := range []*cint{&a, &b} {
		if t.bits < 32 {
			*t = cint{32, true}
		}
	}
	if a.bits != b.bits {
		if a.bits > b.bits {
			return a
		}
		return b
	}
	return cint{a.bits, a.signed && b.signed}
}

// turns counts the iterations of a for loop as C does it, at most limit; ok is false where a signed number
// overflows, or there are more.
func turns(t, u cint, first, last *big.Int, op string, step int64, limit int) (n int, ok bool) {
	compared := usual(t, u)
	for i := t.wrap(first); ; n++ {
		sign := compared.wrap(i).Cmp(compared.wrap(u.wrap(last)))
		if !slices.Contains(map[string][]int{"<": {-1}, "<=": {-1, 0}, "!=": {-1, 1}, ">": {1}, ">=": {0, 1}}[op], sign) {
			return n, true
		}
		next := new(big.Int).Add(i, big.NewInt(step))
		i = t.wrap(next)
		if n == limit || t.signed && t.bits >= 32 && next.Cmp(i) != 0 {
			return n, false
		}
	}
}

// TestWholeWrapping compares loops whose variables go round their types, or begin or are compared with numbers that their types
// do not have, with a C compiler.
func TestWholeWrapping(t *testing.T) {
	const n, limit = 300, 700
	r := rand.New(rand.NewPCG(7, 5))
	types := []cint{{8, true}, {8, false}, {16, true}, {16, false}, {32, true}, {32, false}, {64, true}, {64, false}}
	var list []wholeCase
	some, counted := 0, invariants.Draws(150, 600)
	for len(list) < counted {
		v, u := types[r.IntN(8)], types[r.IntN(8)]
		bound := func(t cint) (text string, value *big.Int) {
			value = big.NewInt(int64(r.IntN(40) - 20))
			switch r.IntN(4) {
			case 0: // next to where it goes round
				edge := new(big.Int).Lsh(big.NewInt(1), uint(t.bits))
				if t.signed {
					edge.Rsh(edge, 1)
				}
				value = t.wrap(value.Add(value, edge))
			case 1:
				k := value.Int64() + int64(r.IntN(2))*n
				return fmt.Sprintf("(n - %d)", k), big.NewInt(n - k)
			case 2: // A[0] is 5
				k := value.Int64()
				return fmt.Sprintf("(A[0] - %d)", k), big.NewInt(5 - k)
			}
			value = t.wrap(value)
			if !t.signed && t.bits == 64 {
				return value.String() + "u", value
			}
			if value.IsInt64() && value.Int64() == -1<<63 {
				value = big.NewInt(-1<<63 + 1)
			}
			return value.String(), value
		}
		first, from := bound(v)
		last, to := bound(u)
		op, step := []string{"<", "<=", "!=", ">", ">="}[r.IntN(5)], int64(1)
		if r.IntN(3) == 0 {
			step += int64(r.IntN(6))
		}
		if op[0] == '>' || op == "!=" && r.IntN(2) == 0 {
			step = -step
		}
		turns, ok := turns(v, u, from, to, op, step, limit)
		if !ok || turns == 0 && r.IntN(8) > 0 {
			continue
		}
		if turns > 0 {
			some++
		}
		name := fmt.Sprintf("wrap%d", len(list))
		list = append(list, wholeCase{name: name, sizes: []int64{n}, fill: func(_ *rand.Rand, _ string, i int) (scalar.Value, bool) {
			return scalar.FromInt(scalar.Int32, max(0, 5-int64(i))), true
		}, source: fmt.Sprintf(`#include "bitsched.h"
void %s(int n, int32_t A[n])
{
	inf_array(A, n);
	for (%s i = %s; i %s (%s)%s; i += %d) {
		A[16 + (i & 15)] += 11;
		A[1] ^= (int32_t)i * 77;
	}
}
`, name, v, first, op, u, last, step)})
	}
	t.Logf("%d of %d loops have iterations", some, len(list))
	runWhole(t, list)
}
