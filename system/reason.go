package system

import "fmt"

// ReasonKind says why a region is executed near the memory.
type ReasonKind uint8

// The kinds of reasons.
const (
	Asked       ReasonKind = iota // the options say so
	Decided                       // Eq. 2 of the paper does
	OtherAxes                     // an array lies along other dimensions than in an earlier region
	OnlyStreams                   // no tensors
	NoEntries                     // the layout override table is too short
	NoRows                        // not enough rows of an array
	NoLayout                      // no tiles comply with the constraints of section 4.1
	NoOperation                   // an operation has no program
)

// Reason is why a region is executed near the memory. It is not an error of a run:
// near-memory execution takes its place, as in section 4.1. Nothing else leads to
// there: an error that is none of these ends the run.
type Reason struct {
	Region string // its name; "" of all regions that could be in memory
	Kind   ReasonKind
	Err    error // what is missing, if there is more to say

	Enough int // rows of an array that would do, of those that are common; 0 if none would
}

// Text is the reason without the region.
func (r *Reason) Text() string {
	var s string
	switch r.Kind {
	case Asked:
		return "asked for"
	case Decided:
		return "Eq. 2 decides against it"
	case OtherAxes:
		return "an array lies along other dimensions than in an earlier region"
	case OnlyStreams:
		return "not in memory: no tensors, only streams"
	case NoEntries, NoLayout:
		s = "not in memory: "
	}
	s += r.Err.Error()
	if r.Enough > 0 {
		s += fmt.Sprintf("; arrays of %d rows would do", r.Enough)
	}
	return s
}

func (r Reason) String() string {
	if r.Region == "" {
		return r.Text()
	}
	return r.Region + ": " + r.Text()
}

// MarshalText returns the reason as reports have it.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }
