package sram

// execFunc executes steps on a group, whose rows are slots.
type execFunc = func(ops []microOp, rows [][groupWords]uint64)

// twin is a pair of executors that do the same as execLarge and execNeural.
type twin struct {
	name   string
	large  execFunc
	neural execFunc
}

// twins are the executors of this processor, the fastest first, plain Go last. The
// build tag purego leaves only that.
var twins = append(simdTwins(), twin{"go", execLarge, execNeural})

// fastest executes steps by the first of twins.
var fastest = twins[0]

// Executor names the instructions that rows are computed with: avx512, avx2 or go.
func Executor() string { return fastest.name }
