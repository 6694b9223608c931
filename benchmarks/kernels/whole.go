package kernels

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// workspace is the arguments of a workload while they are made or looked at.
type workspace struct {
	sizes sizes
	m     *memory.Memory
	r     *rand.Rand
}

func (w *workspace) n(name string) int { return int(w.sizes[name]) }

// number are the types that elements have in C and in Go.
type number interface {
	~int8 | ~uint8 | ~int32 | ~uint32 | ~int64 | ~uint64 | ~float32 | ~float64
}

func typeOf[T number]() scalar.Type {
	var x T
	switch any(x).(type) {
	case int8:
		return scalar.Int8
	case uint8:
		return scalar.UInt8
	case int32:
		return scalar.Int32
	case uint32:
		return scalar.UInt32
	case int64:
		return scalar.Int64
	case uint64:
		return scalar.UInt64
	case float32:
		return scalar.FP32
	}
	return scalar.FP64
}

func bitsOf[T number](x T) scalar.Value {
	switch x := any(x).(type) {
	case float32:
		return floatBits(x)
	case float64:
		return scalar.FromFloat(scalar.FP64, x)
	}
	return scalar.Value(int64(x)) & typeOf[T]().Mask()
}

// add adds an array, whose sizes are those of C, outermost first.
func add[T number](w *workspace, name string, data []T, size ...int) {
	elems := make([]scalar.Value, len(data))
	for i, x := range data {
		elems[i] = bitsOf(x)
	}
	shape := []int64{int64(len(data))}
	if size != nil {
		shape = shape[:0]
		for _, n := range slices.Backward(size) {
			shape = append(shape, int64(n))
		}
	}
	w.m.Add(name, typeOf[T](), shape, elems)
}

// get returns the elements of an array.
func get[T number](w *workspace, name string) []T {
	a := w.m.Arrays[name]
	list := make([]T, len(a.Elems))
	for i, v := range a.Elems {
		switch p := any(&list[i]).(type) {
		case *float32:
			*p = math.Float32frombits(uint32(v))
		case *float64:
			*p = math.Float64frombits(v)
		default:
			list[i] = T(int64(v)) // cut off as C does
		}
	}
	return list
}

func (w *workspace) scalar(name string) float32 {
	return math.Float32frombits(uint32(w.m.Scalars[name]))
}

// differ compares an array with what it should have, bit by bit.
func differ[T number](w *workspace, name string, want []T) error {
	a := w.m.Arrays[name]
	if len(want) != len(a.Elems) {
		return fmt.Errorf("kernels: %s has %d elements, expected %d", name, len(a.Elems), len(want))
	}
	for i, x := range want {
		if v := bitsOf(x); v != a.Elems[i] {
			return fmt.Errorf("kernels: %s[%d] is %s, expected %s", name, i, scalar.Format(a.Type, a.Elems[i]), scalar.Format(a.Type, v))
		}
	}
	return nil
}

// firstOf returns the first error.
func firstOf(list ...error) error {
	for _, err := range list {
		if err != nil {
			return err
		}
	}
	return nil
}

// random fills a slice.
func random[T number](w *workspace, n int, next func(r *rand.Rand) T) []T {
	list := make([]T, n)
	for i := range list {
		list[i] = next(w.r)
	}
	return list
}

// permutation returns the numbers below n in a random order.
func permutation(w *workspace, n int) []int32 {
	list := make([]int32, n)
	for i, v := range w.r.Perm(n) {
		list[i] = int32(v)
	}
	return list
}

// arguments makes those of a workload for whole functions.
func (k *Kernel) arguments(ctx context.Context, sizes sizes, seed uint64) (*memory.Memory, error) {
	w := &workspace{sizes: sizes, m: memory.New(), r: rand.New(rand.NewPCG(seed, 1))}
	if err := k.generator(w); err != nil {
		return nil, err
	}
	return w.m, ctx.Err()
}

// Check compares a result with the definition of the workload, computed from the
// arguments as they were before by a plain program of another make: depths, distances
// and sums, not the order in which threads found them. It is there for the workloads of
// [NearStream].
func (k *Kernel) Check(sizes map[string]int64, before, after *memory.Memory) error {
	return k.check(&workspace{sizes: sizes, m: before}, &workspace{sizes: sizes, m: after})
}

// NearStream returns the workloads of Near-Stream Computing (table VI), in the order of
// the table. They are whole functions with threads of OpenMP and no region, so that they
// run on configurations of cores. What the paper does not say is chosen: the kernels
// follow Rodinia, MineBench and GAP; images and grids have borders that repeat; T of the
// graph workloads is 4 rounds of PageRank, D a delta of 64 for shortest ways; the tree
// has 512k uniform look-ups, of which half are there; the hash table has a chain for each
// entry, is built before and only probed.
func NearStream() []*Kernel {
	const (
		k       = 1 << 10
		nodes   = 256 * k
		edges   = 3_600_000
		queries = 512 * k
	)
	list := []*Kernel{
		{Name: "pathfinder", Small: sizes{"N": 100, "T": 4}, Paper: sizes{"N": 1536 * k, "T": 8}, generator: makePathfinder, check: checkPathfinder},
		{Name: "srad", Small: sizes{"N": 17, "M": 37, "T": 2}, Paper: sizes{"N": k, "M": 2 * k, "T": 8}, generator: makeSrad, check: checkSrad, Reassociate: true},
		{Name: "hotspot", Small: sizes{"N": 19, "M": 37, "T": 2}, Paper: sizes{"N": 2 * k, "M": k, "T": 8}, generator: makeHotspot, check: checkHotspot},
		{Name: "hotspot3D", Small: sizes{"L": 4, "N": 9, "M": 37, "T": 2}, Paper: sizes{"L": 8, "N": k, "M": 256, "T": 8}, generator: makeHotspot3D, check: checkHotspot3D},
		{Name: "histogram", Small: sizes{"N": 1000, "Q": 6}, Paper: sizes{"N": 12 << 20, "Q": 64}, generator: makeHistogram, check: checkHistogram},
		{Name: "scluster", Small: sizes{"N": 100, "T": 3}, Paper: sizes{"N": 768 * k, "T": 5}, generator: makeScluster, check: checkScluster, Reassociate: true},
		{Name: "svm", Small: sizes{"N": 100, "T": 2}, Paper: sizes{"N": 384 * k, "T": 2}, generator: makeSvm, check: checkSvm, Reassociate: true},
		{Name: "bfs_push", Small: sizes{"V": 128, "E": 700, "source": 1}, Paper: sizes{"V": nodes, "E": edges, "source": 1}, generator: makeBFSPush, check: checkBFS},
		{Name: "bfs_pull", Small: sizes{"V": 128, "E": 700, "source": 1}, Paper: sizes{"V": nodes, "E": edges, "source": 1}, generator: makeBFSPull, check: checkBFS},
		{Name: "pr_push", Small: sizes{"V": 128, "E": 700, "T": 2}, Paper: sizes{"V": nodes, "E": edges, "T": 4}, generator: makePageRankPush, check: checkPageRank},
		{Name: "pr_pull", Small: sizes{"V": 128, "E": 700, "T": 2}, Paper: sizes{"V": nodes, "E": edges, "T": 4}, generator: makePageRankPull, check: checkPageRank},
		{Name: "sssp", Small: sizes{"V": 128, "E": 700, "D": 64, "source": 1}, Paper: sizes{"V": nodes, "E": edges, "D": 64, "source": 1}, generator: makeSSSP, check: checkSSSP},
		{Name: "bin_tree", Small: sizes{"N": 100, "Q": 200}, Paper: sizes{"N": 128 * k, "Q": queries}, generator: makeBinTree, check: checkBinTree},
		{Name: "hash_join", Small: sizes{"N": 100, "B": 64, "Q": 200}, Paper: sizes{"N": 256 * k, "B": 32 * k, "Q": 512 * k}, generator: makeHashJoin, check: checkHashJoin},
	}
	for _, k := range list {
		k.Whole = true
		k.read()
	}
	return list
}
