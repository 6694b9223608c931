package cfront

import (
	"slices"
	"sort"
)

// layout says where arrays and loops lie in the lattice.
type layout struct {
	axes map[*array][]int // lattice dimension of each dimension, innermost first
	dims map[*loop]int
}

// solve finds dimensions of the lattice for all dimensions of arrays and all loops
// of the nests, such that what the nests use together lies along the same: nothing
// has to be transposed. It returns nil if there are none. Of several answers it
// takes one where arrays lie as in memory, those with most dimensions first.
func solve(arrays []*array, dims int, nests []*nest) *layout {
	order := slices.Clone(arrays)
	sort.SliceStable(order, func(i, j int) bool { return len(order[i].size) > len(order[j].size) })
	by := map[*array][]demand{}
	for _, n := range nests {
		for _, d := range n.demands {
			if !slices.Contains(by[d.array], d) {
				by[d.array] = append(by[d.array], d)
			}
		}
	}
	s := &solver{nests: nests, order: order, by: by, layout: &layout{map[*array][]int{}, map[*loop]int{}}, perms: map[int][][]int{}}
	for n := 1; n <= dims; n++ {
		s.perms[n] = permutations(n, dims)
	}
	if !s.place(0) {
		return nil
	}
	return s.layout
}

type solver struct {
	nests  []*nest
	order  []*array
	by     map[*array][]demand
	perms  map[int][][]int
	layout *layout
	steps  int
}

// maxSteps bounds the search: programs with so many arrays that it is not enough
// keep fewer nests as tensors.
const maxSteps = 20000

func (s *solver) place(i int) bool {
	if s.steps++; s.steps > maxSteps {
		return false
	}
	if i == len(s.order) {
		return s.placeLoops()
	}
	a := s.order[i]
	for _, axes := range s.perms[len(a.size)] {
		var added []*loop
		ok := true
		for _, d := range s.by[a] {
			axis := axes[len(axes)-1-d.dim]
			old, has := s.layout.dims[d.loop]
			if has && old != axis {
				ok = false
				break
			}
			if !has {
				s.layout.dims[d.loop] = axis
				added = append(added, d.loop)
			}
		}
		if ok && s.apart() {
			s.layout.axes[a] = axes
			if s.place(i + 1) {
				return true
			}
		}
		for _, l := range added {
			delete(s.layout.dims, l)
		}
		if len(s.by[a]) == 0 {
			break // no axes are better than others
		}
	}
	return false
}

// apart reports whether loops around one statement lie along different dimensions.
func (s *solver) apart() bool {
	for _, n := range s.nests {
		for _, chain := range n.chains {
			used := 0
			for _, l := range chain {
				if d, ok := s.layout.dims[l]; ok {
					if used>>d&1 != 0 {
						return false
					}
					used |= 1 << d
				}
			}
		}
	}
	return true
}

// placeLoops finds dimensions for loops that no subscript has.
func (s *solver) placeLoops() bool {
	for _, n := range s.nests {
		for _, l := range n.loops {
			if _, ok := s.layout.dims[l]; !ok {
				return false
			}
		}
	}
	return true
}

// permutations lists the choices of n of the dimensions, in order.
func permutations(n, dims int) [][]int {
	if n == 0 {
		return [][]int{nil}
	}
	var list [][]int
	for _, p := range permutations(n-1, dims) {
		for d := range dims {
			if !slices.Contains(p, d) {
				list = append(list, append(slices.Clone(p), d))
			}
		}
	}
	return list
}
