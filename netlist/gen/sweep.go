package gen

import "github.com/bitsched/bitsched/netlist"

// swept is the network without the gates that drive nothing. Inputs stay.
func swept(n *netlist.Network) *netlist.Network {
	live := make([]bool, n.NumNodes())
	for _, o := range n.Outputs() {
		live[o.Lit.Node()] = true
	}
	for id := len(live) - 1; id > 0; id-- {
		if live[id] {
			for _, f := range n.Fanins(id) {
				live[f.Node()] = true
			}
		}
	}
	out := netlist.New(n.Name)
	out.Grow(n.NumNodes())
	moved := make([]lit, n.NumNodes())
	at := func(l lit) lit { return moved[l.Node()] ^ l&1 }
	for id := 1; id < n.NumNodes(); id++ {
		f := n.Fanins(id)
		switch k := n.Kind(id); {
		case k == netlist.Input:
			moved[id] = out.AddInput(n.NodeName(id))
		case !live[id]:
		case k == netlist.And:
			moved[id] = out.And(at(f[0]), at(f[1]))
		case k == netlist.Xor:
			moved[id] = out.Xor(at(f[0]), at(f[1]))
		case k == netlist.Xor3:
			moved[id] = out.Xor3(at(f[0]), at(f[1]), at(f[2]))
		case k == netlist.Maj:
			moved[id] = out.Maj(at(f[0]), at(f[1]), at(f[2]))
		}
	}
	for _, o := range n.Outputs() {
		out.AddOutput(o.Name, at(o.Lit))
	}
	return out
}
