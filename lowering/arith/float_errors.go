package arith

import (
	"math"
	"sync"

	"github.com/bitsched/bitsched/sram"
)

// FloatErrors is how wrong the wrong results of floating-point operations are.
// The rates are of all words.
type FloatErrors struct {
	NaN      sram.Rate `json:"nan"`       // not a number, where the right result is a number
	Inf      sram.Rate `json:"inf"`       // infinite, where the right result is finite
	Lost     sram.Rate `json:"lost"`      // something else than the infinity or NaN that is right
	FromZero sram.Rate `json:"from_zero"` // finite and not zero, where zero is right
	Finite   sram.Rate `json:"finite"`    // finite and wrong, where the right result is finite and not zero

	// Quantiles of |wrong - right| / |right| of the results that Finite counts, 0
	// if there is none: the median, 90 and 99 %, to 1 %, and the largest.
	Median float64 `json:"median"`
	P90    float64 `json:"p90"`
	P99    float64 `json:"p99"`
	Max    float64 `json:"max"`
}

// The relative errors are counted in classes of which 128 make an octave, from
// 2^-64 to 2^512: the ratio of two numbers of a format of 8 bits of exponent and
// 23 of fraction lies between. Counts do not depend on the order of what is
// counted.
const (
	errorShift   = 52 - 7
	errorFirst   = (1023 - 64) << 7
	errorClasses = (512 + 64) << 7
)

type floatErrors struct {
	format *Format

	mu                               sync.Mutex
	nan, inf, lost, fromZero, finite int
	classes                          []int
	max                              float64
}

func newFloatErrors(f *Format) *floatErrors {
	return &floatErrors{format: f, classes: make([]int, errorClasses)}
}

// observe counts the words of some trials.
func (e *floatErrors) observe(_, got, want []uint64, w, n int) {
	a, b := make([]uint64, 64*w), make([]uint64, 64*w)
	joinBits(a, got, w)
	joinBits(b, want, w)
	e.mu.Lock()
	defer e.mu.Unlock()
	for j := range n {
		if a[j] != b[j] {
			e.count(e.format.Float64(a[j]), e.format.Float64(b[j]))
		}
	}
}

func (e *floatErrors) count(got, want float64) {
	switch {
	case want != want || math.IsInf(want, 0):
		if got == got || want == want { // a NaN of other bits is still one
			e.lost++
		}
	case got != got:
		e.nan++
	case math.IsInf(got, 0):
		e.inf++
	case want == 0:
		if got != 0 {
			e.fromZero++
		}
	default:
		// Both are exact as float64, and so is all but the last bits of the ratio.
		e.finite++
		r := math.Abs(got-want) / math.Abs(want)
		e.max = max(e.max, r)
		class := int(math.Float64bits(r)>>errorShift) - errorFirst
		e.classes[max(0, min(class, errorClasses-1))]++
	}
}

func (e *floatErrors) report(words int) *FloatErrors {
	r := &FloatErrors{
		NaN: sram.NewRate(e.nan, words), Inf: sram.NewRate(e.inf, words), Lost: sram.NewRate(e.lost, words),
		FromZero: sram.NewRate(e.fromZero, words), Finite: sram.NewRate(e.finite, words), Max: e.max,
	}
	r.Median, r.P90, r.P99 = e.quantile(50), e.quantile(90), e.quantile(99)
	return r
}

// quantile returns the relative error that so many percent of the wrong results
// do not exceed: the lower end of its class.
func (e *floatErrors) quantile(percent int) float64 {
	rank := (e.finite*percent + 99) / 100 // of the result, from 1
	if rank == 0 {
		return 0
	}
	for class, n := range e.classes {
		if rank -= n; rank <= 0 {
			return math.Float64frombits(uint64(class+errorFirst) << errorShift)
		}
	}
	return e.max
}
