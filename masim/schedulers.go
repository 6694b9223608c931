package masim

// Schedulers lists every scheduler, the default first.
var Schedulers = []Scheduler{
	{"bitsched", "ours: order by minimum cuts, then anneal order and arrays on exact copies", runBitsched},
	{"masim", "the MASIM paper: random CICPP-driven schedules and iterative improvement", runMASIM},
}
