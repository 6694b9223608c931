package core

import (
	"maps"
	"slices"
	"strings"
)

// Predictor foretells the ways of conditional branches.
type Predictor interface {
	// Predict tells whether the branch is taken, and is told the truth at once: there
	// is no wrong path in this model.
	Predict(pc uint32, taken bool) bool
}

// Predictors are those that a core may have.
var Predictors = map[string]func() Predictor{
	"hashed-perceptron": func() Predictor { return newPerceptron() },
	"tage":              func() Predictor { return newTage() },
	"gshare":            func() Predictor { return &gshare{table: make([]uint8, 1<<14)} },
	"perfect":           func() Predictor { return perfect{} },
}

func predictorNames() string { return strings.Join(slices.Sorted(maps.Keys(Predictors)), ", ") }

type perfect struct{}

func (perfect) Predict(_ uint32, taken bool) bool { return taken }

// gshare has counters of two bits, found by the PC and the last 14 branches
// (McFarling, 1993).
type gshare struct {
	table   []uint8
	history uint32
}

func (g *gshare) Predict(pc uint32, taken bool) bool {
	mask := uint32(len(g.table) - 1)
	c := &g.table[(pc^g.history)&mask]
	guess := *c >= 2
	if taken && *c < 3 {
		*c++
	}
	if !taken && *c > 0 {
		*c--
	}
	g.history = g.history << 1 & mask
	if taken {
		g.history |= 1
	}
	return guess
}

// perceptron adds up weights found by hashes of the PC with histories of geometric
// lengths, and learns when it was wrong or unsure (Tarjan and Skadron, TACO 2005;
// Jiménez, CBP-4 2014, for the lengths and the threshold).
type perceptron struct {
	weights   [perceptronTables][perceptronEntries]int8
	history   [4]uint64 // the last 256 branches, the newest in bit 0 of the first word
	threshold int
	unsure    int
}

const (
	perceptronTables  = 16
	perceptronEntries = 1 << 12
)

var perceptronLengths = [perceptronTables]int{0, 3, 4, 6, 8, 10, 14, 19, 26, 36, 49, 67, 91, 125, 170, 232}

func newPerceptron() *perceptron { return &perceptron{threshold: 10} }

func (p *perceptron) Predict(pc uint32, taken bool) bool {
	var at [perceptronTables]int
	sum := 0
	for i, n := range perceptronLengths {
		h := uint64(pc)
		for w := 0; n > 0; w++ {
			bits := p.history[w]
			if n < 64 {
				bits &= 1<<n - 1
			}
			// Fold the history to the width of the index.
			for ; bits != 0; bits >>= 12 {
				h ^= bits & (perceptronEntries - 1)
			}
			h = h<<1 | h>>63
			n -= 64
		}
		h ^= uint64(i) * 0x9e3
		at[i] = int((h ^ h>>12) & (perceptronEntries - 1))
		sum += int(p.weights[i][at[i]])
	}
	guess := sum >= 0
	wrong := guess != taken
	if abs := max(sum, -sum); wrong || abs < p.threshold {
		for i := range at {
			w := &p.weights[i][at[i]]
			if taken && *w < 127 {
				*w++
			}
			if !taken && *w > -128 {
				*w--
			}
		}
		// As many lessons from wrong guesses as from unsure ones.
		if wrong {
			p.unsure++
			if p.unsure >= 18 {
				p.threshold++
				p.unsure = 0
			}
		} else {
			p.unsure--
			if p.unsure <= -18 {
				p.threshold = max(1, p.threshold-1)
				p.unsure = 0
			}
		}
	}
	for w := 3; w > 0; w-- {
		p.history[w] = p.history[w]<<1 | p.history[w-1]>>63
	}
	p.history[0] <<= 1
	if taken {
		p.history[0] |= 1
	}
	return guess
}
