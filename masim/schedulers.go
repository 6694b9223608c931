package masim

// Schedulers lists every scheduler, the default first. [Lookup] knows more: any
// order of a rival with any instruction generation.
var Schedulers = append([]Scheduler{
	{"bitsched", "ours: order by minimum cuts, then anneal order and arrays on exact copies", runBitsched, true},
	{"masim", "the MASIM paper: random CICPP-driven schedules and iterative improvement", runMASIM, false},
	{"masim-noimpr", "the MASIM paper without iterative improvement: NoImpr", runMASIMNoImpr, false},
	{"optimal", "the fewest copies, with a proof: netlists of 64 inputs and gates at most", runOptimal, false},
}, publishedRivals()...)
