package netlist

import "fmt"

// Matched returns the network with its inputs and outputs in the order in which other
// has those of the same names. Gates and names stay. It is an error if a port of one
// has no name, if two inputs or two outputs share one, or if the other lacks it.
func (n *Network) Matched(other *Network) (*Network, error) {
	inputs, err := matchNames("input", n.NumInputs(), n.InputName, other.NumInputs(), other.InputName)
	if err != nil {
		return nil, err
	}
	outputs, err := matchNames("output", n.NumOutputs(), func(i int) string { return n.outputs[i].Name },
		other.NumOutputs(), func(i int) string { return other.outputs[i].Name })
	if err != nil {
		return nil, err
	}
	m := New(n.Name)
	m.Grow(n.NumNodes())
	moved := make([]Lit, n.NumNodes())
	move := func(l Lit) Lit { return moved[l.Node()] ^ l&1 }
	for _, i := range inputs {
		moved[n.inputs[i]] = m.AddInput(n.InputName(i))
	}
	for id := range n.nodes {
		f := n.Fanins(id)
		switch n.nodes[id].kind {
		case Const, Input:
			continue
		case And:
			moved[id] = m.And(move(f[0]), move(f[1]))
		case Xor:
			moved[id] = m.Xor(move(f[0]), move(f[1]))
		case Xor3:
			moved[id] = m.Xor3(move(f[0]), move(f[1]), move(f[2]))
		case Maj:
			moved[id] = m.Maj(move(f[0]), move(f[1]), move(f[2]))
		case Mux:
			moved[id] = m.Mux(move(f[0]), move(f[1]), move(f[2]))
		case LUT:
			in := make([]Lit, len(f))
			for j, l := range f {
				in[j] = move(l)
			}
			moved[id] = m.LUT(in, n.Table(id))
		}
		if name := n.NodeName(id); name != "" {
			m.SetLitName(moved[id].NotIf(n.nodes[id].flip), name)
		}
	}
	for _, o := range outputs {
		m.AddOutput(n.outputs[o].Name, move(n.outputs[o].Lit))
	}
	return m, nil
}

// matchNames returns the port of the first network for each of the other's.
func matchNames(what string, n int, name func(int) string, others int, other func(int) string) ([]int, error) {
	at := make(map[string]int, n)
	for i := range n {
		switch _, twice := at[name(i)]; {
		case name(i) == "":
			return nil, fmt.Errorf("netlist: %s %d has no name, expected names to match by", what, i)
		case twice:
			return nil, fmt.Errorf("netlist: two %ss of the name %s, expected each name once to match by", what, clip(name(i)))
		}
		at[name(i)] = i
	}
	order := make([]int, 0, others)
	for i := range others {
		k, ok := at[other(i)]
		if !ok {
			if other(i) == "" {
				return nil, fmt.Errorf("netlist: %s %d has no name, expected names to match by", what, i)
			}
			return nil, fmt.Errorf("netlist: %s %s is in one circuit only, or twice in one, expected the names of both to be the same", what, clip(other(i)))
		}
		order = append(order, k)
		delete(at, other(i))
	}
	for i := range n {
		if _, left := at[name(i)]; left {
			return nil, fmt.Errorf("netlist: %s %s is in one circuit only, expected the names of both to be the same", what, clip(name(i)))
		}
	}
	return order, nil
}
