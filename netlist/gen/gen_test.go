package gen

import (
	"fmt"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bitsched/bitsched/netlist"
)

// words are numbers by the name of their word or flag.
type words map[string]*big.Int

// u is the value of a word, 0 if there is none: the shift amount of one bit.
func (w words) u(name string) uint64 {
	if w[name] == nil {
		return 0
	}
	return w[name].Uint64()
}

func num(v int) *big.Int { return big.NewInt(int64(v)) }

// flagOf is 1 for true.
func flagOf(v bool) *big.Int {
	if v {
		return num(1)
	}
	return num(0)
}

// pow2 is 2^n.
func pow2(n int) *big.Int { return new(big.Int).Lsh(num(1), uint(n)) }

// mod2 is v modulo 2^n, never negative.
func mod2(v *big.Int, n int) *big.Int { return new(big.Int).And(v, new(big.Int).Sub(pow2(n), num(1))) }

func mul(w words) words  { return words{"y": new(big.Int).Mul(w["a"], w["b"])} }
func plus(w words) words { return words{"y": new(big.Int).Add(w["a"], w["b"])} }

func onesIn(v *big.Int) int {
	n := 0
	for i := range v.BitLen() {
		n += int(v.Bit(i))
	}
	return n
}

// smallFloat is the mathematical definition, not the circuit's: the exponent is the
// least one for which the mantissa holds the integer part, then it rounds.
func smallFloat(a *big.Int, n, m int, round bool) words {
	e := 0
	for new(big.Int).Rsh(a, uint(e)).Cmp(pow2(m)) >= 0 {
		e++
	}
	man := new(big.Int).Rsh(a, uint(e))
	if round && e > 0 {
		// floor(a / 2^e + 1/2)
		man.Rsh(new(big.Int).Add(a, pow2(e-1)), uint(e))
		if man.Cmp(pow2(m)) == 0 {
			if e == n-m {
				man.Sub(man, num(1))
			} else {
				man, e = pow2(m-1), e+1
			}
		}
	}
	return words{"m": man, "e": num(e)}
}

// oracles say what each kind computes, by the canonical name. extra has all
// extra parameters.
var oracles = map[string]func(w words, width int, extra map[string]int) words{
	"adder-brent-kung":   func(w words, _ int, _ map[string]int) words { return plus(w) },
	"adder-carry-select": func(w words, _ int, _ map[string]int) words { return plus(w) },
	"adder-kogge-stone":  func(w words, _ int, _ map[string]int) words { return plus(w) },
	"adder-ripple":       func(w words, _ int, _ map[string]int) words { return plus(w) },
	"adder-sklansky":     func(w words, _ int, _ map[string]int) words { return plus(w) },
	"comparator": func(w words, _ int, _ map[string]int) words {
		c := w["a"].Cmp(w["b"])
		return words{"lt": flagOf(c < 0), "eq": flagOf(c == 0), "gt": flagOf(c > 0)}
	},
	"decoder": func(w words, _ int, _ map[string]int) words { return words{"y": pow2(int(w.u("s")))} },
	"divider": func(w words, n int, x map[string]int) words {
		if w["b"].Sign() == 0 {
			return words{"q": new(big.Int).Sub(pow2(n), num(1)), "r": mod2(w["a"], x["width-b"])}
		}
		q, r := new(big.Int).QuoRem(w["a"], w["b"], new(big.Int))
		return words{"q": q, "r": r}
	},
	"hypot": func(w words, _ int, _ map[string]int) words {
		s := new(big.Int).Mul(w["a"], w["a"])
		s.Add(s, new(big.Int).Mul(w["b"], w["b"]))
		return words{"y": s.Sqrt(s)}
	},
	"int-to-float": func(w words, n int, x map[string]int) words {
		return smallFloat(w["a"], n, x["mantissa"], x["round"] != 0)
	},
	"leading-zeros": func(w words, n int, _ map[string]int) words {
		return words{"y": num(n - w["a"].BitLen())}
	},
	"max": func(w words, _ int, x map[string]int) words {
		best := 0
		for i := range x["words"] {
			if w[fmt.Sprint("x", i)].Cmp(w[fmt.Sprint("x", best)]) > 0 {
				best = i
			}
		}
		return words{"y": w[fmt.Sprint("x", best)], "i": num(best)}
	},
	"multiplier-array": func(w words, _ int, _ map[string]int) words { return mul(w) },
	"multiplier-booth": func(w words, _ int, _ map[string]int) words { return mul(w) },
	"multiplier-dadda": func(w words, _ int, _ map[string]int) words { return mul(w) },
	"popcount":         func(w words, _ int, _ map[string]int) words { return words{"y": num(onesIn(w["a"]))} },
	"priority": func(w words, _ int, _ map[string]int) words {
		return words{"y": num(max(0, w["a"].BitLen()-1)), "valid": flagOf(w["a"].Sign() != 0)}
	},
	"rotate-left": func(w words, n int, _ map[string]int) words {
		s := uint(w.u("s")) % uint(n)
		up := new(big.Int).Lsh(w["a"], s)
		down := new(big.Int).Rsh(w["a"], uint(n)-s)
		return words{"y": mod2(up.Or(up, down), n)}
	},
	"shift-left": func(w words, n int, _ map[string]int) words {
		return words{"y": mod2(new(big.Int).Lsh(w["a"], uint(w.u("s"))), n)}
	},
	"shift-right": func(w words, _ int, _ map[string]int) words {
		return words{"y": new(big.Int).Rsh(w["a"], uint(w.u("s")))}
	},
	"shift-right-arithmetic": func(w words, n int, _ map[string]int) words {
		v := new(big.Int).Set(w["a"])
		if v.Bit(n-1) != 0 {
			v.Sub(v, pow2(n))
		}
		return words{"y": mod2(v.Rsh(v, uint(w.u("s"))), n)}
	},
	"sqrt":    func(w words, _ int, _ map[string]int) words { return words{"y": new(big.Int).Sqrt(w["a"])} },
	"squarer": func(w words, _ int, _ map[string]int) words { return words{"y": new(big.Int).Mul(w["a"], w["a"])} },
	"subtractor": func(w words, n int, _ map[string]int) words {
		return words{"y": mod2(new(big.Int).Sub(w["a"], w["b"]), n+1)}
	},
	"voter": func(w words, n int, _ map[string]int) words { return words{"y": flagOf(2*onesIn(w["a"]) > n)} },
}

// signedOf is a word as a signed number if signed is set.
func signedOf(v *big.Int, n, signed int) *big.Int {
	if signed != 0 && v.Bit(n-1) != 0 {
		return new(big.Int).Sub(v, pow2(n))
	}
	return v
}

// result is the oracle of a kind with operands a and b, of which both are
// signed if the kind is, and result y of as many bits as they have.
func result(f func(a, b *big.Int) *big.Int) func(w words, n int, x map[string]int) words {
	return func(w words, n int, x map[string]int) words {
		b := w["b"]
		if b == nil {
			b = new(big.Int)
		}
		return words{"y": mod2(f(signedOf(w["a"], n, x["signed"]), signedOf(b, n, x["signed"])), n)}
	}
}

// holds is the oracle of a kind that tells something about a and b.
func holds(f func(c int) bool) func(w words, n int, x map[string]int) words {
	return func(w words, n int, x map[string]int) words {
		return words{"y": flagOf(f(signedOf(w["a"], n, x["signed"]).Cmp(signedOf(w["b"], n, x["signed"]))))}
	}
}

func init() {
	for kind, f := range map[string]func(a, b *big.Int) *big.Int{
		"add": func(a, b *big.Int) *big.Int { return new(big.Int).Add(a, b) },
		"sub": func(a, b *big.Int) *big.Int { return new(big.Int).Sub(a, b) },
		"neg": func(a, _ *big.Int) *big.Int { return new(big.Int).Neg(a) },
		"and": func(a, b *big.Int) *big.Int { return new(big.Int).And(a, b) },
		"or":  func(a, b *big.Int) *big.Int { return new(big.Int).Or(a, b) },
		"xor": func(a, b *big.Int) *big.Int { return new(big.Int).Xor(a, b) },
		"not": func(a, _ *big.Int) *big.Int { return new(big.Int).Not(a) },
		"minimum": func(a, b *big.Int) *big.Int {
			if a.Cmp(b) < 0 {
				return a
			}
			return b
		},
		"maximum": func(a, b *big.Int) *big.Int {
			if a.Cmp(b) > 0 {
				return a
			}
			return b
		},
		"mul-low": func(a, b *big.Int) *big.Int { return new(big.Int).Mul(a, b) },
		"quotient": func(a, b *big.Int) *big.Int {
			if b.Sign() == 0 {
				return num(-1)
			}
			return new(big.Int).Quo(a, b)
		},
		"remainder": func(a, b *big.Int) *big.Int {
			if b.Sign() == 0 {
				return a
			}
			return new(big.Int).Rem(a, b)
		},
	} {
		oracles[kind] = result(f)
	}
	for kind, f := range map[string]func(c int) bool{
		"eq": func(c int) bool { return c == 0 }, "ne": func(c int) bool { return c != 0 },
		"lt": func(c int) bool { return c < 0 }, "le": func(c int) bool { return c <= 0 },
		"gt": func(c int) bool { return c > 0 }, "ge": func(c int) bool { return c >= 0 },
	} {
		oracles[kind] = holds(f)
	}
	oracles["abs"] = func(w words, n int, _ map[string]int) words {
		return words{"y": mod2(new(big.Int).Abs(signedOf(w["a"], n, 1)), n)}
	}
	oracles["relu"] = func(w words, n int, _ map[string]int) words {
		if signedOf(w["a"], n, 1).Sign() < 0 {
			return words{"y": num(0)}
		}
		return words{"y": w["a"]}
	}
	oracles["select"] = func(w words, _ int, _ map[string]int) words {
		if w.u("s") == 1 {
			return words{"y": w["a"]}
		}
		return words{"y": w["b"]}
	}
	oracles["resize"] = func(w words, n int, x map[string]int) words {
		return words{"y": mod2(signedOf(w["a"], n, x["signed"]), x["width-y"])}
	}
	oracles["isqrt"] = oracles["sqrt"]
	oracles["mul-full"] = func(w words, n int, x map[string]int) words {
		return words{"y": mod2(new(big.Int).Mul(signedOf(w["a"], n, x["signed"]), signedOf(w["b"], n, x["signed"])), 2*n)}
	}
	oracles["mul-high"] = func(w words, n int, x map[string]int) words {
		p := new(big.Int).Mul(signedOf(w["a"], n, x["signed"]), signedOf(w["b"], n, x["signed"]))
		return words{"y": mod2(p.Rsh(p, uint(n)), n)}
	}
	oracles["mul-add"] = func(w words, n int, x map[string]int) words {
		p := new(big.Int).Mul(signedOf(w["a"], n, x["signed"]), signedOf(w["b"], n, x["signed"]))
		return words{"y": mod2(p.Add(p, w["c"]), x["width-c"])}
	}
	oracles["rotate-right"] = func(w words, n int, _ map[string]int) words {
		s := uint(w.u("s")) % uint(n)
		down := new(big.Int).Rsh(w["a"], s)
		up := new(big.Int).Lsh(w["a"], uint(n)-s)
		return words{"y": mod2(up.Or(up, down), n)}
	}
}

// widths is the length of each word and flag of a circuit, derived from the
// documentation of the kind alone.
func widthsOf(kind string, n int, x map[string]int) (in, out map[string]int) {
	index := bits.Len(uint(n - 1)) // holds 0 to n-1
	two := map[string]int{"a": n, "b": n}
	switch kind {
	case "adder-brent-kung", "adder-carry-select", "adder-kogge-stone", "adder-ripple", "adder-sklansky", "subtractor", "hypot":
		return two, map[string]int{"y": n + 1}
	case "comparator":
		return two, map[string]int{"lt": -1, "eq": -1, "gt": -1}
	case "decoder":
		return map[string]int{"s": n}, map[string]int{"y": 1 << n}
	case "divider":
		return map[string]int{"a": n, "b": x["width-b"]}, map[string]int{"q": n, "r": x["width-b"]}
	case "int-to-float":
		return map[string]int{"a": n}, map[string]int{"m": x["mantissa"], "e": bits.Len(uint(n - x["mantissa"]))}
	case "leading-zeros", "popcount":
		return map[string]int{"a": n}, map[string]int{"y": bits.Len(uint(n))}
	case "max":
		in := map[string]int{}
		for i := range x["words"] {
			in[fmt.Sprint("x", i)] = n
		}
		return in, map[string]int{"y": n, "i": bits.Len(uint(x["words"] - 1))}
	case "multiplier-array", "multiplier-booth", "multiplier-dadda":
		return map[string]int{"a": n, "b": x["width-b"]}, map[string]int{"y": n + x["width-b"]}
	case "priority":
		return map[string]int{"a": n}, map[string]int{"y": index, "valid": -1}
	case "rotate-left", "rotate-right", "shift-left", "shift-right", "shift-right-arithmetic":
		return map[string]int{"a": n, "s": index}, map[string]int{"y": n}
	case "sqrt", "isqrt":
		return map[string]int{"a": n}, map[string]int{"y": (n + 1) / 2}
	case "squarer":
		return map[string]int{"a": n}, map[string]int{"y": 2 * n}
	case "voter":
		return map[string]int{"a": n}, map[string]int{"y": -1}
	case "abs", "neg", "not", "relu":
		return map[string]int{"a": n}, map[string]int{"y": n}
	case "add", "sub", "and", "or", "xor", "minimum", "maximum", "mul-low", "mul-high", "quotient", "remainder":
		return two, map[string]int{"y": n}
	case "eq", "ne", "lt", "le", "gt", "ge":
		return two, map[string]int{"y": -1}
	case "mul-full":
		return two, map[string]int{"y": 2 * n}
	case "mul-add":
		return map[string]int{"a": n, "b": n, "c": x["width-c"]}, map[string]int{"y": x["width-c"]}
	case "resize":
		return map[string]int{"a": n}, map[string]int{"y": x["width-y"]}
	case "select":
		return map[string]int{"a": n, "b": n, "s": 1}, map[string]int{"y": n}
	}
	panic(kind)
}

// port is a word: bit i of it is input or output number at+i.
type port struct {
	name  string
	at, n int
}

// portsOf finds the words in a list of names and checks that the bits of each
// are in order and that there is nothing else. A width of -1 is a flag.
func portsOf(t *testing.T, names []string, want map[string]int) []port {
	t.Helper()
	var ports []port
	for at := 0; at < len(names); {
		p := port{at: at}
		for name, n := range want {
			if n == -1 && names[at] == name || n > 0 && names[at] == name+"[0]" {
				p.name, p.n = name, n
			}
		}
		switch {
		case p.name == "":
			t.Fatalf("%q is no word or flag of %v", names[at], want)
		case p.n == -1:
			p.n = 1
		default:
			for i := range p.n {
				if at+i >= len(names) || names[at+i] != fmt.Sprintf("%s[%d]", p.name, i) {
					t.Fatalf("name %d: expected %s[%d] of %v", at+i, p.name, i, names)
				}
			}
		}
		at += p.n
		ports = append(ports, p)
	}
	have := map[string]bool{}
	for _, p := range ports {
		have[p.name] = true
	}
	for name, n := range want {
		if n != 0 && !have[name] {
			t.Fatalf("no word or flag %s in %v", name, names)
		}
	}
	return ports
}

// shape is a circuit to test.
type shape struct {
	kind  string
	width int
	extra map[string]int
}

func (s shape) String() string {
	text := fmt.Sprintf("%s/%d", s.kind, s.width)
	if k, err := Lookup(s.kind); err == nil {
		for _, x := range k.Extra {
			if v, ok := s.extra[x.Name]; ok {
				text += fmt.Sprintf("/%s=%d", x.Name, v)
			}
		}
	}
	return text
}

// check builds a shape in both forms and compares it with its oracle: on all
// patterns if its inputs are few ([exhaustive]), else on random and edge ones.
func check(t *testing.T, s shape, random int) {
	t.Helper()
	k, err := Lookup(s.kind)
	if err != nil {
		t.Fatal(err)
	}
	// The documented defaults.
	extra := map[string]int{"width-b": s.width, "mantissa": min(4, s.width), "round": 1, "words": 4, "width-c": 2 * s.width, "width-y": s.width}
	for name, v := range s.extra {
		extra[name] = v
	}
	wantIn, wantOut := widthsOf(s.kind, s.width, extra)
	var (
		in      []uint64
		w       int
		results []words
	)
	for _, and := range []bool{false, true} {
		n, err := k.Build(t.Context(), Options{Width: s.width, Extra: s.extra, AndInverter: and})
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Check(); err != nil {
			t.Fatal(err)
		}
		tidy(t, n, and)
		p, err := k.resolve(Options{Width: s.width, Extra: s.extra})
		if err != nil {
			t.Fatal(err)
		}
		if k.size == nil {
			// no bound
		} else if bound := k.size(p).nodes(and); int64(n.NumNodes()) > bound {
			t.Fatalf("and-inverter %v: %d nodes, more than the bound %d", and, n.NumNodes(), bound)
		}
		var names [2][]string
		for i := range n.NumInputs() {
			names[0] = append(names[0], n.InputName(i))
		}
		for _, o := range n.Outputs() {
			names[1] = append(names[1], o.Name)
		}
		ins, outs := portsOf(t, names[0], wantIn), portsOf(t, names[1], wantOut)
		if in == nil {
			in, w = stimuli(ins, n.NumInputs(), random)
			results = make([]words, 64*w)
			for c := range results {
				results[c] = oracles[s.kind](gather(in, w, c, ins), s.width, extra)
			}
		}
		out := n.Simulate(in, w)
		for c, want := range results {
			for _, p := range outs {
				v := want[p.name]
				for i := range p.n {
					if got := uint(out[(p.at+i)*w+c/64] >> (c % 64) & 1); got != v.Bit(i) {
						t.Fatalf("and-inverter %v: for %v, bit %d of %s is %d, expected %s = %#x", and, gather(in, w, c, ins), i, p.name, got, p.name, v)
					}
				}
				if v.BitLen() > p.n {
					t.Fatalf("%s has %d bits, which do not hold %v", p.name, p.n, v)
				}
			}
		}
	}
}

// gather returns the input words of a pattern.
func gather(in []uint64, w, c int, ports []port) words {
	r := words{}
	for _, p := range ports {
		v, low := new(big.Int), uint64(0)
		for i := p.n - 1; i >= 0; i-- {
			low = low<<1 | in[(p.at+i)*w+c/64]>>(c%64)&1
			if i%64 == 0 {
				v.Or(v.Lsh(v, 64), new(big.Int).SetUint64(low))
				low = 0
			}
		}
		r[p.name] = v
	}
	return r
}

// stimuli are all patterns if inputs are few, else random ones of all
// magnitudes mixed with edges.
func stimuli(ports []port, inputs, random int) (in []uint64, w int) {
	if inputs <= *exhaustive {
		w = max(1, 1<<inputs/64)
		in = make([]uint64, inputs*w)
		for i := range inputs {
			for c := range 64 * w {
				in[i*w+c/64] |= uint64(c>>i&1) << (c % 64)
			}
		}
		return in, w
	}
	w = (random + 63) / 64
	in = make([]uint64, inputs*w)
	rnd := rand.New(rand.NewPCG(1, 2))
	for c := range 64 * w {
		equal := rnd.IntN(8) == 0 // all words alike, or nearly
		var last *big.Int
		for _, p := range ports {
			v := edge(rnd, p.n)
			if equal && last != nil {
				v = mod2(new(big.Int).Add(last, num(rnd.IntN(3)-1)), p.n)
			}
			last = v
			for i := range p.n {
				in[(p.at+i)*w+c/64] |= uint64(v.Bit(i)) << (c % 64)
			}
		}
	}
	return in, w
}

// edge returns a number of n bits: of any magnitude, dense, sparse or extreme.
func edge(rnd *rand.Rand, n int) *big.Int {
	v := new(big.Int)
	for i := range n {
		v.SetBit(v, i, uint(rnd.IntN(2)))
	}
	switch rnd.IntN(8) {
	case 0:
		v.Sub(pow2(n), num(1)) // all ones
	case 1:
		v.SetInt64(0)
	case 2:
		v = pow2(rnd.IntN(n))
	case 3:
		v.Sub(pow2(rnd.IntN(n)), num(1))
	case 4, 5:
		v.Rsh(v, uint(rnd.IntN(n)))
	case 6:
		v = mod2(new(big.Int).Neg(v.Rsh(v, uint(rnd.IntN(n)))), n)
	}
	return v
}

// tidy fails if a gate drives nothing, has a constant fanin, has two fanins of
// one node or is there twice; or if it is no AND where it should be.
func tidy(t *testing.T, n *netlist.Network, and bool) {
	t.Helper()
	used := make([]bool, n.NumNodes())
	for _, o := range n.Outputs() {
		used[o.Lit.Node()] = true
	}
	type gate struct {
		kind netlist.Kind
		f    [3]netlist.Lit
	}
	seen := map[gate]int{}
	for id := n.NumNodes() - 1; id > 0; id-- {
		k := n.Kind(id)
		if k == netlist.Input {
			continue
		}
		g := gate{kind: k}
		copy(g.f[:], n.Fanins(id))
		if k != netlist.Mux {
			slices.Sort(g.f[:])
		}
		if !used[id] {
			t.Fatalf("node %d, %v of %v, drives nothing", id, k, n.Fanins(id))
		}
		if and && k != netlist.And {
			t.Fatalf("node %d is %v, expected and", id, k)
		}
		if other, twice := seen[g]; twice {
			t.Fatalf("nodes %d and %d are both %v of %v", id, other, k, n.Fanins(id))
		}
		seen[g] = id
		for i, f := range n.Fanins(id) {
			used[f.Node()] = true
			if f.Node() == 0 {
				t.Fatalf("node %d, %v of %v, has a constant fanin", id, k, n.Fanins(id))
			}
			for _, other := range n.Fanins(id)[:i] {
				if other.Node() == f.Node() {
					t.Fatalf("node %d, %v of %v, has a fanin twice", id, k, n.Fanins(id))
				}
			}
		}
	}
}

func TestEveryKindHasAnOracle(t *testing.T) {
	for _, k := range Kinds {
		if oracles[k.Name] == nil && !isFloat(k.Name) {
			t.Errorf("no oracle for %s", k.Name)
		}
	}
	if n := len(oracles) + len(floatCircuits) + len(conversions); n != len(Kinds) {
		t.Errorf("%d oracles, %d kinds", n, len(Kinds))
	}
}

// isFloat tells whether a kind is tested in float_test.go.
func isFloat(kind string) bool {
	return slices.Contains(conversions, kind) ||
		slices.ContainsFunc(floatCircuits, func(c floatCircuit) bool { return c.kind == kind })
}

// TestSmall tries each kind at every width up to 9, on all patterns where inputs
// are few.
func TestSmall(t *testing.T) {
	for _, k := range Kinds {
		if isFloat(k.Name) {
			continue
		}
		for width := 1; width <= 9; width++ {
			s := shape{kind: k.Name, width: width}
			t.Run(s.String(), func(t *testing.T) { t.Parallel(); check(t, s, 1024) })
		}
	}
}

// TestShapes tries the extra parameters, exhaustively where possible.
func TestShapes(t *testing.T) {
	var shapes []shape
	for _, kind := range []string{"multiplier-array", "multiplier-booth", "multiplier-dadda", "divider"} {
		for n := 1; n <= 11; n++ {
			for m := 1; m <= 11; m++ {
				if n != m && n+m <= 12 {
					shapes = append(shapes, shape{kind, n, map[string]int{"width-b": m}})
				}
			}
		}
		for _, nm := range [][2]int{{1, 70}, {70, 1}, {2, 33}, {33, 2}, {24, 40}, {40, 24}, {64, 32}, {31, 64}} {
			shapes = append(shapes, shape{kind, nm[0], map[string]int{"width-b": nm[1]}})
		}
	}
	for n := 1; n <= 14; n++ {
		for m := 1; m <= n; m++ {
			for round := range 2 {
				shapes = append(shapes, shape{"int-to-float", n, map[string]int{"mantissa": m, "round": round}})
			}
		}
	}
	for _, nm := range [][2]int{{16, 11}, {32, 24}, {64, 53}, {65, 1}, {100, 64}, {128, 128}} {
		for round := range 2 {
			shapes = append(shapes, shape{"int-to-float", nm[0], map[string]int{"mantissa": nm[1], "round": round}})
		}
	}
	for _, kind := range []string{"ge", "gt", "le", "lt", "maximum", "minimum", "mul-full", "mul-high", "quotient", "remainder"} {
		for _, n := range []int{1, 2, 3, 4, 5, 6, 7, 9, 16, 31, 32, 50, 64} {
			shapes = append(shapes, shape{kind, n, map[string]int{"signed": 1}})
		}
	}
	for _, nm := range [][2]int{{1, 1}, {1, 2}, {1, 5}, {2, 3}, {3, 4}, {4, 2}, {4, 6}, {4, 8}, {5, 6}, {3, 9}, {8, 32}, {16, 48}, {32, 33}, {33, 40}, {64, 64}, {64, 128}} {
		for signed := range 2 {
			shapes = append(shapes, shape{"mul-add", nm[0], map[string]int{"width-c": nm[1], "signed": signed}})
		}
	}
	for _, nm := range [][2]int{{1, 1}, {1, 64}, {8, 3}, {8, 32}, {64, 1}} {
		for signed := range 2 {
			shapes = append(shapes, shape{"resize", nm[0], map[string]int{"width-y": nm[1], "signed": signed}})
		}
	}
	for words := 1; words <= 9; words++ {
		for _, n := range []int{1, 2, 3, 5, 8, 13} {
			shapes = append(shapes, shape{"max", n, map[string]int{"words": words}})
		}
	}
	for block := range 8 {
		for n := 1; n <= 7; n++ {
			shapes = append(shapes, shape{"adder-carry-select", n, map[string]int{"block": block}})
		}
		for _, n := range []int{32, 61} {
			shapes = append(shapes, shape{"adder-carry-select", n, map[string]int{"block": block}})
		}
	}
	for _, s := range shapes {
		t.Run(s.String(), func(t *testing.T) { t.Parallel(); check(t, s, 512) })
	}
}

// TestWide tries each kind at larger widths on random and edge patterns.
func TestWide(t *testing.T) {
	for _, k := range Kinds {
		for _, width := range []int{10, 13, 16, 17, 31, 32, 33, 63, 64, 65, 100, 128} {
			if k.size == nil && !slices.Contains([]int{16, 31, 32, 33, 63, 64}, width) {
				continue
			}
			if width > k.Width.Max || isFloat(k.Name) || k.Name == "decoder" && width > 12 {
				continue
			}
			s := shape{kind: k.Name, width: width}
			t.Run(s.String(), func(t *testing.T) { t.Parallel(); check(t, s, 256) })
		}
	}
	for _, s := range []shape{{kind: "voter", width: 1000}, {kind: "voter", width: 1001}, {kind: "popcount", width: 1023},
		{kind: "rotate-left", width: 500}, {kind: "priority", width: 1000}, {kind: "leading-zeros", width: 1025}, {kind: "adder-kogge-stone", width: 700}} {
		t.Run(s.String(), func(t *testing.T) { t.Parallel(); check(t, s, 256) })
	}
}
