package multicore

import "github.com/bitsched/bitsched/lowering/micro"

// Where a stage was executed.
const (
	OnCores  = "cores"
	AtL3     = "L3"     // streams of its loops computed or wrote at the banks
	InArrays = "arrays" // some of it on bitlines
)

// Stage is a part of the run, from where thread 0 comes to it to where it comes to the next:
// as far as thread 0 makes micro-ops ahead, and what others still do then is the next one's.
type Stage struct {
	Name   string `json:"name"` // of the function that is called, "" for a statement
	At     string `json:"at"`   // line and column
	Cycles int64  `json:"cycles"`
	Place  string `json:"place"`
}

// watch notes when thread 0 comes to stages.
func (r *runner) watch() {
	r.stages = make([]int64, len(r.code.Stages()))
	r.stage = -1
	r.code.Watch(func(stage int) {
		r.pass(r.m.Engine.Now())
		r.stage = stage
	})
}

func (r *runner) pass(now int64) {
	if r.stage >= 0 {
		r.stages[r.stage] += now - r.since
		r.since = now
	}
}

// stageReport says what stages took; nothing in samples, which leave out parts of them.
func (r *runner) stageReport(t *Report) (list []Stage) {
	if r.sampler != nil {
		return nil
	}
	r.pass(t.Cycles)
	near := map[string]bool{}
	for i := range t.Streams.Loops {
		if l := &t.Streams.Loops[i]; l.Offloaded > 0 && l.Instances+l.Nested > 0 {
			near[l.Var] = true
		}
	}
	for i, s := range r.code.Stages() {
		list = append(list, Stage{s.Name, s.At, r.stages[i], place(&s, near)})
	}
	return list
}

func place(s *micro.Stage, near map[string]bool) string {
	for _, v := range s.Loops {
		if near[v] {
			return AtL3
		}
	}
	return OnCores
}
