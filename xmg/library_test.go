package xmg

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// naiveRecipe evaluates a recipe of the table's text for one input pattern.
func naiveRecipe(t *testing.T, text string, pattern int) bool {
	t.Helper()
	values := map[byte]bool{'0': false, 'a': pattern&1 != 0, 'b': pattern&2 != 0, 'c': pattern&4 != 0, 'd': pattern&8 != 0}
	at := func(c byte) bool {
		if c == '1' {
			return true
		}
		lower := strings.ToLower(string(c))[0]
		v, ok := values[lower]
		require.True(t, ok, "%s: operand %c is not there", text, c)
		return v != (lower != c)
	}
	if len(text) == 1 {
		return at(text[0])
	}
	var last bool
	for i, gate := range strings.Split(text, ".") {
		require.Len(t, gate, 4, text)
		ones := 0
		for _, c := range []byte(gate[1:]) {
			if at(c) {
				ones++
			}
		}
		switch gate[0] {
		case 'm':
			last = ones >= 2
		case 'x':
			last = ones%2 == 1
		default:
			t.Fatalf("%s: gate %c", text, gate[0])
		}
		values['e'+byte(i)] = last
	}
	return last
}

type npnClass struct {
	fn      uint16
	gates   int
	recipes []string
}

func npnTable(t *testing.T) (classes []npnClass) {
	for line := range strings.Lines(npn4) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		var c npnClass
		_, err := fmt.Sscanf(line, "%x %d", &c.fn, &c.gates)
		require.NoError(t, err)
		c.recipes = fields[2:]
		classes = append(classes, c)
	}
	return classes
}

// Every structure of the table makes its class with the gates that it says.
func TestLibraryTable(t *testing.T) {
	sizes := map[int]int{}
	structures := map[string]bool{}
	for _, c := range npnTable(t) {
		sizes[c.gates]++
		require.NotEmpty(t, c.recipes, "class %04x", c.fn)
		for _, text := range c.recipes {
			require.False(t, structures[text], "%s is there twice", text)
			structures[text] = true
			if c.gates > 0 {
				require.Len(t, strings.Split(text, "."), c.gates, "class %04x", c.fn)
			}
			got := uint16(0)
			for pattern := range 16 {
				if naiveRecipe(t, text, pattern) {
					got |= 1 << pattern
				}
			}
			if got != c.fn && got != ^c.fn {
				t.Fatalf("class %04x: %s makes %04x", c.fn, text, got)
			}
		}
	}
	require.Equal(t, map[int]int{0: 2, 1: 4, 2: 16, 3: 52, 4: 125, 5: 23}, sizes)
}

// The classes of the table are all that there are, and each once: closing each
// under negations and exchanges of neighbours reaches every function once.
func TestLibraryClasses(t *testing.T) {
	seen := map[uint16]uint16{}
	classes := npnTable(t)
	require.Len(t, classes, 222)
	for _, c := range classes {
		todo := []uint16{c.fn}
		for len(todo) > 0 {
			f := todo[0]
			todo = todo[1:]
			if by, ok := seen[f]; ok {
				require.Equal(t, c.fn, by, "two classes have %04x", f)
				continue
			}
			seen[f] = c.fn
			next := func(pattern func(int) int) {
				g := uint16(0)
				for i := range 16 {
					g |= f >> pattern(i) & 1 << i
				}
				todo = append(todo, g)
			}
			todo = append(todo, ^f)
			for j := range 4 {
				next(func(i int) int { return i ^ 1<<j })
			}
			for j := range 3 {
				next(func(i int) int { return i&^(3<<j) | i>>j&1<<(j+1) | i>>(j+1)&1<<j })
			}
		}
	}
	require.Len(t, seen, 1<<16)
}

// No function has fewer gates than the library takes. The search that made the
// table goes through sequences of gates; here it is sets of functions that grow
// by one function a gate, whatever gate makes it, in each way once up to the
// order and the negation of the inputs and of the functions.
func TestLibraryIsMinimal(t *testing.T) {
	lib := fourInputs()
	const most = uint8(5)
	least := make([]uint8, 1<<15)
	for i := range least {
		least[i] = most + 1
	}
	known := []uint16{0, 0xaaaa, 0xcccc, 0xf0f0, 0xff00}
	for _, f := range known {
		least[f>>1] = 0
	}
	symmetries := naiveSymmetries()
	sets := map[[4]uint16]bool{{}: true} // of the functions made, ascending, after zeros
	for gates := uint8(1); gates <= most; gates++ {
		// Any order gives the same sets of the next size.
		grown, made := map[[4]uint16]bool{}, map[uint16]bool{}
		for set := range sets {
			items := slices.Clone(known)
			for _, f := range set {
				if f != 0 {
					items = append(items, f)
				}
			}
			clear(made)
			for i, a := range items {
				for j, b := range items[:i] {
					for _, c := range items[:j] {
						for _, f := range [...]uint16{a ^ b ^ c, a&b | a&c | b&c, ^a&b | ^a&c | b&c, a&^b | a&c | ^b&c, a&b | a&^c | b&^c} {
							if f&1 != 0 {
								f = ^f
							}
							least[f>>1] = min(least[f>>1], gates)
							if gates < most {
								made[f] = true
							}
						}
					}
				}
			}
			for f := range made {
				switch {
				case slices.Contains(items, f):
				case gates < most-1:
					grown[smallestSet(set, f, symmetries)] = true
				default: // too many to be worth it
					grown[smallestSet(set, f, symmetries[:1])] = true
				}
			}
		}
		sets = grown
	}
	// least is now right for some functions of each class.
	for i, cost := range lib.cost {
		want := most + 1
		for _, table := range symmetries {
			want = min(want, least[table[i]>>1])
		}
		if cost != want {
			t.Fatalf("function %04x: %d gates, expected %d", i<<1, cost, want)
		}
	}
}

// naiveSymmetries are the tables of normal functions under all orders and
// negations of the inputs.
func naiveSymmetries() (all [][]uint16) {
	for order := range 256 {
		p := [4]int{order & 3, order >> 2 & 3, order >> 4 & 3, order >> 6}
		if 1<<p[0]|1<<p[1]|1<<p[2]|1<<p[3] != 15 {
			continue
		}
		for neg := range 16 {
			var pattern [16]int
			for i := range pattern {
				for j, k := range p {
					pattern[i] |= (i >> k & 1 << j) ^ (neg & (1 << j))
				}
			}
			table := make([]uint16, 1<<15)
			for i := range table {
				f, g := uint16(i<<1), uint16(0)
				for i, from := range pattern {
					g |= f >> from & 1 << i
				}
				if g&1 != 0 {
					g = ^g
				}
				table[i] = g
			}
			all = append(all, table)
		}
	}
	return all
}

// smallestSet adds a function to a set and returns the least of what the
// symmetries make of it.
func smallestSet(set [4]uint16, f uint16, symmetries [][]uint16) [4]uint16 {
	set[0] = f
	best := [4]uint16{0xffff}
	for _, table := range symmetries {
		var s [4]uint16
		for i, f := range set {
			s[i] = table[f>>1]
			for j := i; j > 0 && s[j-1] > s[j]; j-- {
				s[j-1], s[j] = s[j], s[j-1]
			}
		}
		if slices.Compare(s[:], best[:]) < 0 {
			best = s
		}
	}
	return best
}

// All structures that recipesFor gives make the function, over other inputs too.
func TestLibraryRecipesFor(t *testing.T) {
	lib := fourInputs()
	words, w := allPatterns(4)
	for _, order := range [][4]int{{0, 1, 2, 3}, {2, 0, 3, 1}} {
		g := New("")
		var names, in [4]Lit
		for j := range names {
			names[j] = g.AddInput("")
		}
		want := map[string]truth{}
		for f := 0; f < 1<<16; f += 7 {
			rs, p := lib.recipesFor(truth(f))
			for k, r := range rs {
				for j := range in {
					in[j] = names[order[j]]
				}
				before := g.NumGates()
				name := fmt.Sprintf("%05d %d", f, k)
				g.AddOutput(name, p.output(r.build(g, p.inputs(in))))
				require.LessOrEqual(t, g.NumGates()-before, int(lib.cost[truth(f).normal()]))
				want[name] = truth(f)
			}
		}
		require.NoError(t, g.Check())
		got := g.Simulate(words, w)
		for i, o := range g.Outputs() {
			f, moved := want[o.Name], truth(0)
			for pattern := range 16 {
				at := 0
				for j, k := range order {
					at |= pattern >> k & 1 << j
				}
				moved |= f >> at & 1 << pattern
			}
			require.Equal(t, moved, truth(got[i]), o.Name)
		}
		require.Len(t, slices.Sorted(maps.Keys(want)), g.NumOutputs())
	}
}

func TestLibraryBuild(t *testing.T) {
	lib := fourInputs()
	g := New("")
	var in [4]Lit
	for j := range in {
		in[j] = g.AddInput("")
	}
	const step = 7
	for f := 0; f < 1<<16; f += step {
		g.AddOutput("", lib.build(g, truth(f), in))
	}
	if err := g.Check(); err != nil {
		t.Fatal(err)
	}
	words, w := allPatterns(4)
	for i, got := range g.Simulate(words, w) {
		if truth(got) != truth(i*step) {
			t.Fatalf("function %04x: built %04x", i*step, truth(got))
		}
	}
}

func BenchmarkLibrary(b *testing.B) {
	for b.Loop() {
		newLibrary()
	}
}
