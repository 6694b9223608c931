// Package cost turns the counts of a program into energy, time and area.
//
// A [Table] is what one source publishes of an array: a data file in YAML, each
// value with its unit, technology node, voltage, place in the source, and
// whether it was confirmed there. Nothing is scaled from one node, voltage or
// geometry to another, and nothing is filled in: where a table lacks a value,
// the line of a [Breakdown] that needs it is unknown, and the total says what it
// leaves out.
package cost
