// Package known has well-known kernels in C, as one would write them: what a user of
// arrays may come with, beside the workloads of the papers.
package known

import (
	"embed"
	"path"
	"strings"

	"github.com/bitsched/bitsched/benchmarks/workload"
)

//go:embed c/*.c
var files embed.FS

// Names are the kernels, in the order of their names. floyd is in place, in an order that
// arrays cannot keep; floyd_copied is the same with the row and the column of a step copied.
func Names() []string {
	list, err := files.ReadDir("c")
	if err != nil {
		panic(err) // it is part of the program
	}
	var names []string
	for _, f := range list {
		names = append(names, strings.TrimSuffix(f.Name(), ".c"))
	}
	return names
}

// Kernel returns a kernel, not compiled yet; each has a size N.
func Kernel(name string) (*workload.Kernel, error) {
	file := path.Join("c", name+".c")
	text, err := files.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return workload.FromSource(file, string(text), nil), nil
}
