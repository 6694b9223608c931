package masim

import "math"

// maxSearchArrays is how many arrays the search looks at: sets of arrays are
// 64-bit masks. Beyond it more arrays bring nothing but room for storage.
const maxSearchArrays = 64

// never is the time of a use that does not come.
const never = int32(math.MaxInt32)

// instance is a Problem in the dense form that the search works on. Values are
// nodes of the graph (inputs and gates); gates are also numbered from 0 on, in
// the graph's order, so gate i is value first+i. Constants are not values.
//
// It takes about 50 bytes a gate.
type instance struct {
	p      Problem
	arrays int   // arrays the search may use, a prefix of the machine's
	gates  int32 // number of gates
	first  int32 // value of gate 0
	values int32 // number of nodes, the constant included

	fanin [][3]int32 // by gate: values, 0 = none
	isOut []bool     // by value: a gate that drives an output
	home  []int16    // by value: array where an input lies; -1 for a gate
	room  []int32    // by array: rows that hold no input

	useStart []int32 // by value: its uses are user[useStart[v]:useEnd[v]]
	useEnd   []int32 // useStart[1:] where there are no clones
	user     []int32 // gates

	base int32   // gates of the graph; those from base on are clones, see withClones
	root []int32 // by clone: the gate that it computes again, or idle
}

func newInstance(p Problem, arrays int) *instance {
	g := p.Graph
	in := &instance{
		p: p, arrays: arrays,
		gates: int32(g.NumGates()), first: int32(g.FirstGate()), values: int32(g.NumNodes()),
	}
	in.fanin = make([][3]int32, in.gates)
	in.isOut = make([]bool, in.values)
	in.home = make([]int16, in.values)
	in.room = make([]int32, arrays)
	for a := range in.room {
		in.room[a] = int32(p.Geometry.Rows)
	}
	for v := range in.home {
		in.home[v] = -1
	}
	for i := range g.NumInputs() {
		a, _ := p.home(i + 1)
		in.home[i+1] = int16(a)
		in.room[a]--
	}
	for _, o := range g.Outputs() {
		if v := o.Lit.Node(); g.IsGate(v) {
			in.isOut[v] = true
		}
	}
	in.useStart = make([]int32, in.values+1)
	for i := range in.fanin {
		for j, l := range g.Fanins(int(in.first) + i) {
			v := int32(l.Node())
			in.fanin[i][j] = v
			if v != 0 {
				in.useStart[v+1]++
			}
		}
	}
	for v := range in.values {
		in.useStart[v+1] += in.useStart[v]
	}
	in.useEnd = in.useStart[1:]
	in.base = in.gates
	in.user = make([]int32, in.useStart[in.values])
	fill := append([]int32(nil), in.useStart...)
	for i := range in.fanin {
		for _, v := range in.fanin[i] {
			if v != 0 {
				in.user[fill[v]] = int32(i)
				fill[v]++
			}
		}
	}
	return in
}

// uses returns the gates that read value v.
func (in *instance) uses(v int32) []int32 { return in.user[in.useStart[v]:in.useEnd[v]] }

// fullArrays returns how many arrays are full of inputs: nothing can be
// computed in them.
func (in *instance) fullArrays() int {
	n := 0
	for n < len(in.room) && in.room[n] == 0 {
		n++
	}
	return n
}
