package matrix

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Dataset is a matrix of table 3.
type Dataset struct {
	Name  string
	Paper string // its name in the paper
	N     int
	NNZ   int64
	Sigma float64 // of degrees
	Max   int     // degree
	From  string  // where the file is
}

// Bytes is the size that table 3 gives: a pair a nonzero and a pair a row.
func (d Dataset) Bytes() int64 { return 8 * (int64(d.N) + d.NNZ) }

// Datasets returns the matrices of table 3. The paper takes them from SuiteSparse,
// where two are not; sizes are those of the sets that Gunrock uses, all symmetric
// and without loops. Standard deviations and the greatest degree of
// soc-twitter-2010 are those of Gunrock's logs (github.com/gunrock/io); other
// greatest degrees, and what cit-Patents' degrees deviate by, are assumptions.
func Datasets() []Dataset {
	return []Dataset{
		{"hollywood-2009", "Holly", 1139905, 112751422, 271, 11467, "SuiteSparse, LAW"},
		{"soc-orkut", "Orkut", 2997166, 212698418, 139, 27466, "Network Repository"},
		{"cit-Patents", "Patent", 3774768, 33037896, 10.5, 793, "SuiteSparse, SNAP"},
		{"road_usa", "Road", 23947347, 57708624, 0.93, 9, "SuiteSparse, DIMACS10"},
		{"soc-twitter-2010", "Twitter", 21297772, 530051618, 413, 698112, "Network Repository"},
	}
}

// LookupDataset returns a matrix of table 3 by either of its names.
func LookupDataset(name string) (Dataset, error) {
	var names []string
	for _, d := range Datasets() {
		if strings.EqualFold(d.Name, name) || strings.EqualFold(d.Paper, name) {
			return d, nil
		}
		names = append(names, d.Name)
	}
	return Dataset{}, fmt.Errorf("unknown matrix %q, expected %s", name, strings.Join(names, ", "))
}

// Extensions are those that a file of a matrix may have, in the order in which
// they are looked for.
var Extensions = []string{".bsx", ".mtx", ".mtx.gz", ".tar.gz", ".zip"}

// Find returns the file of a matrix of table 3 in a folder.
func Find(name, dir string) (string, error) {
	d, err := LookupDataset(name)
	if err != nil {
		return "", fmt.Errorf("paper:%s: %w", name, err)
	}
	for _, ext := range Extensions {
		file := filepath.Join(dir, d.Name+ext)
		if st, err := os.Stat(file); err == nil && st.Mode().IsRegular() {
			return file, nil
		}
	}
	return "", fmt.Errorf("no %s.mtx, .mtx.gz, .tar.gz or .zip in %s; standin:%s generates one of that size", d.Name, dir, d.Name)
}

// DefaultLocality is that of stand-ins: the real one is not known.
const DefaultLocality = 0.5

// Standin generates a matrix of the size and degrees of one of table 3, divided by
// scale. A share of its edges, locality, stays within about n/512 rows; of
// road_usa that share of the vertices keeps its place.
func Standin(name string, scale int, locality float64, seed uint64) (*Matrix, error) {
	d, err := LookupDataset(name)
	if err != nil {
		return nil, fmt.Errorf("standin:%s: %w", name, err)
	}
	switch {
	case scale < 1:
		return nil, fmt.Errorf("standin:%s: scale %d, expected at least 1", name, scale)
	case !(locality >= 0 && locality <= 1):
		return nil, fmt.Errorf("standin:%s: locality %v, expected 0 to 1", name, locality)
	}
	n, nnz := d.N/scale, d.NNZ/int64(scale)/2*2
	if n < 64 {
		return nil, fmt.Errorf("standin:%s: scale %d leaves %d rows, expected at least 64", name, scale, n)
	}
	rng := rand.New(rand.NewPCG(seed, 0x7374616e64))
	if d.Sigma < 2 { // nearly equal degrees, which no power law has: a network of roads
		return road(n, nnz, d.Max, locality, rng)
	}
	m, err := powerlaw(n, nnz, d.Sigma, min(d.Max, n/2), locality, rng)
	if err != nil {
		return nil, fmt.Errorf("standin:%s: %w", name, err)
	}
	return m, nil
}

// degrees returns n degrees of a cut lognormal distribution with the given mean,
// standard deviation and maximum, in falling order; their sum is exact and even.
func degrees(n int, nnz int64, sigma float64, most int) ([]uint32, error) {
	mean := float64(nnz) / float64(n)
	if nnz%2 != 0 || mean < 1 || most < int(mean)+1 || most >= n {
		return nil, fmt.Errorf("nnz=%d, max=%d, expected an even number of at least n=%d, and a maximum between the mean and n", nnz, most, n)
	}
	// Quantiles at the middles of n equal shares, coarsely for the search.
	z := func(i, of int) float64 { return math.Sqrt2 * math.Erfinv(1-2*(float64(i)+.5)/float64(of)) }
	at := func(m, s, z float64) float64 { return min(max(math.Exp(m+s*z), 1), float64(most)) }
	steps := min(n, 4000)
	var zs, weights []float64
	head := min(n, steps/2) // the greatest, one by one
	for i := range head {
		zs, weights = append(zs, z(i, n)), append(weights, 1)
	}
	for i, rest := head, n-head; rest > 0; {
		w := min(rest, max(1, (n-head)/(steps/2)))
		zs, weights = append(zs, z(i+w/2, n)), append(weights, float64(w))
		i, rest = i+w, rest-w
	}
	moments := func(m, s float64) (mu, dev float64) {
		var sum, sq float64
		for i, zi := range zs {
			d := at(m, s, zi)
			if i == 0 {
				d = float64(most)
			}
			sum += weights[i] * d
			sq += weights[i] * d * d
		}
		mu = sum / float64(n)
		return mu, math.Sqrt(max(0, sq/float64(n)-mu*mu))
	}
	centre := func(s float64) float64 {
		lo, hi := -60.0, 30.0
		for range 60 {
			mid := (lo + hi) / 2
			if mu, _ := moments(mid, s); mu < mean {
				lo = mid
			} else {
				hi = mid
			}
		}
		return (lo + hi) / 2
	}
	lo, hi := 0.0, 12.0
	for range 40 {
		mid := (lo + hi) / 2
		if _, dev := moments(centre(mid), mid); dev < sigma {
			lo = mid
		} else {
			hi = mid
		}
	}
	s := (lo + hi) / 2
	m := centre(s)
	d := make([]uint32, n)
	var sum int64
	carry := 0.0
	for i := range d {
		exact := at(m, s, z(i, n)) + carry
		v := max(1, math.Floor(exact))
		carry = exact - v // rounding does not shift the mean
		d[i] = uint32(min(v, float64(most)))
		sum += int64(d[i])
	}
	sum += int64(most) - int64(d[0])
	d[0] = uint32(most)
	// What is left of the sum goes to the middle of the list, one each.
	for left := nnz - sum; left != 0; {
		for i := n / 64; i < n && left != 0; i++ {
			if left > 0 && d[i] < uint32(most) {
				d[i]++
				left--
			} else if left < 0 && d[i] > 1 {
				d[i]--
				left++
			}
		}
	}
	return d, nil
}

// powerlaw wires vertices of given degrees at random: each has as many stubs as
// its degree says, and two stubs make an edge. Edges that are there twice, and
// loops, are replaced by edges from the vertex of the greater degree to any other.
func powerlaw(n int, nnz int64, sigma float64, most int, locality float64, rng *rand.Rand) (*Matrix, error) {
	if n < 4 || nnz > int64(n)*int64(n-1)/2 {
		return nil, fmt.Errorf("n=%d, nnz=%d, expected at least 4 rows and at most n(n-1)/2 entries", n, nnz)
	}
	if !(locality >= 0 && locality <= 1) {
		return nil, fmt.Errorf("locality=%v, expected 0 to 1", locality)
	}
	deg, err := degrees(n, nnz, sigma, most)
	if err != nil {
		return nil, err
	}
	rng.Shuffle(n, func(i, j int) { deg[i], deg[j] = deg[j], deg[i] })
	window := max(4, n/512)
	// A stub stays in one of the two windows around its vertex, or goes anywhere
	// (the last block).
	blocks := n/window + 2
	count := make([]int64, blocks+2)
	draw := func(visit func(v uint32, block int)) {
		r := rand.New(rand.NewPCG(uint64(n), uint64(nnz)))
		for v := range n {
			// A hub would meet the few vertices around it again and again.
			local := min(locality, float64(window)/8/float64(deg[v]))
			threshold := uint64(local * (1 << 32))
			for range deg[v] {
				x := r.Uint64()
				if x>>32 < threshold {
					visit(uint32(v), (v+int(x&0xffffffff)%window)/window)
				} else {
					visit(uint32(v), blocks)
				}
			}
		}
	}
	draw(func(_ uint32, block int) { count[block+1]++ })
	for b := range blocks + 1 {
		count[b+1] += count[b]
	}
	stubs := make([]uint32, nnz)
	at := slices.Clone(count)
	draw(func(v uint32, block int) {
		stubs[at[block]] = v
		at[block]++
	})
	// The odd stub of a block pairs with the first of the next.
	for b := range blocks + 1 {
		part := stubs[count[b]:count[b+1]]
		for i := len(part) - 1; i > 0; i-- {
			j := int(rng.Uint64N(uint64(i + 1)))
			part[i], part[j] = part[j], part[i]
		}
	}
	m := &Matrix{Rows: n, Cols: n, Ptr: make([]int64, n+1), Idx: make([]uint32, nnz)}
	for v := range n {
		m.Ptr[v+1] = m.Ptr[v] + int64(deg[v])
	}
	to := slices.Clone(m.Ptr[:n])
	for i := int64(0); i < nnz; i += 2 {
		u, v := stubs[i], stubs[i+1]
		m.Idx[to[u]] = v
		to[u]++
		m.Idx[to[v]] = u
		to[v]++
	}
	stubs = nil
	m.sortColumns()
	return m, m.simplify(nnz, deg, rng)
}

// simplify replaces loops and repeated edges of a symmetric multigraph.
func (m *Matrix) simplify(nnz int64, deg []uint32, rng *rand.Rand) error {
	n := m.Cols
	owed := map[uint32]int{} // edges that are to begin at a vertex
	var hubs []uint32        // in the order in which they were met
	owe := func(v uint32) {
		if owed[v] == 0 {
			hubs = append(hubs, v)
		}
		owed[v]++
	}
	var out, begin int64
	for c := range n {
		end := m.Ptr[c+1]
		first := out
		loops := 0
		for k := begin; k < end; k++ {
			r := m.Idx[k]
			switch {
			case int(r) == c:
				if loops++; loops%2 == 0 {
					owe(r)
				}
			case out > first && m.Idx[out-1] == r:
				if int(r) > c { // once an edge
					hub := r
					if deg[c] > deg[r] || deg[c] == deg[r] && c < int(r) {
						hub = uint32(c)
					}
					owe(hub)
				}
			default:
				m.Idx[out] = r
				out++
			}
		}
		begin = end
		m.Ptr[c+1] = out
	}
	type edge struct{ col, row uint32 }
	added := map[edge]bool{}
	var more []edge
	for _, u := range hubs {
		for left, tries := owed[u], 0; left > 0; tries++ {
			if tries > 64*(owed[u]+n) {
				return fmt.Errorf("no simple graph of these degrees found")
			}
			v := uint32(rng.Uint64N(uint64(n)))
			if _, there := slices.BinarySearch(m.Col(int(u)), v); there || u == v || added[edge{u, v}] {
				continue
			}
			added[edge{u, v}], added[edge{v, u}] = true, true
			more = append(more, edge{u, v}, edge{v, u})
			left--
		}
	}
	slices.SortFunc(more, func(a, b edge) int {
		if a.col != b.col {
			return int(int64(a.col) - int64(b.col))
		}
		return int(int64(a.row) - int64(b.row))
	})
	if out+int64(len(more)) != nnz {
		return fmt.Errorf("%d entries, expected %d", out+int64(len(more)), nnz)
	}
	// From the end, so that each column moves into free room.
	put, next := nnz, len(more)
	for c := n - 1; c >= 0; c-- {
		lo, hi := m.Ptr[c], m.Ptr[c+1]
		m.Ptr[c+1] = put
		for k := hi; k > lo || next > 0 && int(more[next-1].col) == c; {
			put--
			if next > 0 && int(more[next-1].col) == c && (k == lo || more[next-1].row > m.Idx[k-1]) {
				next--
				m.Idx[put] = more[next].row
			} else {
				k--
				m.Idx[put] = m.Idx[k]
			}
		}
	}
	return nil
}

// road makes a grid of crossings whose edges are roads of several vertices: the
// thinnest graph with many short ways. The vertex in its middle is vertex 0.
func road(n int, nnz int64, most int, locality float64, rng *rand.Rand) (*Matrix, error) {
	edges := nnz / 2
	surplus := edges - int64(n) // of a g x g grid: g² - 2g
	g := int(1 + math.Sqrt(float64(max(surplus, 0))+1))
	for int64(g)*int64(g)-2*int64(g) > surplus {
		g--
	}
	if g < 3 || g*g > n {
		return nil, fmt.Errorf("road of %d vertices and %d edges, expected about 1.2 edges a vertex", n, edges)
	}
	crossings := int64(g) * int64(g)
	roads := 2*crossings - 2*int64(g)
	chain := int64(n) - crossings
	extra := edges - roads - chain
	// Numbers: a crossing, then the roads to its right and below it. The crossing in
	// the middle comes first, the numbers before it follow the last.
	id := make([]uint32, crossings)
	length := func(e int64) int64 { return (e+1)*chain/roads - e*chain/roads }
	var next, road int64
	for y := range g {
		for x := range g {
			id[y*g+x] = uint32(next)
			next++
			for k := range 2 {
				if k == 0 && x+1 < g || k == 1 && y+1 < g {
					next += length(road)
					road++
				}
			}
		}
	}
	shift := id[(g/2)*g+g/2]
	turn := func(v uint32) uint32 { return uint32((int64(v) - int64(shift) + int64(n)) % int64(n)) }
	e := entries{}
	edge := func(a, b uint32) {
		a, b = turn(a), turn(b)
		e.add(a, b, 0)
		e.add(b, a, 0)
	}
	road = 0
	for y := range g {
		for x := range g {
			from := id[y*g+x]
			v := from + 1
			for k := range 2 {
				to := -1
				if k == 0 && x+1 < g {
					to = y*g + x + 1
				} else if k == 1 && y+1 < g {
					to = (y+1)*g + x
				}
				if to < 0 {
					continue
				}
				last := from
				for range length(road) {
					edge(last, v)
					last = v
					v++
				}
				edge(last, id[to])
				road++
			}
		}
	}
	// Diagonals, the first of them at one crossing until it has the greatest degree.
	used := map[[2]int]bool{}
	at := [2]int{1, 1}
	for i := 0; extra > 0; i++ {
		x, y := 1+rng.IntN(g-2), 1+rng.IntN(g-2)
		dx, dy := 1, 1
		if i < most-4 {
			around := [][2]int{{1, 1}, {1, -1}, {-1, 1}, {-1, -1}, {2, 1}, {1, 2}}
			if i >= len(around) || g < 5 {
				continue
			}
			x, y, dx, dy = at[0], at[1], around[i][0], around[i][1]
		}
		a, b := y*g+x, (y+dy)*g+x+dx
		if used[[2]int{a, b}] || used[[2]int{b, a}] {
			continue
		}
		used[[2]int{a, b}] = true
		edge(id[a], id[b])
		extra--
	}
	m := e.matrix(n, n, Pattern)
	if locality < 1 {
		return scatter(m, locality, rng), nil
	}
	return m, nil
}

// scatter exchanges the numbers of a share of the vertices, but for vertex 0.
func scatter(m *Matrix, locality float64, rng *rand.Rand) *Matrix {
	to := make([]uint32, m.Cols)
	var moved []uint32
	for v := range to {
		to[v] = uint32(v)
		if v > 0 && rng.Float64() >= locality {
			moved = append(moved, uint32(v))
		}
	}
	places := slices.Clone(moved)
	rng.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
	for i, v := range moved {
		to[v] = places[i]
	}
	return m.Permute(to)
}

// Degrees returns the mean, the standard deviation and the maximum of the lengths
// of the columns.
func (m *Matrix) Degrees() (mean, sigma float64, most int64) {
	var sq float64
	for c := range m.Cols {
		d := m.Ptr[c+1] - m.Ptr[c]
		most = max(most, d)
		sq += float64(d) * float64(d)
	}
	mean = float64(m.NNZ()) / float64(m.Cols)
	return mean, math.Sqrt(max(0, sq/float64(m.Cols)-mean*mean)), most
}
