package core

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
	"github.com/bitsched/bitsched/tile/uop"
)

// thread hands out a list of micro-ops.
type thread struct {
	ops  []uop.Op
	data [][]byte
	at   int
}

func (t *thread) add(op uop.Op, data []byte) {
	op.Lanes = max(1, op.Lanes)
	if op.PC == 0 {
		op.PC = uint32(len(t.ops))
	}
	t.ops, t.data = append(t.ops, op), append(t.data, data)
}

func (t *thread) Next(b *uop.Batch, n int) (uop.Status, error) {
	for ; n > 0 && t.at < len(t.ops); n-- {
		op := t.ops[t.at]
		op.Data = uint32(len(b.Data))
		b.Data = append(b.Data, t.data[t.at]...)
		b.Ops = append(b.Ops, op)
		t.at++
	}
	if err := b.Check(); err != nil {
		return uop.Done, err
	}
	if t.at == len(t.ops) {
		return uop.Done, nil
	}
	return uop.More, nil
}

func (t *thread) Resolve([]byte) error { return nil }

func word(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }

// flat is a memory that has every line, or answers after some cycles.
type flat struct {
	lines map[mem.Line]*mem.Bytes
	miss  event.Time // 0: all loads hit
	e     *event.Engine
	c     *Core
	reply event.Handler
	ids   []uint64
	asked []mem.Line
	loads int
}

func (f *flat) line(l mem.Line) *mem.Bytes {
	if f.lines[l] == nil {
		f.lines[l] = new(mem.Bytes)
	}
	return f.lines[l]
}

func (f *flat) Load(now event.Time, _ uint32, line mem.Line, id uint64) (*mem.Bytes, int) {
	f.loads++
	if f.miss == 0 {
		return f.line(line), 0
	}
	f.ids, f.asked = append(f.ids, id), append(f.asked, line)
	f.e.After(f.miss, f.reply, uint64(len(f.ids)-1))
	return nil, 0
}
func (f *flat) Own(event.Time, uint32, mem.Line) bool { return true }
func (f *flat) Write(line mem.Line) *mem.Bytes        { return f.line(line) }

func wide() *Spec {
	unit := func(name string, count, latency, interval int, kinds ...string) Unit {
		u := Unit{Name: name, Count: count}
		for _, k := range kinds {
			u.Runs = append(u.Runs, Run{Kind: k, Latency: latency, Interval: interval})
		}
		return u
	}
	return &Spec{Name: "test", Fetch: 8, Dispatch: 8, Issue: 8, Commit: 8, FrontEnd: 4, Buffer: 64, Redirect: 8, Predictor: "gshare",
		ROB: 224, IQ: 64, LQ: 72, SQ: 56, LoadPorts: 2, StorePorts: 2, StoresInFlight: 8, LoadSelect: "age", HitUse: 5, FillUse: 6, Forward: 5,
		Units: []Unit{unit("alu", 8, 1, 0, "alu", "shuffle", "branch"), unit("mul", 4, 3, 0, "mul"), unit("div", 2, 12, 12, "div", "fpdiv"),
			unit("fp", 4, 4, 0, "fpadd", "fpmul", "fma")}}
}

// run executes a thread and returns the cycles of all its micro-ops.
func run(t *testing.T, spec *Spec, miss event.Time, th *thread) (*Core, *flat) {
	c, f, err := try(t, spec, miss, th)
	require.NoError(t, err)
	require.True(t, c.Done(), "core %s", c.Waits())
	require.Equal(t, uint64(len(th.ops)), c.Counters.Committed)
	require.Equal(t, event.Forever, c.engine.Next(), "the core ticks after its end")
	return c, f
}

func try(t *testing.T, spec *Spec, miss event.Time, th *thread) (*Core, *flat, error) {
	require.NoError(t, spec.Validate())
	e := event.New()
	var failed error
	c := New(e, spec, 0, nil, func(err error) {
		if failed == nil {
			failed = err
		}
		e.Stop()
	})
	f := &flat{lines: map[mem.Line]*mem.Bytes{}, miss: miss, e: e, c: c}
	f.reply = e.Handle(func(now event.Time, i uint64) { c.Performed(now, now, f.ids[i], f.line(f.asked[i])) })
	c.Connect(f)
	c.Start(th)
	require.NoError(t, e.Run(context.Background(), 10_000_000))
	return c, f, failed
}

const many = 4000

// TestClosedForms holds cycles against what widths, latencies and ports say. The
// pipeline fills in a few cycles.
func TestClosedForms(t *testing.T) {
	repeat := func(op uop.Op, data []byte, each func(i int, op *uop.Op)) *thread {
		th := &thread{}
		for i := range many {
			o := op
			each(i, &o)
			th.add(o, data)
		}
		return th
	}
	free := func(i int, o *uop.Op) { o.Dst = uop.Reg(1 + i%100) }
	chain := func(_ int, o *uop.Op) { o.Dst, o.Src[0] = 1, 1 }
	load := func(i int, o *uop.Op) { o.Size, o.Addr, o.Dst = 8, uint64(i)*8, uop.Reg(1+i%100) }
	for _, c := range []struct {
		name string
		th   *thread
		miss event.Time
		want float64 // cycles a micro-op
	}{
		{"width", repeat(uop.Op{Kind: uop.IntALU}, nil, free), 0, 1. / 8},
		{"chain of additions", repeat(uop.Op{Kind: uop.IntALU}, nil, chain), 0, 1},
		{"chain of floating-point additions", repeat(uop.Op{Kind: uop.FPAdd}, nil, chain), 0, 4},
		{"four units", repeat(uop.Op{Kind: uop.FPAdd}, nil, free), 0, 1. / 4},
		{"two units that are not pipelined", repeat(uop.Op{Kind: uop.IntDiv}, nil, free), 0, 12. / 2},
		{"two load ports", repeat(uop.Op{Kind: uop.Load}, word(0), load), 0, 1. / 2},
		{"loads one after another", repeat(uop.Op{Kind: uop.Load, Size: 8, Addr: 64}, word(0), chain), 0, 5},
		{"misses one after another", repeat(uop.Op{Kind: uop.Load, Size: 8, Addr: 64}, word(0), chain), 100, 100 + 6},
		{"as many misses as the LQ has places", repeat(uop.Op{Kind: uop.Load}, word(0), load), 300, (300. + 6) / 72},
		{"two store ports", repeat(uop.Op{Kind: uop.Store, Size: 8}, word(0), func(i int, o *uop.Op) { o.Addr = uint64(i) * 8 }), 0, 1. / 2},
		{"a taken branch ends a fetch", repeat(uop.Op{Kind: uop.Branch, Flags: uop.Taken}, nil, func(int, *uop.Op) {}), 0, 1},
		{"gathers take a port for each lane", repeat(uop.Op{Kind: uop.Gather, Lanes: 8, Size: 64}, make([]byte, 128), func(int, *uop.Op) {}), 0, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			core, _ := run(t, wide(), c.miss, c.th)
			require.InEpsilon(t, c.want*many, float64(core.Counters.Cycles), 0.03)
		})
	}
}

// TestInOrder: what waits for an operand stops what is behind it, in order only.
func TestInOrder(t *testing.T) {
	th := func() *thread {
		th := &thread{}
		for range 500 {
			th.add(uop.Op{Kind: uop.FPAdd, Dst: 1, Src: [3]uop.Reg{1}}, nil) // a chain
			for range 3 {
				th.add(uop.Op{Kind: uop.FPAdd, Dst: 2, Src: [3]uop.Reg{3}}, nil)
			}
		}
		return th
	}
	spec := wide()
	spec.Units[3].Count = 1 // so that order matters
	out, _ := run(t, spec, 0, th())
	in := *spec
	in.InOrder = true
	inOrder, _ := run(t, &in, 0, th())
	require.InEpsilon(t, 4*500, float64(out.Counters.Cycles), 0.03)
	require.GreaterOrEqual(t, inOrder.Counters.Cycles, out.Counters.Cycles)

	// Loads that miss do not stop an in-order core, their users do.
	miss := func(users bool) *thread {
		th := &thread{}
		for i := range 8 {
			r := uop.Reg(1 + i)
			th.add(uop.Op{Kind: uop.Load, Dst: r, Size: 8, Addr: uint64(64 * i)}, word(0))
			if users {
				th.add(uop.Op{Kind: uop.IntALU, Dst: 20, Src: [3]uop.Reg{r}}, nil)
			}
		}
		return th
	}
	c, _ := run(t, &in, 200, miss(false))
	require.Less(t, c.Counters.Cycles, uint64(2*200))
	c, _ = run(t, &in, 200, miss(true))
	require.Greater(t, c.Counters.Cycles, uint64(8*200))
	c, _ = run(t, spec, 200, miss(true))
	require.Less(t, c.Counters.Cycles, uint64(2*200))
}

// TestBranches: a branch that was foretold wrong costs the front end, its execution
// and the redirection.
func TestBranches(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	th := &thread{}
	taken := 0
	for range 2000 {
		for range 7 {
			th.add(uop.Op{Kind: uop.IntALU, Dst: 1, Src: [3]uop.Reg{2}}, nil)
		}
		op := uop.Op{Kind: uop.Branch, Src: [3]uop.Reg{1}, PC: 77}
		if rng.IntN(2) == 0 {
			op.Flags = uop.Taken
			taken++
		}
		th.add(op, nil)
	}
	spec := wide()
	c, _ := run(t, spec, 0, th)
	wrong := c.Counters.Mispredicted
	require.InDelta(t, 1000, wrong, 150)
	// From the fetch of the branch to that behind it: the front end, dispatch, its
	// operand, itself, the redirection.
	cost := float64(spec.FrontEnd + 1 + 1 + 1 + spec.Redirect)
	require.InEpsilon(t, 2000+cost*float64(wrong), float64(c.Counters.Cycles), 0.08)
	perfectSpec := wide()
	perfectSpec.Predictor = "perfect"
	th.at = 0
	c, _ = run(t, perfectSpec, 0, th)
	require.Zero(t, c.Counters.Mispredicted)
	require.InEpsilon(t, 2000, float64(c.Counters.Cycles), 0.05)
}

// TestPredictors: each foretells what it can learn.
func TestPredictors(t *testing.T) {
	patterns := map[string]func(i int) bool{
		"always":    func(int) bool { return true },
		"loop of 7": func(i int) bool { return i%7 != 6 },
		"alternate": func(i int) bool { return i%2 == 0 },
	}
	for name, newPredictor := range Predictors {
		for text, way := range patterns {
			p := newPredictor()
			wrong := 0
			for i := range 4000 {
				if p.Predict(100, way(i)) != way(i) && i >= 2000 {
					wrong++
				}
			}
			require.Less(t, wrong, 40, "%s, %s", name, text)
		}
	}
	// Long histories see as far as 30 branches back.
	for _, p := range []Predictor{newPerceptron(), newTage()} {
		wrong := 0
		for i := range 20_000 {
			if way := i%30 == 29; p.Predict(100, way) != way && i >= 10_000 {
				wrong++
			}
		}
		require.Less(t, wrong, 30)
	}
}

// TestForwarding: a load sees the stores before it in the program, wherever they are.
func TestForwarding(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for _, buffer := range []int{0, 12} {
		spec := wide()
		spec.StoreBuffer = buffer
		truth := make([]byte, 512)
		th := &thread{}
		for range 5000 {
			size := 1 << rng.IntN(7)
			at := rng.IntN(len(truth) - size)
			if size < 64 && rng.IntN(2) == 0 {
				at &^= size - 1
			}
			lanes := uint8(1)
			if size > 8 {
				lanes = uint8(size / 8)
			}
			op := uop.Op{Size: uint16(size), Lanes: lanes, Addr: uint64(at)}
			if rng.IntN(2) == 0 {
				op.Kind = uop.Store
				data := make([]byte, size)
				for i := range data {
					data[i] = byte(rng.Uint32())
				}
				copy(truth[at:], data)
				if rng.IntN(4) == 0 {
					op.Src[0] = 1 // its data comes late
				}
				th.add(op, data)
			} else {
				op.Kind, op.Dst = uop.Load, 1
				th.add(op, append([]byte(nil), truth[at:at+size]...))
			}
		}
		c, f := run(t, spec, 0, th)
		require.Positive(t, c.Counters.Forwarded)
		for i, want := range truth {
			require.Equal(t, want, f.line(uint64(i) / 64)[i%64])
		}
	}
}

// TestWrongValue: a load that finds something else than the program stops the run.
func TestWrongValue(t *testing.T) {
	th := &thread{}
	th.add(uop.Op{Kind: uop.Load, Dst: 1, Size: 8, Addr: 64}, word(1))
	_, _, err := try(t, wide(), 0, th)
	require.ErrorContains(t, err, "found other bytes than the program")
}

// TestMetamorphic: a core with more of something is never slower.
func TestMetamorphic(t *testing.T) {
	th := func() *thread {
		rng := rand.New(rand.NewPCG(9, 9))
		th := &thread{}
		for i := range 6000 {
			r := func() uop.Reg { return uop.Reg(1 + rng.IntN(30)) }
			switch rng.IntN(5) {
			case 0:
				th.add(uop.Op{Kind: uop.Load, Dst: r(), Src: [3]uop.Reg{r()}, Size: 8, Addr: uint64(i) * 64}, word(0))
			case 1:
				th.add(uop.Op{Kind: uop.Store, Src: [3]uop.Reg{r(), r()}, Size: 8, Addr: 1<<30 + uint64(i)*64}, word(0))
			default:
				th.add(uop.Op{Kind: uop.FPAdd, Dst: r(), Src: [3]uop.Reg{r(), r()}}, nil)
			}
		}
		return th
	}
	cycles := func(change func(s *Spec)) float64 {
		s := wide()
		s.ROB, s.IQ, s.LQ, s.SQ = 64, 24, 16, 16
		change(s)
		c, _ := run(t, s, 60, th())
		return float64(c.Counters.Cycles)
	}
	base := cycles(func(*Spec) {})
	for name, change := range map[string]func(s *Spec){
		"rob":   func(s *Spec) { s.ROB *= 2 },
		"iq":    func(s *Spec) { s.IQ *= 2 },
		"lq":    func(s *Spec) { s.LQ *= 2 },
		"sq":    func(s *Spec) { s.SQ *= 2 },
		"units": func(s *Spec) { s.Units[3].Count *= 2 },
		"ports": func(s *Spec) { s.LoadPorts, s.StorePorts = 4, 4 },
		"use":   func(s *Spec) { s.FillUse = 3 },
	} {
		require.LessOrEqual(t, cycles(change), 1.005*base, name)
	}
}

func TestRefuses(t *testing.T) {
	for want, change := range map[string]func(s *Spec){
		"rob of 0":                      func(s *Spec) { s.ROB = 0 },
		`predictor "oracle"`:            func(s *Spec) { s.Predictor = "oracle" },
		`load select "random"`:          func(s *Spec) { s.LoadSelect = "random" },
		"no unit runs fpadd":            func(s *Spec) { s.Units = s.Units[:3] },
		"which fp runs already":         func(s *Spec) { s.Units = append(s.Units, s.Units[3]) },
		`kind "add", which`:             func(s *Spec) { s.Units[0].Runs[0].Kind = "add" },
		"hit_use_cycles of 1, expected": func(s *Spec) { s.HitUse = 1 },
	} {
		s := wide()
		change(s)
		require.ErrorContains(t, s.Validate(), want)
	}
}

func BenchmarkCore(b *testing.B) {
	th := &thread{}
	for i := range b.N {
		switch i % 4 {
		case 0:
			th.add(uop.Op{Kind: uop.Load, Dst: uop.Reg(1 + i%64), Size: 8, Addr: uint64(i % 4096 * 8)}, word(0))
		case 1:
			th.add(uop.Op{Kind: uop.FPAdd, Dst: uop.Reg(1 + i%64), Src: [3]uop.Reg{uop.Reg(1 + (i-1)%64)}}, nil)
		case 2:
			th.add(uop.Op{Kind: uop.Store, Src: [3]uop.Reg{uop.Reg(1 + (i-1)%64)}, Size: 8, Addr: 1<<20 + uint64(i%4096*8)}, word(0))
		default:
			th.add(uop.Op{Kind: uop.IntALU, Dst: 100, Src: [3]uop.Reg{100}}, nil)
		}
	}
	e := event.New()
	c := New(e, wide(), 0, nil, func(err error) { b.Fatal(err) })
	f := &flat{lines: map[mem.Line]*mem.Bytes{}, e: e, c: c}
	c.Connect(f)
	c.Start(th)
	b.ResetTimer()
	if err := e.Run(context.Background(), event.Forever); err != nil {
		b.Fatal(err)
	}
}
