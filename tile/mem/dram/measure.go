package dram

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Pattern is a sequence of accesses.
type Pattern struct {
	Name string
	Text string // what it is
	next func(t *traffic, i uint64) (address uint64, isWrite bool)
}

// streamBase is where stream k of several starts: conflict puts all into one bank.
func (t *traffic) streamBase(k uint64, conflict bool) uint64 {
	if conflict {
		return k << 30
	}
	return k * (1<<30 + 8192*uint64(t.channels))
}

// Patterns are all patterns, in the order of the help text.
func Patterns() []Pattern {
	return []Pattern{
		{"seq", "reads of consecutive lines", func(_ *traffic, i uint64) (uint64, bool) { return LineBytes * i, false }},
		{"seq4", "reads of four sequences in turn, in different banks", func(t *traffic, i uint64) (uint64, bool) {
			return t.streamBase(i%4, false) + LineBytes*(i/4), false
		}},
		{"seq4conf", "the same, in the same banks", func(t *traffic, i uint64) (uint64, bool) {
			return t.streamBase(i%4, true) + LineBytes*(i/4), false
		}},
		{"rand", "reads of random lines in 4 GB", func(t *traffic, _ uint64) (uint64, bool) { return t.random(), false }},
		{"rw", "reads of one sequence and writes of another in turn", func(t *traffic, i uint64) (uint64, bool) {
			return t.streamBase(i%2, false) + LineBytes*(i/2), i%2 == 1
		}},
		{"rwrand", "reads and writes of random lines in turn", func(t *traffic, i uint64) (uint64, bool) { return t.random(), i%2 == 1 }},
	}
}

// Arrivals are how requests arrive: evenly; by chance in each clock and channel;
// one at a time.
var Arrivals = []string{"even", "bern", "closed1"}

// Experiment measures a memory under a load of requests that do not wait for
// answers.
type Experiment struct {
	Spec    Spec
	Pattern string  // one of Patterns
	Arrival string  // one of Arrivals
	Load    float64 // requests as a fraction of the peak; 0 with closed1
	Warmup  Time    // clocks before anything is measured
	Window  Time    // clocks that are measured
}

// Measurement is what an Experiment has found. Latencies, in clocks, are from the
// generation of a request to the return of the line.
type Measurement struct {
	OfferedGBs  float64  `json:"offered_gb_s"`
	AchievedGBs float64  `json:"achieved_gb_s"`
	Saturated   bool     `json:"saturated"` // the backlog grew: latencies mean nothing
	Reads       int64    `json:"reads"`
	Latency     float64  `json:"latency_clocks"`
	AfterQueue  float64  `json:"latency_after_acceptance_clocks"`
	P50         Time     `json:"p50_clocks"`
	P95         Time     `json:"p95_clocks"`
	Max         Time     `json:"max_clocks"`
	ReadHits    float64  `json:"read_row_hit_rate"`
	WriteHits   float64  `json:"write_row_hit_rate"`
	Counters    Counters `json:"counters"`
}

// The driver of the reference (data/timing/README.md): requests wait in front of
// each channel, and none are generated while very many do.
const (
	maxBacklog    = 4000
	closedSpacing = 200
	trafficSeed   = 12345
	// DefaultWarmup is how long the reference warms up.
	DefaultWarmup Time = 20000
)

// Validate refuses what cannot be run.
func (e *Experiment) Validate() error {
	if err := e.Spec.Validate(); err != nil {
		return err
	}
	if e.pattern() == nil {
		var names []string
		for _, p := range Patterns() {
			names = append(names, p.Name)
		}
		return fmt.Errorf("dram: pattern %q, expected %s", e.Pattern, strings.Join(names, ", "))
	}
	switch {
	case !slices.Contains(Arrivals, e.Arrival):
		return fmt.Errorf("dram: arrival %q, expected %s", e.Arrival, strings.Join(Arrivals, ", "))
	case e.Arrival != "closed1" && !(e.Load > 0 && e.Load <= 4):
		return fmt.Errorf("dram: load of %g, expected above 0 and at most 4", e.Load)
	case e.Warmup < 0 || e.Window < 1 || e.Warmup+e.Window > 1<<40:
		return fmt.Errorf("dram: window of %d clocks after %d, expected at least 1 after at least 0", e.Window, e.Warmup)
	}
	return nil
}

func (e *Experiment) pattern() *Pattern {
	for _, p := range Patterns() {
		if p.Name == e.Pattern {
			return &p
		}
	}
	return nil
}

// traffic makes addresses.
type traffic struct {
	channels int
	state    uint64
}

// splitmix is the generator of Steele, Lea and Flood (OOPSLA 2014).
func (t *traffic) splitmix() uint64 {
	t.state += 0x9e3779b97f4a7c15
	z := t.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (t *traffic) random() uint64 { return LineBytes * (t.splitmix() >> 30 & (1<<26 - 1)) }

// request is one that waits in front of a channel, or a read that is under way.
type request struct {
	address  uint64
	at       Place
	write    bool
	born     Time
	accepted Time
}

// Run measures. It stops with the error of the context.
func (e *Experiment) Run(ctx context.Context) (*Measurement, error) {
	if err := e.Validate(); err != nil {
		return nil, err
	}
	var (
		t         = &traffic{channels: e.Spec.Channels, state: trafficSeed}
		pattern   = e.pattern()
		layout    = e.Spec.Layout()
		channels  = make([]*Channel, e.Spec.Channels)
		fifo      = make([][]request, e.Spec.Channels)
		head      = make([]int, e.Spec.Channels)
		backlog   = 0
		running   []request // by number
		unused    []uint64
		latencies []Time
		sum       Time
		afterSum  Time
		m         = &Measurement{}
		reads     int64 // that return in the window
		writes    int64
		begin     Counters
		count     uint64
		credit    float64
		inFlight  bool
		lastStart = Time(-closedSpacing)
		early     int // backlog when measuring begins
		window    bool
	)
	for i := range channels {
		channels[i] = NewChannel(&e.Spec, func(now Time, id uint64) {
			r := &running[id]
			if window {
				reads++
			}
			if r.born >= e.Warmup {
				latencies = append(latencies, now-r.born)
				sum += now - r.born
				afterSum += now - r.accepted
			}
			unused = append(unused, id)
			inFlight = false
		})
	}
	generate := func(now Time) {
		address, isWrite := pattern.next(t, count)
		count++
		at := layout.Of(address)
		fifo[at.Channel] = append(fifo[at.Channel], request{address: address, at: at, write: isWrite, born: now})
		backlog++
	}
	total := func() (c Counters) {
		for _, ch := range channels {
			c.add(ch.Counters())
		}
		return c
	}
	step := e.Load * float64(e.Spec.Channels) / float64(e.Spec.Timing.Burst)
	for now := Time(0); now < e.Warmup+e.Window; now++ {
		if now&0xffff == 0 && ctx.Err() != nil {
			return nil, fmt.Errorf("dram: %w", context.Cause(ctx))
		}
		if now == e.Warmup {
			window, early, begin = true, backlog, total()
		}
		if backlog <= maxBacklog {
			switch e.Arrival {
			case "even":
				for credit += step; credit >= 1; credit-- {
					generate(now)
				}
			case "bern":
				n := 0
				for range channels {
					if float64(t.splitmix()>>11)*0x1p-53 < e.Load/float64(e.Spec.Timing.Burst) {
						n++
					}
				}
				for range n {
					generate(now)
				}
			case "closed1":
				if !inFlight && now-lastStart >= closedSpacing {
					generate(now)
					inFlight, lastStart = true, now
				}
			}
		}
		for i, c := range channels {
			if head[i] < len(fifo[i]) && c.Accepts(fifo[i][head[i]].write) {
				r := fifo[i][head[i]]
				head[i]++
				backlog--
				if head[i] > 1024 && head[i] > len(fifo[i])/2 {
					fifo[i] = append(fifo[i][:0], fifo[i][head[i]:]...)
					head[i] = 0
				}
				var id uint64
				if r.write {
					if window {
						writes++
					}
				} else {
					r.accepted = now
					if n := len(unused); n > 0 {
						id, unused = unused[n-1], unused[:n-1]
						running[id] = r
					} else {
						id = uint64(len(running))
						running = append(running, r)
					}
				}
				c.SkipTo(now)
				c.Add(r.address, r.at, r.write, id)
			}
			if c.Next() <= now {
				c.SkipTo(now)
				c.Tick()
			}
		}
	}
	c := total()
	c.subtract(begin)
	m.Counters = c
	m.Reads = int64(len(latencies))
	ns := float64(e.Window) * e.Spec.Timing.ClockNs
	m.AchievedGBs = float64((reads+writes)*LineBytes) / ns
	m.OfferedGBs = e.Load * e.Spec.PeakGBs()
	if e.Arrival == "closed1" {
		m.OfferedGBs = m.AchievedGBs
	}
	m.Saturated = m.AchievedGBs < 0.97*m.OfferedGBs || backlog > early+64
	if m.Reads > 0 {
		m.Latency = float64(sum) / float64(m.Reads)
		m.AfterQueue = float64(afterSum) / float64(m.Reads)
		slices.Sort(latencies)
		m.P50 = latencies[len(latencies)/2]
		m.P95 = latencies[int(math.Ceil(0.95*float64(len(latencies))))-1]
		m.Max = latencies[len(latencies)-1]
	}
	m.ReadHits, m.WriteHits = c.ReadHitRate(), c.WriteHitRate()
	return m, nil
}

// ReadHitRate is the share of reads that found their row open, after the first.
func (c Counters) ReadHitRate() float64 { return rate(c.ReadHits, c.Reads) }

// WriteHitRate is the same of writes.
func (c Counters) WriteHitRate() float64 { return rate(c.WriteHits, c.Writes) }

func rate(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

func (c *Counters) add(o Counters) { c.combine(o, 1) }

func (c *Counters) subtract(o Counters) { c.combine(o, ^uint64(0)) }

// combine adds a multiple; that of the largest number is a difference.
func (c *Counters) combine(o Counters, times uint64) {
	c.Reads += times * o.Reads
	c.Writes += times * o.Writes
	c.ReadHits += times * o.ReadHits
	c.WriteHits += times * o.WriteHits
	c.Activates += times * o.Activates
	c.Precharges += times * o.Precharges
	c.Refreshes += times * o.Refreshes
	c.Forwarded += times * o.Forwarded
	c.MergedReads += times * o.MergedReads
	c.MergedWrites += times * o.MergedWrites
	c.Drains += times * o.Drains
}
