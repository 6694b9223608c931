package tdfg

import (
	"maps"
	"slices"
)

// Cursor goes through the executions of regions of a program one by one, as
// [Program.Each] does at once. Any number may go through one program. What a region
// does is that of its nodes; a node of kind Stream has a program of its own, with
// cursors (package stream).
type Cursor struct {
	values map[string]int64
	frames []cursorFrame
	err    error
}

// cursorFrame is a body that is gone through.
type cursorFrame struct {
	body []Stmt
	at   int
	loop *Loop // nil for the program itself
	n    int64 // iterations that are left after this one
}

// Start returns a cursor before the first region.
func (p *Program) Start(sizes map[string]int64) *Cursor {
	return &Cursor{values: symbols(sizes), frames: []cursorFrame{{body: p.Body}}}
}

// Next returns the next region that is executed, with the values of the symbols,
// which are valid until the next call. The graph is nil at the end, and with an error.
func (c *Cursor) Next() (*Graph, map[string]int64, error) {
	for len(c.frames) > 0 && c.err == nil {
		f := &c.frames[len(c.frames)-1]
		if f.at == len(f.body) {
			if f.loop == nil || f.n == 0 {
				if f.loop != nil {
					delete(c.values, f.loop.Var)
				}
				c.frames = c.frames[:len(c.frames)-1]
				continue
			}
			c.values[f.loop.Var] += f.loop.Step
			f.at, f.n = 0, f.n-1
			continue
		}
		st := f.body[f.at]
		f.at++
		switch st := st.(type) {
		case *Region:
			return st.Graph, c.values, nil
		case *Loop:
			var n, lo int64
			if n, lo, c.err = st.trips(c.values); n > 0 {
				c.values[st.Var] = lo
				c.frames = append(c.frames, cursorFrame{body: st.Body, loop: st, n: n - 1})
			}
		}
	}
	return nil, nil, c.err
}

// CursorState is where a cursor is.
type CursorState struct {
	values map[string]int64
	frames []cursorFrame
	err    error
}

// Save returns where the cursor is.
func (c *Cursor) Save() *CursorState {
	return &CursorState{maps.Clone(c.values), slices.Clone(c.frames), c.err}
}

// Restore puts the cursor, or another of the same program, where a state was saved.
func (c *Cursor) Restore(s *CursorState) {
	c.values, c.frames, c.err = maps.Clone(s.values), slices.Clone(s.frames), s.err
}
