package multicore

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bitsched/bitsched/tile/se"
)

// Inject disturbs streams on purpose: their state must stay precise.
type Inject = se.Inject

// Ending is how often streams ended before their time, for a reason.
type Ending struct {
	Reason string `json:"reason"`
	Count  uint64 `json:"count"`
	Doc    string `json:"-"`
}

var endings = [se.NumReasons]string{
	se.Alias:   "two streams, or one and the core, may access the same bytes; the core went on in their place, and keeps the loop",
	se.Fault:   "a page of a stream was missing",
	se.Switch:  "a core got another context",
	se.Timeout: "streams had not done anything for long",
}

// ParseInject reads what to inject: alias, fault or switch, each with :rate, a probability,
// or without.
func ParseInject(list []string) (*Inject, error) {
	x := &Inject{}
	for _, text := range list {
		name, rate, given := strings.Cut(text, ":")
		var p *float64
		value := 0.0
		switch name {
		case se.Alias.String():
			p, value = &x.Alias, 1e-3
		case se.Fault.String():
			p, value = &x.Fault, 1e-2
		case se.Switch.String():
			p, value = &x.Switch, 1e-4
		default:
			return nil, fmt.Errorf("multicore: inject %q, expected alias, fault or switch, each with :rate or without", text)
		}
		if given {
			var err error
			if value, err = strconv.ParseFloat(rate, 64); err != nil || !(value > 0 && value <= 1) {
				return nil, fmt.Errorf("multicore: inject %q, expected a rate above 0 and at most 1, as in %s:0.001", text, name)
			}
		}
		*p = value
	}
	return x, nil
}
