package sparse

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/bitsched/bitsched/system/sparse/matrix"
)

// Scatter is the kernel of figure 9 on every SPU: C[A[i]] += B[i], each SPU having
// as many entries of A, B and C.
type Scatter struct {
	PerSPU  int
	Index   string // identity, reverse, stride=K, random or remote
	Instr   bool   // interpret the program, and compare
	Network bool   // send remote pairs; else they vanish
	Seed    uint64
	Threads int
}

// ScatterResult is what a scatter took.
type ScatterResult struct {
	PerSPU   int     `json:"per_spu"`
	SPUs     int     `json:"spus"`
	Index    string  `json:"index"`
	Cycles   int64   `json:"cycles_per_spu"` // of the busiest
	Mean     float64 `json:"mean_cycles"`
	Loads    int64   `json:"row_switches"`
	Local    int64   `json:"local"`
	Remote   int64   `json:"remote"`
	Link     int64   `json:"link_cycles"` // with the network
	Checked  string  `json:"checked"`
	Compared int64   `json:"compared"`
}

// ScatterIndices are what Index may be.
var ScatterIndices = []string{"identity", "reverse", "stride=K", "random", "remote"}

// scatterer is a runner whose senders scatter.
type scatterer struct {
	*runner
	n     int
	index func(s, i int) uint32
	x     []*interp
}

// Run executes the kernel.
func (k Scatter) Run(ctx context.Context, m *Machine) (*ScatterResult, error) {
	spus, n := m.SPUs(), k.PerSPU
	if n < 1 || int64(n)*int64(spus) > math.MaxUint32/2 {
		return nil, fmt.Errorf("%d entries an SPU, expected 1 to %d", n, math.MaxUint32/2/spus)
	}
	if rows := 3 * ((n + m.Words() - 1) / m.Words()); rows > m.RowsPerSPU() {
		return nil, infeasible(fmt.Sprintf("SPU 0 needs %d of %d rows", rows, m.RowsPerSPU()))
	}
	index, err := k.index(n, spus)
	if err != nil {
		return nil, err
	}
	p := &Placement{Matrix: &matrix.Matrix{Rows: n * spus, Cols: n * spus}, RowFirst: make([]uint32, spus+1), Base: make([]int64, spus+1), OffBase: make([]int64, spus+1)}
	for s := range spus + 1 {
		p.RowFirst[s] = uint32(s * n)
	}
	p.ColFirst = p.RowFirst
	p.owner = newLookup(p.RowFirst)
	ring, _ := LookupSemiring("plus-times-u32")
	v, _ := LookupVariant("v1")
	r := newRunnerOn(ctx, p, ring, Config{Machine: m, Variant: v, Type: U32, Threads: k.Threads})
	r.iters = []Iteration{{}}
	r.it = &r.iters[0]
	r.resetSPUs(&r.whole)
	sc := &scatterer{runner: r, n: n, index: index}
	if k.Instr {
		sc.x = make([]*interp, spus)
	}
	res := &ScatterResult{PerSPU: n, SPUs: spus, Index: k.Index}
	b := func(s, i int) uint32 { return uint32(s*31+i*7) + 1 }
	step := func(s int, free int64) (bool, error) {
		ok := sc.send(s, free, b)
		if sc.x == nil {
			return ok, nil
		}
		x := sc.x[s]
		if x == nil {
			x = sc.image(s, b)
			sc.x[s] = x
		}
		u := &r.spus[s]
		if sent := x.run(free); sent != ok || sent && (x.sentIdx != r.ports[s].idx() || x.sentVal != r.ports[s].val()) || x.cycles != u.cycles || x.loads != u.loads {
			return ok, fmt.Errorf("%w: SPU %d, interpreted, is in cycle %d after %d row switches (sends: %v), pair by pair in %d after %d (%v)", ErrCheck, s, x.cycles, x.loads, sent, u.cycles, u.loads, ok)
		}
		if !ok {
			for i := range n {
				if x.mem[int(x.start3)+i] != r.out[s*n+i] {
					return ok, fmt.Errorf("%w: SPU %d, interpreted, has %d in C[%d], pair by pair %d", ErrCheck, s, x.mem[int(x.start3)+i], i, r.out[s*n+i])
				}
			}
			sc.x[s] = nil
		}
		return ok, nil
	}
	errs := make([]error, m.Banks())
	if k.Network {
		end, full := r.net.run(&r.whole, func(s int, free int64) bool {
			ok, err := step(s, free)
			if err != nil && errs[s/r.pairs] == nil {
				errs[s/r.pairs] = err
			}
			return ok
		})
		if full {
			return nil, infeasible("remote pairs need more than the dispatchers hold")
		}
		res.Link = end
	} else {
		r.eachOf(m.Banks(), func(g int) (int64, int64, int64) {
			for s := g * r.pairs; s < (g+1)*r.pairs && errs[g] == nil && ctx.Err() == nil; s++ {
				for {
					ok, err := step(s, 0)
					errs[g] = err
					if !ok || err != nil {
						break
					}
				}
			}
			return 0, 0, 0
		})
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	var sum int64
	for s := range r.spus {
		u := &r.spus[s]
		res.Cycles = max(res.Cycles, u.cycles)
		sum += u.cycles
		res.Loads += int64(u.loads)
		res.Local += int64(u.local)
		res.Remote += int64(u.sent)
	}
	res.Mean = float64(sum) / float64(spus)
	if k.Network {
		if err := r.dispatch(); err != nil {
			return nil, err
		}
	}
	// The plain loop.
	want := make([]uint32, n*spus)
	for s := range spus {
		for i := range n {
			if at := index(s, i); k.Network || r.p.owner.of(at) == s {
				want[at] += b(s, i)
			}
		}
	}
	for i, w := range want {
		if r.out[i] != w {
			return nil, fmt.Errorf("%w: C[%d] is %d, the plain loop has %d", ErrCheck, i, r.out[i], w)
		}
	}
	res.Checked, res.Compared = "plain loop", int64(len(want))
	return res, nil
}

// index returns A as a function.
func (k Scatter) index(n, spus int) (func(s, i int) uint32, error) {
	at := func(s, i int) uint32 { return uint32(s*n + i) }
	switch kind, value, has := strings.Cut(k.Index, "="); {
	case k.Index == "identity":
		return at, nil
	case k.Index == "reverse":
		return func(s, i int) uint32 { return at(s, n-1-i) }, nil
	case kind == "stride" && has:
		step, err := strconv.Atoi(value)
		if err != nil || step < 1 || n%64 != 0 {
			return nil, fmt.Errorf("index %q of %d entries, expected stride=K with K from 1 on and a multiple of 64 entries", k.Index, n)
		}
		return func(s, i int) uint32 { return at(s, i/64*64+i*step%64) }, nil
	case k.Index == "random":
		lists := make([][]int, spus)
		for s := range lists {
			lists[s] = rand.New(rand.NewPCG(k.Seed, uint64(s))).Perm(n)
		}
		return func(s, i int) uint32 { return at(s, lists[s][i]) }, nil
	case k.Index == "remote":
		return func(s, i int) uint32 { return at((s+1)%spus, i) }, nil
	}
	return nil, fmt.Errorf("index %q, expected %s", k.Index, strings.Join(ScatterIndices, ", "))
}

// send runs SPU s up to its next remote pair.
func (sc *scatterer) send(s int, free int64, b func(s, i int) uint32) bool {
	r := sc.runner
	u, t, n := &r.spus[s], &r.time, int64(sc.n)
	if u.state&stDone != 0 {
		return false
	}
	read := func() {
		u.cycles += t.stream(&u.w1, u.k, &u.loads)
		u.cycles += t.stream(&u.w2, u.k, &u.loads)
	}
	if u.state&stStarted == 0 {
		u.state |= stStarted | stNext
	}
	for u.k < n {
		if u.state&stNext != 0 {
			read()
			u.cycles++
			u.state &^= stNext
		}
		i, v := sc.index(s, int(u.k)), b(s, int(u.k))
		u.k++
		own := int64(i) - int64(r.p.RowFirst[s])
		if own < 0 || own >= n {
			u.cycles = max(u.cycles, free) + 1
			u.state |= stNext
			u.sent++
			r.post(s, u, i, v, r.homes[r.p.owner.of(i)])
			return true
		}
		u.cycles += t.seek(&u.w3, int32(own>>t.shift), own&t.mask, &u.loads) + 3
		u.w3.dirty = true
		r.out[i] += v
		u.local++
		if u.k < n {
			read()
		}
	}
	u.cycles += t.flush(u.w3.dirty, &u.loads)
	u.w3.dirty = false
	u.state |= stDone
	return false
}

// image is the SPU's rows, with the program of figure 9 loaded.
func (sc *scatterer) image(s int, b func(s, i int) uint32) *interp {
	r, n := sc.runner, int64(sc.n)
	words := int64(r.m.Words())
	size := (n + words - 1) / words * words
	x := &interp{t: &r.time, mem: make([]uint32, 3*size), clean: cleanNaN, first: r.p.RowFirst[s], count: uint32(n), start3: 2 * size}
	for i := range n {
		x.mem[i], x.mem[size+i] = sc.index(s, int(i)), b(s, int(i))
	}
	x.load(ScatterProgram(OpAccU32).Code, [3]int64{0, size, 0}, [3]int64{n, size + n, math.MaxInt64})
	return x
}
