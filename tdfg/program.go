package tdfg

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// Program is a kernel: host code around graphs.
type Program struct {
	Name    string
	Sizes   []lattice.Symbol // parameters that sizes and bounds may use
	Arrays  []*Array
	Scalars []Scalar // in the order of their declarations
	Body    []Stmt

	// Reassociate says that sums of floating-point numbers may be of any order. It
	// allows an optimiser to change the graphs so; in a Reduce the order is open
	// anyway.
	Reassociate bool
}

// Scalar is a variable of the host, or an argument of the kernel.
type Scalar struct {
	Param
	Init  scalar.Value
	Input bool // given by the caller
}

// Stmt is a statement of the host: *Loop or *Region.
type Stmt interface{ stmt() }

// Loop executes its body for Var = Lo, Lo+Step, ... while it is below Hi.
type Loop struct {
	Var    string
	Lo, Hi lattice.Expr
	Step   int64 // at least 1
	Body   []Stmt
}

// Region executes a graph on the arrays and scalars of the program. Its scope has
// the arrays of the program, or some of them, by name.
type Region struct {
	Graph *Graph
	// At has the places in the source of the elements that it is made of, as file:line:col, as
	// stream.Stream has them. The text form does not have it.
	At []string
}

func (*Loop) stmt()   {}
func (*Region) stmt() {}

// Space returns the space with the sizes of the program.
func (p *Program) Space() (*lattice.Space, error) {
	s := lattice.NewSpace()
	for _, sym := range p.Sizes {
		if err := s.Declare(sym.Name, sym.Lo, sym.Hi, sym.Bounded); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Regions returns the regions in the order of the text.
func (p *Program) Regions() []*Region {
	var list []*Region
	var walk func(body []Stmt)
	walk = func(body []Stmt) {
		for _, st := range body {
			switch st := st.(type) {
			case *Loop:
				walk(st.Body)
			case *Region:
				list = append(list, st)
			}
		}
	}
	walk(p.Body)
	return list
}

// Check returns an error that says what is wrong with the program, if anything is.
func (p *Program) Check() error {
	space, err := p.Space()
	if err != nil {
		return fmt.Errorf("tdfg: program %s: %w", p.Name, err)
	}
	all := Scope{Dims: MaxDims, Space: space, Arrays: p.Arrays}
	for _, s := range p.Scalars {
		all.Params = append(all.Params, s.Param)
	}
	if err := all.Check(); err != nil {
		return err
	}
	for _, a := range p.Arrays {
		if !a.Own() {
			return fmt.Errorf("tdfg: program %s: array %s is a view or iota, expected it in a region", p.Name, a.Name)
		}
	}
	return p.checkBody(p.Body, space)
}

func (p *Program) checkBody(body []Stmt, space *lattice.Space) error {
	for _, st := range body {
		switch st := st.(type) {
		case *Loop:
			if st.Step < 1 {
				return fmt.Errorf("tdfg: loop %s: step %d, expected at least 1", st.Var, st.Step)
			}
			inner := space.Clone()
			if err := inner.Declare(st.Var, st.Lo, st.Hi.Plus(-1), true); err != nil {
				return fmt.Errorf("tdfg: loop %s: %w", st.Var, err)
			}
			if err := p.checkBody(st.Body, inner); err != nil {
				return err
			}
		case *Region:
			if err := p.checkRegion(st.Graph, space); err != nil {
				return fmt.Errorf("tdfg: region %s: %w", st.Graph.Name, err)
			}
		default:
			return fmt.Errorf("tdfg: statement %T, expected a loop or a region", st)
		}
	}
	return nil
}

func (p *Program) checkRegion(g *Graph, space *lattice.Space) error {
	for _, sym := range g.Space.Symbols() {
		if !space.Has(sym.Name) {
			return fmt.Errorf("symbol %s is neither a size nor a loop around it", sym.Name)
		}
	}
	for _, a := range g.Arrays {
		if !a.Own() {
			if p.Array(a.Name) != nil {
				return fmt.Errorf("view %s has the name of an array of the program", a.Name)
			}
			all := a.Size
			if a.View != nil {
				all = slices.Concat(all, a.View.Index)
			}
			for _, x := range all {
				for _, name := range x.Symbols() {
					if !slices.ContainsFunc(p.Sizes, func(s lattice.Symbol) bool { return s.Name == name }) && !strings.HasPrefix(name, ".") {
						return fmt.Errorf("view %s depends on %s, expected sizes only", a.Name, name)
					}
				}
			}
			continue
		}
		if b := p.Array(a.Name); b == nil || b.Type != a.Type || len(b.Size) != len(a.Size) {
			return fmt.Errorf("array %s is not the program's", a.Name)
		}
	}
	for _, s := range g.Params {
		if v := p.Scalar(s.Name); v == nil || v.Type != s.Type {
			return fmt.Errorf("scalar %s is not the program's", s.Name)
		}
	}
	return g.Check()
}

// Array returns the array of that name, nil if there is none.
func (p *Program) Array(name string) *Array {
	for _, a := range p.Arrays {
		if a.Name == name {
			return a
		}
	}
	return nil
}

// Scalar returns the scalar of that name, nil if there is none.
func (p *Program) Scalar(name string) *Scalar {
	for i := range p.Scalars {
		if p.Scalars[i].Name == name {
			return &p.Scalars[i]
		}
	}
	return nil
}

// Each calls f for every execution of a graph of the program, in order, with the
// values of the symbols, which f must not keep. It stops at the first error, or with
// that of the context.
func (p *Program) Each(ctx context.Context, sizes map[string]int64, f func(g *Graph, values map[string]int64) error) error {
	return each(ctx, p.Body, symbols(sizes), f)
}

func symbols(sizes map[string]int64) map[string]int64 {
	if sizes == nil {
		return map[string]int64{}
	}
	return maps.Clone(sizes)
}

func each(ctx context.Context, body []Stmt, values map[string]int64, f func(g *Graph, values map[string]int64) error) error {
	for _, st := range body {
		switch st := st.(type) {
		case *Region:
			if err := f(st.Graph, values); err != nil {
				return err
			}
		case *Loop:
			n, lo, err := st.trips(values)
			if err != nil {
				return err
			}
			for i := range n {
				if err := ctx.Err(); err != nil {
					return err
				}
				values[st.Var] = lo + i*st.Step
				if err := each(ctx, st.Body, values, f); err != nil {
					return err
				}
			}
			delete(values, st.Var)
		}
	}
	return nil
}

// trips returns how often a loop executes its body, and its first value.
func (l *Loop) trips(values map[string]int64) (n, lo int64, err error) {
	if lo, err = l.Lo.Eval(values); err != nil {
		return 0, 0, fmt.Errorf("tdfg: loop %s: %w", l.Var, err)
	}
	hi, err := l.Hi.Eval(values)
	if err != nil {
		return 0, 0, fmt.Errorf("tdfg: loop %s: %w", l.Var, err)
	}
	if lo >= hi {
		return 0, lo, nil
	}
	return (hi-lo-1)/l.Step + 1, lo, nil
}

// Executions returns how many times [Program.Each] calls its function, without going
// through them: loops whose variable no bound inside uses are multiplied. exact is
// false where there are more, since others take too many rounds to be counted.
func (p *Program) Executions(sizes map[string]int64) (n int64, exact bool, err error) {
	var c counter
	n, err = c.count(p.Body, symbols(sizes))
	return n, c.steps <= maxSteps && n < maxExecutions, err
}

// What Executions goes through, and counts, at most.
const (
	maxSteps      = 1 << 20
	maxExecutions = 1 << 62
)

type counter struct{ steps int }

// count returns the number of executions of graphs of a body.
func (c *counter) count(body []Stmt, values map[string]int64) (n int64, err error) {
	for _, st := range body {
		l, ok := st.(*Loop)
		if !ok {
			n = min(n+1, maxExecutions)
			continue
		}
		trips, lo, err := l.trips(values)
		if err != nil {
			return n, err
		}
		rounds := min(trips, 1) // to go through
		if bounded(l.Body, l.Var) {
			rounds = trips
		}
		for i := range rounds {
			if c.steps++; c.steps > maxSteps {
				return n, nil
			}
			values[l.Var] = lo + i*l.Step
			inside, err := c.count(l.Body, values)
			if err != nil {
				return n, err
			}
			if rounds < trips && inside > maxExecutions/trips {
				inside = maxExecutions
			} else if rounds < trips {
				inside *= trips
			}
			n = min(n+inside, maxExecutions)
		}
		delete(values, l.Var)
	}
	return n, nil
}

// bounded reports whether a bound of a loop in a body uses a variable.
func bounded(body []Stmt, name string) bool {
	for _, st := range body {
		if l, ok := st.(*Loop); ok && (l.Lo.Coef(name) != 0 || l.Hi.Coef(name) != 0 || bounded(l.Body, name)) {
			return true
		}
	}
	return false
}
