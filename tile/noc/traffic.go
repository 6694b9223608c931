package noc

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strings"
)

// Pattern is who sends to whom. The definitions are those of Dally and Towles,
// Principles and Practices of Interconnection Networks, table 3.1, which BookSim
// follows: digit patterns act on each coordinate, bit patterns on the number of
// the node.
type Pattern struct {
	Name string
	Text string // what it is

	check func(c *Config) error
	dst   func(t *traffic, src int) int
	share func(t *traffic, dst int) float64 // of the packets of any node that go to one; nil if dst is not random
}

// hotShare is the share of packets that the pattern hotspot sends to one node.
const hotShare = 0.1

// Patterns are all patterns, in the order of the help text.
func Patterns() []Pattern {
	return []Pattern{
		{"uniform", "any node, also the sender, alike", anyMesh,
			func(t *traffic, _ int) int { return t.rng.IntN(t.cfg.Nodes()) },
			func(t *traffic, _ int) float64 { return 1 / float64(t.cfg.Nodes()) }},
		{"neighbor", "one further in x and in y, around the edges", anyMesh,
			func(t *traffic, src int) int { return t.shift(src, 1, 1) }, nil},
		{"tornado", "almost half of the mesh further in x and in y, around the edges", anyMesh,
			func(t *traffic, src int) int { return t.shift(src, (t.cfg.Width+1)/2-1, (t.cfg.Height+1)/2-1) }, nil},
		{"transpose", "x and y swapped", squareMesh,
			func(t *traffic, src int) int { return src%t.cfg.Width*t.cfg.Width + src/t.cfg.Width }, nil},
		{"bitcomp", "the complement of the node's number", powerOfTwo,
			func(t *traffic, src int) int { return t.cfg.Nodes() - 1 - src }, nil},
		{"bitrev", "the bits of the node's number reversed", powerOfTwo,
			func(t *traffic, src int) int {
				return int(bits.Reverse64(uint64(src)) >> (64 - bits.Len(uint(t.cfg.Nodes()-1))))
			}, nil},
		{"shuffle", "the bits of the node's number rotated to the left", powerOfTwo,
			func(t *traffic, src int) int {
				n := t.cfg.Nodes()
				return src<<1&(n-1) | src>>(bits.Len(uint(n-1))-1)
			}, nil},
		{"randperm", "a random permutation, which the seed gives", anyMesh,
			func(t *traffic, src int) int { return t.perm[src] }, nil},
		{"hotspot", "a tenth to the node in the middle, the others as uniform", anyMesh,
			func(t *traffic, _ int) int {
				if t.rng.Float64() < hotShare {
					return t.cfg.Height/2*t.cfg.Width + t.cfg.Width/2
				}
				return t.rng.IntN(t.cfg.Nodes())
			},
			func(t *traffic, dst int) float64 {
				share := (1 - hotShare) / float64(t.cfg.Nodes())
				if dst == t.cfg.Height/2*t.cfg.Width+t.cfg.Width/2 {
					share += hotShare
				}
				return share
			}},
	}
}

// LookupPattern finds a pattern by its name.
func LookupPattern(name string) (Pattern, error) {
	var names []string
	for _, p := range Patterns() {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Pattern{}, fmt.Errorf("noc: traffic %q, expected one of %s", name, strings.Join(names, ", "))
}

// Check reports why the pattern is not defined on a mesh.
func (p *Pattern) Check(c Config) error {
	if err := c.Validate(); err != nil {
		return err
	}
	if err := p.check(&c); err != nil {
		return fmt.Errorf("noc: traffic %s: mesh of %dx%d nodes, %w", p.Name, c.Width, c.Height, err)
	}
	return nil
}

func anyMesh(*Config) error { return nil }

func squareMesh(c *Config) error {
	if c.Width != c.Height {
		return fmt.Errorf("expected a square one")
	}
	return nil
}

func powerOfTwo(c *Config) error {
	if n := c.Nodes(); n < 2 || n&(n-1) != 0 {
		return fmt.Errorf("expected a number of nodes that is a power of two, at least 2")
	}
	return nil
}

// traffic generates packets: each node starts one in a cycle with the same
// probability (a Bernoulli process).
type traffic struct {
	cfg     Config
	pattern Pattern
	flits   int
	rng     *rand.Rand
	start   uint64 // of 2^53
	perm    []int
}

func newTraffic(cfg Config, pattern Pattern, load float64, flits int, seed uint64) *traffic {
	t := &traffic{cfg: cfg, pattern: pattern, flits: flits, rng: rand.New(rand.NewPCG(seed, 0x6d657368)), start: uint64(load / float64(flits) * (1 << 53))}
	t.perm = rand.New(rand.NewPCG(seed, 0x7065726d)).Perm(cfg.Nodes())
	return t
}

func (t *traffic) shift(src, dx, dy int) int {
	x, y := src%t.cfg.Width, src/t.cfg.Width
	return (y+dy)%t.cfg.Height*t.cfg.Width + (x+dx)%t.cfg.Width
}

// inject starts the packets of a cycle.
func (t *traffic) inject(n *Network, tag uint64) error {
	for src := range t.cfg.Nodes() {
		if t.rng.Uint64()>>11 < t.start {
			if err := n.Inject(Packet{Src: src, Dst: t.pattern.dst(t, src), Flits: t.flits, Tag: tag}); err != nil {
				return err
			}
		}
	}
	return nil
}

// capacity is the load at which the busiest link, those of nodes included, is full: a
// mesh cannot carry more of a pattern for long, however its routers work.
func (t *traffic) capacity() float64 {
	w, h := t.cfg.Width, t.cfg.Height
	// Flits a cycle at a load of 1, as differences along a row or column: over the
	// link from x to x+1 and back, by row; over that from y to y+1 and back, by
	// column; and to nodes.
	right, left, up, down := make([]float64, (w+1)*h), make([]float64, (w+1)*h), make([]float64, w*(h+1)), make([]float64, w*(h+1))
	ejected := make([]float64, w*h)
	add := func(src, dst int, share float64) {
		sx, sy, dx, dy := src%w, src/w, dst%w, dst/w
		row, column := sy, dx
		if t.cfg.YX {
			row, column = dy, sx
		}
		forth, back := right[row*(w+1):], left[row*(w+1):]
		if dx < sx {
			forth, sx, dx = back, dx, sx
		}
		forth[sx] += share
		forth[dx] -= share
		forth, back = up[column*(h+1):], down[column*(h+1):]
		if dy < sy {
			forth, sy, dy = back, dy, sy
		}
		forth[sy] += share
		forth[dy] -= share
		ejected[dst] += share
	}
	for src := range t.cfg.Nodes() {
		if t.pattern.share == nil {
			add(src, t.pattern.dst(t, src), 1)
			continue
		}
		for dst := range t.cfg.Nodes() {
			add(src, dst, t.pattern.share(t, dst))
		}
	}
	busiest := 1.0 // a node starts what the load says
	for _, n := range ejected {
		busiest = max(busiest, n)
	}
	for _, links := range [][]float64{right, left, up, down} {
		sum := 0.0 // rows and columns end at 0
		for _, d := range links {
			sum += d
			busiest = max(busiest, sum)
		}
	}
	return 1 / busiest
}
