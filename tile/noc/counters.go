package noc

// Counters are what a network has done since it was made.
type Counters struct {
	Cycles        uint64   // in which something could move; others were skipped
	Injected      uint64   // packets
	Completed     uint64   // packets that all their nodes have received
	Delivered     uint64   // packets times nodes
	InjectedFlits uint64   // that left their source
	EjectedFlits  uint64   // that reached a node; a multicast counts at each
	Links         []uint64 // flits, by router and output: east, west, north, south, node
}

// Counters returns a copy of the counters.
func (n *Network) Counters() Counters {
	c := n.counters
	c.Links = make([]uint64, 0, len(n.routers)*numPorts)
	for i := range n.routers {
		c.Links = append(c.Links, n.routers[i].links[:numPorts]...)
	}
	return c
}

// FlitHops are the flits that went over links between routers, each counted once
// a link.
func (c *Counters) FlitHops() (hops uint64) {
	for i, f := range c.Links {
		if i%numPorts != local {
			hops += f
		}
	}
	return hops
}

// Link is a link between two routers, in one direction.
type Link struct {
	From  int    `json:"from"`
	To    int    `json:"to"`
	Flits uint64 `json:"flits"` // that went over it
}

// Links are all links between routers, by the router they start at, then east,
// west, north and south.
func (n *Network) Links() []Link {
	var links []Link
	for i := range n.routers {
		r := &n.routers[i]
		for p, to := range r.nodes {
			if p != local && to >= 0 {
				links = append(links, Link{i, int(to), r.links[p]})
			}
		}
	}
	return links
}

// ByteHops are the bytes that went over links between routers times these links.
func (n *Network) ByteHops() uint64 { return n.flitHops() * uint64(n.cfg.LinkBytes) }

// flitHops is FlitHops of the counters, without copying them.
func (n *Network) flitHops() (hops uint64) {
	for i := range n.routers {
		for _, f := range n.routers[i].links[:local] {
			hops += f
		}
	}
	return hops
}

// Utilisation is the share of cycles since cycle 0 in which the busiest link
// between routers carried a flit, and the mean over all such links.
func (n *Network) Utilisation() (most, mean float64) {
	if n.now == 0 {
		return 0, 0
	}
	links := n.Links()
	for _, l := range links {
		most = max(most, float64(l.Flits)/float64(n.now))
		mean += float64(l.Flits) / float64(n.now)
	}
	return most, mean / float64(max(len(links), 1))
}
