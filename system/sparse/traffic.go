package sparse

import (
	"context"
	"fmt"
	"math"
	"strings"
)

// RingTraffic puts one ring under load: stations always have pairs.
type RingTraffic struct {
	Pattern string
	Pairs   int64
	Seed    uint64
}

// RingResult is what a ring carried.
type RingResult struct {
	Pattern  string  `json:"traffic"`
	Banks    int     `json:"banks"`
	Both     bool    `json:"both_directions"`
	Pairs    int64   `json:"pairs"`
	Cycles   int64   `json:"cycles"`
	Rate     float64 `json:"pairs_per_cycle"`
	MeanHops float64 `json:"mean_hops"`
	Busy     int64   `json:"occupied_slot_cycles"`
	PerNanos float64 `json:"pairs_per_ns"`
}

// dice draws by splitmix64: a draw for each pair must cost less than the pair.
type dice uint64

// below returns a number from 0 to n-1, n being far below 2^32.
func (d *dice) below(n int) int {
	*d += 0x9e3779b97f4a7c15
	x := uint64(*d)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return int((x ^ x>>31) >> 32 * uint64(n) >> 32)
}

// RingPatterns are the names of the patterns of traffic.
var RingPatterns = []string{"uniform", "tornado", "neighbor", "hotspot", "bitcomp"}

// target returns what draws the bank that bank b of k sends to; nil for a pattern that
// there is not.
func target(pattern string) func(b, k int, d *dice) int {
	other := func(b, k int, d *dice) int { return wrap(b+1+d.below(k-1), k) }
	return map[string]func(b, k int, d *dice) int{
		"uniform":  other,
		"tornado":  func(b, k int, _ *dice) int { return (b + (k-1)/2) % k },
		"neighbor": func(b, k int, _ *dice) int { return (b + 1) % k },
		"bitcomp":  func(b, k int, _ *dice) int { return k - 1 - b },
		"hotspot": func(b, k int, d *dice) int { // a tenth goes to bank 0
			if b != 0 && d.below(10) == 0 {
				return 0
			}
			return other(b, k, d)
		},
	}[pattern]
}

// Run moves the pairs.
func (w RingTraffic) Run(ctx context.Context, m *Machine) (*RingResult, error) {
	to := target(w.Pattern)
	k := m.Organisation.Banks
	switch {
	case to == nil:
		return nil, fmt.Errorf("traffic %q, expected %s", w.Pattern, strings.Join(RingPatterns, ", "))
	case k < 3:
		return nil, fmt.Errorf("ring of %d banks, expected at least 3", k)
	case w.Pairs < 1:
		return nil, fmt.Errorf("%d pairs, expected at least 1", w.Pairs)
	}
	mach := *m
	mach.Organisation.Layers = 1
	mach.Links.Credit = 64
	r := &runner{ctx: ctx, m: &mach, time: newTiming(&mach), toLink: newRatio(mach.linkMHz(), mach.Clocks.SPU), threads: 1}
	n := newNetwork(r)
	n.cap = 1 << 30
	n.reset()
	n.ringOnly = true
	draws := make([]dice, k)
	left := make([]int64, k)
	for b := range k {
		draws[b] = dice(w.Seed*0xd1342543de82ef95 + uint64(b)<<40)
		left[b] = w.Pairs * int64(b+1) / int64(k)
		left[b] -= w.Pairs * int64(b) / int64(k)
	}
	g := &n.rings[0]
	res := &RingResult{Pattern: w.Pattern, Banks: k, Both: n.both}
	for t := int64(0); ; t += n.window {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		for b := range k {
			// No direction can run dry within a window. How many wait is counted here: a
			// count in memory would wait for each draw.
			w0, w1 := g.queue[0][b].size(), g.queue[1][b].size()
			if !n.both {
				w1 = math.MaxInt32
			}
			enough := int(n.window)
			if min(w0, w1) < enough {
				enough += int(n.window)
			}
			for left[b] > 0 && min(w0, w1) < enough {
				dst := to(b, k, &draws[b])
				left[b]--
				if dst == b {
					continue
				}
				d := 0
				if n.both {
					d, _ = n.way(b, dst)
				}
				g.queue[d][b].push(newFlit(0, 0, 0, b, 0, uint8(dst)))
				w0, w1 = w0+1-d, w1+d
				if max(w0, w1) > 64*int(n.window) && n.both {
					break // all go one way
				}
			}
			if g.backlog(b) > 0 {
				n.waits[0] |= 1 << b
			}
		}
		if n.waits[0] == 0 && g.inFlight == 0 {
			break
		}
		n.ring(0, t, t+n.window)
	}
	res.Pairs, res.Cycles, res.Busy = g.pairs, n.latest[0]+1, g.busy
	if g.busy != g.hops {
		return nil, fmt.Errorf("%w: slots were taken for %d cycles, the hops of the pairs are %d", ErrCheck, g.busy, g.hops)
	}
	res.Rate = float64(res.Pairs) / float64(res.Cycles)
	res.MeanHops = float64(g.hops) / float64(res.Pairs)
	res.PerNanos = res.Rate * mach.linkMHz() / 1000
	return res, nil
}
