// Package matrix holds sparse matrices in compressed columns: it reads and writes
// files, generates matrices and reorders them. It knows no machine.
//
// A Matrix is y = A x with A in columns: entry k of column c adds Val[k]·x[c] to
// y[Idx[k]]. Of a graph, an edge u -> v is an entry in column u and row v.
//
//	m, info, err := matrix.Open("web.mtx.gz", matrix.Options{})
//	g, err := matrix.Generate("gen:rmat,scale=16,edgefactor=16,undirected", 1)
//
// Formats are told by content: MatrixMarket, lists of edges (SNAP), the cache of
// this package (.bsx); each as it is, in gzip, or alone in a .zip or .tar.gz.
// Errors of a text are FILE:LINE: message, those of a binary file FILE: message.
//
// Invariants ([Matrix.Check]): offsets rise, the rows of a column rise strictly.
// A generator gives the same bytes for the same seed.
//
// Stand-ins have the sizes of the matrices of table 3 of Gearbox (ISCA 2022) and
// the degrees that JSON logs of Gunrock show; not their structure.
package matrix
