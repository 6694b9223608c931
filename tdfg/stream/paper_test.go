package stream_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// parse reads a graph that the test is sure of.
func parse(t testing.TB, text string) *stream.Graph {
	t.Helper()
	g, err := stream.Parse(text, "test")
	require.NoError(t, err)
	return g
}

// data has the arrays of one case of Table II as a plain program sees them.
type data struct {
	typ               scalar.Type
	a, b, c           []scalar.Value // of typ; a is what the stream accesses
	index, head, next []scalar.Value // int32
	n                 int
	k, acc            scalar.Value // a parameter, and the reduction
}

func (d *data) eval(op scalar.Op, args ...scalar.Value) scalar.Value {
	return scalar.Eval(op, d.typ, args...)
}

func newData(typ scalar.Type, r *rand.Rand) *data {
	const n, size = 50, 64
	d := &data{typ: typ, n: n}
	word := func() scalar.Value {
		if typ.Float() {
			return scalar.FromFloat(typ, float64(r.IntN(65)-32)/8)
		}
		return r.Uint64() & typ.Mask()
	}
	for range size {
		d.a, d.b, d.c = append(d.a, word()), append(d.b, word()), append(d.c, word())
		d.index = append(d.index, scalar.FromInt(scalar.Int32, int64(r.IntN(size-1))))
	}
	// One list through all nodes in random order; -1 ends it.
	order := r.Perm(size)
	d.next = make([]scalar.Value, size)
	for i, at := range order {
		d.next[at] = scalar.FromInt(scalar.Int32, -1)
		if i+1 < size {
			d.next[at] = scalar.Value(order[i+1])
		}
	}
	d.head = []scalar.Value{scalar.Value(order[0])}
	d.k, d.acc = word(), word()
	return d
}

// TestTableII executes the 16 combinations of address patterns and kinds of Table
// II of Near-Stream Computing, on every type, and compares memory and the
// reduction with plain loops. The computations are f(x) = x*k + x for one operand,
// and f(x, y) = x*k + y for two.
func TestTableII(t *testing.T) {
	f1 := func(d *data, x scalar.Value) scalar.Value {
		return d.eval(scalar.Add, d.eval(scalar.Mul, x, d.k), x)
	}
	f2 := func(d *data, x, y scalar.Value) scalar.Value {
		return d.eval(scalar.Add, d.eval(scalar.Mul, x, d.k), y)
	}
	const one, two = "add(mul(@, k), @)", "add(mul(@, k), b)"
	// Loops around the stream under test, and what they are as a plain program:
	// places calls visit with the index into a for each iteration.
	patterns := []struct {
		pattern stream.Pattern
		loop    string
		index   string
		places  func(d *data, visit func(i, at int))
	}{
		{stream.Affine, "for i in [0,n) {\n%s\n}", "i+2", func(d *data, visit func(i, at int)) {
			for i := range d.n {
				visit(i, i+2)
			}
		}},
		{stream.Indirect, "for i in [0,n) {\nload x: I[i]\n%s\n}", "x+1", func(d *data, visit func(i, at int)) {
			for i := range d.n {
				visit(i, int(d.index[i])+1)
			}
		}},
		{stream.PointerChasing, "load h: H[0]\nfor i in [0,inf) while ne(p, int32(-1)) {\n%s\nreduce p: next[p] over i from h\n}", "p", func(d *data, visit func(i, at int)) {
			i := 0
			for p := int32(d.head[0]); p != -1; p = int32(d.next[p]) {
				visit(i, int(p))
				i++
			}
		}},
		{stream.MultiOperand, "for i in [0,n) {\nload b: B[i]\n%s\n}", "i", func(d *data, visit func(i, at int)) {
			for i := range d.n {
				visit(i, i)
			}
		}},
	}
	kinds := []struct {
		kind  stream.Kind
		text  string // with the index and the computation
		plain func(d *data, f func(x scalar.Value) scalar.Value, i, at int)
	}{
		{stream.Load, "load s: A[%s] = %s\nstore out: O[i] = s", func(d *data, f func(scalar.Value) scalar.Value, i, at int) {
			d.c[i] = f(d.a[at])
		}},
		{stream.Store, "store s: A[%s] = %s", func(d *data, f func(scalar.Value) scalar.Value, i, at int) {
			d.a[at] = f(d.k)
		}},
		{stream.RMW, "rmw s: A[%s] = %s", func(d *data, f func(scalar.Value) scalar.Value, i, at int) {
			d.a[at] = f(d.a[at])
		}},
		{stream.Reduce, "reduce s: A[%s] over i from start = add(s, %s)", func(d *data, f func(scalar.Value) scalar.Value, i, at int) {
			d.acc = d.eval(scalar.Add, d.acc, f(d.a[at]))
		}},
	}
	count := 0
	for _, p := range patterns {
		for _, k := range kinds {
			count++
			t.Run(p.pattern.String()+"/"+k.kind.String(), func(t *testing.T) {
				for i, typ := range scalar.Types() {
					d := newData(typ, rand.New(rand.NewPCG(uint64(i), uint64(count))))
					compute := one
					if p.pattern == stream.MultiOperand {
						compute = two
					}
					if k.kind == stream.Store {
						compute = strings.ReplaceAll(compute, "@", "k")
					}
					g := parse(t, fmt.Sprintf("graph g\nsymbol n in [1,65)\narray A %[1]s[64]\narray B %[1]s[64]\narray O %[1]s[64]\n"+
						"array I int32[64]\narray H int32[1]\narray next int32[64]\nparam k %[1]s\nparam start %[1]s\n%[2]s\n",
						typ, fmt.Sprintf(p.loop, fmt.Sprintf(k.text, p.index, compute))))
					s := g.Stream("s")
					require.Equal(t, k.kind, s.Kind)
					require.Equal(t, p.pattern, g.Patterns()[s])

					mem := stream.Memory{"I": d.index, "H": d.head, "next": d.next}
					for name, a := range map[string][]scalar.Value{"A": d.a, "B": d.b, "O": d.c} {
						mem[name] = append([]scalar.Value(nil), a...)
					}
					res, err := g.Run(context.Background(), mem, stream.Args{
						Symbols: map[string]int64{"n": int64(d.n)}, Params: map[string]scalar.Value{"k": d.k, "start": d.acc},
					})
					require.NoError(t, err)

					p.places(d, func(i, at int) {
						f := func(x scalar.Value) scalar.Value { return f1(d, x) }
						if p.pattern == stream.MultiOperand {
							f = func(x scalar.Value) scalar.Value { return f2(d, x, d.b[i]) }
						}
						k.plain(d, f, i, at)
					})
					require.Equal(t, d.a, mem["A"])
					require.Equal(t, d.b, mem["B"])
					require.Equal(t, d.c, mem["O"])
					if k.kind == stream.Reduce {
						acc, _ := res.Value("s")
						require.Equal(t, d.acc, acc)
					}
				}
			})
		}
	}
	require.Equal(t, 16, count)
}

// TestFig4Stencil is Fig. 4(a) of Infinity Stream: three load streams and one store
// stream, all affine, whose computation takes the values of the three.
func TestFig4Stencil(t *testing.T) {
	g := parse(t, `graph stencil1d
symbol N in [3,inf)
array A fp32[N]
array B fp32[N]
for i in [1,N-1) {
	load left: A[i-1]
	load mid: A[i]
	load right: A[i+1]
	store b: B[i] = add(add(left, mid), right)
}
`)
	for name, want := range map[string]string{"left": "[0,N-2)", "mid": "[1,N-1)", "right": "[2,N)", "b": "[1,N-1)"} {
		f, ok := g.Footprint(g.Stream(name))
		require.True(t, ok)
		require.True(t, f.Exact) // so that it can become a tensor, section 3.2
		require.Equal(t, want, f.Rect.String())
	}
	require.Equal(t, stream.MultiOperand, g.Patterns()[g.Stream("b")])
	require.Equal(t, stream.Affine, g.Patterns()[g.Stream("left")])
	require.Len(t, g.Deps(), 3)

	const n = 40
	a := make([]float32, n)
	mem := stream.Memory{"B": make([]scalar.Value, n)}
	for i := range a {
		a[i] = float32(i*i) / 3
		mem["A"] = append(mem["A"], fp32(a[i]))
	}
	_, err := g.Run(context.Background(), mem, stream.Args{Symbols: map[string]int64{"N": n}})
	require.NoError(t, err)
	for i := 1; i < n-1; i++ {
		require.Equal(t, fp32(a[i-1]+a[i]+a[i+1]), mem["B"][i])
	}
}

// TestFig4Reduction is Fig. 4(b): a reduction that belongs to the stream A[i]; the
// order of the additions is that of the program.
func TestFig4Reduction(t *testing.T) {
	g := parse(t, "graph sum\nsymbol N in [0,inf)\narray A fp32[N]\nfor i in [0,N) {\n\treduce v: A[i] over i from fp32(0) = add(v, @)\n}\n")
	op, operand, ok := g.Stream("v").Reduction()
	require.True(t, ok)
	require.Equal(t, scalar.Add, op)
	require.Equal(t, stream.ElemExpr, operand.Kind)
	var a []scalar.Value
	sum := float32(0)
	for _, x := range []float32{1e8, 1, -1e8, 1} { // another order has another sum
		a = append(a, fp32(x))
		sum += x
	}
	for n := range int64(5) {
		res, err := g.Run(context.Background(), stream.Memory{"A": a[:n]}, stream.Args{Symbols: map[string]int64{"N": n}})
		require.NoError(t, err)
		v, ok := res.Value("v")
		require.True(t, ok)
		if n == 4 {
			require.Equal(t, fp32(sum), v)
		}
		if n == 0 {
			require.Zero(t, v)
		}
		require.EqualValues(t, 4*n, res.Streams[0].BytesRead)
	}
}

// TestFig4GaussElimination is Fig. 4(c): one step k of the host's loop. The value m
// of the outer loop is used in N-k-1 iterations of the inner one (section 3.1).
func TestFig4GaussElimination(t *testing.T) {
	g := parse(t, `graph gauss_elim
symbol N in [2,inf)
symbol k in [0,N-1)
array A fp32[N][N]
array B fp32[N]
load akk: A[k][k]
load bk: B[k]
for i in [k+1,N) {
	load m: A[i][k] = div(@, akk)
	rmw b: B[i] = sub(@, mul(m, bk))
	for j in [k+1,N) {
		load akj: A[k][j]
		rmw a: A[i][j] = sub(@, mul(m, akj))
	}
}
`)
	f, ok := g.Footprint(g.Stream("a"))
	require.True(t, ok)
	require.True(t, f.Exact)
	require.Equal(t, "[k+1,N)x[k+1,N)", f.Rect.String())
	f, _ = g.Footprint(g.Stream("akj"))
	require.Equal(t, "[k+1,N)x[k,k+1)", f.Rect.String()) // the row that Fig. 4(c) broadcasts

	const n = 12
	var a [n][n]float32
	var b [n]float32
	mem := stream.Memory{}
	r := rand.New(rand.NewPCG(4, 4))
	for i := range n {
		b[i] = r.Float32()
		mem["B"] = append(mem["B"], fp32(b[i]))
		for j := range n {
			a[i][j] = r.Float32() + 1
			mem["A"] = append(mem["A"], fp32(a[i][j]))
		}
	}
	for k := range n - 1 {
		res, err := g.Run(context.Background(), mem, stream.Args{Symbols: map[string]int64{"N": n, "k": int64(k)}})
		require.NoError(t, err)
		uses := int64(n - k - 1)
		for _, c := range res.Streams {
			require.Equal(t, map[string]int64{"akk": 1, "bk": 1, "m": uses, "b": uses, "akj": uses * uses, "a": uses * uses}[c.Stream.Name], c.Executed)
		}
		for i := k + 1; i < n; i++ {
			m := a[i][k] / a[k][k]
			b[i] -= float32(m * b[k])
			for j := k + 1; j < n; j++ {
				a[i][j] -= float32(m * a[k][j])
			}
		}
	}
	for i := range n {
		require.Equal(t, fp32(b[i]), mem["B"][i])
		for j := range n {
			require.Equal(t, fp32(a[i][j]), mem["A"][i*n+j])
		}
	}
}

// TestFig5AccessPattern has the access pattern of the stream node in Fig. 5 of
// Infinity Stream: three dimensions of an array of indices, and a run from each.
func TestFig5AccessPattern(t *testing.T) {
	g := parse(t, `graph gather
array A int32[2][3][4]
array B int8[100]
for i in [0,2) {
	for j in [0,3) {
		for k in [0,4) {
			load a: A[i][j][k]
			for w in [0,8) {
				load b: B[a+w]
			}
		}
	}
}
`)
	require.Equal(t, "i_0^2 j_0^3 k_0^4 w_0^8 B[A[i][j][k]+w]", g.AccessPattern(g.Stream("b")))
}

// TestKMeansUpdate is the indirect update of section 3.3 of Infinity Stream: points
// are added to the centroids that they belong to.
func TestKMeansUpdate(t *testing.T) {
	g := parse(t, `graph update
symbol N in [1,inf)
symbol D in [1,inf)
symbol K in [1,inf)
array P int32[N][D]
array L int8[N]
array S int32[K][D]
array C int32[K]
for i in [0,N) {
	load l: L[i]
	rmw c: C[l] = add(@, int32(1))
	for d in [0,D) {
		load p: P[i][d]
		rmw s: S[l][d] = add(@, p)
	}
}
`)
	const n, d, k = 50, 3, 4
	r := rand.New(rand.NewPCG(1, 2))
	mem := stream.Memory{"S": make([]scalar.Value, k*d), "C": make([]scalar.Value, k)}
	sum, count := make([]scalar.Value, k*d), make([]scalar.Value, k)
	for range n {
		l := r.IntN(k)
		mem["L"] = append(mem["L"], scalar.Value(l))
		count[l]++
		for j := range d {
			v := scalar.Value(r.Uint32())
			mem["P"] = append(mem["P"], v)
			sum[l*d+j] = (sum[l*d+j] + v) & scalar.Int32.Mask()
		}
	}
	_, err := g.Run(context.Background(), mem, stream.Args{Symbols: map[string]int64{"N": n, "D": d, "K": k}})
	require.NoError(t, err)
	require.Equal(t, sum, mem["S"])
	require.Equal(t, count, mem["C"])
}

// TestAtomicValue is Fig. 4(c) of Near-Stream Computing: an indirect atomic gives
// its new value to the rest of the iteration; and the base stream may be its
// operand (section II.B, C[A[i]] += A[i]).
func TestAtomicValue(t *testing.T) {
	g := parse(t, `graph histogram
array A int8[9]
array H int32[4]
array R int32[9]
for i in [0,9) {
	load a: A[i]
	rmw h: H[a] = add(@, int32(a))
	store r: R[i] = h
}
`)
	mem := stream.Memory{"A": {3, 1, 0, 1, 3, 2, 3, 1, 2}, "H": make([]scalar.Value, 4), "R": make([]scalar.Value, 9)}
	_, err := g.Run(context.Background(), mem, stream.Args{})
	require.NoError(t, err)
	require.Equal(t, []scalar.Value{0, 3, 4, 9}, mem["H"])
	require.Equal(t, []scalar.Value{3, 1, 0, 2, 6, 2, 9, 3, 4}, mem["R"])
}

// csr is a random graph in compressed rows.
func csr(r *rand.Rand, nodes, degree int) (row, col []scalar.Value) {
	row = []scalar.Value{0}
	for range nodes {
		for range r.IntN(2*degree + 1) {
			col = append(col, scalar.Value(r.IntN(nodes)))
		}
		row = append(row, scalar.Value(len(col)))
	}
	return row, col
}

// TestNest is Fig. 4(d) of Near-Stream Computing on its workload pr_pull: the trip
// count of the inner streams is that of an outer stream, and an indirect reduction
// starts anew for each of its iterations (Table VI, "Ind. Reduce").
func TestNest(t *testing.T) {
	g := parse(t, `graph pr_pull
symbol V in [1,inf)
symbol E in [0,inf)
array row int32[V+1]
array col int32[E]
array rank fp32[V]
array out fp32[V]
for v in [0,V) {
	load lo: row[v]
	load hi: row[v+1]
	for e in [lo,hi) {
		load u: col[e]
		reduce s: rank[u] over e from fp32(0) = add(s, @)
	}
	store o: out[v] = s
}
`)
	require.Equal(t, stream.Indirect, g.Patterns()[g.Stream("s")])
	inner := g.Loops(g.Stream("s"))[1]
	var bounds []string
	for _, d := range g.Deps() {
		if d.Kind == stream.LoopDep {
			require.Equal(t, stream.Stmt(inner), d.To)
			bounds = append(bounds, d.From.Name)
		}
	}
	require.Equal(t, []string{"lo", "hi"}, bounds)

	const nodes = 60
	r := rand.New(rand.NewPCG(3, 3))
	row, col := csr(r, nodes, 5)
	mem := stream.Memory{"row": row, "col": col, "out": make([]scalar.Value, nodes)}
	rank := make([]float32, nodes)
	for v := range rank {
		rank[v] = r.Float32()
		mem["rank"] = append(mem["rank"], fp32(rank[v]))
	}
	_, err := g.Run(context.Background(), mem, stream.Args{Symbols: map[string]int64{"V": nodes, "E": int64(len(col))}})
	require.NoError(t, err)
	for v := range nodes {
		sum := float32(0)
		for _, u := range col[row[v]:row[v+1]] {
			sum += rank[u]
		}
		require.Equal(t, fp32(sum), mem["out"][v])
	}
}

// TestBFSPush is bfs_push of Table VI ("Ind. Atomic"): parents are set by compare
// and exchange; a condition on an outer stream is predication (section III.A).
func TestBFSPush(t *testing.T) {
	g := parse(t, `graph bfs_push
symbol V in [1,inf)
symbol E in [0,inf)
symbol level in [0,inf)
array row int32[V+1]
array col int32[E]
array depth int32[V]
for v in [0,V) {
	load d: depth[v]
	load lo: row[v]
	load hi: row[v+1] = select(eq(d, int32(level)), @, lo)
	for e in [lo,hi) {
		load u: col[e]
		rmw visit: depth[u] = select(eq(@, int32(-1)), int32(add(level, int64(1))), @)
		reduce found over v from int32(0) = add(found, select(gt(visit, int32(level)), int32(1), int32(0)))
	}
}
`)
	const nodes = 80
	row, col := csr(rand.New(rand.NewPCG(3, 4)), nodes, 2)
	depth, want := make([]scalar.Value, nodes), make([]int, nodes)
	for v := range nodes {
		depth[v], want[v] = scalar.FromInt(scalar.Int32, -1), -1
	}
	depth[0], want[0] = 0, 0
	mem := stream.Memory{"row": row, "col": col, "depth": depth}
	for level := int64(0); ; level++ {
		res, err := g.Run(context.Background(), mem, stream.Args{Symbols: map[string]int64{"V": nodes, "E": int64(len(col)), "level": level}})
		require.NoError(t, err)
		if found, _ := res.Value("found"); found == 0 {
			break
		}
	}
	for queue := []int{0}; len(queue) > 0; queue = queue[1:] {
		v := queue[0]
		for _, u := range col[row[v]:row[v+1]] {
			if want[u] < 0 {
				want[u] = want[v] + 1
				queue = append(queue, int(u))
			}
		}
	}
	for v := range nodes {
		require.EqualValues(t, want[v], scalar.ToInt(scalar.Int32, depth[v]))
	}
}

// TestBinTree is bin_tree of Table VI ("Ptr. Reduce"): look-ups in a search tree,
// one pointer chase for each key, which ends when the key is found.
func TestBinTree(t *testing.T) {
	g := parse(t, `graph bin_tree
symbol Q in [0,inf)
symbol T in [1,inf)
array query int64[Q]
array key int64[T]
array child int32[T][2]
array hit int8[Q]
for q in [0,Q) {
	load k: query[q]
	for n in [0,inf) while and(ne(p, int32(-1)), not(found)) {
		load at: key[p]
		load side: key[p] = int32(lt(@, k))
		reduce found over n from bool(false) = eq(at, k)
		reduce p: child[p][side] over n from int32(0)
	}
	store h: hit[q] = int8(found)
}
`)
	require.Equal(t, stream.PointerChasing, g.Patterns()[g.Stream("at")])
	require.Equal(t, stream.PointerChasing, g.Patterns()[g.Stream("p")])
	r := rand.New(rand.NewPCG(5, 5))
	none := scalar.FromInt(scalar.Int32, -1)
	mem := stream.Memory{}
	has := map[int]bool{}
	for _, k := range r.Perm(200)[:70] {
		has[k] = true
		mem["key"] = append(mem["key"], scalar.Value(k))
		mem["child"] = append(mem["child"], none, none)
		for at, new := 0, len(mem["key"])-1; at < new; {
			side := 2 * at
			if int(mem["key"][at]) < k {
				side++
			}
			if mem["child"][side] == none {
				mem["child"][side] = scalar.Value(new)
			}
			at = int(mem["child"][side])
		}
	}
	for q := range 200 {
		mem["query"] = append(mem["query"], scalar.Value(q))
	}
	mem["hit"] = make([]scalar.Value, 200)
	_, err := g.Run(context.Background(), mem, stream.Args{Symbols: map[string]int64{"Q": 200, "T": 70}})
	require.NoError(t, err)
	for q := range 200 {
		require.Equal(t, has[q], mem["hit"][q] == 1, q)
	}
}
