//go:build amd64 && !purego

package bitrow

import "golang.org/x/sys/cpu"

func twins() []Set {
	var list []Set
	if cpu.X86.HasAVX512F {
		list = append(list, Set{"avx512", inParts(runAVX512)})
	}
	if cpu.X86.HasAVX2 {
		list = append(list, Set{"avx2", inParts(runAVX2)})
	}
	return list
}

// partSteps are executed at once: assembly is not interrupted, so that a collection of
// garbage waits for it.
const partSteps = 1 << 14

func inParts(run func(steps *Step, n int, rows *Row)) func(rows []Row, steps []Step) {
	return func(rows []Row, steps []Step) {
		for len(steps) > 0 {
			n := min(len(steps), partSteps)
			run(&steps[0], n, &rows[0])
			steps = steps[n:]
		}
	}
}

//go:noescape
func runAVX512(steps *Step, n int, rows *Row)

//go:noescape
func runAVX2(steps *Step, n int, rows *Row)
