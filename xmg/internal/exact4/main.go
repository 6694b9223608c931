// Command exact4 finds minimum XMGs of all functions of four inputs and writes
// the table that package xmg embeds (xmg/npn4.txt; go generate ./xmg).
//
// Functions that differ only in the order and the negation of the inputs and in
// the negation of the output are one NPN class; there are 222. The search goes
// through all sequences of 1, 2, ..., 5 gates up to these symmetries, so that
// what it first finds with k gates needs k; with five it has found all. It takes
// some 40 s.
//
// (Haaswijk, Soeken, Amarù, Gaillardon, De Micheli, "A novel basis for logic
// rewriting", ASP-DAC 2017, have such a table; theirs is found by SAT.)
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
)

// keepStructures is how many structures of a class are of use in rewriting: of the
// gates that all can save on the EPFL circuits, six save nine tenths.
const keepStructures = 6

func main() {
	out := flag.String("o", "npn4.txt", "write the table to this `file`")
	keep := flag.Int("keep", keepStructures, "structures to keep for a class, at `most`")
	flag.Parse()
	s := newSearch(maxSteps)
	s.run()
	var b bytes.Buffer
	err := s.write(&b, *keep)
	if err == nil {
		err = os.WriteFile(*out, b.Bytes(), 0o666)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "exact4: %v\n", err)
		os.Exit(1)
	}
}
