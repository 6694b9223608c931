package arith

import (
	"slices"
	"strings"

	"github.com/bitsched/bitsched/sram"
)

// Names returns the full names of all operations: those on integers for a width,
// those on floating-point numbers for every format.
func Names(width int) []string {
	var names []string
	for i := range Operations {
		if o := &Operations[i]; !o.IsFloat() {
			names = append(names, o.FullName(Type{Width: width}))
		}
	}
	for _, f := range Formats {
		for i := range Operations {
			if o := &Operations[i]; o.IsFloat() {
				names = append(names, o.FullName(Type{Width: f.Width(), Float: f}))
			}
		}
	}
	return names
}

// RegisterFile is how many registers of 32 bits remain in an array for code that
// uses some operations, the scratch rows of the most demanding one set aside.
type RegisterFile struct {
	Tech      string
	Op        string // the operations
	Rows      int
	Reserved  int
	Scratch   int
	Width     int // of a register in bits
	Registers int
}

// Registers returns the register files for code of additions, subtractions and
// products, and for code of all operations, on fp32 numbers, from the scratch
// rows of each operation by its full name; operations that are missing do not
// count.
func Registers(t *sram.Technology, rows int, scratch map[string]int) []RegisterFile {
	var files []RegisterFile
	for _, set := range []struct {
		name string
		ops  []string
	}{{"fp32 add, sub and mul", []string{"add", "sub", "mul"}}, {"all of fp32", nil}} {
		f := RegisterFile{Tech: t.Name, Op: set.name, Rows: rows, Reserved: t.Reserved, Width: 32}
		found := false
		for name, n := range scratch {
			if rest, ok := strings.CutPrefix(name, "fp32."); ok && (set.ops == nil || slices.Contains(set.ops, rest)) {
				f.Scratch, found = max(f.Scratch, n), true
			}
		}
		if found {
			f.Registers = (rows - t.Reserved - f.Scratch) / f.Width
			files = append(files, f)
		}
	}
	return files
}
