package multicore

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/bitsched/bitsched/lowering/micro"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/uop"
)

// Verdict is what a comparison with the sequential meaning has found.
type Verdict struct {
	Arrays   int   `json:"arrays"`
	Elements int64 `json:"elements"` // compared
	Equal    int64 `json:"equal"`    // of these, bit by bit
	// Close are those that differ within the bound of sums whose order is another one:
	// n additions are off by n roundings of the sum of magnitudes at most (Higham,
	// Accuracy and Stability of Numerical Algorithms, section 4.2).
	Close    int64   `json:"close"`
	Bound    float64 `json:"bound"`    // the greatest
	Distance float64 `json:"distance"` // the greatest that was found
	// Open are elements that follow from the order of atomic operations, which the
	// sequential program does not tell. They are counted where they differ.
	Open int64 `json:"open"`
	// Tree says in which order sums were made that are compared with such a bound; it
	// was executed once more, without a machine, and is equal bit by bit.
	Tree  string `json:"tree,omitempty"`
	First string `json:"difference,omitempty"` // "" if there is none
}

// order is what a graph leaves open.
type order struct {
	sums   bool // floats that threads reduce
	floats bool // floats that atomic operations add to
	open   bool // values that depend on when an atomic operation is performed
}

func orderOf(g *stream.Graph, threads int) (o order) {
	if threads == 1 {
		return o
	}
	types, err := g.Types()
	if err != nil {
		return o // a run has failed for it
	}
	g.Walk(func(loops []*stream.Loop, s *stream.Stream) {
		switch {
		case summed(loops, s) && types[s].Float():
			o.sums = true
		case s.Racy && s.Kind == stream.RMW && !s.Old && commutes(s, g.Array(s.Array).Type):
			o.floats = o.floats || g.Array(s.Array).Type.Float()
		case s.Racy:
			o.open = true
		}
	})
	return o
}

// summed tells whether threads reduce a stream together: over a parallel loop, from one
// iteration to the next.
func summed(loops []*stream.Loop, s *stream.Stream) bool {
	return s.Kind == stream.Reduce && s.Value != nil && s.Value.Uses(s.Name) &&
		slices.ContainsFunc(loops, func(l *stream.Loop) bool { return l.Parallel != nil && l.Var == s.Over })
}

// commutes tells whether an atomic update comes to the same in any order, but for roundings of
// floats. A float may be added to in a wider type, and then be rounded once more.
func commutes(s *stream.Stream, t scalar.Type) bool {
	op, _, _, ok := s.Update()
	if x := s.Value; !ok && x != nil && t.Float() && x.Kind == stream.ConvertExpr && x.Args[0].Kind == stream.ApplyExpr {
		args := slices.Clone(x.Args[0].Args)
		for i, a := range args {
			if a.Kind == stream.ConvertExpr && a.Type.Bits() >= t.Bits() && a.Args[0].Kind == stream.ElemExpr {
				args[i] = a.Args[0]
			}
		}
		op, _, _, ok = (&stream.Stream{Kind: stream.RMW, Value: stream.Apply(x.Args[0].Op, args...)}).Update()
		return ok && (op == scalar.Add || op == scalar.Sub)
	}
	switch op {
	case scalar.Add, scalar.Sub, scalar.Min, scalar.Max, scalar.And, scalar.Or, scalar.Xor:
		return true
	}
	return false
}

// Check compares the memory of a program that has run with what its graph means
// sequentially. before is the memory before the run, which it changes; threads are
// those of the run. An error is that of the context or an ErrInternal; what differs is
// in the verdict.
func Check(ctx context.Context, p *Program, before stream.Memory, opt Options) (*Verdict, error) {
	o := orderOf(p.Graph, opt.Threads)
	v := &Verdict{Arrays: len(p.Graph.Arrays)}
	if o.sums && !o.floats && !o.open {
		replay := &Program{p.Graph, clone(before), p.Args, p.Reassociate}
		if err := replay.Execute(ctx, opt, nil); err != nil {
			return nil, err
		}
		if text := p.Differs(replay.Memory); text != "" {
			return nil, fmt.Errorf("%w: executed again without a machine, %s", ErrInternal, text)
		}
		v.Tree = "each thread sums its iterations in their order, and thread 0 adds the sums of the threads in theirs"
		if k := fanout(opt.Machine); k > 0 {
			v.Tree = fmt.Sprintf("each thread sums its iterations in their order, and adds the sums of its children in theirs, in a tree of fanout %d", k)
		}
	}
	if o.sums || o.floats {
		bound, err := p.sumError(ctx, before)
		if err != nil {
			return nil, err
		}
		v.Bound = bound
	} else if _, err := p.Graph.Run(ctx, before, p.Args); err != nil {
		return nil, err
	}
	for i := range p.Graph.Arrays {
		a := &p.Graph.Arrays[i]
		mask := maskOf(a.Type)
		for j, w := range before[a.Name] {
			w &= mask
			got := p.Memory[a.Name][j]
			v.Elements++
			if got == w {
				v.Equal++
				continue
			}
			if a.Type.Float() && v.Bound > 0 {
				far := math.Abs(scalar.ToFloat(a.Type, got) - scalar.ToFloat(a.Type, w))
				if far <= v.Bound {
					v.Close++
					v.Distance = max(v.Distance, far)
					continue
				}
			}
			if o.open {
				v.Open++
				continue
			}
			if v.First == "" {
				v.First = fmt.Sprintf("%s[%d] is %s, and %s in the sequential program", a.Name, j, scalar.Format(a.Type, got), scalar.Format(a.Type, w))
			}
		}
	}
	return v, nil
}

func maskOf(t scalar.Type) scalar.Value {
	if t.Bytes() == 8 {
		return ^scalar.Value(0)
	}
	return scalar.Value(1)<<(8*t.Bytes()) - 1
}

func clone(m stream.Memory) stream.Memory {
	c := stream.Memory{}
	for name, list := range m {
		c[name] = slices.Clone(list)
	}
	return c
}

// Differs says which element differs first from that of another memory, "" if none does.
func (p *Program) Differs(other stream.Memory) string {
	for i := range p.Graph.Arrays {
		a := &p.Graph.Arrays[i]
		mask := maskOf(a.Type)
		for j, w := range other[a.Name] {
			if got := p.Memory[a.Name][j]; got&mask != w&mask {
				return fmt.Sprintf("%s[%d] is %s, not %s", a.Name, j, scalar.Format(a.Type, w), scalar.Format(a.Type, got))
			}
		}
	}
	return ""
}

// batch is how many micro-ops of a thread are executed in a row without a machine.
const batch = 256

// Execute executes the threads of a program in turn, without a machine: its memory is what
// they make of it. What units are executed elsewhere is theirs to say.
func (p *Program) Execute(ctx context.Context, opt Options, units *micro.Units) error {
	code, err := p.micro(opt.Machine, &opt, firstAddress, nil, units)
	if err != nil {
		return err
	}
	memory := uop.NewFlat(code.Segments())
	var b uop.Batch
	threads := code.Threads()
	for left := len(threads); left > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		for i, t := range threads {
			if t == nil {
				continue
			}
			b.Reset()
			status, err := t.Next(&b, batch)
			if err != nil {
				return err
			}
			var old []byte
			for j := range b.Ops {
				if old, err = memory.Perform(&b, &b.Ops[j]); err != nil {
					return err
				}
			}
			switch status {
			case uop.Wait:
				if err := t.Resolve(old); err != nil {
					return err
				}
			case uop.Done:
				threads[i] = nil
				left--
			}
		}
	}
	return nil
}

// sumError executes the graph sequentially on a memory, and returns how far the sums
// of its reductions and of its atomic additions may be from those in another order:
// for n terms, n roundings of the sum of their magnitudes.
func (p *Program) sumError(ctx context.Context, memory stream.Memory) (float64, error) {
	program, err := stream.Compile(p.Graph)
	if err != nil {
		return 0, err
	}
	c, err := program.Start(memory, p.Args, true)
	if err != nil {
		return 0, err
	}
	types, err := p.Graph.Types()
	if err != nil {
		return 0, err
	}
	type sum struct {
		terms, size float64
		last        float64
	}
	streams := p.Graph.Streams()
	together := map[*stream.Stream]bool{}
	p.Graph.Walk(func(loops []*stream.Loop, s *stream.Stream) { together[s] = summed(loops, s) })
	reduces := make([]sum, len(streams))
	elements := map[string][]sum{}
	most := 0.0
	note := func(s *sum, t scalar.Type, before, after float64) {
		s.terms++
		s.size += math.Abs(after - before)
		most = max(most, s.terms*epsilon(t)*(s.size+math.Abs(after)))
	}
	events := make([]stream.Event, 4096)
	for {
		n, err := c.Next(events)
		if n == 0 || err != nil {
			return most, err
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		for i := range events[:n] {
			e := &events[i]
			if e.What != stream.Step || e.Skipped {
				continue
			}
			s := streams[e.Stream]
			t := types[s]
			switch {
			case together[s] && t.Float():
				x := &reduces[e.Stream]
				now := scalar.ToFloat(t, e.Value)
				note(x, t, x.last, now)
				x.last = now
			case s.Kind == stream.RMW && s.Racy && p.Graph.Array(s.Array).Type.Float():
				list := elements[s.Array]
				for int64(len(list)) <= e.Elem { // local arrays are not in the memory
					list = append(list, sum{})
				}
				elements[s.Array] = list
				at := p.Graph.Array(s.Array).Type
				note(&list[e.Elem], at, scalar.ToFloat(at, e.Old), scalar.ToFloat(at, e.Value))
			}
		}
	}
}

// epsilon is the distance from 1 to the next number.
func epsilon(t scalar.Type) float64 {
	switch t {
	case scalar.FP64:
		return 0x1p-52
	case scalar.FP32:
		return 0x1p-23
	case scalar.FP16:
		return 0x1p-10
	}
	return 0x1p-7 // bf16
}
