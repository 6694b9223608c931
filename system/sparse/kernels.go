package sparse

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// RegularKernels are the names of the kernels of figure 18 that SPUs execute without
// their network.
var RegularKernels = []string{"axpy", "dot", "filter", "histogram"}

// Regular is a regular kernel on every SPU, each having as many entries: y += a x; the
// sum of x y; the entries of x above a threshold; and the counts of 64 bins.
type Regular struct {
	Kernel  string
	PerSPU  int
	Seed    uint64
	Threads int
}

// RegularResult is what a regular kernel took.
type RegularResult struct {
	Kernel   string  `json:"kernel"`
	PerSPU   int     `json:"per_spu"`
	SPUs     int     `json:"spus"`
	Cycles   int64   `json:"cycles_per_spu"` // of the busiest
	Mean     float64 `json:"mean_cycles"`
	Loads    int64   `json:"row_switches"`
	Entries  float64 `json:"entries_per_second"` // of the whole stack
	Checked  string  `json:"checked"`
	Compared int64   `json:"compared"`
}

const (
	regularFactor    = 3          // a of axpy
	regularThreshold = 1 << 31    // of filter
	histogramBins    = 64         // one row of counters
	regularSalt      = 0x6b65726e // of the inputs
)

// RegularProgram returns the program of a regular kernel.
func RegularProgram(kernel string) (Program, error) {
	switch kernel {
	case "axpy":
		return Program{"axpy", 0, [3]string{"x", "", "y"}, []Instruction{
			{Shift: [3]Shift{0: Access, 2: Hold}, NextPC1: 1},
			{Op1: OpMulU32, Src1Op1: Walker1Reg, Src2Op1: ConstReg, NextPC1: 2},
			{Op2: OpAccU32, Src1Op2: Walker3Reg, Src2Op2: Reg1, NextPC1: 3},
			{Shift: [3]Shift{2: Access}, Write: [3]bool{2: true}},
		}}, nil
	case "dot":
		return Program{"dot", 0, [3]string{"x", "y", ""}, []Instruction{
			{Shift: [3]Shift{Access, Access}, NextPC1: 1},
			{Op1: OpMulU32, Src1Op1: Walker1Reg, Src2Op1: Walker2Reg, NextPC1: 2},
			{Op2: OpAccU32, Src1Op2: Reg2, Src2Op2: Reg1, Shift: [3]Shift{Access, Access}, NextPC1: 1},
		}}, nil
	case "filter":
		return Program{"filter", 0, [3]string{"x", "kept", ""}, []Instruction{
			{Shift: [3]Shift{Access}, NextPC1: 1},
			{Op1: OpFirst, Src1Op1: Walker1Reg, RegSrc: Walker1Reg, RegDst: Walker2Reg, NextPC1: 2},
			{Op2: OpAccMin, Src1Op2: Reg1, Src2Op2: ConstReg, Shift: [3]Shift{Access, OnTrue}, Write: [3]bool{1: true}, Cond: IfChanged, NextPC1: 1, NextPC2: 1},
		}}, nil
	case "histogram":
		return Program{"histogram", 0, [3]string{"x", "", "counts"}, []Instruction{
			{Shift: [3]Shift{Access}, NextPC1: 1},
			{IndirectSrc: Walker1Reg, IndirectDst: 3, Shift: [3]Shift{2: Hold}, NextPC1: 2},
			{Op2: OpInc, Src1Op2: Walker3Reg, NextPC1: 3},
			{Shift: [3]Shift{0: Access, 2: Hold}, Write: [3]bool{2: true}, NextPC1: 1},
		}}, nil
	}
	return Program{}, fmt.Errorf("unknown kernel %q, expected scatter, %v", kernel, RegularKernels)
}

// Run interprets the kernel on the rows of every SPU, and compares what they hold with
// plain loops.
func (k Regular) Run(ctx context.Context, m *Machine) (*RegularResult, error) {
	p, err := RegularProgram(k.Kernel)
	if err != nil {
		return nil, err
	}
	spus, n := m.SPUs(), int64(k.PerSPU)
	words := int64(m.Words())
	size := (n + words - 1) / words * words
	if n < 1 {
		return nil, fmt.Errorf("%d entries an SPU, expected at least 1", n)
	}
	if rows := 2*size/words + histogramBins/words + 1; rows > int64(m.RowsPerSPU()) {
		return nil, infeasible(fmt.Sprintf("SPU 0 needs %d of %d rows", rows, m.RowsPerSPU()))
	}
	r := &runner{ctx: ctx, m: m, time: newTiming(m), pairs: m.ComputePairs(), threads: max(1, k.Threads)}
	r.net = &network{r: r, threads: r.threads}
	errs, compared := make([]error, m.Banks()), make([]int64, m.Banks())
	busiest, sum, loads := r.eachOf(m.Banks(), func(g int) (busiest, sum, loads int64) {
		mem := make([]uint32, 2*size+max(words, histogramBins))
		x := &interp{t: &r.time, mem: mem, clean: math.MaxUint32, count: histogramBins, start3: size}
		for s := g * r.pairs; s < (g+1)*r.pairs && errs[g] == nil; s++ {
			if errs[g] = ctx.Err(); errs[g] != nil {
				break
			}
			if k.Kernel == "axpy" || k.Kernel == "dot" {
				x.clean = 0 // of sums
			}
			d := dice(k.Seed<<20 + uint64(s)*regularSalt)
			for i := range mem {
				mem[i] = 0
			}
			for i := range n {
				mem[i], mem[size+i] = uint32(d.below(1<<31))<<1+1, uint32(d.below(1<<31))
				if k.Kernel == "histogram" {
					mem[i], mem[size+i] = mem[i]>>16%histogramBins, 0
				}
			}
			in := slices.Clone(mem)
			end := [3]int64{n, size + n, size + n}
			if k.Kernel == "filter" {
				end[1] = math.MaxInt64
			}
			if k.Kernel == "histogram" {
				end[2] = math.MaxInt64
			}
			x.load(p.Code, [3]int64{0, size, size}, end)
			x.reg[ConstReg] = map[string]uint32{"axpy": regularFactor, "filter": regularThreshold}[k.Kernel]
			x.run(0)
			busiest, sum, loads = max(busiest, x.cycles), sum+x.cycles, loads+int64(x.loads)
			var words int64
			words, errs[g] = k.compare(s, in, x, n, size)
			compared[g] += words
		}
		return busiest, sum, loads
	})
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	res := &RegularResult{Kernel: k.Kernel, PerSPU: k.PerSPU, SPUs: spus, Cycles: busiest, Mean: float64(sum) / float64(spus), Loads: loads, Checked: "plain loop"}
	for _, c := range compared {
		res.Compared += c
	}
	res.Entries = float64(n) * float64(spus) / (float64(busiest) / (m.Clocks.SPU * 1e6))
	return res, nil
}

// compare sets what an SPU has beside what plain loops make of its inputs.
func (k Regular) compare(s int, in []uint32, x *interp, n, size int64) (compared int64, err error) {
	x1, y := in[:n], in[size:size+n]
	var want []uint32
	got := x.mem[size:]
	switch k.Kernel {
	case "axpy":
		for i := range x1 {
			want = append(want, y[i]+regularFactor*x1[i])
		}
	case "dot":
		sum := uint32(0)
		for i := range x1 {
			sum += x1[i] * y[i]
		}
		want, got = []uint32{sum}, []uint32{x.reg[Reg2]}
	case "filter":
		for _, v := range x1 {
			if v > regularThreshold {
				want = append(want, v)
			}
		}
		if kept := x.walk[1].at - size; kept != int64(len(want)) {
			return 0, fmt.Errorf("%w: SPU %d kept %d entries, the plain loop %d", ErrCheck, s, kept, len(want))
		}
	case "histogram":
		want = make([]uint32, histogramBins)
		for _, v := range x1 {
			want[v]++
		}
	}
	for i, w := range want {
		if got[i] != w {
			return 0, fmt.Errorf("%w: %s of SPU %d has %d at %d, the plain loop %d", ErrCheck, k.Kernel, s, got[i], i, w)
		}
	}
	return int64(len(want)), nil
}
