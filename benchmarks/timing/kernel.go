package timing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bitsched/bitsched/tile/uop"
)

// Kernel is a synthetic instruction stream of the reference: what it does over how
// many bytes, and its parameters.
type Kernel struct {
	Name   string
	Bytes  uint64
	Params map[string]int // chains, lat, S, acc, ind, p, seed, steady; those missing have their default
}

// KernelNames are all kernels.
var KernelNames = []string{"alu", "branch", "bsearch", "chase", "copy", "gather", "indirect", "reduce", "store", "stream", "vadd"}

// Regions of memory.
const (
	regionA = 1 << 32
	regionB = 2 << 32
	regionC = 3 << 32

	lineBytes = 64
	unroll    = 8

	warmPC   = 0x300000
	kernelPC = 0x400000
)

// param returns a parameter, or its default.
func (k *Kernel) param(name string, otherwise int) int {
	if v, ok := k.Params[name]; ok {
		return v
	}
	return otherwise
}

// limits of each parameter.
var limits = map[string][2]int{"chains": {1, 64}, "lat": {1, 100}, "S": {1, 1 << 20}, "acc": {1, unroll}, "ind": {1, unroll}, "p": {1, 1 << 30}, "seed": {0, 1 << 30}, "steady": {0, 1}}

// Validate refuses what is no kernel.
func (k *Kernel) Validate() error {
	if !slices.Contains(KernelNames, k.Name) {
		return fmt.Errorf("timing: kernel %q, expected %s", k.Name, strings.Join(KernelNames, ", "))
	}
	if k.Bytes < 3*lineBytes || k.Bytes > 1<<31 {
		return fmt.Errorf("timing: kernel %s over %d bytes, expected %d to %d", k.Name, k.Bytes, 3*lineBytes, 1<<31)
	}
	for name, v := range k.Params {
		l, ok := limits[name]
		if !ok || v < l[0] || v > l[1] {
			return fmt.Errorf("timing: kernel %s with %s=%d, expected a parameter that it has, %d to %d", k.Name, name, v, l[0], l[1])
		}
	}
	if k.Name == "chase" && k.Bytes/lineBytes/uint64(k.param("chains", 1)) < 2 {
		return fmt.Errorf("timing: chase of %d chains in %d bytes, expected at least two lines a chain", k.param("chains", 1), k.Bytes)
	}
	return nil
}

// region is a part of memory that the caches are warmed with.
type region struct {
	base, bytes uint64
	stored      bool
}

// regions are those that are warmed, and by how many they share the warm lines.
func (k *Kernel) regions() (list []region, share uint64) {
	switch k.Name {
	case "vadd":
		r := k.Bytes / 3 / lineBytes * lineBytes
		return []region{{regionA, r, false}, {regionB, r, false}, {regionC, r, true}}, 3
	case "copy":
		return []region{{regionA, k.Bytes / 2, false}, {regionB, k.Bytes / 2, true}}, 2
	case "indirect":
		return []region{{regionA, k.Bytes, false}}, 2 // the indices stay cold
	case "store":
		return []region{{regionA, k.Bytes, true}}, 1
	case "alu", "branch":
		return []region{{regionA, 1 << 10, false}}, 1 // they use none
	}
	return []region{{regionA, k.Bytes, false}}, 1
}

const (
	warmLines = 131072
	warmAll   = 8 << 20 // bytes up to which every line is warmed
)

// stream is a thread that executes a kernel for ever, after a warm pass.
type stream struct {
	k     *Kernel
	b     *uop.Batch
	state uint64
	warm  []uop.Op
	at    int // of warm
	body  func()
}

// Warm is how many micro-ops touch the lines before the kernel begins.
func (k *Kernel) Warm() int {
	regions, share := k.regions()
	n := uint64(0)
	for _, r := range regions {
		n += warmOf(r, regions, share)
	}
	return int(n)
}

// warmOf is how many lines of a region are touched.
func warmOf(r region, regions []region, share uint64) uint64 {
	whole := uint64(0)
	for _, r := range regions {
		whole += r.bytes
	}
	if n := r.bytes / lineBytes; whole <= warmAll || n <= warmLines/share {
		return n
	}
	return warmLines / share
}

func (k *Kernel) warm() (ops []uop.Op) {
	regions, share := k.regions()
	lines := func(r region) uint64 { return warmOf(r, regions, share) }
	touch := func(r region, i, n uint64) {
		addr := r.base + (r.bytes/lineBytes-n+i)*lineBytes
		op := uop.Op{PC: warmPC + 4*uint32(len(ops)%64), Kind: uop.Load, Lanes: 1, Flags: uop.Racy, Dst: 40, Src: [3]uop.Reg{41}, Size: 8, Addr: addr}
		if r.stored && k.param("steady", 0) == 1 {
			op = uop.Op{PC: op.PC, Kind: uop.Store, Lanes: 1, Src: [3]uop.Reg{40, 41}, Size: 8, Addr: addr}
		}
		ops = append(ops, op)
	}
	if k.param("steady", 0) == 1 {
		for i := uint64(0); i < lines(regions[0]); i++ {
			for _, r := range regions {
				touch(r, i, lines(r))
			}
		}
		return ops
	}
	for _, r := range regions {
		n := lines(r)
		for i := range n {
			touch(r, i, n)
		}
	}
	return ops
}

// Thread returns the instruction stream of a valid kernel: the warm pass, then the
// kernel without end.
func (k *Kernel) Thread() uop.Thread {
	t := &stream{k: k, state: uint64(k.param("seed", 1)), warm: k.warm()}
	t.body = t.kernel()
	return t
}

// Next implements uop.Thread.
func (t *stream) Next(b *uop.Batch, n int) (uop.Status, error) {
	if len(b.Data) == 0 {
		b.Data = append(b.Data, make([]byte, 8)...) // all values are zero
	}
	if t.at < len(t.warm) {
		n = min(n, len(t.warm)-t.at)
		b.Ops = append(b.Ops, t.warm[t.at:t.at+n]...)
		t.at += n
		return uop.More, nil
	}
	for t.b = b; len(b.Ops) < n; {
		t.body()
	}
	return uop.More, nil
}

// Resolve implements uop.Thread.
func (t *stream) Resolve([]byte) error { return fmt.Errorf("timing: a kernel waits for nothing") }

// rnd is splitmix64.
func (t *stream) rnd() uint64 {
	t.state += 0x9e3779b97f4a7c15
	z := t.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// body is a loop body under construction: instructions follow each other by 4 bytes.
type body struct {
	t  *stream
	pc uint32
}

func (b *body) add(op uop.Op) {
	op.PC = b.pc
	op.Lanes = 1
	b.pc += 4
	b.t.b.Ops = append(b.t.b.Ops, op)
}

func (b *body) load(dst, src uop.Reg, addr uint64) {
	b.add(uop.Op{Kind: uop.Load, Flags: uop.Racy, Dst: dst, Src: [3]uop.Reg{src}, Size: 4, Addr: addr})
}

func (b *body) store(data, src uop.Reg, addr uint64) {
	b.add(uop.Op{Kind: uop.Store, Src: [3]uop.Reg{data, src}, Size: 8, Addr: addr})
}

func (b *body) op(kind uop.Kind, dst uop.Reg, src ...uop.Reg) {
	op := uop.Op{Kind: kind, Dst: dst}
	copy(op.Src[:], src)
	b.add(op)
}

func (b *body) branch(src uop.Reg, taken bool) {
	op := uop.Op{Kind: uop.Branch, Src: [3]uop.Reg{src}}
	if taken {
		op.Flags = uop.Taken
	}
	b.add(op)
}

// kernel returns the function that appends a body to the batch.
func (t *stream) kernel() func() {
	k := t.k
	ind, stride := k.param("ind", 1), uint64(k.param("S", lineBytes))
	step := func(b *body, u int) {
		if (u+1)%ind == 0 {
			b.op(uop.IntALU, 1, 1)
		}
	}
	off := uint64(0)
	// elements makes a body of unrolled elements and the branch back.
	elements := func(element func(b *body, u int)) func() {
		return func() {
			b := &body{t, kernelPC}
			for u := range unroll {
				element(b, u)
			}
			b.branch(1, true)
		}
	}
	reg := func(base, u int) uop.Reg { return uop.Reg(base + u) }
	switch k.Name {
	case "chase":
		return t.chase()
	case "stream":
		return elements(func(b *body, u int) {
			b.load(reg(100, u), 1, regionA+off)
			step(b, u)
			off = (off + stride) % k.Bytes
		})
	case "reduce":
		acc := k.param("acc", 1)
		return elements(func(b *body, u int) {
			b.load(reg(100, u), 1, regionA+off)
			b.op(uop.FPAdd, reg(120, u%acc), reg(120, u%acc), reg(100, u))
			step(b, u)
			off = (off + lineBytes) % k.Bytes
		})
	case "vadd":
		r := k.Bytes / 3 / lineBytes * lineBytes
		return elements(func(b *body, u int) {
			b.load(reg(100, u), 1, regionA+off)
			b.load(reg(110, u), 1, regionB+off)
			b.op(uop.FPAdd, reg(120, u), reg(100, u), reg(110, u))
			b.store(reg(120, u), 1, regionC+off)
			step(b, u)
			off = (off + lineBytes) % r
		})
	case "copy":
		r := k.Bytes / 2
		return elements(func(b *body, u int) {
			b.load(reg(100, u), 1, regionA+off)
			b.store(reg(100, u), 1, regionB+off)
			step(b, u)
			off = (off + lineBytes) % r
		})
	case "store":
		return elements(func(b *body, u int) {
			b.store(1, 2, regionA+off)
			step(b, u)
			off = (off + stride) % k.Bytes
		})
	case "gather":
		return elements(func(b *body, u int) {
			b.load(reg(100, u), 1, regionA+8*(t.rnd()%(k.Bytes/8)))
			b.op(uop.IntALU, reg(110, u), reg(100, u))
			step(b, u)
		})
	case "indirect":
		return elements(func(b *body, u int) {
			b.load(reg(100, u), 1, regionB+off)
			b.load(reg(110, u), reg(100, u), regionA+8*(t.rnd()%(k.Bytes/8)))
			b.op(uop.IntALU, reg(120, u), reg(120, u), reg(110, u))
			step(b, u)
			off = (off + 4) % (4 << 20)
		})
	case "alu":
		chains, kind := k.param("chains", 1), uop.IntALU
		if k.param("lat", 1) > 1 {
			kind = uop.IntMul // whose latency is set to that
		}
		return func() {
			b := &body{t, kernelPC}
			for u := range 24 {
				b.op(kind, reg(100, u%chains), reg(100, u%chains))
			}
			b.branch(1, true)
		}
	case "branch":
		p := uint64(k.param("p", 2))
		return func() {
			b := &body{t, kernelPC}
			for range 4 {
				b.op(uop.IntALU, 10, 11)
				b.op(uop.IntALU, 12, 11)
				b.op(uop.IntALU, 13, 11)
				taken := t.rnd()%p == 0
				b.branch(10, taken)
				if taken {
					b.pc += 4
				} else {
					b.op(uop.IntALU, 14, 11)
				}
				b.op(uop.IntALU, 15, 11)
			}
			b.branch(1, true)
		}
	}
	return t.bsearch()
}

// chase follows permutations of lines, each of a single cycle (Sattolo).
func (t *stream) chase() func() {
	chains := t.k.param("chains", 1)
	n := t.k.Bytes / lineBytes / uint64(chains)
	next := make([][]uint32, chains)
	at := make([]uint32, chains)
	for q := range next {
		next[q] = t.cycle(n)
	}
	return func() {
		b := &body{t, kernelPC}
		for range unroll {
			for q := range chains {
				r := uop.Reg(100 + q)
				b.load(r, r, regionA+(uint64(q)*n+uint64(at[q]))*lineBytes)
				at[q] = next[q][at[q]]
			}
		}
		b.branch(1, true)
	}
}

// cycle is a permutation of n lines that is a single cycle.
func (t *stream) cycle(n uint64) []uint32 {
	next := make([]uint32, n)
	for i := range next {
		next[i] = uint32(i)
	}
	for i := n - 1; i >= 1; i-- {
		j := t.rnd() % i
		next[i], next[j] = next[j], next[i]
	}
	return next
}

// bsearch looks random keys up in a sorted array.
func (t *stream) bsearch() func() {
	n := t.k.Bytes / 8
	return func() {
		b := &body{t, kernelPC}
		key := t.rnd() % n
		b.op(uop.IntALU, 2, 3)
		b.op(uop.IntALU, 4, 3)
		lo, length := uint64(0), n
		for length > 1 {
			half := length / 2
			mid := lo + half
			b.pc = kernelPC + 0x8
			b.op(uop.IntALU, 5, 2, 4)
			b.load(8, 5, regionA+8*mid)
			b.op(uop.IntALU, 7, 8, 3)
			right := key >= mid
			b.branch(7, right)
			if right {
				b.pc = kernelPC + 0x40
				b.op(uop.IntALU, 2, 3)
				lo, length = mid, length-half
			} else {
				b.op(uop.IntALU, 4, 4)
				length = half
			}
			b.pc = kernelPC + 0x50
			b.branch(4, length > 1)
		}
		b.pc = kernelPC + 0x54
		b.branch(4, true)
	}
}
