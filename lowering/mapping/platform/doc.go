// Package platform describes memories that compute as data: a tensorised compute
// function with the layout of its operands in a unit (ARES, section IV), levels of
// units with links between them, and the unit itself, which one of three executors
// knows: an array that computes on bitlines, a crossbar, or lanes beside a bank.
//
// The files in data are the four platforms of the paper's evaluation and variants;
// code knows executors and no platform. [Load] reads a name or a file, strictly.
// What a value comes from, and whether that was confirmed, stands in the file too.
package platform
