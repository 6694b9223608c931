package reproduce

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/bitsched/bitsched/system/multicore"
)

// MaxSeeds is how many seeds of what is random in time there may be.
const MaxSeeds = 31

// lateCycles is how many cycles threads begin their parts of parallel loops late at the most: the
// spread of what forks of libomp take, 210 to 260 ns (see threads.fork_cycles of machines), at 2 GHz.
const lateCycles = 100

// timing is what is random in time for a seed, nil for none.
func (e *Env) timing() *multicore.Jitter {
	if e.jitter == 0 {
		return nil
	}
	return &multicore.Jitter{Seed: e.jitter, Late: lateCycles}
}

// quantiles are those of Student's t for 0.975, by degrees of freedom from 1 on.
var quantiles = [MaxSeeds - 1]float64{
	12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
	2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
}

// interval is the mean, and half of its 95 % confidence interval, of at least two values.
func interval(list []float64) (mean, half float64) {
	n := float64(len(list))
	for _, v := range list {
		mean += v / n
	}
	squares := 0.0
	for _, v := range list {
		squares += (v - mean) * (v - mean)
	}
	return mean, quantiles[len(list)-2] * math.Sqrt(squares/(n-1)/n)
}

// Ordering says how an order came out.
type Ordering string

// The orderings.
const (
	AsPaper  Ordering = "as in the paper"
	OtherWay Ordering = "the other way round"
	Tie      Ordering = "tie" // inside of the interval
)

// Order is that of two quantities of a paper, or of one that is more than 1, as it came out with
// several seeds.
type Order struct {
	More     string   `json:"more"`
	Less     string   `json:"less"` // "" = 1
	By       float64  `json:"by"`   // mean of the differences of each seed
	Interval float64  `json:"interval"`
	Ordering Ordering `json:"ordering"`
}

// Text is the order as it is printed.
func (o *Order) Text() string {
	less := o.Less
	if less == "" {
		less = "1"
	}
	return fmt.Sprintf("%s above %s: %s (%+.3g ± %.2g)", o.More, less, o.Ordering, o.By, o.Interval)
}

// IntervalText is the interval of ours as it is printed, "" without.
func (c *Comparison) IntervalText() string {
	if c.Interval == 0 {
		return ""
	}
	return fmt.Sprintf(" ±%.2g", c.Interval)
}

// several measures with seeds of what is random in time, one after another: values are means of
// those seeds that have them, all else is of the first one.
func (e *Entry) several(ctx context.Context, env *Env, inputs map[string]string, r *Report) error {
	var list []*Measured
	r.Kept = true
	var failed []string
	for seed := range env.Seeds {
		own := *env
		own.jitter = uint64(seed) + 1
		own.Progress = func(what string, done, total int) {
			env.progress(fmt.Sprintf("seed %d of %d, %s", seed+1, env.Seeds, what), done, total)
		}
		m, kept, err := e.measure(ctx, &own, inputs)
		if err != nil && ctx.Err() != nil && len(list) > 0 {
			failed = append(failed, fmt.Sprintf("stopped before seed %d had a run", seed+1))
			break
		}
		if err != nil {
			return err
		}
		r.Kept = r.Kept && kept
		list = append(list, m)
		for _, f := range m.Failed {
			failed = append(failed, fmt.Sprintf("seed %d: %s", seed+1, f))
		}
		if ctx.Err() != nil && len(m.Failed) > 0 {
			break
		}
	}
	r.Seeds = len(list)
	first := *list[0]
	r.Measured = &first
	r.Failed = failed
	r.first, r.Values, r.Orders = first.Values, nil, e.orders(list)
	for _, v := range list[0].Values {
		if found := valuesOf(list, v.Name); len(found) > 1 {
			v.Value, v.Interval = interval(found)
		}
		r.Values = append(r.Values, v)
	}
	r.Notes = append(slices.Clone(first.Notes), fmt.Sprintf("claims are means of %d seeds, with half of their 95 %% confidence interval (Student's t): threads begin their parts of parallel loops up to %d cycles late, and refreshes of DRAM at any time; tables and figures are of the first seed",
		len(list), lateCycles))
	return nil
}

// of is the value of a name.
func (m *Measured) of(name string) (v float64, ok bool) {
	i := slices.IndexFunc(m.Values, func(v Value) bool { return v.Name == name })
	if i < 0 {
		return 0, false
	}
	return m.Values[i].Value, true
}

// valuesOf are the values of a name, of those that have it.
func valuesOf(list []*Measured, name string) (found []float64) {
	for _, m := range list {
		if v, ok := m.of(name); ok {
			found = append(found, v)
		}
	}
	return found
}

// order is how two quantities came out, or one and 1, by what differs in each seed that has both.
// sign is -1 where the paper has less than 1; ok is false if fewer than two seeds have them.
func order(list []*Measured, more, less string, sign float64) (o Order, ok bool) {
	var diffs []float64
	for _, m := range list {
		a, ok := m.of(more)
		b := 1.0
		if less != "" && ok {
			b, ok = m.of(less)
		}
		if ok {
			diffs = append(diffs, a-b)
		}
	}
	if len(diffs) < 2 {
		return o, false
	}
	o = Order{More: more, Less: less, Ordering: Tie}
	o.By, o.Interval = interval(diffs)
	switch {
	case math.Abs(o.By) <= o.Interval:
	case o.By*sign > 0:
		o.Ordering = AsPaper
	default:
		o.Ordering = OtherWay
	}
	return o, true
}

// orders are those of claims.
func (e *Entry) orders(list []*Measured) (all []Order) {
	add := func(more, less string, sign float64) {
		if o, ok := order(list, more, less, sign); ok {
			all = append(all, o)
		}
	}
	for i, c := range e.Claims {
		if c.Unit == "x" && c.Paper != 1 && !slices.ContainsFunc(e.Claims[:i], func(x Claim) bool { return x.Name == c.Name }) {
			add(c.Name, "", c.Paper-1)
		}
		for _, x := range e.Claims[:i] {
			switch {
			case c.Order == "" || x.Order != c.Order || x.Paper == c.Paper:
			case x.Paper > c.Paper:
				add(x.Name, c.Name, 1)
			default:
				add(c.Name, x.Name, 1)
			}
		}
	}
	return all
}

// errSeeds is of seeds that cannot be.
var errSeeds = errors.New("expected 1 to 31")

// CheckSeeds says what is wrong with a number of seeds.
func CheckSeeds(n int) error {
	if n < 1 || n > MaxSeeds {
		return errSeeds
	}
	return nil
}
