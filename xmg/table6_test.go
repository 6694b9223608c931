package xmg

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// randomTruth6 returns a function of a few random gates.
func randomTruth6(r *rand.Rand) truth6 {
	items := append([]truth6{0}, sixTruth[:]...)
	for range 1 + r.IntN(9) {
		pick := func() truth6 { return items[r.IntN(len(items))] ^ -truth6(r.IntN(2)) }
		a, b, c := pick(), pick(), pick()
		if r.IntN(2) == 0 {
			items = append(items, a^b^c)
		} else {
			items = append(items, a&b|a&c|b&c)
		}
	}
	return items[len(items)-1]
}

func TestLibrary6(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 6))
	lib := newLibrary6(1)
	in := [6]uint8{1 << 1, 2 << 1, 3 << 1, 4 << 1, 5 << 1, 6 << 1}
	for i := range 3000 {
		f := randomTruth6(r)
		any := i%4 == 0
		if any {
			f = truth6(r.Uint64()) // most have no recipe that is short enough
		}
		var rec recipe6
		var ok bool
		rec.out, ok = lib.emit(&rec, f, &in)
		require.True(t, ok || any, "%016x", uint64(f))
		if !ok {
			continue
		}
		require.Equal(t, f, rec.truth(), "%d: %016x", i, uint64(f))
		require.Equal(t, lib.cost(f), int(rec.n), "%d: %016x", i, uint64(f))
		require.Equal(t, lib.cost(f), lib.cost(^f))
	}
}

// Functions whose least gates are known.
func TestLibrary6Costs(t *testing.T) {
	x := sixTruth
	maj := func(a, b, c truth6) truth6 { return a&b | a&c | b&c }
	mux := func(s, a, b truth6) truth6 { return s&a | ^s&b }
	lib := newLibrary6(3)
	for _, c := range []struct {
		name string
		f    truth6
		cost int
	}{
		{"input", x[3], 0},
		{"parity of 5", x[0] ^ x[1] ^ x[2] ^ x[3] ^ x[4], 2},
		{"parity of 6", x[0] ^ x[1] ^ x[2] ^ x[3] ^ x[4] ^ x[5], 3},
		{"and of 6", x[0] & x[1] & x[2] & x[3] & x[4] & x[5], 5},
		{"carry of two bits", maj(x[0], x[1], maj(x[2], x[3], x[4])), 2},
		{"carry of two bits by generate and propagate", x[0]&x[1] | (x[0]|x[1])&(x[2]&x[3]) | (x[0]|x[1])&(x[2]|x[3])&x[4], 2},
		{"multiplexer of sum and sum", mux(x[5], x[0]^x[1]^x[2], x[0]), 3},
		{"multiplexer of four", mux(x[5], mux(x[4], x[0], x[1]), mux(x[4], x[2], x[3])), 6},
		{"sum bit of two bits", x[0] ^ x[1] ^ maj(x[2], x[3], x[4]), 2},
		{"parity of and", x[0]&x[1] ^ x[2]&x[3] ^ x[4], 3},
	} {
		require.Equal(t, c.cost, lib.cost(c.f), c.name)
		require.Equal(t, c.cost, lib.cost(^c.f), "not "+c.name)
	}
}
