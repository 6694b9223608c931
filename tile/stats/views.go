package stats

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
)

// WriteText writes the stats in the form of gem5's stats.txt: a name, a value, and a
// comment that ends in the unit, in each line. What stands after :: is a part of what
// stands before it.
func (s *Snapshot) WriteText(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprint(b, "---------- Begin Simulation Statistics ----------\n")
	for i, e := range s.entries {
		line := func(part, value string) {
			fmt.Fprintf(b, "%-40s %20s  # %s (%s)\n", e.Name+part, value, e.Text, e.Unit)
		}
		whole := func(n uint64) string { return strconv.FormatUint(n, 10) }
		summary := func(d *Distribution) {
			line("::samples", whole(d.count))
			line("::mean", decimal(d.Mean()))
			line("::stdev", decimal(d.Deviation()))
			line("::min", whole(d.least))
			line("::max", whole(d.most))
			line("::total", whole(d.sum))
		}
		switch v := s.values[i].(type) {
		case nil:
			line("", decimal(s.at(i)))
		case count:
			line("", whole(uint64(v)))
		case number:
			line("", decimal(float64(v)))
		case vector:
			for k, n := range v {
				line("::"+e.part(k), whole(n))
			}
			line("::total", whole(v.total()))
		case distribution:
			summary(&v.Distribution)
		case histogram:
			summary(&v.Distribution)
			for _, k := range v.Buckets() {
				line("::"+k.String(), whole(k.Count))
			}
		case level:
			line("::mean", decimal(v.value()))
			line("::max", whole(v.most))
		}
	}
	fmt.Fprint(b, "---------- End Simulation Statistics   ----------\n")
	return b.Flush()
}

func (b Bucket) String() string {
	if b.Least == b.Most {
		return strconv.FormatUint(b.Least, 10)
	}
	return strconv.FormatUint(b.Least, 10) + "-" + strconv.FormatUint(b.Most, 10)
}

// decimal is a number with six digits after the point, as gem5 has it.
func decimal(v float64) string { return strconv.FormatFloat(v, 'f', 6, 64) }

// part is the name of a part, its number if it has none.
func (e *entry) part(i int) string {
	if i < len(e.parts) {
		return e.parts[i]
	}
	return strconv.Itoa(i)
}

// document is a stat in JSON.
type document struct {
	Name      string       `json:"name"`
	Unit      string       `json:"unit"`
	Text      string       `json:"description"`
	Value     any          `json:"value"` // a number; the mean of samples or over time
	Parts     []part       `json:"parts,omitempty"`
	Samples   *summaryJSON `json:"samples,omitempty"`
	Histogram []Bucket     `json:"histogram,omitempty"`
	Max       *uint64      `json:"max,omitempty"` // of a level
}

type part struct {
	Name  string `json:"name"`
	Value uint64 `json:"value"`
}

type summaryJSON struct {
	Count uint64  `json:"count"`
	Total uint64  `json:"total"`
	Stdev float64 `json:"stdev"`
	Min   uint64  `json:"min"`
	Max   uint64  `json:"max"`
}

// MarshalJSON returns an array of the stats in order, each with its name, unit,
// description and value.
func (s *Snapshot) MarshalJSON() ([]byte, error) {
	list := make([]document, len(s.entries))
	for i, e := range s.entries {
		d := &list[i]
		*d = document{Name: e.Name, Unit: e.Unit, Text: e.Text}
		summary := func(v *Distribution) {
			d.Value, d.Samples = v.Mean(), &summaryJSON{v.count, v.sum, v.Deviation(), v.least, v.most}
		}
		switch v := s.values[i].(type) {
		case nil:
			d.Value = s.at(i)
		case count:
			d.Value = uint64(v)
		case number:
			d.Value = float64(v)
		case vector:
			d.Value, d.Parts = v.total(), []part{}
			for k, n := range v {
				d.Parts = append(d.Parts, part{e.part(k), n})
			}
		case distribution:
			summary(&v.Distribution)
		case histogram:
			summary(&v.Distribution)
			d.Histogram = v.Buckets()
		case level:
			d.Value, d.Max = v.value(), &v.most
		}
	}
	return json.Marshal(list)
}
