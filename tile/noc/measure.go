package noc

import (
	"context"
	"fmt"
	"math"
)

// Experiment is a network under synthetic traffic at a steady load.
type Experiment struct {
	Config  Config
	Pattern string  // a name of Patterns
	Load    float64 // flits that a node starts in a cycle, above 0 up to 1
	Flits   int     // length of a packet
	Seed    uint64
	Warmup  int64 // cycles before the window of measurement; negative = none, 0 = 10,000
	Window  int64 // cycles in which the packets start that are measured; 0 = 100,000
}

// The defaults of an Experiment.
const (
	DefaultWarmup = 10_000
	DefaultWindow = 100_000
)

// When a network counts as saturated: the load is above the capacity of a link, packets of the window are not delivered
// within so many windows after it, or those of its last batch queue that much
// longer, in cycles, than twice as long as those of the first.
const (
	drainWindows = 2
	queueGrowth  = 50
	batches      = 10
)

// Measurement is what an Experiment found. Latencies are in cycles from the start
// of a packet, when it enters the queue of its node, to the ejection of its last
// flit; packets are those that started in the window.
type Measurement struct {
	Packets   int64   `json:"packets"`       // measured
	Latency   float64 `json:"latency"`       // mean
	Interval  float64 `json:"latency_95"`    // half of the 95 % confidence interval of the mean, from ten batches
	Empty     float64 `json:"latency_empty"` // mean of the same packets in an empty network
	Queue     float64 `json:"latency_queue"` // what contention adds
	P99       int64   `json:"latency_p99"`   // at most 1 % took longer
	Max       int64   `json:"latency_max"`
	Hops      float64 `json:"hops"`         // mean of routers passed, source and destination included
	Accepted  float64 `json:"accepted"`     // flits that reached nodes in the window, per node and cycle
	Busiest   float64 `json:"busiest_link"` // share of cycles in which the busiest link between routers carried a flit
	FlitHops  uint64  `json:"flit_hops"`    // flits times links between routers, in all cycles
	ByteHops  uint64  `json:"byte_hops"`
	Cycles    int64   `json:"cycles"`        // simulated in all
	Lost      int64   `json:"not_delivered"` // packets of the window that were under way at the end
	Links     []Link  `json:"links,omitempty"`
	Capacity  float64 `json:"capacity"`  // load at which the busiest link is full
	Saturated bool    `json:"saturated"` // the load is more than the network takes: latencies grow with the window, and mean nothing
}

// Validate reports the first value out of range.
func (e *Experiment) Validate() error {
	p, err := LookupPattern(e.Pattern)
	if err != nil {
		return err
	}
	if err := p.Check(e.Config); err != nil {
		return err
	}
	switch {
	case e.Flits < 1 || e.Flits > 1<<16:
		return fmt.Errorf("noc: packets of %d flits, expected 1 to %d", e.Flits, 1<<16)
	case !(e.Load > 0 && e.Load <= 1):
		return fmt.Errorf("noc: load %g, expected flits per node and cycle above 0 up to 1", e.Load)
	case e.Window < 0:
		return fmt.Errorf("noc: window of %d cycles, expected at least 0", e.Window)
	}
	return nil
}

// checkEvery is how many cycles pass between two looks at the context.
const checkEvery = 1 << 12

// Run simulates the experiment. It stops with the cause of the context.
func (e Experiment) Run(ctx context.Context) (*Measurement, error) {
	if err := e.Validate(); err != nil {
		return nil, err
	}
	if e.Warmup == 0 {
		e.Warmup = DefaultWarmup
	}
	if e.Window == 0 {
		e.Window = DefaultWindow
	}
	warmup := max(e.Warmup, 0)
	end := warmup + e.Window
	pattern, err := LookupPattern(e.Pattern)
	if err != nil {
		return nil, err
	}
	net, err := New(e.Config)
	if err != nil {
		return nil, err
	}
	t := newTraffic(e.Config, pattern, e.Load, e.Flits, e.Seed)

	var m Measurement
	const measured = 1 // tag
	var under int64
	var latency, hops, empty float64
	var sum, count, queued [batches]float64
	var histogram []int64
	var accepted uint64
	net.OnDelivery = func(d Delivery) {
		if d.At >= warmup && d.At < end {
			accepted += uint64(d.Flits)
		}
		if d.Tag != measured {
			return
		}
		took := d.At - d.Injected
		under--
		latency += float64(took)
		hops += float64(e.Config.Distance(d.Src, d.Dst) + 1)
		idle := e.Config.ZeroLoadLatency(d.Src, d.Dst, d.Flits)
		empty += float64(idle)
		b := (d.Injected - warmup) * batches / e.Window
		sum[b] += float64(took)
		queued[b] += float64(took - idle)
		count[b]++
		for int64(len(histogram)) <= took {
			histogram = append(histogram, 0)
		}
		histogram[took]++
	}
	for net.Now() < end || under > 0 && net.Now() < end+drainWindows*e.Window {
		if net.Now()%checkEvery == 0 && ctx.Err() != nil {
			return nil, fmt.Errorf("noc: %w", context.Cause(ctx))
		}
		tag := uint64(0)
		if net.Now() >= warmup && net.Now() < end {
			tag = measured
		}
		before := net.counters.Injected
		if err := t.inject(net, tag); err != nil {
			return nil, err
		}
		if tag == measured {
			under += int64(net.counters.Injected - before)
		}
		net.AdvanceTo(net.Now() + 1)
	}

	for took, k := range histogram {
		m.Packets += k
		if k > 0 {
			m.Max = int64(took)
		}
	}
	m.Lost = under
	mean := func(b int) float64 { return queued[b] / max(count[b], 1) }
	m.Capacity = t.capacity()
	m.Saturated = e.Load > m.Capacity || under > 0 || mean(batches-1) > 2*mean(0)+queueGrowth
	rest := m.Packets
	for took, k := range histogram {
		if rest -= k; rest*100 <= m.Packets {
			m.P99 = int64(took)
			break
		}
	}
	if m.Packets > 0 {
		m.Latency, m.Hops, m.Empty = latency/float64(m.Packets), hops/float64(m.Packets), empty/float64(m.Packets)
		m.Queue = m.Latency - m.Empty
	}
	m.Interval = halfInterval(sum, count)
	m.Accepted = float64(accepted) / float64(e.Window) / float64(e.Config.Nodes())
	m.Busiest, _ = net.Utilisation()
	m.FlitHops, m.ByteHops = net.counters.FlitHops, net.ByteHops()
	m.Cycles = net.Now()
	m.Links = net.Links()
	return &m, nil
}

// halfInterval is half of the 95 % confidence interval of a mean from the means
// of its batches, which are taken as independent; 0 if a batch is empty.
func halfInterval(sum, count [batches]float64) float64 {
	const t = 2.262 // Student's distribution, 9 degrees of freedom
	var mean, square float64
	for i := range sum {
		if count[i] == 0 {
			return 0
		}
		mean += sum[i] / count[i] / batches
	}
	for i := range sum {
		d := sum[i]/count[i] - mean
		square += d * d
	}
	return t * math.Sqrt(square/(batches-1)/batches)
}
