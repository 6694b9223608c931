package noc

import "fmt"

// Limits of a Config: the sets of input virtual channels of a router and of
// coordinates of a dimension are words of 64 bits.
const (
	MaxRadix = 64
	MaxVCs   = 64 / numPorts
	MaxDepth = 1 << 12
	MaxWire  = 64 // cycles of a link, of a credit or of a router
)

// Config is a mesh of routers. All times are cycles.
type Config struct {
	Width, Height int // routers in x and in y
	VCs           int // virtual channels of each link
	Depth         int // flits that the buffer of a virtual channel holds
	RouterCycles  int // of a head in a router without contention: routing, both allocations, and the rest traversal of the switch; 2 if the router before has routed it
	LinkCycles    int // from router to router, and between a node and its router
	CreditCycles  int // of the link of a credit on its way back, beside one to send and one to take it
	LinkBytes     int // bytes of a flit, which a link carries in a cycle

	YX bool // packets go along y first
}

// DefaultConfig is a mesh as in Infinity Stream, table 2 (32-byte links, routers
// of five stages), with the buffers of the BookSim runs that the model is
// compared with: four virtual channels of eight flits.
func DefaultConfig(width, height int) Config {
	return Config{Width: width, Height: height, VCs: 4, Depth: 8, RouterCycles: 4, LinkCycles: 1, CreditCycles: 1, LinkBytes: 32}
}

// Nodes is the number of routers, each of which has one node.
func (c *Config) Nodes() int { return c.Width * c.Height }

// Flits is how many flits a message of that many bytes takes, at least one.
func (c *Config) Flits(bytes int) int { return max(1, (bytes+c.LinkBytes-1)/c.LinkBytes) }

// Distance is the number of links between routers on the way from a node to
// another one.
func (c *Config) Distance(src, dst int) int {
	return abs(src%c.Width-dst%c.Width) + abs(src/c.Width-dst/c.Width)
}

// TreeLinks is the number of links between routers that a multicast takes.
func (c *Config) TreeLinks(src int, dsts []int) int {
	major := func(n int) (int, int) { return n % c.Width, n / c.Width }
	if c.YX {
		major = func(n int) (int, int) { return n / c.Width, n % c.Width }
	}
	x, y := major(src)
	left, right := x, x
	low, high := map[int]int{}, map[int]int{}
	for _, d := range dsts {
		u, v := major(d)
		left, right = min(left, u), max(right, u)
		if _, ok := low[u]; !ok {
			low[u], high[u] = y, y
		}
		low[u], high[u] = min(low[u], v), max(high[u], v)
	}
	links := right - left
	for u := range low {
		links += high[u] - low[u]
	}
	return links
}

func abs(v int) int {
	if v < 0 {
		return -v
	}
	return v
}

// ZeroLoadLatency is how long a packet takes in an empty network, from the cycle
// it is injected in to the cycle in which its last flit is ejected: the link from
// the node, then each router and the link behind it, the last of which leads to the
// node, and a cycle for each further flit.
func (c *Config) ZeroLoadLatency(src, dst, flits int) int64 {
	routers := c.Distance(src, dst) + 1
	return int64(1+c.LinkCycles) + int64(routers*(c.RouterCycles+c.LinkCycles)) + int64(flits-1)
}

// Validate reports the first value out of range.
func (c *Config) Validate() error {
	for _, v := range []struct {
		what       string
		value      int
		least, top int
	}{
		{"width", c.Width, 1, MaxRadix},
		{"height", c.Height, 1, MaxRadix},
		{"virtual channels", c.VCs, 1, MaxVCs},
		{"flits of a buffer", c.Depth, 1, MaxDepth},
		{"cycles of a router", c.RouterCycles, 2, MaxWire},
		{"cycles of a link", c.LinkCycles, 1, MaxWire},
		{"cycles of a credit", c.CreditCycles, 1, MaxWire},
		{"bytes of a link", c.LinkBytes, 1, 1 << 16},
	} {
		if v.value < v.least || v.value > v.top {
			return fmt.Errorf("noc: %s %d, expected %d to %d", v.what, v.value, v.least, v.top)
		}
	}
	return nil
}

// MeanLatency is the mean of ZeroLoadLatency over all pairs of nodes.
func (c *Config) MeanLatency(flits int) float64 {
	sum, n := int64(0), c.Nodes()
	for a := range n {
		for b := range n {
			if a != b {
				sum += c.ZeroLoadLatency(a, b, flits)
			}
		}
	}
	return float64(sum) / float64(max(1, n*(n-1)))
}
