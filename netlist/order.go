package netlist

import (
	"fmt"
	"strconv"
	"strings"
)

// topological visits the definitions 0 to defs-1 so that each comes after those
// it depends on, and otherwise in their order. deps appends to buf what a
// definition depends on. If there is a cycle, the definitions on it are
// returned, each depending on the next and the last on the first.
//
// It keeps its own stack: a chain may be as long as the file.
func topological(defs int, deps func(def int32, buf []int32) []int32, visit func(def int32)) (cycle []int32) {
	const (
		open = 1
		done = 2
	)
	type frame struct {
		def         int32
		start, next int
	}
	state := make([]uint8, defs)
	var stack []frame
	var buf []int32 // the dependencies of the frames of the stack, one after the other
	push := func(d int32) {
		state[d] = open
		start := len(buf)
		buf = deps(d, buf)
		stack = append(stack, frame{d, start, start})
	}
	for root := range int32(defs) {
		if state[root] == done {
			continue
		}
		push(root)
		for len(stack) > 0 {
			f := &stack[len(stack)-1]
			if f.next < len(buf) {
				d := buf[f.next]
				f.next++
				switch state[d] {
				case open:
					for i := len(stack) - 1; ; i-- {
						if stack[i].def == d {
							for _, g := range stack[i:] {
								cycle = append(cycle, g.def)
							}
							return cycle
						}
					}
				case done:
				default:
					push(d)
				}
				continue
			}
			visit(f.def)
			state[f.def] = done
			buf = buf[:f.start]
			stack = stack[:len(stack)-1]
		}
	}
	return nil
}

// cycleMessage describes a combinational cycle of n signals.
func cycleMessage(n int, name func(i int) string) string {
	const most = 8
	var b strings.Builder
	b.WriteString("combinational cycle ")
	for i := range min(n, most) {
		b.WriteString(clip(name(i)))
		b.WriteString(" <- ")
	}
	if n > most {
		fmt.Fprintf(&b, "(%d more) <- ", n-most)
	}
	b.WriteString(clip(name(0)))
	b.WriteString(", expected an acyclic circuit")
	return b.String()
}

func decimal(v uint32) string { return strconv.FormatUint(uint64(v), 10) }
