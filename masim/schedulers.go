package masim

// Schedulers lists every scheduler, the default first.
var Schedulers = []Scheduler{
	{"masim", "the MASIM paper: random CICPP-driven schedules and iterative improvement", runMASIM},
}
