package noc

import "fmt"

// Counters are what a network has done since it was made.
type Counters struct {
	Cycles        uint64 `unit:"Cycle" desc:"in which something could move; others were skipped"`
	Injected      uint64 `desc:"packets"`
	Completed     uint64 `desc:"packets that all their nodes have received"`
	Delivered     uint64 `desc:"packets times nodes"`
	InjectedFlits uint64 `desc:"flits that left their source"`
	EjectedFlits  uint64 `desc:"flits that reached a node; a multicast counts at each"`
	FlitHops      uint64 `desc:"flits over links between routers, each counted once a link"`
}

// Counters returns a copy of the counters.
func (n *Network) Counters() Counters { return n.counters }

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
				links = append(links, Link{i, int(to), r.outputs[p].links})
			}
		}
	}
	return links
}

// ByteHops are the bytes that went over links between routers times these links.
func (n *Network) ByteHops() uint64 { return n.counters.FlitHops * uint64(n.cfg.LinkBytes) }

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

// Check reports what is wrong with the state between two cycles: each place of a buffer
// is free, on its way, or taken, and nothing but that; the links carried what is counted.
func (n *Network) Check() error {
	places := make([]int, len(n.routers)<<placeBits) // by output virtual channel
	for i := range n.routers {
		r := &n.routers[i]
		for v := range r.out {
			places[newPlace(i, v)] = int(r.out[v].credits)
		}
	}
	for i := range n.slots {
		s := &n.slots[i]
		for _, c := range s.credits.items[:s.credits.n] {
			places[c]++
		}
		for kind, l := range s.flits {
			for _, f := range l.items[:l.n] {
				at := f.at
				if kind != ejected {
					at = n.routers[at.node()].in[at.vc()].up
				}
				places[at]++
			}
		}
	}
	for i := range n.routers {
		for v := range n.stride {
			q := &n.routers[i].in[v]
			if int(q.count) > n.cfg.Depth {
				return fmt.Errorf("noc: %d flits in a buffer of %d", q.count, n.cfg.Depth)
			}
			places[q.up] += int(q.count)
		}
	}
	for i := range n.routers {
		for p, to := range n.routers[i].nodes {
			for v := range n.vcs {
				if at := newPlace(i, p*n.vcs+v); to >= 0 && places[at] != n.cfg.Depth {
					return fmt.Errorf("noc: router %d, output %d, virtual channel %d: %d places of a buffer of %d", i, p, v, places[at], n.cfg.Depth)
				}
			}
		}
		for v := range n.vcs {
			if got := places[newPlace(i, n.stride+v)]; got != n.cfg.Depth {
				return fmt.Errorf("noc: source %d, virtual channel %d: %d places of a buffer of %d", i, v, got, n.cfg.Depth)
			}
		}
	}
	hops := uint64(0)
	for _, l := range n.Links() {
		hops += l.Flits
	}
	if hops != n.counters.FlitHops {
		return fmt.Errorf("noc: %d flits over links, %d counted", hops, n.counters.FlitHops)
	}
	return nil
}
