package xmg

import "testing"

func TestLibraryRecipes(t *testing.T) {
	lib := fourInputs()
	hist := map[uint8]int{}
	for i := range lib.cost {
		f := truth(i << 1)
		r := &lib.recipes[i]
		if lib.cost[i] == unknownCost || r.truth(inputTruth) != f || r.n != lib.cost[i] {
			t.Fatalf("function %04x: recipe of %d gates makes %04x, cost %d", f, r.n, r.truth(inputTruth), lib.cost[i])
		}
		hist[lib.cost[i]]++
	}
	t.Log(hist)
}

func BenchmarkLibrary(b *testing.B) {
	for b.Loop() {
		newLibrary()
	}
}
