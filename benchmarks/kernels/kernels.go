package kernels

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

//go:embed c/*.c c/*.h
var sources embed.FS

// Kernel is a workload.
type Kernel struct {
	Name   string
	File   string // its name in messages
	Source string // in C

	// Small are sizes for tests, Paper those of Infinity Stream (table 3, figure 2).
	Small, Paper map[string]int64

	// Reassociate says that sums may be of any order.
	Reassociate bool

	// Reference does what the kernel does.
	Reference func(d *Data)

	// Whole says that the kernel is a whole function with threads, and has no region for
	// arrays to compute. It has Check then, and no Data and Reference.
	Whole bool

	// Parts says that the function has regions, with other statements between: arrays compute
	// these. Files has what the source includes, nil for nothing.
	Parts bool
	Files fs.FS

	arrays  []array
	scalars []string // parameters of type float
	prepare func(d *Data)

	generator func(w *workspace) error
	check     func(before, after *workspace) error
}

// array is an argument of a kernel.
type array struct {
	name string
	size func(d *Data) []int64 // as in C, outermost first

	// below is not nil for an array of int32: its elements are at least 0 and less.
	below func(d *Data) int64
}

type sizes = map[string]int64

// dims returns a function that returns the values of sizes.
func dims(names ...string) func(d *Data) []int64 {
	return func(d *Data) []int64 {
		list := make([]int64, len(names))
		for i, n := range names {
			list[i] = d.Sizes[n]
		}
		return list
	}
}

func floats(name string, size ...string) array { return array{name: name, size: dims(size...)} }

func ints(name, below string, size ...string) array {
	return array{name: name, size: dims(size...), below: func(d *Data) int64 { return d.Sizes[below] }}
}

// fixed is an array of floats whose sizes do not depend on the kernel's.
func fixed(name string, n int64) array {
	return array{name: name, size: func(*Data) []int64 { return []int64{n} }}
}

// twice is an array of floats with twice the sizes.
func twice(name string, size ...string) array {
	return array{name: name, size: func(d *Data) []int64 {
		list := dims(size...)(d)
		for i := range list {
			list[i] *= 2
		}
		return list
	}}
}

// All returns the kernels with a region, in the order of table 3 of Infinity Stream.
func All() []*Kernel {
	list := []*Kernel{
		{
			Name: "vec_add", Small: sizes{"N": 100}, Paper: sizes{"N": 4 << 20}, Reference: vecAdd,
			arrays: []array{floats("A", "N"), floats("B", "N"), floats("C", "N")},
		},
		{
			Name: "array_sum", Small: sizes{"N": 1000}, Paper: sizes{"N": 4 << 20}, Reference: arraySum, Reassociate: true,
			arrays: []array{floats("A", "N"), fixed("S", 1)},
		},
		{
			Name: "stencil1d", Small: sizes{"N": 100, "T": 3}, Paper: sizes{"N": 4 << 20, "T": 5}, Reference: stencil1D,
			arrays: []array{floats("A", "N"), floats("B", "N")},
		},
		{
			Name: "stencil2d", Small: sizes{"N": 17, "M": 21, "T": 2}, Paper: sizes{"N": 2048, "M": 2048, "T": 5}, Reference: stencil2D,
			arrays: []array{floats("A", "N", "M"), floats("B", "N", "M")}, scalars: []string{"C0", "C1"},
		},
		{
			Name: "stencil3d", Small: sizes{"L": 5, "N": 7, "M": 9, "T": 2}, Paper: sizes{"L": 16, "N": 512, "M": 512, "T": 5}, Reference: stencil3D,
			arrays: []array{floats("A", "L", "N", "M"), floats("B", "L", "N", "M")}, scalars: []string{"C0", "C1"},
		},
		{
			Name: "dwt2d", Small: sizes{"N": 6, "M": 8}, Paper: sizes{"N": 1024, "M": 1024}, Reference: dwt2D,
			arrays: []array{twice("A", "N", "M"), twice("B", "N", "M"), twice("L", "N", "M"), twice("H", "N", "M"), twice("O", "N", "M")},
		},
		{
			Name: "gauss_elim", Small: sizes{"N": 20}, Paper: sizes{"N": 2048}, Reference: gaussElim,
			arrays: []array{floats("A", "N", "N"), floats("B", "N")}, prepare: dominant,
		},
		{
			Name: "conv2d", Small: sizes{"N": 17, "M": 21}, Paper: sizes{"N": 2048, "M": 2048}, Reference: conv2D,
			arrays: []array{floats("A", "N", "M"), floats("B", "N", "M")}, scalars: []string{"C0", "C1", "C2"},
		},
		{
			Name: "conv3d", Small: sizes{"I": 3, "O": 4, "H": 7, "W": 9}, Paper: sizes{"I": 64, "O": 64, "H": 256, "W": 256}, Reference: conv3D,
			arrays: []array{floats("A", "I", "H", "W"), {name: "K", size: func(d *Data) []int64 { return []int64{d.Sizes["I"], 9, d.Sizes["O"]} }}, floats("B", "O", "H", "W")},
		},
		{
			Name: "mm_inner", Small: sizes{"M": 9, "N": 11, "K": 13}, Paper: sizes{"M": 2048, "N": 2048, "K": 2048}, Reference: mmInner, Reassociate: true,
			arrays: []array{floats("A", "M", "K"), floats("B", "N", "K"), floats("C", "M", "N")},
		},
		{
			Name: "mm_outer", Small: sizes{"M": 9, "N": 11, "K": 13}, Paper: sizes{"M": 2048, "N": 2048, "K": 2048}, Reference: mmOuter,
			arrays: []array{floats("A", "M", "K"), floats("B", "K", "N"), floats("C", "M", "N")},
		},
		{
			Name: "kmeans_inner", Small: sizes{"N": 40, "K": 5, "D": 7}, Paper: sizes{"N": 32 << 10, "K": 128, "D": 128}, Reference: kmeansInner, Reassociate: true,
			arrays: []array{floats("P", "N", "D"), floats("C", "K", "D"), floats("best", "N"), ints("nearest", "K", "N"), floats("S", "K", "D"), ints("count", "N", "K")},
		},
		{
			Name: "kmeans_outer", Small: sizes{"N": 40, "K": 5, "D": 7}, Paper: sizes{"N": 32 << 10, "K": 128, "D": 128}, Reference: kmeansOuter,
			arrays: []array{floats("P", "N", "D"), floats("C", "K", "D"), floats("dist", "N", "K"), floats("best", "N"), ints("nearest", "K", "N"), floats("S", "K", "D"), ints("count", "N", "K")},
		},
		{
			Name: "kmeans_transposed", Small: sizes{"N": 40, "K": 5, "D": 7}, Paper: sizes{"N": 32 << 10, "K": 128, "D": 128}, Reference: kmeansTransposed, prepare: transposed,
			arrays: []array{floats("P", "N", "D"), floats("T", "D", "N"), floats("C", "K", "D"), floats("dist", "K", "N"), floats("best", "N"), ints("nearest", "K", "N"), floats("S", "K", "D"), ints("count", "N", "K")},
		},
		{
			Name: "gather_mlp_inner", Small: sizes{"M": 20, "N": 6, "K": 7, "R": 10}, Paper: sizes{"M": 32 << 10, "N": 128, "K": 128, "R": 32 << 10},
			Reference: gatherMLPInner, Reassociate: true,
			arrays: []array{floats("F", "R", "K"), ints("index", "R", "M"), floats("B", "N", "K"), floats("X", "M", "K"), floats("Y", "M", "N")},
		},
		{
			Name: "gather_mlp_outer", Small: sizes{"M": 20, "N": 6, "K": 7, "R": 10}, Paper: sizes{"M": 32 << 10, "N": 128, "K": 128, "R": 32 << 10},
			Reference: gatherMLPOuter,
			arrays:    []array{floats("F", "R", "K"), ints("index", "R", "M"), floats("B", "K", "N"), floats("X", "M", "K"), floats("Y", "M", "N")},
		},
	}
	for _, k := range list {
		k.read()
	}
	return list
}

// read reads the source of a kernel.
func (k *Kernel) read() {
	k.File = k.Name + ".c"
	source, err := sources.ReadFile("c/" + k.File)
	if err != nil {
		panic("kernels: " + err.Error()) // the files are part of the program
	}
	k.Source = string(source)
}

// Get returns the kernel of that name.
func Get(name string) (*Kernel, error) {
	list := slices.Concat(All(), NearStream(), PointNet())
	i := slices.IndexFunc(list, func(k *Kernel) bool { return k.Name == name })
	if i < 0 {
		names := make([]string, len(list))
		for j, k := range list {
			names[j] = k.Name
		}
		return nil, fmt.Errorf("kernels: no kernel %q, expected one of %s", name, strings.Join(names, ", "))
	}
	return list[i], nil
}
