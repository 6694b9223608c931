package fused

import (
	"context"
	"fmt"
	"strings"
)

// Oracle is the configuration that tries: beside what Auto rehearses, each part of the function at each
// place, with both ways to share lines out to banks, in all combinations if there are no more than 64,
// and otherwise each part elsewhere than in the fastest run. It does not try to change places within a
// loop, other than Auto.
const Oracle = "oracle"

// oracle returns the fastest run of all, and those beside what Auto has rehearsed.
func (h *Rehearsals) oracle(ctx context.Context, r *Rehearsed) (chosen *rehearsal, tried []*rehearsal, err error) {
	best, err := h.auto(ctx)
	if err != nil {
		return best, nil, err
	}
	defer func() { h.best = best }() // of Auto
	places := make([][]Place, len(h.x.predictor.parts))
	for u := range places {
		for k := range numPlaces {
			if h.e.possible(u, k) {
				places[u] = append(places[u], k)
			}
		}
	}
	ways := []int{h.e.plain}
	if h.e.wide != h.e.plain {
		ways = append(ways, h.e.wide)
	}
	var list []*Plan
	if list = combinations(places, ways); list == nil {
		list = neighbours(h.places(best), places, ways)
	} else {
		r.Whole = true
	}
	r.Combinations = len(list)
	for len(list) > 0 && !h.halted {
		var next []candidate
		for len(list) > 0 && len(next) < 2 {
			if _, ok := h.whole[list[0].key()]; !ok {
				next = append(next, candidate{list[0], h.e.expect(list[0])})
			}
			list = list[1:]
		}
		made, err := h.wave(ctx, next, h.best.cycles())
		if err != nil {
			return made[0], nil, err
		}
		tried = append(tried, made...)
	}
	chosen = h.best
	for _, config := range singles { // of which Auto may have left one out that was run for itself
		if q := h.whole[h.pure(config).key()]; q != nil && q.cycles() < chosen.cycles() {
			chosen = q
		}
	}
	return chosen, tried, nil
}

// combinations are all plans in which each part is at one place, nil if there are too many.
func combinations(places [][]Place, ways []int) (list []*Plan) {
	n := len(ways)
	for _, p := range places {
		if n *= len(p); n > mostCombinations {
			return nil
		}
	}
	plans := []*Plan{{}}
	for _, p := range places {
		var more []*Plan
		for _, pl := range plans {
			for _, k := range p {
				more = append(more, &Plan{Parts: append(pl.Parts[:len(pl.Parts):len(pl.Parts)], []Turn{{Place: k}})})
			}
		}
		plans = more
	}
	for _, pl := range plans {
		var names []string
		for _, t := range pl.Parts {
			names = append(names, t[0].Place.String())
		}
		for _, w := range ways {
			list = append(list, pl.mixed(strings.Join(names, ", "), w))
		}
	}
	return list
}

// neighbours are plans in which one part is elsewhere than in another.
func neighbours(pl *Plan, places [][]Place, ways []int) (list []*Plan) {
	for u, p := range places {
		for _, k := range p {
			for _, w := range ways {
				if len(list) < mostCombinations {
					list = append(list, pl.with(u, k, 0, 1, 1).mixed(fmt.Sprintf("part %d at %s", u+1, k), w))
				}
			}
		}
	}
	return list
}
