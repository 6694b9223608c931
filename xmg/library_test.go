package xmg

import "testing"

func TestLibraryRecipes(t *testing.T) {
	lib := fourInputs()
	histogram := [maxSteps + 1]int{}
	for i, cost := range lib.cost {
		f := truth(i << 1)
		r := &lib.recipes[i]
		if cost > maxSteps || r.n != cost {
			t.Fatalf("function %04x: recipe of %d gates, cost %d", f, r.n, cost)
		}
		if got := r.truth(inputTruth); got != f {
			t.Fatalf("function %04x: recipe makes %04x", f, got)
		}
		for k, s := range r.steps[:r.n] {
			for op := range 3 {
				if int(s.operand(op)>>1) >= 5+k {
					t.Fatalf("function %04x: step %d uses a later one", f, k)
				}
			}
		}
		histogram[cost]++
	}
	// Those of up to four gates are what the search must find (see the next
	// test for up to three); the rest guards against a worse completion.
	if want := [...]int{5, 50, 601, 5720, 23224, 3088, 80}; histogram != want {
		t.Errorf("functions by gates: %v, expected %v", histogram, want)
	}
}

// An enumeration of all sequences of gates without any of the search's pruning.
func TestLibraryIsOptimal(t *testing.T) {
	lib := fourInputs()
	const goal = 3
	var least [1 << 15]uint8
	for i := range least {
		least[i] = goal + 1
	}
	items := append([]truth{0}, inputTruth[:]...)
	for _, f := range items {
		least[f.normal()] = 0
	}
	var extend func(k uint8)
	extend = func(k uint8) {
		for c := range items {
			for b := range items[:c] {
				for a := range items[:b] {
					x, y, z := items[a], items[b], items[c]
					for _, f := range [...]truth{x ^ y ^ z, majTruth(x, y, z), majTruth(^x, y, z), majTruth(x, ^y, z), majTruth(x, y, ^z)} {
						least[f.normal()] = min(least[f.normal()], k)
						if k < goal {
							items = append(items, f)
							extend(k + 1)
							items = items[:len(items)-1]
						}
					}
				}
			}
		}
	}
	extend(1)
	for i, n := range least {
		if got := lib.cost[i]; got != n && min(got, n) <= goal {
			t.Fatalf("function %04x: %d gates, expected %d", i<<1, got, n)
		}
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
