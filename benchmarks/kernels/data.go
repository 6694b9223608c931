package kernels

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// Data are the arguments of a kernel. Arrays are in the order of memory, that is of
// C.
type Data struct {
	Sizes   map[string]int64
	Dims    map[string][]int64 // of each array, outermost first
	Floats  map[string][]float32
	Ints    map[string][]int32
	Scalars map[string]float32
}

// n returns a size.
func (d *Data) n(name string) int { return int(d.Sizes[name]) }

// Data returns arguments that follow from the seed: floats from -1 to 1.
func (k *Kernel) Data(sizes map[string]int64, seed uint64) *Data {
	return k.generate(sizes, seed, func(r *rand.Rand) float32 { return 2*r.Float32() - 1 })
}

// DataExact returns arguments that follow from the seed: small integers, whose
// products and sums are exact, so that they are the same in any order.
func (k *Kernel) DataExact(sizes map[string]int64, seed uint64) *Data {
	return k.generate(sizes, seed, func(r *rand.Rand) float32 { return float32(r.IntN(9) - 4) })
}

func (k *Kernel) generate(sizes map[string]int64, seed uint64, next func(*rand.Rand) float32) *Data {
	d := &Data{
		Sizes: maps.Clone(sizes), Dims: map[string][]int64{}, Floats: map[string][]float32{}, Ints: map[string][]int32{}, Scalars: map[string]float32{},
	}
	r := rand.New(rand.NewPCG(seed, 1))
	for _, s := range k.scalars {
		d.Scalars[s] = next(r)
	}
	for _, a := range k.arrays {
		n := int64(1)
		d.Dims[a.name] = a.size(d)
		for _, s := range d.Dims[a.name] {
			n *= s
		}
		if a.below == nil {
			list := make([]float32, n)
			for i := range list {
				list[i] = next(r)
			}
			d.Floats[a.name] = list
			continue
		}
		list := make([]int32, n)
		for i := range list {
			list[i] = r.Int32N(int32(a.below(d)))
		}
		d.Ints[a.name] = list
	}
	if k.prepare != nil {
		k.prepare(d)
	}
	return d
}

// looks is how many elements are made between looks at the context.
const looks = 1 << 20

// Arguments returns those of Data as a memory, which it fills without copies of
// arrays beside it where a kernel's arguments are independent of each other.
func (k *Kernel) Arguments(ctx context.Context, sizes map[string]int64, seed uint64) (*memory.Memory, error) {
	if k.Whole {
		return k.arguments(ctx, sizes, seed)
	}
	if k.prepare != nil {
		return k.Data(sizes, seed).Memory(), ctx.Err()
	}
	d := &Data{Sizes: sizes, Dims: map[string][]int64{}}
	types := map[string]scalar.Type{}
	for _, a := range k.arrays {
		d.Dims[a.name], types[a.name] = a.size(d), scalar.FP32
		if a.below != nil {
			types[a.name] = scalar.Int32
		}
	}
	m := memory.New()
	for _, name := range slices.Sorted(maps.Keys(d.Dims)) {
		n := int64(1)
		for _, s := range d.Dims[name] {
			n *= s
		}
		d.add(m, name, types[name], make([]scalar.Value, n))
	}
	r := rand.New(rand.NewPCG(seed, 1))
	next := func() scalar.Value { return floatBits(2*r.Float32() - 1) }
	for _, s := range k.scalars {
		m.Scalars[s] = next()
	}
	for _, a := range k.arrays {
		next := next
		if a.below != nil {
			below := int32(a.below(d))
			next = func() scalar.Value { return scalar.FromInt(scalar.Int32, int64(r.Int32N(below))) }
		}
		elems := m.Arrays[a.name].Elems
		for i := range elems {
			if i%looks == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			elems[i] = next()
		}
	}
	return m, nil
}

// Memory returns a copy of the arguments as executors take them.
func (d *Data) Memory() *memory.Memory {
	m := memory.New()
	for _, name := range slices.Sorted(maps.Keys(d.Dims)) {
		if list, ok := d.Floats[name]; ok {
			elems := make([]scalar.Value, len(list))
			for i, v := range list {
				elems[i] = floatBits(v)
			}
			d.add(m, name, scalar.FP32, elems)
		} else {
			elems := make([]scalar.Value, len(d.Ints[name]))
			for i, v := range d.Ints[name] {
				elems[i] = scalar.FromInt(scalar.Int32, int64(v))
			}
			d.add(m, name, scalar.Int32, elems)
		}
	}
	for name, v := range d.Scalars {
		m.Scalars[name] = floatBits(v)
	}
	return m
}

// floatBits returns a float as its bits, every NaN as the same one.
func floatBits(f float32) scalar.Value {
	if f != f {
		return 0x7fc00000
	}
	return scalar.Value(math.Float32bits(f))
}

// add adds an array to a memory.
func (d *Data) add(m *memory.Memory, name string, t scalar.Type, elems []scalar.Value) {
	size := slices.Clone(d.Dims[name])
	slices.Reverse(size)
	m.Add(name, t, size, elems)
}

// Diff returns the first difference from the contents of a memory, "" if there is
// none.
func (d *Data) Diff(m *memory.Memory) string { return d.Memory().Diff(m) }

// Distance returns the greatest difference of floats from those in a memory, relative
// to the greatest magnitude in the array, and where it is.
func (d *Data) Distance(m *memory.Memory) (most float64, where string) {
	for _, name := range slices.Sorted(maps.Keys(d.Floats)) {
		var scale float64
		for _, v := range d.Floats[name] {
			scale = max(scale, math.Abs(float64(v)))
		}
		for i, v := range d.Floats[name] {
			diff := math.Abs(float64(v) - scalar.ToFloat(scalar.FP32, m.Arrays[name].Elems[i]))
			if !(diff <= most*scale) && diff != 0 {
				most, where = diff/scale, fmt.Sprintf("%s[%d]", name, i)
			}
		}
	}
	return most, where
}
