package sweep_test

import (
	"fmt"
	"strings"

	"github.com/bitsched/bitsched/benchmarks/sweep"
)

func ExampleRead() {
	const text = `version: 1
title: Shapes of tiles
command: [tilesize, mm_outer]
matrix:
  fidelity: [gate, word]
  threads: [1, 2]
exclude:
  - {fidelity: gate, threads: 2}
seeds: 2
`
	plan, err := sweep.Read(strings.NewReader(text), "plan.yaml", "v1", sweep.ReadOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range plan.Jobs {
		fmt.Println(&plan.Jobs[i])
	}
	_, err = sweep.Read(strings.NewReader("version: 1\ncommand: [synth]\nmatirx: {}\n"), "bad.yaml", "v1", sweep.ReadOptions{})
	fmt.Println(err)
	// Output:
	// tilesize mm_outer --fidelity=gate --threads=1 --seed=1 --json
	// tilesize mm_outer --fidelity=gate --threads=1 --seed=2 --json
	// tilesize mm_outer --fidelity=word --threads=1 --seed=1 --json
	// tilesize mm_outer --fidelity=word --threads=1 --seed=2 --json
	// tilesize mm_outer --fidelity=word --threads=2 --seed=1 --json
	// tilesize mm_outer --fidelity=word --threads=2 --seed=2 --json
	// bad.yaml:3: unknown key "matirx", expected title, flags, matrix, include, exclude, seeds or timeout
	//     3 | matirx: {}
}
