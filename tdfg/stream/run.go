package stream

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/bitsched/bitsched/tdfg/scalar"
)

// Memory has the elements of each array as a slice in the order of memory,
// innermost dimension fastest. Bits above the array's type are not looked at. Two
// arrays may share one slice: they alias then. Shared arrays of the graph may be there;
// cursors of several threads work on one then. Private ones are not looked at.
type Memory map[string][]scalar.Value

// Args are what a graph leaves open until it runs.
type Args struct {
	Symbols map[string]int64
	Params  map[string]scalar.Value
}

// Result says what a run did.
type Result struct {
	Streams []Count // in program order
	values  map[string]scalar.Value
}

// Count has what one stream did in a run.
type Count struct {
	Stream       *Stream
	Iterations   int64 // how often the stream was reached
	Executed     int64 // how often its condition held
	BytesRead    int64
	BytesWritten int64
	Ops          int64 // operations and conversions, the condition's included
}

// Value returns the value that a stream had at the end. That of a stream in a
// loop is from some iteration, but a Reduce over an outermost loop has its result.
func (r *Result) Value(name string) (v scalar.Value, ok bool) {
	v, ok = r.values[name]
	return v, ok
}

// BoundsError says which access was out of bounds. The run has ended there, with
// memory as it was before that access.
type BoundsError struct {
	Stream    string
	Array     string
	Iteration string // of the loops around, as "i=3 j=0"
	Dim       int    // innermost 0
	Index     int64
	Size      int64

	At        string // of the statement in the source, "" if it has none
	Subscript string // as the stream has it
}

func (e *BoundsError) Error() string {
	where := ""
	if e.Iteration != "" {
		where = " in iteration " + e.Iteration
	}
	if e.At != "" {
		return fmt.Sprintf("%s: subscript %s of array %s is %d, expected 0 to %d%s", e.At, e.Subscript, e.Array, e.Index, e.Size-1, where)
	}
	return fmt.Sprintf("stream: %s: index %d of array %s is out of [0,%d) in dimension %d%s", e.Stream, e.Index, e.Array, e.Size, e.Dim, where)
}

// Run executes the graph on memory, which it changes, one element after the
// other in program order. The error says what is missing in memory or args, or is
// a *BoundsError, or the context's; memory has the effects so far.
func (g *Graph) Run(ctx context.Context, mem Memory, args Args) (*Result, error) {
	p, err := Compile(g)
	if err != nil {
		return nil, err
	}
	return p.Run(ctx, mem, args)
}

// Run is Graph.Run for a graph that is compiled already.
func (p *Program) Run(ctx context.Context, mem Memory, args Args) (*Result, error) {
	m := &machine{
		p: p, ctx: ctx, regs: append([]scalar.Value(nil), p.preset...),
		plans: make([]plan, len(p.accesses)), iterations: make([]int64, p.loops), executed: make([]int64, len(p.streams)),
	}
	if err := m.bind(mem, args); err != nil {
		return nil, fmt.Errorf("stream: graph %s: %w", p.graph.Name, err)
	}
	if err := m.body(p.body, &outside, 0, 0); err != nil {
		return nil, err
	}
	return m.result(), nil
}

// outside stands for the loop around the outermost statements.
var outside = loop{src: &Loop{}, reg: -1}

// machine is the state of a run.
type machine struct {
	p          *Program
	ctx        context.Context
	regs       []scalar.Value
	data       [][]scalar.Value // of each array
	size       [][]int64
	plans      []plan  // of each access
	iterations []int64 // of each loop
	executed   []int64 // of each stream with a condition
	steps      int64   // iterations since the context was looked at
}

// plan is an access in one execution of its loop.
type plan struct {
	data []scalar.Value
	mult []int64 // distance of neighbours in memory, for each dimension
	// Where ok, iteration n accesses base + n*stride, which is inside the array for
	// all iterations.
	ok           bool
	base, stride int64
}

// maxOwn bounds the elements of an array that is no argument.
const maxOwn = 1 << 28

// maxSize bounds the elements of an array, so that products of in-bounds indices
// do not overflow.
const maxSize = math.MaxInt64 / 16

func (m *machine) bind(mem Memory, args Args) error {
	g := m.p.graph
	for i, reg := range m.p.symbols {
		sym := g.Symbols.Symbols()[i]
		v, ok := args.Symbols[sym.Name]
		if !ok {
			return fmt.Errorf("no value for symbol %s", sym.Name)
		}
		lo, err := sym.Lo.Eval(args.Symbols)
		if err != nil {
			return err
		}
		hi := int64(math.MaxInt64)
		if sym.Bounded {
			if hi, err = sym.Hi.Eval(args.Symbols); err != nil {
				return err
			}
		}
		if v < lo || v > hi {
			return fmt.Errorf("symbol %s is %d, expected %s", sym.Name, v, symbolRange(sym))
		}
		m.regs[reg] = scalar.Value(v)
	}
	for i, reg := range m.p.params {
		v, ok := args.Params[g.Params[i].Name]
		if !ok {
			return fmt.Errorf("no value for parameter %s", g.Params[i].Name)
		}
		m.regs[reg] = v & g.Params[i].Type.Mask()
	}
	mults := make([][]int64, len(g.Arrays))
	for i := range g.Arrays {
		a := &g.Arrays[i]
		total := int64(1)
		size := make([]int64, len(a.Size))
		mults[i] = make([]int64, len(a.Size))
		for d, x := range a.Size {
			n, err := x.Eval(args.Symbols)
			if err != nil {
				return fmt.Errorf("array %s: %w", a.Name, err)
			}
			if n < 0 || n > 0 && total > maxSize/n {
				return fmt.Errorf("array %s: size %s is %d in dimension %d", a.Name, x, n, d)
			}
			size[d], mults[i][d] = n, total
			total *= n
		}
		data, ok := mem[a.Name]
		if a.Scope == Private || a.Scope != Argument && !ok {
			if total > maxOwn {
				return fmt.Errorf("array %s has %d elements, expected at most %d where it is no argument", a.Name, total, int64(maxOwn))
			}
			data, ok = make([]scalar.Value, total), true
		}
		if !ok {
			return fmt.Errorf("array %s is not in memory", a.Name)
		}
		if int64(len(data)) != total {
			return fmt.Errorf("array %s has %d elements in memory, expected %d", a.Name, len(data), total)
		}
		m.data, m.size = append(m.data, data), append(m.size, size)
	}
	for i := range m.plans {
		array := m.p.accesses[i].array
		m.plans[i].data, m.plans[i].mult = m.data[array], mults[array]
	}
	return nil
}

// chunk is how many iterations of an innermost loop run between looks at the
// context.
const chunk = 1 << 14

// tick counts iterations and looks at the context now and then.
func (m *machine) tick(n int64) error {
	if m.steps += n; m.steps >= chunk {
		m.steps = 0
		return m.ctx.Err()
	}
	return nil
}

// body executes segments in iteration it of loop l.
func (m *machine) body(body []segment, l *loop, first, it int64) error {
	for i := range body {
		var err error
		if seg := &body[i]; seg.loop != nil {
			err = m.loop(seg.loop)
		} else {
			_, err = m.exec(seg.code, l, first, it, it+1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (m *machine) loop(l *loop) error {
	if _, err := m.exec(l.init, &outside, 0, 0, 1); err != nil {
		return err
	}
	first, n := m.trips(l)
	if n == 0 {
		return m.tick(1)
	}
	step := l.src.Stride()
	m.regs[l.reg] = scalar.Value(first)
	for _, i := range l.planned {
		m.plan(&m.p.accesses[i], &m.plans[i], step, n)
	}
	if len(l.body) == 1 && l.body[0].loop == nil {
		for it := int64(0); it < n; {
			end := it + min(chunk, n-it)
			done, err := m.exec(l.body[0].code, l, first, it, end)
			m.iterations[l.id] += done - it
			if err == nil {
				err = m.tick(end - it)
			}
			if err != nil || done < end {
				return err
			}
			it = end
		}
		return nil
	}
	for it := int64(0); it < n; it++ {
		m.regs[l.reg] = scalar.Value(first + it*step)
		if done, err := m.exec(l.while, l, first, it, it+1); err != nil || done == it {
			return err
		}
		if err := m.body(l.body, l, first, it); err != nil {
			return err
		}
		m.iterations[l.id]++
		if err := m.tick(1); err != nil {
			return err
		}
	}
	return nil
}

// trips returns the first value of the variable and the number of iterations, the
// greatest number there is for an open loop.
func (m *machine) trips(l *loop) (first, n int64) {
	lo, step := l.lo.value(m.regs), l.src.Stride()
	if l.src.Open {
		return lo, math.MaxInt64
	}
	hi := l.hi.value(m.regs)
	return tripCount(lo, hi, step)
}

// tripCount returns the first value and the number of the values of a loop.
func tripCount(lo, hi, step int64) (first, n int64) {
	if lo >= hi {
		return 0, 0
	}
	size, first := uint64(step), lo
	if step < 0 {
		size, first = -size, hi-1
	}
	return first, int64(min((uint64(hi-lo)-1)/size+1, math.MaxInt64))
}

// plan finds the addresses of an access for n iterations of its loop, whose
// variable has its first value.
func (m *machine) plan(ac *access, p *plan, step, n int64) {
	p.ok, p.base, p.stride = false, 0, 0
	for d := range ac.index {
		v, dist, size := ac.index[d].value(m.regs), ac.coef[d], m.size[ac.array][d]
		if v < 0 || v >= size {
			return
		}
		if dist != 0 {
			// The last index is v + dist*step*(n-1), and all factors are small if it is
			// inside the array.
			if n-1 > size || step > size || step < -size || dist > size || dist < -size || size > 1<<20 && !fits(dist, step, n-1) {
				return
			}
			dist *= step
			if last := v + dist*(n-1); last < 0 || last >= size {
				return
			}
		}
		p.base += v * p.mult[d]
		p.stride += dist * p.mult[d]
	}
	p.ok = true
}

// fits reports whether a product is below 2^62.
func fits(a, b, c int64) bool {
	return math.Abs(float64(a)*float64(b)*float64(c)) < 1<<62
}

// locate returns the place of an access in its array's data.
func (m *machine) locate(at int32) (int64, error) {
	p := &m.plans[at]
	ac := &m.p.accesses[at]
	place := int64(0)
	for d := range ac.index {
		v := ac.index[d].value(m.regs)
		if size := m.size[ac.array][d]; v < 0 || v >= size {
			e := &BoundsError{Stream: ac.stream.Name, Array: ac.stream.Array, Dim: d, Index: v, Size: size, At: ac.stream.At}
			if e.At != "" {
				e.Subscript = ac.stream.Index[d].String()
			}
			var where []string
			for i, l := range ac.loops {
				if n, ok := l.Range.Hi.Sub(l.Range.Lo).Const(); ok && n == 1 && !l.Open && e.At != "" {
					continue // the front end's loop around all
				}
				where = append(where, fmt.Sprintf("%s=%d", l.Var, int64(m.regs[ac.vars[i]])))
			}
			e.Iteration = strings.Join(where, " ")
			return 0, e
		}
		place += v * p.mult[d]
	}
	return place, nil
}

func (m *machine) result() *Result {
	r := &Result{values: make(map[string]scalar.Value, len(m.p.streams))}
	for i := range m.p.streams {
		info := &m.p.streams[i]
		n := Count{Stream: info.stream, Iterations: 1}
		if info.loop >= 0 {
			n.Iterations = m.iterations[info.loop]
		}
		n.Executed = n.Iterations
		if info.stream.If != nil {
			n.Executed = m.executed[i]
		}
		if info.stream.Kind != Store {
			n.BytesRead = n.Executed * int64(info.bytes)
		}
		if info.stream.Kind == Store || info.stream.Kind == RMW {
			n.BytesWritten = n.Executed * int64(info.bytes)
		}
		n.Ops = n.Executed*int64(info.ops) + n.Iterations*int64(info.condOps)
		r.Streams = append(r.Streams, n)
		r.values[info.stream.Name] = m.regs[info.reg]
	}
	return r
}
