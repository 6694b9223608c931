package stream

import "github.com/bitsched/bitsched/tdfg/lattice"

// DepKind says what a stream or a loop needs a value for.
type DepKind uint8

// The kinds of dependences.
const (
	AddressDep   DepKind = iota // in a subscript
	ValueDep                    // in the computation, or the initial value of a Reduce
	ConditionDep                // in the condition of a stream
	LoopDep                     // in a bound or the condition of a loop
)

var depNames = [...]string{"address", "value", "condition", "loop"}

func (k DepKind) String() string { return depNames[k] }

// Dep is a dependence: a stream's value is needed by another stream, a loop, or
// by the stream itself in the next iteration.
type Dep struct {
	From *Stream
	To   Stmt
	Kind DepKind
}

// Deps lists the dependences on values in program order of what needs them. A
// checked graph has no others but those through memory.
func (g *Graph) Deps() []Dep {
	streams := map[string]*Stream{}
	g.Walk(func(_ []*Loop, s *Stream) { streams[s.Name] = s })
	var list []Dep
	var to Stmt
	first := 0 // dependence of to
	add := func(kind DepKind, names []string) {
		for _, name := range names {
			from := streams[name]
			if from == nil {
				continue
			}
			known := false
			for _, d := range list[first:] {
				known = known || d == Dep{from, to, kind}
			}
			if !known {
				list = append(list, Dep{from, to, kind})
			}
		}
	}
	var visit func([]Stmt)
	visit = func(body []Stmt) {
		for _, st := range body {
			to, first = st, len(list)
			switch st := st.(type) {
			case *Stream:
				for _, x := range st.Index {
					add(AddressDep, x.Symbols())
				}
				add(ValueDep, refs(st.Value))
				add(ValueDep, refs(st.Init))
				add(ConditionDep, refs(st.If))
			case *Loop:
				add(LoopDep, bounds(st))
				add(LoopDep, refs(st.While))
				visit(st.Body)
			}
		}
	}
	visit(g.Body)
	return list
}

// refs lists the names in an expression.
func refs(x *Expr) []string {
	var names []string
	x.Walk(func(y *Expr) {
		if y.Kind == RefExpr {
			names = append(names, y.Name)
		}
	})
	return names
}

// bounds lists the names in the bounds of a loop.
func bounds(l *Loop) []string {
	x := []lattice.Expr{l.Range.Lo, l.Range.Hi}
	if l.Open {
		return x[0].Symbols()
	}
	return append(x[0].Symbols(), x[1].Symbols()...)
}
