package micro

import (
	"strings"

	"github.com/bitsched/bitsched/tdfg/stream"
)

// Stage is a part of a program that is executed after the part before it: the statements of
// a call, or one statement of the function itself.
type Stage struct {
	Name  string   // of the function that is called, "" for a statement of the function
	At    string   // line and column of the call or the statement, "" for nowhere
	Loops []string // variables of the loops in it
	nodes map[stream.Stmt]bool
}

// stages finds the stages of a program.
func (p *Program) stages() {
	body := p.graph.Body
	if len(body) == 1 {
		if l, ok := body[0].(*stream.Loop); ok && l.Parallel == nil && l.While == nil {
			lo, known := l.Range.Lo.Const()
			if hi, ok := l.Range.Hi.Const(); ok && known && hi == lo+1 {
				body = l.Body
			}
		}
	}
	for _, st := range body {
		s := Stage{nodes: map[stream.Stmt]bool{st: true}}
		at := ""
		g := stream.Graph{Body: []stream.Stmt{st}}
		g.Walk(func(loops []*stream.Loop, x *stream.Stream) {
			s.nodes[x] = true
			for _, l := range loops {
				if !s.nodes[l] || l == st && len(s.Loops) == 0 {
					s.Loops = append(s.Loops, l.Var)
				}
				s.nodes[l] = true
			}
			if at == "" {
				at = x.At
			}
		})
		s.Name, s.At = stagePlace(at)
		if n := len(p.parts); n > 0 {
			last := &p.parts[n-1]
			if at == "" || s.Name != "" && s.Name == last.Name && s.At == last.At {
				last.Loops = append(last.Loops, s.Loops...)
				for x := range s.nodes {
					last.nodes[x] = true
				}
				continue
			}
		}
		p.parts = append(p.parts, s)
	}
	find := func(st stream.Stmt) int {
		for i := range p.parts {
			if p.parts[i].nodes[st] {
				return i
			}
		}
		return -1
	}
	for _, l := range p.loops {
		p.loopStage = append(p.loopStage, find(l.src))
	}
	for _, tm := range p.streams {
		stage := -1
		if tm != nil {
			stage = find(tm.s)
		}
		p.streamStage = append(p.streamStage, stage)
	}
}

// stagePlace returns the outermost call that the place of a statement names, or where the
// statement is.
func stagePlace(at string) (name, place string) {
	if i := strings.LastIndex(at, ", in "); i >= 0 {
		name, place, _ = strings.Cut(at[i+len(", in "):], " called at ")
		return name, place
	}
	if list := strings.Split(at, ":"); len(list) >= 3 {
		n := len(list)
		return "", strings.Join(list[n-2:], ":")
	}
	return "", ""
}

// Has reports whether a loop or a stream is in the stage.
func (s *Stage) Has(st stream.Stmt) bool { return s.nodes[st] }

// Stages returns the stages of the program, in their order.
func (p *Program) Stages() []Stage { return p.parts }

// Watch calls a function each time that thread 0 begins to make micro-ops of another stage
// than before.
func (p *Program) Watch(reached func(stage int)) { p.reached, p.stage = reached, -1 }

// pass tells of the stage of an event of thread 0.
func (p *Program) pass(e *stream.Event) {
	stage := -1
	switch e.What {
	case stream.Enter:
		stage = p.loopStage[e.Stream]
	case stream.Step:
		stage = p.streamStage[e.Stream]
	}
	if stage >= 0 && stage != p.stage {
		p.stage = stage
		p.reached(stage)
	}
}
