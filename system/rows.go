package system

import (
	"cmp"
	"slices"

	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/tdfg"
)

// life is where a program uses an array: from one region to another, by their numbers in the text.
// Where a loop uses it, that is all of the loop, as its next iteration comes back to it.
type life struct {
	from, to int
	uses     []int // regions, in order
	stored   bool
}

// lives returns those of the arrays of a program by their names, and the numbers of its regions.
func lives(body []tdfg.Stmt) (map[string]*life, map[*tdfg.Graph]int) {
	list, number := map[string]*life{}, map[*tdfg.Graph]int{}
	var walk func(body []tdfg.Stmt) map[string]bool // of arrays that it uses
	walk = func(body []tdfg.Stmt) map[string]bool {
		used := map[string]bool{}
		for _, st := range body {
			switch st := st.(type) {
			case *tdfg.Loop:
				from := len(number)
				for name := range walk(st.Body) {
					used[name] = true
					list[name].from = min(list[name].from, from)
					list[name].to = max(list[name].to, len(number)-1)
				}
			case *tdfg.Region:
				n := len(number)
				number[st.Graph] = n
				for i, a := range st.Graph.Arrays {
					l := list[a.Name]
					if l == nil {
						l = &life{from: n}
						list[a.Name] = l
					}
					used[a.Name] = true
					l.to, l.uses = n, append(l.uses, n)
					l.stored = l.stored || slices.ContainsFunc(st.Graph.Outputs, func(o tdfg.Output) bool { return o.Array == i })
				}
			}
		}
		return used
	}
	walk(body)
	return list, number
}

// has reports whether the array is in use in a region, or will be in its loop.
func (l *life) has(region int) bool { return l.from <= region && region <= l.to }

// next returns how far the next use behind a region is, in one of n.
func (l *life) next(region, n int) int {
	for _, u := range l.uses {
		if u > region {
			return u - region
		}
	}
	if l.has(region) { // in the next iteration
		return n + l.uses[0]
	}
	return 2 * n
}

// rowsOf gives arrays their first rows, by name, and returns how many rows that takes. In their order
// each gets the lowest rows that are free in all graphs that use it. As far as there are so many rows,
// they are also those of no array that is in use between these, which would have to come back, nor of
// one that was stored, which would have to go to memory first. Arrays that only streams use have none,
// and stay in memory.
func rowsOf(arrays []*tdfg.Array, graphs []*tdfg.Graph, lives map[string]*life, most int) (rows map[string]int, used int) {
	rows = map[string]int{}
	together := map[string]map[string]bool{} // arrays that need rows at the same time
	for _, g := range graphs {
		need := lowering.Resident(g)
		for i, a := range g.Arrays {
			for j, b := range g.Arrays {
				if need[i] && need[j] {
					if together[a.Name] == nil {
						together[a.Name] = map[string]bool{}
					}
					together[a.Name][b.Name] = true
				}
			}
		}
	}
	for _, a := range arrays {
		if together[a.Name] == nil {
			continue
		}
		bits, l := a.Type.Bits(), lives[a.Name]
		between := func(b string) bool { return lives[b].from <= l.to && l.from <= lives[b].to }
		apart := []func(b string) bool{ // by how much is kept
			func(b string) bool { return lives[b].stored || between(b) },
			between,
			func(string) bool { return false },
		}
		if lives == nil {
			apart = apart[2:]
		}
		row := 0
		for k, from := range apart {
			row = 0
			for moved := true; moved; {
				moved = false
				for _, b := range arrays {
					at, ok := rows[b.Name]
					if ok && (together[a.Name][b.Name] || from(b.Name)) && row < at+b.Type.Bits() && at < row+bits {
						row, moved = at+b.Type.Bits(), true
					}
				}
			}
			if k == len(apart)-1 || row+bits <= most {
				break
			}
		}
		rows[a.Name] = row
		used = max(used, row+bits)
	}
	return rows, used
}

// kept returns the arrays on bitlines that a graph does not need there, and whose rows are none that
// it needs: those that are used again by how soon they are, then those that would have to go to
// memory. Others are in memory as they are.
func (r *runner) kept(g *tdfg.Graph, rows map[string]int, wl []int) (list []*tdfg.Array) {
	region, n := r.number[g], len(r.number)
	for _, a := range r.arrays {
		row, ok := rows[a.Name]
		if l := r.lives[a.Name]; ok && l.from <= region && (l.has(region) || l.stored) && apart(g, lowering.Register{Row: row, Bits: a.Type.Bits()}, wl) {
			list = append(list, a)
		}
	}
	slices.SortStableFunc(list, func(a, b *tdfg.Array) int {
		return cmp.Compare(r.lives[a.Name].next(region, n), r.lives[b.Name].next(region, n))
	})
	return list
}
