package arith

import (
	"context"
	"fmt"
	"math/bits"

	"github.com/bitsched/bitsched/sram"
)

// buildPatterns is how many patterns a program is verified on when it is built;
// all of them where the operands have no more than exhaustiveBits together.
const (
	buildPatterns  = 4 * sram.GroupCols
	exhaustiveBits = 14
)

// MismatchError says on which operands a program differs from its reference.
type MismatchError struct {
	Op        string
	Tech      string
	Args      []uint64
	Got, Want Value
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("arith: %s for %s of %x is %x, expected %x", e.Op, e.Tech, e.Args, e.Got, e.Want)
}

// Verify compares the program with its reference on n patterns and returns a
// [*MismatchError] for the first that differs. The patterns are all there are
// where the operands have few bits or n is as many; else those that are special come first, in
// all combinations or, if these are more than half of n, in random ones, and then random operands: each operand uniform, or with a run of
// equal bits, or related to the one before it, which uniform bits hardly ever
// are. They depend on the seed only.
func (p *Program) Verify(ctx context.Context, n int, seed uint64) error {
	exhaustive := p.exhaustive(n)
	n = p.Patterns(n)
	g := newPatterns(p, seed, n)
	s := p.code.NewState()
	lanes := make([][]uint64, len(p.Kernel.Inputs))
	for i := range lanes {
		lanes[i] = make([]uint64, sram.GroupCols)
	}
	args := make([]uint64, len(lanes))
	res := [2][]uint64{make([]uint64, sram.GroupCols), make([]uint64, sram.GroupCols)}
	for first := 0; first < n; first += sram.GroupCols {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("arith: verification stopped: %w", err)
		}
		for lane := range sram.GroupCols {
			if exhaustive {
				x := uint64(first + lane)
				for i, in := range p.Kernel.Inputs {
					lanes[i][lane] = x & mask(in.Width)
					x >>= in.Width
				}
				continue
			}
			g.next(args)
			for i := range lanes {
				lanes[i][lane] = args[i]
			}
		}
		for i, in := range p.Kernel.Inputs {
			loadGroup(s, in, lanes[i])
		}
		s.Run()
		out := p.Kernel.Outputs[0]
		storeGroup(s, limb(out, 0, 64), res[0])
		if out.Width > 64 {
			storeGroup(s, limb(out, 1, 64), res[1])
		}
		for lane := range min(sram.GroupCols, n-first) {
			for i := range args {
				args[i] = lanes[i][lane]
			}
			got, want := Value{Lo: res[0][lane]}, p.Eval(args...)
			if out.Width > 64 {
				got.Hi = res[1][lane]
			}
			if got != want {
				return &MismatchError{p.Spec.Op, p.Spec.Tech, append([]uint64(nil), args...), got, want}
			}
		}
	}
	return nil
}

// exhaustive reports whether all patterns are compared where n are asked for: if
// the operands have few bits, or n is as many.
func (p *Program) exhaustive(n int) bool {
	bits := p.argBits()
	return bits <= exhaustiveBits || bits < 40 && n >= 1<<bits
}

func (p *Program) argBits() int {
	n := 0
	for _, in := range p.Kernel.Inputs {
		n += in.Width
	}
	return n
}

// Patterns returns how many patterns Verify compares where n are asked for.
func (p *Program) Patterns(n int) int {
	if p.exhaustive(n) {
		return 1 << p.argBits()
	}
	return n
}

// Compute executes the program on one bitline; args are the operands that are
// not constants.
func (p *Program) Compute(args ...uint64) (Value, error) {
	if len(args) != len(p.Kernel.Inputs) {
		return Value{}, fmt.Errorf("arith: %s: %d operands, expected %d", p.Spec.Op, len(args), len(p.Kernel.Inputs))
	}
	s := p.code.NewState()
	for i, in := range p.Kernel.Inputs {
		loadGroup(s, in, args[i:i+1])
	}
	s.Run()
	var v [2]uint64
	out := p.Kernel.Outputs[0]
	for i := range (out.Width + 63) / 64 {
		storeGroup(s, limb(out, i, 64), v[i:i+1])
	}
	return Value{v[0], v[1]}, nil
}

// limb is the part of a port that limb i of words of some bits holds.
func limb(p sram.Port, i, bits int) sram.Port {
	return sram.Port{Name: p.Name, Base: p.Base + i*bits, Width: min(bits, p.Width-i*bits)}
}

// patterns makes operands.
type patterns struct {
	widths  []int
	special [][]uint64
	index   int // next combination of special operands
	combos  int
	sampled bool // the combinations are random, since all would be too many
	rng     uint64
}

// newPatterns makes a source of n patterns.
func newPatterns(p *Program, seed uint64, n int) *patterns {
	g := &patterns{rng: seed*0x9e3779b97f4a7c15 + 1, combos: 1}
	for _, in := range p.Kernel.Inputs {
		sp := specialWords(in.Width)
		if f := p.Type.Float; f != nil && in.Width == f.Width() {
			sp = specialFloats(f)
		}
		g.widths = append(g.widths, in.Width)
		g.special = append(g.special, sp)
		g.combos *= len(sp)
	}
	if g.combos > n/2 {
		g.sampled, g.combos = true, n/2
	}
	return g
}

// specialWords are the ends of the ranges, small numbers and single bits.
func specialWords(n int) []uint64 {
	seen := map[uint64]bool{}
	var w []uint64
	add := func(x uint64) {
		if x &= mask(n); !seen[x] {
			seen[x] = true
			w = append(w, x)
		}
	}
	for _, x := range []uint64{0, 1, 2, 3, 7, ^uint64(0), ^uint64(1), 1 << (n - 1), 1<<(n-1) - 1, 1<<(n-1) + 1, 0x5555555555555555, 0xaaaaaaaaaaaaaaaa} {
		add(x)
	}
	for i := 2; i < n; i += max(1, n/6) {
		add(1 << i)
		add(1<<i - 1)
	}
	return w
}

// specialFloats are the ends of the ranges of normal and subnormal numbers, one
// and its neighbours, infinities and NaNs, of both signs.
func specialFloats(f *Format) []uint64 {
	e, m := uint64(1)<<f.Man, mask(f.Man)
	inf := mask(f.Exp) << f.Man
	bias := mask(f.Exp - 1)
	w := []uint64{0, 1, 2, m - 1, m, e, e + 1, e | m, 2 * e, bias << f.Man, bias<<f.Man + 1, bias<<f.Man - 1, (bias + 1) << f.Man,
		(bias-1)<<f.Man | m, (bias + uint64(f.Man)) << f.Man, (bias + uint64(f.Man) + 1) << f.Man, inf - 1, inf - e, inf, inf + 1, inf | m, inf | (m+1)/2, m/2 + 1}
	for i, x := range w { // some are beyond the exponents of short formats
		w[i] = x & mask(f.Width()-1)
		w = append(w, w[i]|1<<(f.Width()-1))
	}
	return w
}

func (g *patterns) rand() uint64 {
	// xorshift64*: Marsaglia 2003, Vigna 2016.
	g.rng ^= g.rng >> 12
	g.rng ^= g.rng << 25
	g.rng ^= g.rng >> 27
	return g.rng * 0x2545f4914f6cdd1d
}

// next sets the next operands.
func (g *patterns) next(a []uint64) {
	if g.index < g.combos {
		x := g.index
		g.index++
		for i, s := range g.special {
			if g.sampled {
				x = int(g.rand() >> 33)
			}
			a[i] = s[x%len(s)]
			x /= len(s)
		}
		return
	}
	kind := g.rand()
	for i, n := range g.widths {
		x := g.rand()
		k := kind >> (8 * i) & 15
		switch {
		case k < 6: // uniform
		case k < 8: // a run of equal bits from a random place up
			at := int(g.rand() % uint64(n))
			x = x&mask(at) | -(x&1)<<at
		case k < 10: // and down
			at := int(g.rand() % uint64(n))
			x = x&^mask(at) | -(x>>63)&mask(at)
		case k < 12: // small
			x >>= 64 - 1 - g.rand()%uint64(n)
		case k < 14 && i > 0: // close to the operand before
			x = a[i-1] + uint64(bits.TrailingZeros64(x)) - 1
		case i > 0: // differs from the operand before in one place or two
			x = a[i-1] ^ 1<<(x%uint64(n)) ^ 1<<(x>>8%uint64(n))
		}
		a[i] = x & mask(n)
	}
}
