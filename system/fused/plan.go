package fused

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bitsched/bitsched/system/multicore"
)

// Plan says where each part of a function runs, each time that it is reached.
type Plan struct {
	Name       string   // of a configuration, or of what it was made of
	Interleave int      // bytes that lie in a bank of the L3 together
	Parts      [][]Turn // by part
	near       bool     // streams of regions near the memory
	streams    bool     // threads have streams at the L3
	predicted  bool     // places are chosen in the run, and Parts is nil
}

// Turn is a place at which a part is so many times, or, of the last turn, from then on.
type Turn struct {
	Place Place `json:"place"`
	Times int64 `json:"times"`
}

// MarshalText writes the name of a place.
func (p Place) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// pure is the plan of a configuration that does the same with all parts, of which the first ones are
// units, where so many bytes lie in a bank together without streams, and with them.
func pure(config string, units, parts, plain, wide int) *Plan {
	pl := &Plan{Name: config, Interleave: plain, near: config == infS, streams: config == nearL3 || config == infS}
	if pl.streams {
		pl.Interleave = wide
	}
	rest := pl.threads()
	for i := range parts {
		k := rest
		if i < units && (config == inL3 || config == infS) {
			k = InMemory
		}
		pl.Parts = append(pl.Parts, []Turn{{Place: k}})
	}
	return pl
}

// Configurations with all parts at one place.
const (
	nearL3 = "near-l3"
	inL3   = "in-l3"
	infS   = "inf-s"
)

// singles are the configurations that do not choose.
var singles = []string{multicore.Base, nearL3, inL3, infS}

// configuration is what a machine has that executes a plan.
func (pl *Plan) configuration() *Configuration {
	c := &Configuration{Name: pl.Name, cores: multicore.Base, streams: pl.near}
	if pl.streams {
		c.cores = nearL3
	}
	return c
}

// uses reports whether a part is ever at a place.
func (pl *Plan) uses(k Place) bool {
	return slices.ContainsFunc(pl.Parts, func(list []Turn) bool {
		return slices.ContainsFunc(list, func(t Turn) bool { return t.Place == k })
	})
}

// both reports whether cores have streams at times, and prefetchers at others.
func (pl *Plan) both() bool { return pl.streams && pl.uses(OnCores) }

// threads is where a part runs that cannot be in memory.
func (pl *Plan) threads() Place {
	if pl.streams {
		return AtL3
	}
	return OnCores
}

// stays reports whether threads execute a part each time, with or without streams.
func (pl *Plan) stays(part int) bool {
	list := pl.Parts[part]
	return len(list) == 1 && list[0].Place != InMemory
}

// at returns where a part is when it is reached for the n-th time, from 0.
func (pl *Plan) at(part int, n int64) Place {
	list := pl.Parts[part]
	for _, t := range list[:len(list)-1] {
		if n < t.Times {
			return t.Place
		}
		n -= t.Times
	}
	return list[len(list)-1].Place
}

// with is a plan in which a part is at another place from the n-th time on, or until then.
func (pl *Plan) with(part int, k Place, from, until, reached int64) *Plan {
	q := *pl
	q.Parts = slices.Clone(pl.Parts)
	var list []Turn
	for n := range reached {
		at := pl.at(part, n)
		if n >= from && n < until {
			at = k
		}
		if len(list) == 0 || list[len(list)-1].Place != at {
			list = append(list, Turn{Place: at})
		}
		list[len(list)-1].Times++
	}
	list[len(list)-1].Times = 0
	q.Parts[part] = list
	return &q
}

// mixed completes a plan that was made of others.
func (pl *Plan) mixed(name string, interleave int) *Plan {
	q := *pl
	q.Name, q.Interleave, q.near, q.streams = name, interleave, true, pl.uses(AtL3)
	return &q
}

// key tells plans apart that differ in what they do.
func (pl *Plan) key() string {
	return fmt.Sprint(pl.predicted, pl.Interleave, pl.near && pl.uses(InMemory), pl.streams, pl.Parts)
}

// turnText says where a part is.
func turnText(list []Turn) string {
	if len(list) == 0 {
		return ""
	}
	var text []string
	for _, t := range list[:len(list)-1] {
		text = append(text, fmt.Sprintf("%s %d times", t.Place, t.Times))
	}
	last := list[len(list)-1].Place.String()
	if len(text) > 0 {
		last += " from then on"
	}
	return strings.Join(append(text, last), ", ")
}

// turns are the places at which a part was, in order.
func turns(steps []step, part int) (list []Turn) {
	for _, s := range steps {
		if s.part != part {
			continue
		}
		if len(list) == 0 || list[len(list)-1].Place != s.place {
			list = append(list, Turn{Place: s.place})
		}
		list[len(list)-1].Times++
	}
	if len(list) > 0 {
		list[len(list)-1].Times = 0
	}
	return list
}
