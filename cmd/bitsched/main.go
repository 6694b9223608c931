// Command bitsched schedules logic circuits onto computing SRAM arrays and
// checks the result bit by bit.
//
// Each subcommand has a file of its own; it holds flags and printing, and the
// work is done by the packages below. See [run] for the exit codes.
package main

import "os"

func main() {
	os.Exit(run(os.Args[1:]))
}
