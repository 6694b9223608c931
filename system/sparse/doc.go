// Package sparse executes sparse kernels on a Gearbox stack: a stack of DRAM with a
// small processor (SPU) at every second subarray, a dispatcher in each bank, and
// links between them (Lenjani et al., ISCA 2022).
//
// Every nonzero of an active column is fetched by one SPU, every pair for another
// SPU crosses the modelled line, TSV and ring once, and is accumulated where it
// arrives. Cycles are a by-product of that execution. A result is compared with that
// of package reference before it is reported.
//
//	m, err := matrix.Generate("gen:rmat,scale=12,undirected", 1)
//	v, err := sparse.LookupVariant("v3")
//	res, err := sparse.Run(ctx, "pagerank", m, sparse.DefaultAppOptions(), sparse.Config{
//		Machine: sparse.Default(), Variant: v, Type: sparse.F32, Long: -1, Check: true, Threads: 2}, nil)
//	fmt.Println(res.Seconds, res.Steps)
//
// It does not model refresh, ECC, transfers from and to the host, or what the cores
// of the logic layer execute; docs/sparse.md has the model, its readings of what the
// paper leaves open, and the figures.
//
// Files by mechanism: place.go who owns what; spu.go what an SPU does pair by pair,
// net.go line, ring, TSV and logic layer; run.go the six steps of an iteration, app.go
// the applications, log.go and package reference the checks.
//
// Invariants, asserted in every run: each nonzero of an active column is processed
// once; the pairs that are sent are stored, dispatched and accumulated once; occupied
// slots of a ring are the hops of its pairs, and none is left at a barrier; outputs
// are clean after Applying, and each entry of the frontier lies with its owner. The
// result depends neither on the number of threads nor, for integers, on the variant.
package sparse
