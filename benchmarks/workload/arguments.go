package workload

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// MaxElements bounds the elements of the arrays of a run: each takes 8 bytes, and
// there are up to three copies.
const MaxElements = 1 << 28

// Elements returns the number of elements of all arrays, or an error that says which
// makes them too many.
func (k *Kernel) Elements() (total int64, err error) {
	for _, a := range k.Program.Arrays {
		n := int64(1)
		for _, x := range a.Size {
			v, err := x.Eval(k.Sizes)
			if err != nil {
				return 0, fmt.Errorf("workload: array %s: %w", a.Name, err)
			}
			if v < 1 {
				return 0, fmt.Errorf("workload: array %s has %d elements in a dimension, expected at least 1", a.Name, v)
			}
			if n > MaxElements/v {
				return 0, k.tooLarge(a)
			}
			n *= v
		}
		if total += n; total > MaxElements {
			return 0, k.tooLarge(a)
		}
	}
	return total, nil
}

// tooLarge says with which array those of a kernel have too many elements.
func (k *Kernel) tooLarge(a *tdfg.Array) error {
	var shape []string
	for _, x := range slices.Backward(a.Size) {
		if v, err := x.Eval(k.Sizes); err == nil {
			shape = append(shape, fmt.Sprint(v))
		}
	}
	return fmt.Errorf("workload: arrays too large: with %s of %s elements they have more than %d, expected at most so many", a.Name, shapeText(shape), int64(MaxElements))
}

// looks is how many elements are made between looks at the context.
const looks = 1 << 20

// Arguments makes arguments of a kernel: what files have, and the rest by the seed:
// integers of all bits or, in half of the cases, of any magnitude, and floats from -1
// to 1. Integers that become subscripts are from 0 on and less than the least size of
// the arrays that they select from; the arguments of a kernel that comes with the
// program are as that wants them.
func (k *Kernel) Arguments(ctx context.Context, seed uint64, files []File) (*memory.Memory, error) {
	if _, err := k.Elements(); err != nil {
		return nil, err
	}
	var m *memory.Memory
	var err error
	if k.Builtin != nil {
		if m, err = k.Builtin.Arguments(ctx, k.Sizes, seed); err != nil && ctx.Err() == nil {
			return nil, usage("%s: %s", k.Builtin.Name, strings.TrimPrefix(err.Error(), "kernels: "))
		}
	} else {
		m, err = k.random(ctx, seed)
	}
	if err != nil {
		return nil, err
	}
	for i := range files {
		if err := k.read(ctx, &files[i], m); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (k *Kernel) random(ctx context.Context, seed uint64) (*memory.Memory, error) {
	m := memory.New()
	if err := m.Allocate(k.Program.Arrays, k.Sizes); err != nil {
		return nil, err
	}
	from, into, all := k.indices()
	least := int64(1 << 7)
	for _, name := range into {
		if a := m.Arrays[name]; a != nil {
			least = min(least, slices.Min(a.Size))
		}
	}
	r := rand.New(rand.NewPCG(seed, 1))
	fill := func(name string, t scalar.Type, elems []scalar.Value) error {
		subscript := all || slices.Contains(from, name)
		for i := range elems {
			if i%looks == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			switch {
			case t.Float():
				elems[i] = scalar.FromFloat(t, float64(2*r.Float32()-1))
			case subscript:
				elems[i] = scalar.FromInt(t, r.Int64N(least))
			default:
				v := int64(r.Uint64())
				if r.IntN(2) == 0 {
					v >>= 63 - r.IntN(t.Bits())
				}
				elems[i] = scalar.FromInt(t, v)
			}
		}
		return nil
	}
	for i := range k.Program.Scalars {
		if s := &k.Program.Scalars[i]; s.Input {
			var v [1]scalar.Value
			if err := fill(s.Name, s.Type, v[:]); err != nil {
				return nil, err
			}
			m.Scalars[s.Name] = v[0]
		}
	}
	for _, a := range k.Program.Arrays {
		if err := fill(a.Name, a.Type, m.Arrays[a.Name].Elems); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Verdict says how a result compares with that of the plain program of a kernel.
type Verdict struct {
	Reference string  // "" = there is none, "equal", "close" or what differs
	Distance  float64 // where sums are of another order: relative to the greatest element
	Failed    bool
}

// CloseEnough is how far sums of floats may be from those in another order, relative
// to the greatest element of the array.
const CloseEnough = 1e-3

// Compare compares the result for the arguments of a seed, without files, with that
// of the plain program, if the kernel has one.
func (k *Kernel) Compare(m *memory.Memory, seed uint64) Verdict {
	if k.Builtin == nil {
		return Verdict{}
	}
	d := k.Builtin.Data(k.Sizes, seed)
	k.Builtin.Reference(d)
	diff := d.Diff(m)
	switch {
	case diff == "":
		return Verdict{Reference: "equal"}
	case !k.Builtin.Reassociate:
		return Verdict{Reference: diff, Failed: true}
	}
	far, where := d.Distance(m)
	if far > CloseEnough {
		return Verdict{"far at " + where, far, true}
	}
	return Verdict{Reference: "close", Distance: far}
}

// Distance returns the greatest difference of floats in two memories, relative to the
// greatest magnitude in the array of the first one, and where it is. Other elements
// that differ are infinitely far.
func Distance(want, got *memory.Memory) (most float64, where string) {
	for _, name := range slices.Sorted(maps.Keys(want.Arrays)) {
		a, b := want.Arrays[name], got.Arrays[name]
		var scale float64
		for _, v := range a.Elems {
			if a.Type.Float() {
				scale = max(scale, math.Abs(scalar.ToFloat(a.Type, v)))
			}
		}
		for i, v := range a.Elems {
			if v == b.Elems[i] {
				continue
			}
			far := math.Inf(1)
			if a.Type.Float() {
				far = math.Abs(scalar.ToFloat(a.Type, v)-scalar.ToFloat(a.Type, b.Elems[i])) / scale
			}
			if !(far <= most) {
				most, where = far, fmt.Sprintf("%s[%d]", name, i)
			}
		}
	}
	return most, where
}

// InOrder executes the whole C function statement by statement, as C has it, on a
// memory that it changes. It takes the way of streams: nothing of tensors or of their
// front end's planning is in it.
func (k *Kernel) InOrder(ctx context.Context, m *memory.Memory) error {
	if k.Whole == nil {
		g, err := k.streams(ctx, nil, nil)
		if err != nil {
			return err
		}
		k.Whole = g
	}
	mem, args := k.Streams(m)
	_, err := k.Whole.Run(ctx, mem, args)
	return err
}

// ParseStreams reads the text of a graph of streams; file is its name in messages.
func ParseStreams(text, file string) (*stream.Graph, error) { return stream.Parse(text, file) }
