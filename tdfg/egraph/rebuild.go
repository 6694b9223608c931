package egraph

import "slices"

// rebuild restores what unions broke: that equal operations on equal operands are
// one node (congruence), by deferred rebuilding (Willsey et al., egg, 2021, section
// 3). Facts need no propagation, since those of equal classes are equal.
func (g *graph) rebuild() {
	var todo, holed []classID
	for len(g.pending) > 0 {
		todo, g.pending = append(todo[:0], g.pending...), g.pending[:0]
		for i, c := range todo {
			todo[i] = g.find(c)
		}
		slices.Sort(todo)
		for _, c := range slices.Compact(todo) {
			if g.find(c) == c { // else it waits for another round under its new name
				holed = g.repair(c, holed)
			}
		}
	}
	for i, c := range holed {
		holed[i] = g.find(c)
	}
	slices.Sort(holed)
	for _, c := range slices.Compact(holed) {
		x := &g.classes[c]
		x.nodes = slices.DeleteFunc(x.nodes, func(n nodeID) bool { return g.nodes[n].dead })
	}
}

// repair makes the parents of a class canonical. It appends to holed the classes
// that have dead nodes now.
func (g *graph) repair(c classID, holed []classID) []classID {
	parents := g.classes[c].parents
	g.classes[c].parents = nil
	slices.Sort(parents)
	parents = slices.Compact(parents)
	kept := parents[:0]
	for _, p := range parents {
		x := &g.nodes[p]
		if x.dead {
			continue
		}
		g.remove(p)
		args := g.argsOf(p)
		g.canonical(x.head, args)
		x.hash = hashOf(x.head, args)
		g.class(x.class).changed = g.now
		if q := g.lookup(x.head, args, x.hash); q != none {
			x.dead = true
			holed = append(holed, x.class)
			g.union(x.class, g.nodes[q].class)
			continue
		}
		g.insert(p)
		kept = append(kept, p)
	}
	// Unions above may have merged c, and given its new class parents already.
	d := g.class(c)
	d.parents = append(d.parents, kept...)
	return holed
}
