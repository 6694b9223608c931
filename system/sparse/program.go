package sparse

import "fmt"

// Program is at most 8 instructions that SPUs get before a step. It begins at
// instruction 0, and ends where an instruction has read the last word of an array
// that it wants more of, or comes back to instruction 0 with nothing left to read.
type Program struct {
	Name    string        `json:"name"`
	Step    int           `json:"step"` // 1 to 6
	Walkers [3]string     `json:"walkers"`
	Code    []Instruction `json:"-"`
}

// ScatterProgram is that of figure 9: C[A[i]] += B[i].
func ScatterProgram(add Op) Program {
	return Program{"Scatter", 0, [3]string{"A", "B", "C"}, []Instruction{
		{Shift: [3]Shift{Access, Access}, NextPC1: 1},
		{RegSrc: Walker2Reg, RegDst: Reg1, IndirectSrc: Walker1Reg, IndirectDst: 3, Shift: [3]Shift{2: HoldOnTrue}, Cond: IfLocal, LongLocal: true, NextPC1: 2},
		{Op2: add, Src1Op2: Walker3Reg, Src2Op2: Reg1, NextPC1: 3},
		{Shift: [3]Shift{Access, Access, Hold}, Write: [3]bool{2: true}, NextPC1: 1},
	}}
}

// PackProgram is OffsetPacking, figure 10; columns without nonzeros are left out.
func PackProgram() Program {
	return Program{"OffsetPacking", 2, [3]string{"frontier", "pack", "offsets"}, []Instruction{
		{Shift: [3]Shift{Access}, NextPC1: 1},
		{IndirectSrc: Walker1Reg, IndirectDst: 3, Shift: [3]Shift{2: Access}, LongLocal: true, NextPC1: 2},
		{RegSrc: Walker3Reg, RegDst: Walker2Reg, Shift: [3]Shift{2: Hold}, NextPC1: 3},
		{Op2: OpSubU32, Src1Op2: Walker3Reg, Src2Op2: Walker2Reg, Shift: [3]Shift{Access, OnTrue}, Write: [3]bool{1: true}, Cond: IfNonzero, NextPC1: 4},
		{RegSrc: Walker3Reg, RegDst: Walker2Reg, Shift: [3]Shift{1: Access}, Write: [3]bool{1: true}, NextPC1: 5},
		{RegSrc: Walker1Reg, RegDst: Walker2Reg, Shift: [3]Shift{Access, Access}, Write: [3]bool{1: true}, NextPC1: 1},
	}}
}

// LocalProgram is LocalAccumulations, figure 11.
func LocalProgram(ring Semiring, replicate, checkClean bool) Program {
	f := Walker1Reg
	if ring.ID { // the values of a column's pairs are its number
		f = Walker2Reg
	}
	code := []Instruction{
		{Shift: [3]Shift{OnFalse, OnTrue}, DecLoop: true, Cond: IfLoop, NextPC1: 3, NextPC2: 1},
		{IndirectSrc: Walker1Reg, IndirectDst: 2, Shift: [3]Shift{Access}, NextPC1: 2},
		{RegSrc: Walker1Reg, RegDst: LoopCount, DecLoop: true, Shift: [3]Shift{Access, Access}, NextPC1: 3},
		{RegSrc: Walker2Reg, RegDst: Reg3, DecLoop: true, Shift: [3]Shift{1: Access}, NextPC1: 4},
		{Op1: ring.Mul, Src1Op1: f, Src2Op1: Walker2Reg, IndirectSrc: Reg3, IndirectDst: 3, Shift: [3]Shift{2: HoldOnTrue}, Cond: IfLocal, LongLocal: replicate, NextPC1: 5},
		{Op2: ring.Acc, Src1Op2: Walker3Reg, Src2Op2: Reg1, CheckClean: checkClean, NextPC1: 6},
		{Shift: [3]Shift{OnFalse, OnTrue, Hold}, Write: [3]bool{2: true}, DecLoop: true, Cond: IfLoop, NextPC1: 3, NextPC2: 1},
	}
	if checkClean {
		code[6].CleanDst, code[6].CleanIndex = CleanToBank, Reg3
	}
	return Program{"LocalAccumulations", 3, [3]string{"pack", "pairs", "outputs"}, code}
}

// RemoteProgram is RemoteAccumulations.
func RemoteProgram(ring Semiring, checkClean bool) Program {
	code := []Instruction{
		{Shift: [3]Shift{Access}, NextPC1: 1},
		{RegSrc: Walker1Reg, RegDst: Reg3, IndirectSrc: Walker1Reg, IndirectDst: 3, Shift: [3]Shift{0: Access, 2: Hold}, NextPC1: 2},
		{Op2: ring.Acc, Src1Op2: Walker3Reg, Src2Op2: Walker1Reg, CheckClean: checkClean, NextPC1: 3},
		{Shift: [3]Shift{0: Access, 2: Hold}, Write: [3]bool{2: true}, NextPC1: 1},
	}
	if checkClean {
		code[2].CleanDst, code[2].CleanIndex = CleanToWalker, Reg3
	}
	return Program{"RemoteAccumulations", 5, [3]string{"received", "clean list", "outputs"}, code}
}

// GatherProgram is the first part of Applying in sparse iterations.
func GatherProgram() Program {
	return Program{"Applying, outputs of the clean list", 6, [3]string{"clean list", "results", "outputs"}, []Instruction{
		{Shift: [3]Shift{Access}, NextPC1: 1},
		{IndirectSrc: Walker1Reg, IndirectDst: 3, Shift: [3]Shift{2: Hold}, NextPC1: 2},
		{Op1: OpFirst, Src1Op1: Walker3Reg, Op2: OpClean, Src1Op2: Walker3Reg, RegSrc: Walker1Reg, RegDst: Walker2Reg,
			Shift: [3]Shift{1: OnTrue, 2: HoldOnTrue}, Write: [3]bool{1: true, 2: true}, Cond: IfUnclean, NextPC1: 3},
		{RegSrc: Reg1, RegDst: Walker2Reg, Shift: [3]Shift{Access, Access}, Write: [3]bool{1: true}, NextPC1: 1},
	}}
}

// SettleProgram is the second: results meet y.
func SettleProgram(op Op) Program {
	return Program{"Applying, y and the next frontier", 6, [3]string{"results", "frontier", "y"}, []Instruction{
		{Shift: [3]Shift{Access}, NextPC1: 1},
		{RegSrc: Walker1Reg, RegDst: Reg3, IndirectSrc: Walker1Reg, IndirectDst: 3, Shift: [3]Shift{0: Access, 2: Hold}, NextPC1: 2},
		{Op2: op, Src1Op2: Walker3Reg, Src2Op2: Walker1Reg, Cond: IfChanged, NextPC1: 3},
		{RegSrc: Reg3, RegDst: Walker2Reg, Shift: [3]Shift{1: Access, 2: Hold}, Write: [3]bool{1: true, 2: true}, NextPC1: 4},
		{RegSrc: Walker1Reg, RegDst: Walker2Reg, Shift: [3]Shift{Access, Access}, Write: [3]bool{1: true}, NextPC1: 1},
	}}
}

// MergeProgram is LocalAccumulations of v0: each row of the SPU is merged with the
// chunk of the frontier. Both lists are pairs in rising order of columns, and end in
// the greatest index.
func MergeProgram(ring Semiring) Program {
	f := Walker1Reg
	if ring.ID {
		f = Walker2Reg
	}
	return Program{"LocalAccumulations, rows", 3, [3]string{"frontier", "rows", "outputs"}, []Instruction{
		{IndirectSrc: Reg3, IndirectDst: 1, Shift: [3]Shift{Access, Access, Hold}, NextPC1: 1},
		{Shift: [3]Shift{PairOnTrue}, Cond: IfBelow, NextPC1: 1, NextPC2: 2},
		{Shift: [3]Shift{1: PairOnTrue}, Cond: IfAbove, NextPC1: 1, NextPC2: 3},
		{Op2: OpInc, Src1Op2: Walker1Reg, Shift: [3]Shift{OnTrue, OnTrue}, Cond: IfNonzero, NextPC1: 4, NextPC2: 6},
		{Op1: ring.Mul, Src1Op1: f, Src2Op1: Walker2Reg, NextPC1: 5},
		{Op2: ring.Acc, Src1Op2: Walker3Reg, Src2Op2: Reg1, Shift: [3]Shift{Access, Access}, NextPC1: 1},
		{Shift: [3]Shift{2: Access}, Write: [3]bool{2: true}},
	}}
}

// GatherRowsProgram is the first part of Applying in sparse iterations of v0, which
// has no clean list: it looks at all outputs. Reg3 begins as the first of their numbers.
func GatherRowsProgram() Program {
	return Program{"Applying, outputs of all rows", 6, [3]string{"", "results", "outputs"}, []Instruction{
		{Shift: [3]Shift{2: Hold}, NextPC1: 1},
		{Op1: OpFirst, Src1Op1: Walker3Reg, Op2: OpInc, Src1Op2: Reg3, RegSrc: Reg3, RegDst: Walker2Reg,
			Shift: [3]Shift{1: OnTrue, 2: SkipOnFalse}, Write: [3]bool{1: true}, Cond: IfUnclean, NextPC1: 2},
		{Op2: OpClean, Src1Op2: Walker3Reg, RegSrc: Reg1, RegDst: Walker2Reg, Shift: [3]Shift{1: Access, 2: Access}, Write: [3]bool{1: true, 2: true}},
	}}
}

// ScanProgram sends replicas that are not clean down.
func ScanProgram() Program {
	return Program{"Applying, replicas", 6, [3]string{"", "", "replicas"}, []Instruction{
		{Shift: [3]Shift{2: Hold}, NextPC1: 1},
		{Op1: OpFirst, Src1Op1: Walker3Reg, Op2: OpInc, Src1Op2: Reg3, Shift: [3]Shift{2: SkipOnFalse}, CleanDst: PairDown, CleanIndex: Reg3, Cond: IfUnclean, NextPC1: 2},
		{Op2: OpClean, Src1Op2: Walker3Reg, Shift: [3]Shift{2: Access}, Write: [3]bool{2: true}},
	}}
}

// CollectProgram sends results down.
func CollectProgram() Program {
	return Program{"Applying, results", 6, [3]string{"results", "", ""}, []Instruction{
		{Shift: [3]Shift{Access}, NextPC1: 1},
		{RegSrc: Walker1Reg, RegDst: Reg3, Shift: [3]Shift{Access}, NextPC1: 2},
		{Op1: OpFirst, Src1Op1: Walker1Reg, Shift: [3]Shift{Access}, CleanDst: PairDown, CleanIndex: Reg3, NextPC1: 1},
	}}
}

// DenseOutProgram is the first part of Applying where all outputs count.
func DenseOutProgram(ring Semiring) Program {
	sub := OpSubU32
	if ring.Float {
		sub = OpSubF32
	}
	return Program{"Applying, all outputs", 6, [3]string{"y", "new y", "outputs"}, []Instruction{
		{Shift: [3]Shift{0: Access, 2: Hold}, NextPC1: 1},
		{Op1: OpAddConst, Src1Op1: Walker3Reg, Op2: OpClean, Src1Op2: Walker3Reg, Shift: [3]Shift{2: Access}, Write: [3]bool{2: true}, NextPC1: 2},
		{RegSrc: Reg1, RegDst: Walker2Reg, Op1: sub, Src1Op1: Reg1, Src2Op1: Walker1Reg, Shift: [3]Shift{1: Access}, Write: [3]bool{1: true}, NextPC1: 3},
		{Op2: OpAddAbsF32, Src1Op2: Reg2, Src2Op2: Reg1, Shift: [3]Shift{0: Access, 2: Hold}, NextPC1: 1},
	}}
}

// DenseFrontProgram is the second: the frontier is y times a factor.
func DenseFrontProgram(ring Semiring) Program {
	return Program{"Applying, all of the next frontier", 6, [3]string{"new y", "frontier", "factors"}, []Instruction{
		{Shift: [3]Shift{0: Access, 2: Access}, NextPC1: 1},
		{Op1: ring.Mul, Src1Op1: Walker1Reg, Src2Op1: Walker3Reg, Op2: OpAddZero, Src1Op2: Reg2, Src2Op2: Walker1Reg, RegSrc: Reg3, RegDst: Walker2Reg,
			Shift: [3]Shift{1: Access}, Write: [3]bool{1: true}, NextPC1: 2},
		{RegSrc: Reg1, RegDst: Walker2Reg, Op2: OpInc, Src1Op2: Reg3, Shift: [3]Shift{Access, Access, Access}, Write: [3]bool{1: true}, NextPC1: 1},
	}}
}

// Lower returns the programs of an application, or that of scatter.
func Lower(app string, v Variant, t Type) ([]Program, error) {
	if app == "scatter" {
		return []Program{ScatterProgram(OpAccU32)}, nil
	}
	a, err := LookupApp(app)
	if err != nil {
		return nil, err
	}
	name, err := a.ring(DefaultAppOptions(), t)
	if err != nil {
		return nil, err
	}
	ring, ok := LookupSemiring(name)
	if !ok {
		return nil, fmt.Errorf("type %q, expected f32 or u32", t)
	}
	gather := GatherProgram()
	if v.Rows {
		gather = GatherRowsProgram()
	}
	list := []Program{AppendProgram(1, "frontier"), PackProgram(), LocalProgram(ring, v.Replicate, app != "pagerank"),
		DispatchProgram(false), AppendProgram(4, "received"), RemoteProgram(ring, app != "pagerank")}
	if v.Rows {
		list = []Program{AppendProgram(1, "frontier"), MergeProgram(ring)}
	}
	switch app {
	case "pagerank":
		list = append(list, DenseOutProgram(ring), DenseFrontProgram(ring))
	case "bfs":
		list = append(list, gather, SettleProgram(OpKeep))
	case "sssp", "cc":
		list = append(list, gather, SettleProgram(OpAccMin))
	default:
		list = append(list, gather, CollectProgram())
	}
	switch {
	case v.Replicate:
		list = append(list, ScanProgram())
	case v.Rows && (app == "pagerank" || app == "bfs" || app == "sssp" || app == "cc"):
		list = append(list, CollectProgram()) // of the next frontier, which is broadcast
	}
	return list, nil
}
