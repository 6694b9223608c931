package cfront

import (
	"slices"
	"strconv"
	"strings"

	"github.com/bitsched/bitsched/tdfg/stream"
	"modernc.org/cc/v4"
)

// ompAt returns the OpenMP pragmas in front of a statement.
func (c *converter) ompAt(at Pos) []ompPragma {
	if c.whole == nil {
		return nil
	}
	var list []ompPragma
	for _, p := range c.u.omp {
		if p.next.Line == at.Line && p.next.Col == at.Col && p.pos.File == at.File {
			list = append(list, p)
		}
	}
	return list
}

// parallelAt returns how the iterations of a loop are shared out, nil if they are not,
// and the variables that are reduced.
func (c *converter) parallelAt(at Pos) (p *stream.Parallel, reduces []string) {
	free := false
	for _, o := range c.ompAt(at) {
		if o.words[0] == "s_sync_free" {
			free = true
			continue
		}
		if !slices.Contains(o.words, "for") {
			continue
		}
		p = &stream.Parallel{}
		for _, cl := range o.clauses {
			switch cl.name {
			case "schedule":
				args := strings.Split(cl.args, ",")
				switch args[0] {
				case "static", "auto", "runtime":
				case "dynamic", "guided":
					p.Dynamic = true
				default:
					fail(o.pos, "schedule %s, expected static or dynamic", args[0])
				}
				if len(args) > 1 {
					n, err := strconv.ParseInt(args[1], 10, 32)
					if err != nil || n < 1 {
						fail(o.pos, "a chunk of %s, expected a number of iterations", args[1])
					}
					p.Chunk = n
				}
			case "reduction":
				_, names, _ := strings.Cut(cl.args, ":")
				reduces = append(reduces, strings.Split(names, ",")...)
			case "private", "firstprivate", "shared", "default", "nowait", "num_threads", "collapse":
			default:
				fail(o.pos, "clause %s of OpenMP: supported are schedule, reduction, private, firstprivate, shared, default and nowait", cl.name)
			}
		}
	}
	if p != nil {
		p.SyncFree = free
	}
	return p, reduces
}

// markAtomic makes an assignment an atomic update where OpenMP says so.
func (c *converter) markAtomic(a *assign, n cc.Node, at Pos) {
	for _, o := range c.ompAt(at) {
		if o.words[0] != "atomic" {
			continue
		}
		switch {
		case slices.Contains(o.words, "read"):
			a.value.walk(func(x *expr) { x.racy = x.kind == elemExpr })
		case slices.Contains(o.words, "write"):
		case slices.Contains(o.words, "capture") || slices.Contains(o.words, "compare"):
			fail(o.pos, "atomic %s: write __atomic_fetch_add and the like, whose values are the old ones", o.words[len(o.words)-1])
		case a.target.kind != elemExpr || !a.value.uses(a.target):
			fail(at, "an atomic update, expected one of an element such as A[i] += x")
		default:
			a.atomic = true
		}
	}
}
