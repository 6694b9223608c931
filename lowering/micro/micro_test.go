package micro_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/kernels"
	"github.com/bitsched/bitsched/lowering/micro"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/uop"
)

// machine executes threads in any order, one micro-op after the other, on memory of its
// own: all that it knows is package uop.
type machine struct {
	memory []uop.Segment
	counts [uop.NumKinds]int
	kinds  map[uint32]uop.Kind
	ops    int
}

func newMachine(p *micro.Program) *machine {
	m := &machine{kinds: map[uint32]uop.Kind{}}
	for _, s := range p.Segments() {
		for _, other := range m.memory {
			if s.Addr < other.Addr+uint64(len(other.Data)) && other.Addr < s.Addr+uint64(len(s.Data)) {
				panic("segments overlap")
			}
		}
		s.Data = slices.Clone(s.Data)
		m.memory = append(m.memory, s)
	}
	return m
}

// read returns memory itself, not a copy.
func (m *machine) read(addr uint64, n int) []byte {
	for i := range m.memory {
		s := &m.memory[i]
		if addr >= s.Addr && addr+uint64(n) <= s.Addr+uint64(len(s.Data)) {
			return s.Data[addr-s.Addr:][:n]
		}
	}
	panic(fmt.Sprintf("%d bytes from address %#x on are in no segment", n, addr))
}

func (m *machine) write(addr uint64, b []byte) { copy(m.read(addr, len(b)), b) }

// perform executes a micro-op, and returns what was in memory.
func (m *machine) perform(b *uop.Batch, o *uop.Op) ([]byte, error) {
	m.ops++
	m.counts[o.Kind]++
	if k, ok := m.kinds[o.PC]; ok && k != o.Kind {
		return nil, fmt.Errorf("PC %d is %s and %s", o.PC, k, o.Kind)
	}
	m.kinds[o.PC] = o.Kind
	if !o.Kind.Memory() {
		return nil, nil
	}
	data := b.Bytes(o)
	if !o.Kind.Lanes() {
		old := slices.Clone(m.read(o.Addr, int(o.Size)))
		switch o.Kind {
		case uop.Load:
			if o.Flags&(uop.Racy|uop.Blocking) == 0 && !slices.Equal(old, data) {
				return nil, fmt.Errorf("load of %#x is %x, and %x was expected", o.Addr, old, data)
			}
		case uop.Store:
			m.write(o.Addr, data)
		case uop.Atomic:
			next := make([]byte, o.Size)
			e := data
			if o.RMW == uop.CompareSwap {
				e = b.Data[int(o.Data)+int(o.Size):][:o.Size]
			}
			o.RMW.Apply(next, old, data, e)
			m.write(o.Addr, next)
		}
		return old, nil
	}
	each := int(o.Size) / int(o.Lanes)
	for i := range int(o.Lanes) {
		var addr uint64
		for j, x := range b.Data[int(o.Data)+8*i:][:8] {
			addr |= uint64(x) << (8 * j)
		}
		lane := data[i*each:][:each]
		if o.Kind == uop.Scatter {
			m.write(addr, lane)
		} else if old := m.read(addr, each); !slices.Equal(old, lane) {
			return nil, fmt.Errorf("lane %d of %#x is %x, and %x was expected", i, addr, old, lane)
		}
	}
	return nil, nil
}

// run executes all threads, some micro-ops of one at a time.
func (m *machine) run(t *testing.T, p *micro.Program, seed uint64) {
	t.Helper()
	type state struct {
		thread  uop.Thread
		waiting []byte
	}
	var list []*state
	for _, th := range p.Threads() {
		list = append(list, &state{thread: th})
	}
	r := rand.New(rand.NewPCG(seed, 3))
	var b uop.Batch
	for steps := 0; len(list) > 0; steps++ {
		require.Less(t, steps, 10_000_000, "threads wait for each other")
		i := r.IntN(len(list))
		s := list[i]
		if s.waiting != nil {
			require.NoError(t, s.thread.Resolve(s.waiting))
			s.waiting = nil
		}
		b.Reset()
		n := 1 + r.IntN(100)
		status, err := s.thread.Next(&b, n)
		require.NoError(t, err)
		require.NoError(t, b.Check())
		require.LessOrEqual(t, len(b.Ops), n)
		for j := range b.Ops {
			old, err := m.perform(&b, &b.Ops[j])
			require.NoError(t, err)
			if j == len(b.Ops)-1 && status == uop.Wait {
				s.waiting = old
			}
		}
		if status == uop.Done {
			list = slices.Delete(list, i, i+1)
		}
	}
}

// compare compares memory with elements of arrays.
func (m *machine) compare(t *testing.T, p *micro.Program, g *stream.Graph, want stream.Memory, except ...string) {
	t.Helper()
	for _, a := range g.Arrays {
		if slices.Contains(except, a.Name) {
			continue
		}
		for i, v := range want[a.Name] {
			var got scalar.Value
			for j, x := range m.read(p.Address(a.Name, int64(i)), a.Type.Bytes()) {
				got |= scalar.Value(x) << (8 * j)
			}
			require.Equal(t, scalar.Format(a.Type, v), scalar.Format(a.Type, got), "%s[%d]", a.Name, i)
		}
	}
}

func clone(m stream.Memory) stream.Memory {
	c := stream.Memory{}
	for name, list := range m {
		c[name] = slices.Clone(list)
	}
	return c
}

// TestKernels executes all workloads, with scalar code and with SIMD, and compares the
// memory of the machine with the plain programs in Go.
func TestKernels(t *testing.T) {
	for _, k := range kernels.All() {
		g, err := cfront.CompileWhole(context.Background(), k.File, k.Source, cfront.Options{})
		require.NoError(t, err)
		var counts []int
		for _, vector := range []int{0, 64} {
			sizes := maps.Clone(k.Small)
			d := k.DataExact(sizes, 3) // sums are the same in any order
			mem := d.Memory()
			arrays := stream.Memory{}
			for _, a := range g.Arrays {
				arrays[a.Name] = mem.Arrays[a.Name].Elems
			}
			p, err := micro.New(g, arrays, stream.Args{Symbols: sizes, Params: mem.Scalars}, micro.Options{Threads: 1, Vector: vector, Reassociate: k.Reassociate})
			require.NoError(t, err, k.Name)
			m := newMachine(p)
			m.run(t, p, 1)
			k.Reference(d)
			want := d.Memory()
			for _, a := range g.Arrays {
				arrays[a.Name] = want.Arrays[a.Name].Elems
			}
			m.compare(t, p, g, arrays)
			counts = append(counts, m.ops)
		}
		t.Logf("%s: %d scalar, %d SIMD", k.Name, counts[0], counts[1])
	}
}

const updatesC = `#include "bitsched.h"
void updates(int n, const int A[n], const uint32_t U[n], const double D[n], int O[4], int64_t L[4], int8_t B[4], float F[4], float G[4], int S[n])
{
	inf_array(A, n); inf_array(U, n); inf_array(D, n); inf_array(O, 4); inf_array(L, 4); inf_array(B, 4); inf_array(F, 4); inf_array(G, 4); inf_array(S, n);
	#pragma omp parallel for schedule(dynamic, 2)
	for (int i = 0; i < n; i++) {
		int x = A[i] & 3, at;
		#pragma omp atomic
		O[x] += U[i];
		#pragma omp atomic
		L[x] = A[x] * 2 - L[x];
		if (D[i] > 20) {
			#pragma omp atomic
			B[x] = ~B[x];
		}
		#pragma omp atomic
		F[x] += D[i] * 0.25;
		#pragma omp atomic
		G[x] += 0.5;
		#pragma omp atomic compare
		if (O[3 - x] > 4000000000u) O[3 - x] = 1;
		#pragma omp atomic capture
		{ at = L[0]; L[0] = L[0] == 1 ? 2 : 3 - L[0]; }
		if (at > 100)
			S[i] = 1;
	}
}
`

// drawn is the arrays of a graph, of n elements where their size is no constant, with whole numbers below most, whose
// sums are exact in floats.
func drawn(r *rand.Rand, g *stream.Graph, n int64, most int) stream.Memory {
	mem := stream.Memory{}
	for _, a := range g.Arrays {
		size := n
		if k, ok := a.Size[0].Const(); ok {
			size = k
		}
		for range size {
			mem[a.Name] = append(mem[a.Name], scalar.FromInt(a.Type, int64(r.IntN(most))))
		}
	}
	return mem
}

// TestUpdates executes atomic updates that are no operation with an operand on 1 to 8 threads
// in random orders: what other threads change in between is what they are repeated with.
func TestUpdates(t *testing.T) {
	g, err := cfront.CompileWhole(context.Background(), "updates.c", updatesC, cfront.Options{})
	require.NoError(t, err)
	for seed := range uint64(16) {
		r := rand.New(rand.NewPCG(seed, 9))
		n := int64(4 + r.IntN(60))
		args := stream.Args{Symbols: map[string]int64{"n": n}}
		mem := drawn(r, g, n, 40)
		mem["L"][0] = 1
		for i := range mem["A"] {
			mem["A"][i] |= 1 // L[0] is of one update only
		}
		want := clone(mem)
		_, err := g.Run(context.Background(), want, args)
		require.NoError(t, err)
		p, err := micro.New(g, mem, args, micro.Options{Threads: int(1 + seed%8), Vector: 64, ForkCycles: 7})
		require.NoError(t, err)
		m := newMachine(p)
		m.run(t, p, seed)
		m.compare(t, p, g, want, "at") // of each thread
	}
}

const parallelC = `#include "bitsched.h"
void work(int n, int m, const int A[n], int B[n], float F[n], int H[16], double D[1], int64_t S[4], int Q[n])
{
	inf_array(A, n); inf_array(B, n); inf_array(F, n); inf_array(H, 16); inf_array(D, 1); inf_array(S, 4); inf_array(Q, n);
	int total = 0;
	double d = 0;
	for (int t = 0; t < m; t++) {
		#pragma omp parallel for reduction(+: total) reduction(+: d)
		for (int i = 0; i < n; i++) {
			B[i] = A[i] * 3 + t;
			total += A[i];
			d += A[i];
		}
		#pragma omp parallel for schedule(dynamic, 3)
		for (int i = 0; i < n; i++) {
			#pragma omp atomic
			H[A[i] & 15] += B[i];
			int at = __atomic_fetch_add(&S[2], 1, __ATOMIC_RELAXED);
			Q[at] = i;
			__sync_fetch_and_sub(&H[i & 1], 2 * i + 1);
			int64_t x = B[i];
			inf_fetch_min(&S[0], x);
			if (i % 3 == 0)
				__sync_bool_compare_and_swap(&S[1], t, (int64_t)t + 1);
		}
		S[2] = 0;
		#pragma omp parallel for schedule(static, 5)
		for (int i = 0; i < n; i++)
			F[i] = F[i] > 0.5f ? F[i] * 0.5f : B[i];
	}
	S[3] = total;
	D[0] = d;
}
`

// TestParallel executes a parallel program on 1 to 18 threads in random orders: static and
// dynamic loops, reductions and atomic updates, with a counter and with trees.
func TestParallel(t *testing.T) {
	g, err := cfront.CompileWhole(context.Background(), "work.c", parallelC, cfront.Options{})
	require.NoError(t, err)
	for seed := range uint64(16) {
		threads := int(1 + seed%7)
		if seed > 11 {
			threads = int(1 + seed)
		}
		fanout := []int{0, 2, 4, 3, 7}[seed%5]
		r := rand.New(rand.NewPCG(seed, 8))
		n := int64(1 + r.IntN(60))
		args := stream.Args{Symbols: map[string]int64{"n": n, "m": 3}}
		mem := drawn(r, g, n, 100)
		mem["S"][2], mem["S"][1] = 0, 0
		want := clone(mem)
		_, err := g.Run(context.Background(), want, args)
		require.NoError(t, err)
		p, err := micro.New(g, mem, args, micro.Options{Threads: threads, Vector: 64, Fanout: fanout, ForkCycles: 7})
		require.NoError(t, err)
		m := newMachine(p)
		m.run(t, p, seed)
		m.compare(t, p, g, want, "Q")
		var order, all []int
		for i := range n { // the order of atomic additions is open
			order, all = append(order, int(m.read(p.Address("Q", i), 1)[0])), append(all, int(i))
		}
		require.ElementsMatch(t, all, order)
	}
}

// BenchmarkThreads pulls from 64 threads in turn.
func BenchmarkThreads(b *testing.B) {
	g, err := cfront.CompileWhole(context.Background(), "v.c", `#include "bitsched.h"
void v(int n, const float A[n], const float B[n], float C[n])
{
	inf_array(A, n); inf_array(B, n); inf_array(C, n);
	#pragma omp parallel for
	for (int i = 0; i < n; i++)
		C[i] = A[i] + B[i];
}
`, cfront.Options{})
	require.NoError(b, err)
	for _, vector := range []int{0, 64} {
		b.Run(fmt.Sprint("vector=", vector), func(b *testing.B) {
			const n = 1 << 18
			ops := 0
			for b.Loop() {
				mem := stream.Memory{"A": make([]scalar.Value, n), "B": make([]scalar.Value, n), "C": make([]scalar.Value, n)}
				p, err := micro.New(g, mem, stream.Args{Symbols: map[string]int64{"n": n}}, micro.Options{Threads: 64, Vector: vector})
				require.NoError(b, err)
				m := newSync(p)
				threads := p.Threads()
				var batch uop.Batch
				for left := len(threads); left > 0; {
					for i, t := range threads {
						if t == nil {
							continue
						}
						batch.Reset()
						status, err := t.Next(&batch, 64)
						require.NoError(b, err)
						ops += len(batch.Ops)
						for j := range batch.Ops {
							m.perform(&batch, &batch.Ops[j])
						}
						if status == uop.Wait {
							require.NoError(b, t.Resolve(m.old))
						}
						if status == uop.Done {
							threads[i] = nil
							left--
						}
					}
				}
			}
			b.ReportMetric(float64(ops)/b.Elapsed().Seconds()/1e6, "Muops/s")
		})
	}
}

// TestBarrier counts what threads meet by: of a counter one atomic addition each, of a tree
// the words of its edges up and down.
func TestBarrier(t *testing.T) {
	const source = `#include "bitsched.h"
void fill(int n, int m, int A[n])
{
	inf_array(A, n);
	for (int t = 0; t < m; t++) {
		#pragma omp parallel for
		for (int i = 0; i < n; i++)
			A[i] = t;
	}
}
`
	g, err := cfront.CompileWhole(context.Background(), "fill.c", source, cfront.Options{})
	require.NoError(t, err)
	const loops = 3
	counts := func(threads, fanout, fork int) (atomics, stores, alu int) {
		p, err := micro.New(g, stream.Memory{"A": make([]scalar.Value, 16*threads)}, stream.Args{Symbols: map[string]int64{"n": int64(16 * threads), "m": loops}},
			micro.Options{Threads: threads, Vector: 64, Fanout: fanout, ForkCycles: fork})
		require.NoError(t, err)
		m := newMachine(p)
		m.run(t, p, 1)
		return m.counts[uop.Atomic], m.counts[uop.Store] - loops*threads, m.counts[uop.IntALU]
	}
	for _, threads := range []int{2, 5, 16, 64} {
		for _, fanout := range []int{0, 2, 4} {
			atomics, stores, _ := counts(threads, fanout, 0)
			if fanout == 0 {
				// Of a loop: the start, the counter and the end.
				require.Equal(t, loops*threads, atomics)
				require.Equal(t, 3*loops+1, stores)
				continue
			}
			require.Zero(t, atomics)
			require.Equal(t, loops*(1+2*(threads-1))+1+threads-1, stores, "%d threads, fanout %d", threads, fanout)
		}
	}
	_, _, without := counts(1, 4, 50)
	_, _, none := counts(1, 4, 0)
	require.Equal(t, none, without, "one thread starts nothing")
	_, err = micro.New(g, stream.Memory{"A": make([]scalar.Value, 16)}, stream.Args{Symbols: map[string]int64{"n": 16, "m": 1}}, micro.Options{Threads: 2, Fanout: 1})
	require.ErrorContains(t, err, "fanout 1, expected at least 2")
}

// sync executes only what threads synchronise with.
type sync struct {
	*machine
	from uint64
	old  []byte
}

func newSync(p *micro.Program) *sync {
	s := p.Segments()[len(p.Segments())-1]
	s.Data = slices.Clone(s.Data)
	return &sync{machine: &machine{memory: []uop.Segment{s}, kinds: map[uint32]uop.Kind{}}, from: s.Addr}
}

func (m *sync) perform(b *uop.Batch, o *uop.Op) {
	if o.Kind.Memory() && o.Addr >= m.from {
		m.old, _ = m.machine.perform(b, o)
	}
}
