package xmg

import (
	"context"
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/invariants"
)

// product says how a multiplier of the tests is made.
type product struct {
	bits   int
	signed bool
	parts  string // simple, booth
	tree   string // array, wallace, dadda
	adder  string // of finalAdders
	add    bool   // a further input word of twice the bits is added
	ands   bool   // of ANDs and inverters only
}

func (p product) String() string {
	sign := "unsigned"
	if p.signed {
		sign = "signed"
	}
	s := fmt.Sprintf("%d-%s-%s-%s-%s", p.bits, sign, p.parts, p.tree, p.adder)
	if p.add {
		s += "-mac"
	}
	if p.ands {
		s += "-aig"
	}
	return s
}

var finalAdders = []string{"ripple", "kogge-stone", "sklansky", "brent-kung", "lookahead", "select", "skip"}

// maker builds test circuits.
type maker struct {
	*Graph
	ands bool
}

func (m maker) and(a, b Lit) Lit { return m.Maj(a, b, False) }
func (m maker) or(a, b Lit) Lit  { return m.Maj(a, b, True) }

func (m maker) xor(a, b Lit) Lit {
	if m.ands {
		return m.and(m.and(a, b)^1, m.or(a, b))
	}
	return m.Xor(a, b, False)
}

func (m maker) full(a, b, c Lit) (sum, carry Lit) {
	if m.ands {
		h := m.xor(a, b)
		return m.xor(h, c), m.or(m.and(a, b), m.and(h, c))
	}
	return m.Xor(a, b, c), m.Maj(a, b, c)
}

// build makes the multiplier.
func (p product) build() *Graph {
	g := New(p.String())
	word := func(name string, n int) []Lit {
		w := make([]Lit, n)
		for i := range w {
			w[i] = g.AddInput(fmt.Sprintf("%s[%d]", name, i))
		}
		return w
	}
	n := p.bits
	x, y := word("a", n), word("b", n)
	width := 2 * n
	rows := [][]Lit{}
	if p.add {
		rows = append(rows, word("c", width))
	}
	m := maker{g, p.ands}
	// Rows are words of all the width, modulo 2^width.
	add := func(from int, bits []Lit) {
		row := make([]Lit, width)
		copy(row[min(from, width):], bits[:max(0, min(len(bits), width-from))])
		rows = append(rows, row)
	}
	var constants big.Int // added up beforehand
	constant := func(from int) { constants.Add(&constants, new(big.Int).Lsh(big.NewInt(1), uint(from))) }
	if p.parts == "booth" {
		at := func(i int) Lit {
			switch {
			case i < 0:
				return False
			case i < n:
				return y[i]
			case p.signed:
				return y[n-1]
			}
			return False
		}
		xa := func(i int) Lit {
			switch {
			case i < 0:
				return False
			case i < n:
				return x[i]
			case p.signed:
				return x[n-1]
			}
			return False
		}
		last := n
		if p.signed {
			last = n - 1
		}
		for j := 0; j <= last; j += 2 {
			hi, mid, lo := at(j+1), at(j), at(j-1)
			one := m.xor(mid, lo)
			two := m.or(m.and(hi, m.and(mid^1, lo^1)), m.and(hi^1, m.and(mid, lo)))
			row := make([]Lit, n+1)
			for i := range row {
				row[i] = m.xor(hi, m.or(m.and(one, xa(i)), m.and(two, xa(i-1))))
			}
			// The row is a number of n+1 bits in two's complement, or of n+2 where
			// operands are unsigned: s s s ... = ~s with -2^top added.
			top := n
			if p.signed {
				row[n] ^= 1
			} else {
				row = append(row, hi^1)
				top = n + 1
			}
			add(j, row)
			rows = append(rows, make([]Lit, width))
			rows[len(rows)-1][j] = hi
			for k := j + top; k < width; k++ { // -2^top = 2^top + 2^(top+1) + ...
				constant(k)
			}
		}
	} else {
		for j := range y {
			row := make([]Lit, n)
			for i := range x {
				row[i] = m.and(x[i], y[j])
				if p.signed && (i == n-1) != (j == n-1) {
					row[i] ^= 1
				}
			}
			add(j, row)
		}
		if p.signed { // Baugh and Wooley
			constant(n)
			constant(width - 1)
		}
	}
	row := make([]Lit, width)
	for i := range row {
		row[i] = Lit(constants.Bit(i))
	}
	if constants.Sign() != 0 {
		rows = append(rows, row)
	}
	u, v := m.reduce(p.tree, rows, width)
	for i, l := range m.add(p.adder, u, v) {
		g.AddOutput(fmt.Sprintf("y[%d]", i), l)
	}
	return g
}

// reduce adds rows up until two are left.
func (m maker) reduce(tree string, rows [][]Lit, width int) (u, v []Lit) {
	if tree == "array" {
		sum, carry := rows[0], make([]Lit, width)
		for _, row := range rows[1:] {
			s, c := make([]Lit, width), make([]Lit, width)
			for i := range width {
				var out Lit
				s[i], out = m.full(sum[i], carry[i], row[i])
				if i+1 < width {
					c[i+1] = out
				}
			}
			sum, carry = s, c
		}
		return sum, carry
	}
	columns := make([][]Lit, width)
	for _, row := range rows {
		for i, l := range row {
			if l != False {
				columns[i] = append(columns[i], l)
			}
		}
	}
	height := func() (h int) {
		for _, c := range columns {
			h = max(h, len(c))
		}
		return h
	}
	for height() > 2 {
		target := 2
		if tree == "dadda" {
			for target*3/2 < height() {
				target = target * 3 / 2
			}
		}
		next := make([][]Lit, width+1)
		for i, col := range columns {
			if tree == "wallace" {
				for len(col) >= 3 {
					s, c := m.full(col[0], col[1], col[2])
					next[i], next[i+1] = append(next[i], s), append(next[i+1], c)
					col = col[3:]
				}
				if len(col) == 2 && len(columns[i]) > 2 {
					next[i], next[i+1] = append(next[i], m.xor(col[0], col[1])), append(next[i+1], m.and(col[0], col[1]))
					col = nil
				}
				next[i] = append(next[i], col...)
				continue
			}
			col = append(next[i], col...)
			for len(col) > target {
				if len(col) == target+1 {
					next[i+1] = append(next[i+1], m.and(col[0], col[1]))
					col = append(col[2:], m.xor(col[0], col[1]))
				} else {
					s, c := m.full(col[0], col[1], col[2])
					next[i+1] = append(next[i+1], c)
					col = append(col[3:], s)
				}
			}
			next[i] = col
		}
		columns = next[:width]
	}
	u, v = make([]Lit, width), make([]Lit, width)
	for i, c := range columns {
		if len(c) > 0 {
			u[i] = c[0]
		}
		if len(c) > 1 {
			v[i] = c[1]
		}
	}
	return u, v
}

// add adds two words.
func (m maker) add(adder string, u, v []Lit) []Lit {
	n := len(u)
	p, g := make([]Lit, n), make([]Lit, n)
	for i := range u {
		p[i], g[i] = m.xor(u[i], v[i]), m.and(u[i], v[i])
	}
	carry := make([]Lit, n+1) // into place i
	gg, pp := append([]Lit(nil), g...), append([]Lit(nil), p...)
	join := func(i, j int) { // the span of i takes in that of j below it
		gg[i], pp[i] = m.or(gg[i], m.and(pp[i], gg[j])), m.and(pp[i], pp[j])
	}
	switch adder {
	case "ripple":
		out, c := make([]Lit, n), False
		for i := range u {
			out[i], c = m.full(u[i], v[i], c)
		}
		return out
	case "kogge-stone":
		for d := 1; d < n; d *= 2 {
			for i := n - 1; i >= d; i-- {
				join(i, i-d)
			}
		}
	case "sklansky":
		for d := 1; d < n; d *= 2 {
			for i := range n {
				if i&d != 0 {
					join(i, i&^(2*d-1)+d-1)
				}
			}
		}
	case "brent-kung":
		d := 1
		for ; d < n; d *= 2 {
			for i := 2*d - 1; i < n; i += 2 * d {
				join(i, i-d)
			}
		}
		for ; d >= 1; d /= 2 {
			for i := 3*d - 1; i < n; i += 2 * d {
				join(i, i-d)
			}
		}
	case "lookahead": // groups of four, two levels of logic each
		c := False
		for from := 0; from < n; from += 4 {
			for i := from; i < min(from+4, n); i++ {
				sum, all := False, True
				for k := i; k >= from; k-- {
					sum = m.or(sum, m.and(g[k], all))
					all = m.and(all, p[k])
				}
				gg[i] = m.or(sum, m.and(all, c))
			}
			c = gg[min(from+4, n)-1]
		}
	case "skip": // groups of four, past which a carry may go
		c := False
		for from := 0; from < n; from += 4 {
			in, all := c, True
			for i := from; i < min(from+4, n); i++ {
				c = m.or(g[i], m.and(p[i], c))
				gg[i] = c
				all = m.and(all, p[i])
			}
			c = m.or(m.and(all, in), m.and(all^1, c))
			gg[min(from+4, n)-1] = c
		}
	case "select": // groups of four for both carries
		out := make([]Lit, n)
		c := False
		for from := 0; from < n; from += 4 {
			var sum [2][]Lit
			var last [2]Lit
			for with := range 2 {
				d := Lit(with)
				for i := from; i < min(from+4, n); i++ {
					sum[with] = append(sum[with], m.xor(p[i], d))
					d = m.or(g[i], m.and(p[i], d))
				}
				last[with] = d
			}
			mux := func(a, b Lit) Lit { return m.or(m.and(c^1, a), m.and(c, b)) }
			for k := range sum[0] {
				out[from+k] = mux(sum[0][k], sum[1][k])
			}
			c = mux(last[0], last[1])
		}
		return out
	}
	copy(carry[1:], gg)
	out := make([]Lit, n)
	for i := range out {
		out[i] = m.xor(p[i], carry[i])
	}
	return out
}

// value computes what a circuit says as a number modulo 2^width for operands.
func evaluate(g *Graph, in uint64) (out uint64) {
	words := make([]uint64, g.NumInputs())
	for i := range words {
		words[i] = in >> i & 1
	}
	for i, w := range g.Simulate(words, 1) {
		out |= w & 1 << i
	}
	return out
}

func TestProductsOfTests(t *testing.T) {
	for _, p := range allProducts(3) {
		g := p.build()
		require.NoError(t, g.Check())
		words, w := allPatterns(g.NumInputs())
		out := g.Simulate(words, w)
		for in := range uint64(1) << g.NumInputs() {
			a, b, c := int64(in&7), int64(in>>3&7), int64(in>>6)
			if p.signed {
				a, b = a<<61>>61, b<<61>>61
			}
			got := uint64(0)
			for i := range g.NumOutputs() {
				got |= out[i*w+int(in/64)] >> (in % 64) & 1 << i
			}
			require.Equal(t, uint64(a*b+c)&63, got, "%v of %d and %d", p, a, b)
		}
	}
}

// allProducts are all ways to make a multiplier.
func allProducts(bits int) (list []product) {
	for _, signed := range []bool{false, true} {
		for _, parts := range []string{"simple", "booth"} {
			for _, tree := range []string{"array", "wallace", "dadda"} {
				for _, adder := range finalAdders {
					list = append(list, product{bits: bits, signed: signed, parts: parts, tree: tree, adder: adder})
				}
			}
		}
	}
	return list
}

// reference is the product that others are compared with.
func reference(p product) *Graph {
	return product{bits: p.bits, signed: p.signed, parts: "simple", tree: "array", adder: "ripple", add: p.add}.build()
}

// compareWords has the algebra alone compare two circuits.
func compareWords(t testing.TB, a, b *Graph) (pattern []bool, decided bool) {
	w := newWordComparer(a, b)
	for form := range wordForms {
		pattern, decided, err := w.compare(context.Background(), form)
		require.NoError(t, err)
		if decided {
			return pattern, true
		}
	}
	return nil, false
}

// TestAlgebraProducts decides all ways to multiply, most of them short.
func TestAlgebraProducts(t *testing.T) {
	for _, bits := range []int{4, 5} {
		for i, p := range allProducts(bits) {
			if bits == 5 && i%invariants.Draws(4, 1) != 0 {
				continue
			}
			for _, p.ands = range []bool{false, true} {
				pattern, decided := compareWords(t, p.build(), reference(p))
				require.True(t, decided, "%v", p)
				require.Nil(t, pattern, "%v", p)
			}
		}
	}
	for _, p := range []product{
		{bits: 32, parts: "booth", tree: "wallace", adder: "kogge-stone"},
		{bits: 32, signed: true, parts: "booth", tree: "array", adder: "select"},
		{bits: 24, parts: "simple", tree: "dadda", adder: "skip", add: true},
		{bits: 24, signed: true, parts: "booth", tree: "dadda", adder: "brent-kung", add: true},
		{bits: 16, parts: "simple", tree: "wallace", adder: "sklansky", ands: true},
		{bits: 16, signed: true, parts: "booth", tree: "wallace", adder: "ripple", ands: true},
		{bits: 32, parts: "booth", tree: "dadda", adder: "kogge-stone", ands: true},
	} {
		pattern, decided := compareWords(t, p.build(), reference(p))
		require.True(t, decided, "%v", p)
		require.Nil(t, pattern, "%v", p)
	}
}

// TestWholeAdders finds in products of ANDs as many majorities as they were built of, all of
// them of the same function, and leaves what the outputs are.
func TestWholeAdders(t *testing.T) {
	for _, p := range allProducts(4) {
		majorities := func(g *Graph) (n int) {
			for id := g.FirstGate(); id < g.NumNodes(); id++ {
				if f := g.nodes[id]; g.Kind(id) == Maj && min(f[0], f[1], f[2]) > True {
					n++
				}
			}
			return n
		}
		built := majorities(p.build().Sweep())
		p.ands = true
		given := p.build()
		whole := given.wholeAdders().Sweep()
		require.NoError(t, whole.Check())
		require.Zero(t, majorities(given))
		require.GreaterOrEqual(t, majorities(whole), built, "%v", p)
		in, w := allPatterns(given.NumInputs())
		require.True(t, equalWords(given.Simulate(in, w), whole.Simulate(in, w)), "%v", p)
	}
}

// mutant changes one gate of a graph: its kind, a complement or a fanin.
func mutant(g *Graph, rng *rand.Rand) *Graph {
	at := g.FirstGate() + rng.IntN(g.NumGates())
	how := rng.IntN(3)
	m := g.emptyCopy(g.NumGates())
	lit := make([]Lit, len(g.nodes))
	for id := range lit {
		f := g.nodes[id]
		switch {
		case id < g.FirstGate():
			lit[id] = Lit(id) << 1
			continue
		case id != at:
			lit[id] = m.copyGate(f, lit)
			continue
		}
		k := rng.IntN(3)
		x := [3]Lit{lit[f[0]>>1] ^ f[0]&1, lit[f[1]>>1] ^ f[1]&1, lit[f[2]>>1] ^ f[2]&1}
		maj := g.Kind(id) == Maj
		switch how {
		case 0:
			maj = !maj
		case 1:
			x[k] ^= 1
		case 2:
			x[k] = lit[1+rng.IntN(id-1)]
		}
		if maj {
			lit[id] = m.Maj(x[0], x[1], x[2])
		} else {
			lit[id] = m.Xor(x[0], x[1], x[2])
		}
	}
	for _, o := range g.outputs {
		m.AddOutput(o.Name, lit[o.Lit>>1]^o.Lit&1)
	}
	return m.Sweep()
}

// TestAlgebraIsSound holds every answer of the algebra about products with a wrong gate,
// and about other circuits, to all input patterns.
func TestAlgebraIsSound(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	list := append(allProducts(3), allProducts(4)...)
	decidedSame, decidedDifferent := 0, 0
	for range 600 {
		p := list[rng.IntN(len(list))]
		p.ands = rng.IntN(2) == 0
		a := p.build()
		b := mutant(a, rng)
		if rng.IntN(2) == 0 {
			a = reference(p)
		}
		pattern, decided := compareWords(t, a, b)
		if !decided {
			continue
		}
		if pattern != nil {
			decidedDifferent++
			in := uint64(0)
			for i, v := range pattern {
				in |= uint64(btoi(v)) << i
			}
			require.NotEqual(t, evaluate(a, in), evaluate(b, in), "%v", p)
			continue
		}
		decidedSame++
		in, w := allPatterns(a.NumInputs())
		require.True(t, equalWords(a.Simulate(in, w), b.Simulate(in, w)), "%v", p)
	}
	require.Greater(t, decidedSame, 10)
	require.Greater(t, decidedDifferent, 200)
}

// TestWrongGates finds a wrong gate of large products with an input pattern, which
// Equivalent evaluates in both circuits.
func TestWrongGates(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	list := allProducts(32)
	for range 12 {
		p := list[rng.IntN(len(list))]
		e, err := Equivalent(context.Background(), mutant(p.build(), rng), reference(p), EquivalenceOptions{})
		require.NoError(t, err)
		if e.Verdict == Equal {
			continue // a gate that does not matter
		}
		require.Equal(t, Different, e.Verdict, "%v", p)
		require.NotNil(t, e.Witness)
	}
}

// TestCoefficients compares numbers modulo 2^256 with package big.
func TestCoefficients(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	mod := new(big.Int).Lsh(big.NewInt(1), maxWordBits)
	value := func(c coefficient) *big.Int {
		v := new(big.Int)
		for i := len(c) - 1; i >= 0; i-- {
			v.Lsh(v, 64).Or(v, new(big.Int).SetUint64(c[i]))
		}
		return v
	}
	for range 200 {
		var c, d coefficient
		for i := range c {
			c[i], d[i] = rng.Uint64()>>rng.IntN(64), rng.Uint64()>>rng.IntN(64)
		}
		k := rng.Uint64()
		sum := new(big.Int).Add(value(c), value(d))
		require.Equal(t, sum.Mod(sum, mod), value(c.plus(d)))
		minus := new(big.Int).Neg(value(c))
		require.Equal(t, minus.Mod(minus, mod), value(c.minus()))
		times := new(big.Int).Mul(value(c), new(big.Int).SetUint64(k))
		require.Equal(t, times.Mod(times, mod), value(c.times(k)))
		require.Equal(t, new(big.Int).Rsh(value(c), 1), value(c.half()))
	}
	for _, k := range []int{0, 1, 63, 64, 255} {
		require.Equal(t, new(big.Int).Lsh(big.NewInt(1), uint(k)), value(power(k)))
	}
}

// BenchmarkProducts compares all ways to multiply with the array of full adders: as built, of
// ANDs, and what synthesis makes of them, which takes long at normal.
func BenchmarkProducts(b *testing.B) {
	efforts := map[string]Effort{"fast": Fast, "normal": Normal}
	for _, run := range []struct {
		bits int
		form string
	}{
		{8, "fast"}, {8, "normal"}, {16, "built"}, {16, "ands"}, {16, "fast"}, {32, "built"}, {32, "ands"}, {64, "built"}, {64, "ands"},
	} {
		b.Run(fmt.Sprintf("%d/%s", run.bits, run.form), func(b *testing.B) {
			var pairs [][2]*Graph
			for _, p := range allProducts(run.bits) {
				p.ands = run.form == "ands"
				g := p.build()
				if effort, ok := efforts[run.form]; ok {
					var err error
					g, _, err = Synthesize(context.Background(), g, SynthOptions{Effort: effort})
					require.NoError(b, err)
				}
				pairs = append(pairs, [2]*Graph{g, reference(p)})
			}
			for b.Loop() {
				decided := 0
				slowest := time.Duration(0)
				for _, p := range pairs {
					start := time.Now()
					pattern, ok := compareWords(b, p[0], p[1])
					require.Nil(b, pattern)
					decided += btoi(ok)
					slowest = max(slowest, time.Since(start))
				}
				b.ReportMetric(float64(decided), "decided")
				b.ReportMetric(float64(len(pairs)), "pairs")
				b.ReportMetric(slowest.Seconds(), "slowest-s")
			}
		})
	}
}
