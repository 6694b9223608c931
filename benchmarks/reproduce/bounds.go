package reproduce

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Side says which values of a quantity a bound leaves.
type Side string

// The sides.
const (
	AtMost  Side = "at most"
	AtLeast Side = "at least"
)

// Bound is a value that a quantity does not pass on the machine and the workloads as they are
// specified, whatever the parameters are that the paper leaves open.
type Bound struct {
	Name  string  `json:"name"` // of the quantity
	Side  Side    `json:"side"`
	Value float64 `json:"value"`
	With  string  `json:"with"` // what is free or left out
	Why   string  `json:"why"`  // it is a bound
}

// Miss is a quantity that is not the paper's: a runner of bounds does not learn more.
type Miss struct {
	Name string
	Side Side // that a bound has to be from which keeps ours from being the paper's
}

// ErrBound is wrapped by the errors of bounds that what was measured has passed.
var ErrBound = errors.New("a bound does not hold")

// slack is how far, as a share, sums of floats in another order may be off.
const slack = 1e-9

// holds tells whether a value is on the side of the bound that it leaves.
func (b *Bound) holds(v float64) bool {
	over := v - b.Value
	if b.Side == AtLeast {
		over = -over
	}
	return over <= slack*math.Max(math.Abs(v), math.Abs(b.Value))
}

// check is an error if the bound is not one, or does not hold for what was measured.
func (b *Bound) check(ours float64) error {
	switch {
	case b.Side != AtMost && b.Side != AtLeast, b.With == "", b.Why == "", math.IsNaN(b.Value):
		return fmt.Errorf("%w: %s: %+v says not what it is", ErrBound, b.Name, *b)
	case !b.holds(ours):
		return fmt.Errorf("%w: %s is %s %g with %s, and %g was measured", ErrBound, b.Name, b.Side, b.Value, b.With, ours)
	}
	return nil
}

// edges are the least and the greatest value that reproduce a claim.
func (c *Claim) edges() (low, high float64) {
	off := c.Tolerance
	if !c.Points {
		off *= math.Abs(c.Paper)
	}
	return c.Paper - off, c.Paper + off
}

// excludes tells whether no value that the bound leaves reproduces a claim.
func (b *Bound) excludes(c *Claim) bool {
	low, high := c.edges()
	if b.Side == AtMost {
		return b.Value < low
	}
	return b.Value > high
}

// miss is what a bound has to be on, if ours differs from the paper.
func (c *Comparison) miss() (m Miss, ok bool) {
	if c.Verdict != Differs {
		return m, false
	}
	m = Miss{c.Name, AtMost}
	if *c.Ours > c.Paper {
		m.Side = AtLeast
	}
	return m, true
}

// bounded gives a claim that differs the bounds that there are of it. Every
// bound of the quantity has to hold for ours of the seed that bounds are of; a mean of several
// seeds that is beyond it takes its place.
func (c *Claim) bounded(out *Comparison, bounds []Bound, own float64) error {
	if out.Ours == nil {
		return nil
	}
	m, differs := out.miss()
	for _, b := range bounds {
		if b.Name != c.Name {
			continue
		}
		if err := b.check(own); err != nil {
			return err
		}
		if !b.holds(*out.Ours) {
			b.Value = *out.Ours
		}
		if differs && b.Side == m.Side {
			out.Bounds = append(out.Bounds, b)
		}
	}
	slices.SortStableFunc(out.Bounds, func(a, b Bound) int {
		if m.Side == AtLeast {
			a, b = b, a
		}
		return cmp.Compare(a.Value, b.Value)
	})
	return nil
}

// reach gives a claim that differs its verdict by the tightest of its bounds.
func (c *Claim) reach(out *Comparison) {
	if len(out.Bounds) > 0 && out.Bounds[0].excludes(c) {
		out.Verdict = NotReachable
	}
}

// BoundTexts are the bounds of a claim as they are printed.
func (c *Comparison) BoundTexts() (list []string) {
	unit := c.Unit
	if unit != "" && unit != "x" {
		unit = " " + unit
	}
	for _, b := range c.Bounds {
		list = append(list, fmt.Sprintf("%s: %s %s%s, %s: %s", c.Name, b.Side, strconv.FormatFloat(b.Value, 'g', 4, 64), unit, b.With, b.Why))
	}
	return list
}
