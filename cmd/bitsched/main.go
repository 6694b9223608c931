// Command bitsched schedules logic circuits onto computing SRAM arrays and
// proves the result right.
package main

func main() {}
