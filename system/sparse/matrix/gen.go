package matrix

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// Generator makes matrices of a kind.
type Generator struct {
	Name string
	Text string // what it makes, with its keys
	keys map[string]float64
	make func(p params, rng *rand.Rand) (*Matrix, error)
}

// params are the values of the keys of a generator.
type params map[string]float64

func (p params) int(key string) int { return int(p[key]) }

// flag is the default of a key that is true where it is named.
const flag = -1e300

// Generators returns all generators.
func Generators() []Generator {
	return []Generator{
		{"rmat", "scale=10, edgefactor=16, a=.57, b=.19, c=.19, undirected, shuffle: Graph500's recursive matrix; repeated edges and loops go",
			map[string]float64{"scale": 10, "edgefactor": 16, "a": .57, "b": .19, "c": .19, "undirected": flag, "shuffle": flag}, rmat},
		{"uniform", "n=1000, nnz=10000, undirected: entries anywhere",
			map[string]float64{"n": 1000, "nnz": 10000, "undirected": flag}, uniform},
		{"powerlaw", "n=1000, nnz=20000, sigma=50, max=400, locality=0.5: a symmetric graph of these degrees",
			map[string]float64{"n": 1000, "nnz": 20000, "sigma": 50, "max": 400, "locality": .5}, func(p params, rng *rand.Rand) (*Matrix, error) {
				return powerlaw(p.int("n"), int64(p["nnz"]), p["sigma"], p.int("max"), p["locality"], rng)
			}},
		{"grid2d", "width=32, height=32, delete=0: a mesh, a share of whose edges is gone",
			map[string]float64{"width": 32, "height": 32, "delete": 0}, grid},
		{"banded", "n=1000, width=2: entries up to width off the diagonal, without it",
			map[string]float64{"n": 1000, "width": 2}, banded},
		{"diagonal", "n=1000", map[string]float64{"n": 1000}, func(p params, _ *rand.Rand) (*Matrix, error) { return dense(p, 0) }},
		{"densecol", "n=1000: the diagonal and a full column 0", map[string]float64{"n": 1000}, func(p params, _ *rand.Rand) (*Matrix, error) { return dense(p, 1) }},
		{"star", "n=1000: vertex 0 with an edge to and from each other", map[string]float64{"n": 1000}, func(p params, _ *rand.Rand) (*Matrix, error) { return dense(p, 2) }},
		{"bipartite", "samples=1000, features=200, nnz=10000: real values in (0, 1), rows are samples",
			map[string]float64{"samples": 1000, "features": 200, "nnz": 10000}, bipartite},
	}
}

// Generate makes the matrix of a text such as gen:uniform,n=10,nnz=20.
func Generate(text string, seed uint64) (*Matrix, error) {
	kind, rest, _ := strings.Cut(strings.TrimPrefix(text, "gen:"), ",")
	var names []string
	for _, g := range Generators() {
		names = append(names, g.Name)
		if g.Name != kind {
			continue
		}
		p := params{}
		for k, v := range g.keys {
			if v == flag {
				v = 0
			}
			p[k] = v
		}
		for part := range strings.SplitSeq(rest, ",") {
			if part == "" {
				continue
			}
			key, value, has := strings.Cut(part, "=")
			def, known := g.keys[key]
			if !known {
				return nil, fmt.Errorf("%s: unknown key %q, expected %s", text, key, g.Text)
			}
			switch {
			case def == flag && (!has || value == "true"):
				p[key] = 1
			case def == flag && value == "false":
				p[key] = 0
			default:
				v, err := strconv.ParseFloat(value, 64)
				if err != nil || math.IsNaN(v) || v < 0 || v > MaxEntries {
					return nil, fmt.Errorf("%s: %s %q, expected a number from 0 on", text, key, value)
				}
				p[key] = v
			}
		}
		m, err := g.make(p, rand.New(rand.NewPCG(seed, 0x6265617862)))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		if m.NNZ() == 0 {
			return nil, fmt.Errorf("%s: no entries", text)
		}
		return m, nil
	}
	return nil, fmt.Errorf("%s: unknown generator %q, expected %s", text, kind, strings.Join(names, ", "))
}

// atLeast checks sizes.
func (p params) atLeast(least float64, keys ...string) error {
	for _, k := range keys {
		if p[k] < least || p[k] != math.Trunc(p[k]) || p[k] > MaxSize {
			return fmt.Errorf("%s=%v, expected a whole number from %v on", k, p[k], least)
		}
	}
	return nil
}

func rmat(p params, rng *rand.Rand) (*Matrix, error) {
	if err := p.atLeast(1, "scale", "edgefactor"); err != nil {
		return nil, err
	}
	if p["scale"] > 31 {
		return nil, fmt.Errorf("scale=%v, expected at most 31", p["scale"])
	}
	a, b, c := p["a"], p["b"], p["c"]
	if a+b+c > 1 {
		return nil, fmt.Errorf("a+b+c is %v, expected at most 1", a+b+c)
	}
	scale := p.int("scale")
	n := 1 << scale
	// A draw of 16 bits a level: the quadrants' shares to 1/65536.
	ta, tb, tc := uint64(a*65536), uint64((a+b)*65536), uint64((a+b+c)*65536)
	var shuffle []int
	if p["shuffle"] > 0 {
		shuffle = rng.Perm(n)
	}
	var e entries
	for range int64(n) * int64(p["edgefactor"]) {
		var u, v uint32
		var bits uint64
		for level := range scale {
			if level%4 == 0 {
				bits = rng.Uint64()
			}
			x := bits & 0xffff
			bits >>= 16
			u, v = u<<1, v<<1
			switch {
			case x < ta:
			case x < tb:
				v |= 1
			case x < tc:
				u |= 1
			default:
				u, v = u|1, v|1
			}
		}
		if u == v {
			continue
		}
		if shuffle != nil {
			u, v = uint32(shuffle[u]), uint32(shuffle[v])
		}
		e.add(v, u, 0)
		if p["undirected"] > 0 {
			e.add(u, v, 0)
		}
	}
	m := e.matrix(n, n, Pattern)
	m.combine(DuplicatesFirst)
	return m, nil
}

// sample draws k different numbers below n in rising order.
func sample(n int64, k int64, rng *rand.Rand) []int64 {
	if k > n/2 {
		// What is left out is drawn, and the rest kept.
		out := sample(n, n-k, rng)
		all := make([]int64, 0, k)
		for i, j := int64(0), 0; i < n; i++ {
			if j < len(out) && out[j] == i {
				j++
				continue
			}
			all = append(all, i)
		}
		return all
	}
	list := make([]int64, 0, k)
	for int64(len(list)) < k {
		for missing := k - int64(len(list)); missing > 0; missing-- {
			list = append(list, rng.Int64N(n))
		}
		slices.Sort(list)
		list = slices.Compact(list)
	}
	return list
}

func uniform(p params, rng *rand.Rand) (*Matrix, error) {
	if err := p.atLeast(1, "n", "nnz"); err != nil {
		return nil, err
	}
	n, nnz := int64(p["n"]), int64(p["nnz"])
	var e entries
	if p["undirected"] > 0 {
		if nnz%2 != 0 || nnz > n*(n-1) {
			return nil, fmt.Errorf("nnz=%d, expected an even number of at most n(n-1)", nnz)
		}
		for _, x := range sample(n*(n-1)/2, nnz/2, rng) {
			// Pair x of the triangle below the diagonal.
			r := int64((1 + math.Sqrt(1+8*float64(x))) / 2)
			for r*(r-1)/2 > x {
				r--
			}
			for (r+1)*r/2 <= x {
				r++
			}
			c := x - r*(r-1)/2
			e.add(uint32(r), uint32(c), 0)
			e.add(uint32(c), uint32(r), 0)
		}
	} else {
		if nnz > n*n {
			return nil, fmt.Errorf("nnz=%d, expected at most n²", nnz)
		}
		for _, x := range sample(n*n, nnz, rng) {
			e.add(uint32(x%n), uint32(x/n), 0)
		}
	}
	return e.matrix(int(n), int(n), Pattern), nil
}

func grid(p params, rng *rand.Rand) (*Matrix, error) {
	if err := p.atLeast(1, "width", "height"); err != nil {
		return nil, err
	}
	w, h := p.int("width"), p.int("height")
	var e entries
	edge := func(a, b int) {
		if rng.Float64() >= p["delete"] {
			e.add(uint32(a), uint32(b), 0)
			e.add(uint32(b), uint32(a), 0)
		}
	}
	for y := range h {
		for x := range w {
			if x+1 < w {
				edge(y*w+x, y*w+x+1)
			}
			if y+1 < h {
				edge(y*w+x, y*w+x+w)
			}
		}
	}
	return e.matrix(w*h, w*h, Pattern), nil
}

func banded(p params, _ *rand.Rand) (*Matrix, error) {
	if err := p.atLeast(1, "n", "width"); err != nil {
		return nil, err
	}
	n, w := p.int("n"), p.int("width")
	var e entries
	for c := range n {
		for r := max(0, c-w); r <= min(n-1, c+w); r++ {
			if r != c {
				e.add(uint32(r), uint32(c), 0)
			}
		}
	}
	return e.matrix(n, n, Pattern), nil
}

// dense makes a diagonal (0), that and a full column (1), or a star (2).
func dense(p params, kind int) (*Matrix, error) {
	if err := p.atLeast(2, "n"); err != nil {
		return nil, err
	}
	n := p.int("n")
	var e entries
	for i := range n {
		if kind < 2 {
			e.add(uint32(i), uint32(i), 0)
		}
		if i > 0 && kind > 0 {
			e.add(uint32(i), 0, 0)
		}
		if i > 0 && kind == 2 {
			e.add(0, uint32(i), 0)
		}
	}
	return e.matrix(n, n, Pattern), nil
}

func bipartite(p params, rng *rand.Rand) (*Matrix, error) {
	if err := p.atLeast(1, "samples", "features", "nnz"); err != nil {
		return nil, err
	}
	s, f, nnz := int64(p["samples"]), int64(p["features"]), int64(p["nnz"])
	if nnz > s*f {
		return nil, fmt.Errorf("nnz=%d, expected at most samples x features", nnz)
	}
	e := entries{valued: true}
	for _, x := range sample(s*f, nnz, rng) {
		v := float32(rng.IntN(1<<16-1)+1) / (1 << 16)
		e.add(uint32(x%s), uint32(x/s), math.Float32bits(v))
	}
	return e.matrix(int(s), int(f), Real), nil
}
