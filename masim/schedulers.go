package masim

// Schedulers lists every scheduler, the default first.
var Schedulers = []Scheduler{}
