package se

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tile/event"
)

// TestContexts: instances in the contexts of a tile by hand. One is an operation of 10 cycles and two
// of one cycle behind it, on an operand: five entries, with that of the result.
func TestContexts(t *testing.T) {
	steps := []Step{{Latency: 10}, {Latency: 1, Args: []int{0}}, {Latency: 1, Args: []int{0}}}
	at := func(rob, number, width, n int) (ends []event.Time) {
		c := &contexts{spec: &Spec{Init: 4, Width: width, Contexts: number, ContextROB: rob}}
		for range n {
			_, end := c.take(100, steps, 1, 100)
			ends = append(ends, end)
		}
		return ends
	}
	assert.Equal(t, []event.Time{115, 115, 115, 115}, at(1000, 1, 8, 4), "nothing limits")
	assert.Equal(t, []event.Time{116, 118, 120}, at(1000, 1, 1, 3), "an operation a cycle: the first ones of all begin at 104, 105, 106, others at 114 to 119")
	assert.Equal(t, []event.Time{115, 114 + 10 + 1}, at(5, 1, 4, 2), "room for one: the next one's operation enters at 114, when the first one's has left")
	assert.Equal(t, []event.Time{115, 130, 145}, at(0, 1, 4, 3), "one instance at a time")
	assert.Equal(t, []event.Time{115, 115, 130, 130}, at(0, 2, 4, 4), "two contexts without a reorder buffer")
	assert.Equal(t, []event.Time{115, 115}, at(10, 2, 4, 2), "each context has half of the entries")
	c := &contexts{spec: &Spec{Init: 4, Width: 4, Contexts: 1, ContextROB: 64}}
	take := func(now event.Time, steps []Step, own event.Time) [2]event.Time {
		value, ended := c.take(now, steps, 1, own)
		return [2]event.Time{value, ended}
	}
	assert.Equal(t, [2]event.Time{204, 204}, take(100, Chain(1, 100), 100))
	assert.Equal(t, [2]event.Time{106, 204}, take(101, Chain(1, 1), 101), "they leave in order")
	assert.Equal(t, [2]event.Time{505, 505}, take(500, Chain(1, 1), 500))
	sum := []Step{{Latency: 5}, {Latency: 2, Args: []int{0}, Own: true}}
	assert.Equal(t, [2]event.Time{602, 602}, take(500, sum, 600), "the value before is there later, and one operation takes it")
	assert.Equal(t, [2]event.Time{604, 604}, take(500, sum, 602), "the other one was done")
	assert.Equal(t, [2]event.Time{711, 711}, take(700, sum, 600))
	assert.Equal(t, []Step{{Latency: 1}, {Latency: 2, Args: []int{0}}}, Chain(2, 3))
	assert.Equal(t, []Step{{Latency: 1}, {Latency: 1}, {Latency: 1, Args: []int{1}}}, Chain(3, 2))
}

// robEntry is an operand, an operation or a result in the naive model of a context.
type robEntry struct {
	from    event.Time // its instance is taken
	latency int
	args    []int // entries before
	width   bool  // it takes a slot of issue
	in      bool
	began   bool
	end     event.Time
	left    bool
}

// TestRandomContexts compares a context with a model that goes cycle by cycle: entries leave in
// order, enter in order, and the oldest ones that are ready begin.
func TestRandomContexts(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		spec := &Spec{Init: r.IntN(6), Width: 1 + r.IntN(4), Contexts: 1, ContextROB: 1 + r.IntN(40)}
		c := &contexts{spec: spec}
		var list []*robEntry
		var got []event.Time
		var last []int // entry of the result
		now := event.Time(0)
		var before []int // entries of the instances before whose value one takes
		own, chain := event.Time(0), r.IntN(2) > 0
		for range 1 + r.IntN(12) {
			now += event.Time(r.IntN(30) * r.IntN(2))
			operands := 1 + r.IntN(3)
			var loads []int
			for range operands {
				loads = append(loads, len(list))
				list = append(list, &robEntry{from: now, latency: spec.Init})
			}
			var steps []Step
			first := len(list)
			for k := range r.IntN(12) {
				s := Step{Latency: 1 + r.IntN(12)}
				e := &robEntry{from: now, latency: s.Latency, width: true, args: loads}
				for range min(k, r.IntN(3)) {
					s.Args = append(s.Args, r.IntN(k))
				}
				for _, x := range s.Args {
					e.args = append(append([]int{}, e.args...), first+x)
				}
				if s.Own = r.IntN(3) == 0; s.Own {
					e.args = append(append([]int{}, e.args...), before...)
				}
				steps, list = append(steps, s), append(list, e)
			}
			all := append(append([]int{}, loads...), before...)
			for k := range steps {
				all = append(all, first+k)
			}
			last = append(last, len(list))
			list = append(list, &robEntry{from: now, args: all})
			value, ended := c.take(now, steps, operands, own)
			got = append(got, ended)
			if chain {
				own, before = value, all
			}
		}
		for cycle := event.Time(0); ; cycle++ {
			inside, slots, done := 0, spec.Width, true
			for settled := false; !settled; { // what takes no time is over in the same cycle
				settled = true
				inside = 0
				for k, e := range list {
					if e.began && e.end <= cycle && !e.left && (k == 0 || list[k-1].left) {
						e.left, settled = true, false
					}
					if e.in && !e.left {
						inside++
					}
				}
				for k, e := range list {
					if !e.in && e.from <= cycle && inside < spec.ContextROB && (k == 0 || list[k-1].in) {
						e.in, settled = true, false
						inside++
					}
					ready := e.in && !e.began && (!e.width || slots > 0)
					for _, x := range e.args {
						ready = ready && list[x].began && list[x].end <= cycle
					}
					if ready {
						e.began, e.end, settled = true, cycle+event.Time(e.latency), false
						if e.width {
							slots--
						}
					}
				}
			}
			for _, e := range list {
				done = done && e.left
			}
			if done {
				break
			}
			require.Less(t, cycle, event.Time(10000), seed)
		}
		for k, at := range last {
			end := event.Time(0)
			for _, e := range list[:at+1] {
				end = max(end, e.end)
			}
			require.Equal(t, end, got[k], "seed %d, instance %d", seed, k)
		}
	}
}

// fixed is a function of some operations and a latency.
type fixed struct{ ops, latency int }

func (f fixed) Eval(uint64, []uint64, int64) (uint64, bool) { return 0, true }
func (f fixed) Ops() int                                    { return f.ops }
func (f fixed) Latency() int                                { return f.latency }
func (f fixed) Steps() []Step {
	list := Chain(f.ops, f.latency)
	list[0].Own = true
	return list
}

func (f fixed) PE() int { return 0 }

// TestReduceTree: 16 elements whose order is kept are a chain of 16 sums of 2 cycles behind the 4 to
// the contexts; in any order they are one SIMD sum, and four steps of a move and a sum.
func TestReduceTree(t *testing.T) {
	for tree, want := range map[int]event.Time{0: 4 + 16*2, 2: 4 + 2 + 4*(1+2)} {
		b := &Bank{spec: &Spec{Init: 4, Width: 8, ContextROB: 64}}
		b.scm.spec = b.spec
		require.Equal(t, want, b.occupy(0, &Stream{Kind: Reduce, Inputs: []int{0}, Func: fixed{1, 2}, Tree: tree}, 16, 16), tree)
	}
}

// onPE is a function of so many operations, which the PE does one in a cycle.
type onPE struct{ fixed }

func (f onPE) PE() int { return f.ops }

// TestPE: three operations on two elements take the PE six cycles. What it could not begin within the 4
// cycles to the contexts goes there, as do SIMD and what it cannot do.
func TestPE(t *testing.T) {
	b := &Bank{spec: &Spec{Init: 4, Width: 8, ContextROB: 64, ScalarPE: true}}
	b.scm.spec = b.spec
	s := &Stream{Kind: Update, Func: onPE{fixed{3, 3}}}
	for _, want := range []event.Time{106, 100 + 4 + 3} {
		require.Equal(t, want, b.occupy(100, s, 2, 1))
	}
	require.EqualValues(t, 6, b.Counters.BusyPE)
	require.Equal(t, event.Time(108), b.occupy(102, s, 1, 1)-1, "it is free in 4 cycles")
	require.Equal(t, event.Time(200+4+3), b.occupy(200, s, 16, 16), "SIMD")
	require.Equal(t, event.Time(300+4+3), b.occupy(300, &Stream{Kind: Update, Func: fixed{3, 3}}, 1, 1))
	b.spec.Computations = 1 // at 320 the contexts are busy until 330, and the PE until 335
	require.Equal(t, event.Time(330), b.occupy(320-1, &Stream{Kind: Update, Func: fixed{7, 7}}, 1, 1))
	b.pe = 334
	require.Equal(t, event.Time(337), b.occupy(320, s, 1, 1))
	require.Equal(t, event.Time(330+4+3), b.occupy(320, s, 1, 1), "it is free in 7 cycles")
	b.spec.Computations, b.Counters.BusyPE = 0, 9
	b.spec.ScalarPE = false
	require.Equal(t, event.Time(400+4+3), b.occupy(400, s, 1, 1))
	require.EqualValues(t, 9, b.Counters.BusyPE)

	b.spec.ScalarPE = true
	require.Equal(t, event.Time(505), b.steps(500, 5, 1, 5))
	require.Equal(t, event.Time(600+4+5), b.steps(600, 5, 1, 4), "more than it does at once")
}

// TestComputations: of instances that take 4 cycles to the contexts and 10 there, as many are under way as
// may be, whatever the entries.
func TestComputations(t *testing.T) {
	for limit, want := range map[int][]event.Time{
		0: {114, 114, 114, 114, 114},
		1: {114, 128, 142, 156, 170},
		2: {114, 114, 128, 128, 142},
		4: {114, 114, 114, 114, 128},
	} {
		c := &contexts{spec: &Spec{Init: 4, Width: 8, Contexts: 2, ContextROB: 64, Computations: limit}}
		var ends []event.Time
		for range want {
			_, end := c.take(100, Chain(1, 10), 1, 100)
			ends = append(ends, end)
		}
		assert.Equal(t, want, ends, limit)
	}
	c := &contexts{spec: &Spec{Init: 4, Width: 8, Contexts: 2, ContextROB: 64, Computations: 2}}
	value, _ := c.take(100, Chain(1, 10), 1, 100)
	assert.Equal(t, event.Time(114), value)
	value, _ = c.take(100, []Step{{Latency: 2, Own: true}}, 1, 300)
	assert.Equal(t, event.Time(302), value, "it waits for the value before it with its place")
	value, _ = c.take(100, Chain(1, 10), 1, 100)
	assert.Equal(t, event.Time(128), value, "behind the first one")
	value, _ = c.take(128, Chain(1, 10), 1, 128)
	assert.Equal(t, event.Time(142), value)
}
