package stream_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

func cloneMemory(m stream.Memory) stream.Memory {
	c := stream.Memory{}
	for name, list := range m {
		c[name] = slices.Clone(list)
	}
	return c
}

// TestCursor steps through random graphs with buffers of random sizes, and compares
// memory, counts, values and the error with those of Run. Half of the time it saves
// the state, goes on, and goes back.
func TestCursor(t *testing.T) {
	ran := 0
	for seed := range uint64(400) {
		g, mem, args := randomGraph(seed)
		p, err := stream.Compile(g)
		require.NoError(t, err)
		want := cloneMemory(mem)
		result, wantErr := p.Run(context.Background(), want, args)
		r := rand.New(rand.NewPCG(seed, 77))
		for _, loops := range []bool{false, true} {
			got := cloneMemory(mem)
			c, err := p.Start(got, args, loops)
			if err != nil {
				require.Error(t, wantErr)
				continue
			}
			counts := make([]int64, len(g.Streams()))
			var depth, steps int
			for {
				if r.IntN(4) == 0 { // a detour
					s, before, wasDepth := c.Save(), cloneMemory(got), depth
					_, _ = c.Next(make([]stream.Event, r.IntN(20)))
					c.Restore(s)
					for name := range before {
						copy(got[name], before[name])
					}
					depth = wasDepth
				}
				buf := make([]stream.Event, 1+r.IntN(9))
				n, err := c.Next(buf)
				for _, e := range buf[:n] {
					switch e.What {
					case stream.Enter:
						depth++
					case stream.Leave:
						depth--
					case stream.Step:
						steps++
						if !e.Skipped {
							counts[e.Stream]++
						}
					}
				}
				if err != nil {
					require.Equal(t, wantErr, err)
					break
				}
				if n == 0 {
					require.NoError(t, wantErr)
					require.Zero(t, depth)
					break
				}
			}
			require.Equal(t, want, got, "seed %d\n%s", seed, g)
			if wantErr == nil {
				ran++
				require.Equal(t, result.Streams, c.Result().Streams)
				for i, s := range g.Streams() {
					require.Equal(t, result.Streams[i].Executed, counts[i], "seed %d: %s\n%s", seed, s.Name, g)
					a, _ := result.Value(s.Name)
					b, _ := c.Result().Value(s.Name)
					require.Equal(t, a, b, s.Name)
				}
			}
		}
	}
	require.Greater(t, ran, 100)
}

// TestCursorEvents has the events of a small graph, by hand.
func TestCursorEvents(t *testing.T) {
	g := parse(t, `graph g
array A int32[4]
array S int32[1]
for i in [0,2) {
	load a: A[2*i+1]
	rmw s old: S[0] = add(@, a) if ne(a, int32(0))
}
`)
	p, err := stream.Compile(g)
	require.NoError(t, err)
	mem := stream.Memory{"A": {9, 5, 9, 0}, "S": {7}}
	c, err := p.Start(mem, stream.Args{}, true)
	require.NoError(t, err)
	buf := make([]stream.Event, 20)
	n, err := c.Next(buf)
	require.NoError(t, err)
	require.Equal(t, []stream.Event{
		{What: stream.Enter, Elem: 2},
		{What: stream.Next, Elem: 0},
		{Stream: 0, Elem: 1, Value: 5, Old: 5},
		{Stream: 1, Elem: 0, Value: 12, Old: 7, Ops: 2},
		{What: stream.Next, Elem: 1, Value: 1},
		{Stream: 0, Elem: 3},
		{Stream: 1, Elem: -1, Skipped: true, Ops: 1},
		{What: stream.Leave, Elem: 2},
	}, fixOld(buf[:n]))
	require.EqualValues(t, 12, mem["S"][0])
}

// TestRacy answers the questions of a racy stream: until then memory, counts and values
// are as before, and what follows depends on the answer alone.
func TestRacy(t *testing.T) {
	g := parse(t, `graph g
array A int32[3]
array S int32[2]
for i in [0,3) {
	load a: A[i]
	rmw s old racy: S[1] = add(@, a) if ne(a, int32(0))
}
`)
	p, err := stream.Compile(g)
	require.NoError(t, err)
	mem := stream.Memory{"A": {5, 0, 3}, "S": {7, 40}}
	c, err := p.Start(mem, stream.Args{}, false)
	require.NoError(t, err)
	c.AskRacy()
	var steps []stream.Event
	answers := []scalar.Value{100, 200}
	asked := 0
	var last scalar.Value // of s
	for {
		buf := make([]stream.Event, 8)
		n, err := c.Next(buf)
		require.NoError(t, err)
		if n == 0 {
			break
		}
		for i, e := range buf[:n] {
			if e.What != stream.Ask {
				steps = append(steps, e)
				continue
			}
			require.Equal(t, n-1, i, "nothing follows a question")
			require.Equal(t, stream.Event{What: stream.Ask, Stream: 1, Elem: 1, Ops: 2, Value: []scalar.Value{5, 3}[asked]}, e)
			require.Equal(t, []scalar.Value{7, []scalar.Value{40, 105}[asked]}, mem["S"], "as before")
			require.Equal(t, last, c.Value(1), "as before")
			require.EqualValues(t, asked, c.Result().Streams[1].Executed, "as before")
			c.Answer(&e, answers[asked])
			asked++
			last = answers[asked-1]
			if asked == 1 {
				last = 0 // the condition does not hold in between
			}
		}
	}
	require.Equal(t, 2, asked)
	require.Equal(t, []stream.Event{
		{Stream: 0, Elem: 0, Value: 5, Old: 5, Ops: 0},
		{Stream: 1, Elem: 1, Value: 105, Old: 100, Ops: 2},
		{Stream: 0, Elem: 1},
		{Stream: 1, Elem: -1, Skipped: true, Ops: 1},
		{Stream: 0, Elem: 2, Value: 3, Old: 3},
		{Stream: 1, Elem: 1, Value: 203, Old: 200, Ops: 2},
	}, fixOld(steps))
	require.Equal(t, []scalar.Value{7, 203}, mem["S"])
	require.EqualValues(t, 200, c.Value(1), "what was there before")
	count := c.Result().Streams[1]
	require.EqualValues(t, 3, count.Iterations)
	require.EqualValues(t, 2, count.Executed)
}

// TestShare gives the iterations of a parallel loop to two cursors in parts: each is
// executed once, by the cursor that took it, and what is behind the loop follows.
func TestShare(t *testing.T) {
	g := parse(t, `graph g
array A int32[9]
array B int32[9]
array C int32[1]
for i in [0,9) parallel {
	load a: A[i]
	store b: B[8-i] = add(a, int32(1))
}
store c: C[0] = int32(6)
`)
	p, err := stream.Compile(g)
	require.NoError(t, err)
	mem := stream.Memory{"A": {1, 2, 3, 4, 5, 6, 7, 8, 9}, "B": make([]scalar.Value, 9), "C": {0}}
	parts := [2][][2]int64{{{0, 1}, {4, 8}}, {{1, 4}, {8, 9}}}
	want := [2][]int64{{0, 4, 5, 6, 7}, {1, 2, 3, 8}}
	buf := make([]stream.Event, 5)
	for k, list := range parts {
		c, err := p.Start(mem, stream.Args{}, true)
		require.NoError(t, err)
		n, err := c.Next(buf)
		require.NoError(t, err)
		require.Equal(t, []stream.Event{{What: stream.Enter, Elem: 9}}, buf[:n])
		c.Share()
		var loaded []int64
		after, left, parted := 0, false, 0
		for {
			n, err := c.Next(buf)
			require.NoError(t, err)
			if n == 0 {
				break
			}
			for i, e := range buf[:n] {
				switch {
				case e.What == stream.Part:
					require.Equal(t, n-1, i, "nothing follows a part")
					require.False(t, left)
					if parted < len(list) {
						c.Take(list[parted][0], list[parted][1])
					} else {
						c.Rest()
					}
					parted++
				case e.What == stream.Leave:
					left = true
				case e.What == stream.Step && e.Stream == 0:
					loaded = append(loaded, e.Elem)
				case e.What == stream.Step && e.Stream == 2:
					require.True(t, left)
					after++
				}
			}
		}
		require.Equal(t, want[k], loaded)
		require.Equal(t, len(list)+1, parted)
		require.Equal(t, 1, after)
		require.EqualValues(t, len(want[k]), c.Result().Streams[0].Executed)
	}
	require.Equal(t, stream.Memory{"A": {1, 2, 3, 4, 5, 6, 7, 8, 9}, "B": {10, 9, 8, 7, 6, 5, 4, 3, 2}, "C": {6}}, mem)
}

// fixOld leaves out what skipped streams would have found.
func fixOld(list []stream.Event) []stream.Event {
	for i := range list {
		if list[i].Skipped {
			list[i].Old = 0
		}
	}
	return list
}

// BenchmarkCursor steps through vector additions, with many cursors in turn.
func BenchmarkCursor(b *testing.B) {
	g, err := stream.Parse("graph g\nsymbol N in [1,inf)\narray A int32[N]\narray B int32[N]\narray C int32[N]\nfor i in [0,N) {\nload a: A[i]\nload b: B[i]\nstore c: C[i] = add(a, b)\n}\n", "g")
	require.NoError(b, err)
	p, err := stream.Compile(g)
	require.NoError(b, err)
	const n, cursors = 1 << 14, 64
	buf := make([]stream.Event, 64)
	steps := 0
	mems := make([]stream.Memory, cursors)
	for i := range mems {
		mems[i] = stream.Memory{"A": make([]scalar.Value, n), "B": make([]scalar.Value, n), "C": make([]scalar.Value, n)}
	}
	for b.Loop() {
		var list []*stream.Cursor
		for i := range cursors {
			c, err := p.Start(mems[i], stream.Args{Symbols: map[string]int64{"N": n}}, false)
			require.NoError(b, err)
			list = append(list, c)
		}
		for len(list) > 0 {
			list = slices.DeleteFunc(list, func(c *stream.Cursor) bool {
				k, _ := c.Next(buf)
				steps += k
				return k == 0
			})
		}
	}
	b.ReportMetric(float64(steps)/b.Elapsed().Seconds()/1e6, "Maccesses/s")
}
