package xmg

import "context"

// trailConflicts bounds the SAT queries of a step of a trail that can be left out.
const trailConflicts = 10_000

// EquivalentAlong decides whether the last of a row of circuits computes the same
// outputs as the first, as Equivalent does, but by way of those between: each is
// compared with the last one that was proved equal to the first. Circuits that a
// pass has made of each other are alike, while those at the ends of a long search
// need not be. What is not decided soon is left out, and so the row is a help
// only: any circuits may stand in it.
func EquivalentAlong(ctx context.Context, row []*Graph, opt EquivalenceOptions) (Equivalence, error) {
	all := Equivalence{Verdict: Equal}
	proved := 0
	if len(row) == 0 {
		return all, nil
	}
	from := row[0]
	for i, g := range row[1:] {
		step := opt
		step.alike = true
		last := i+2 == len(row)
		if !last && (opt.Conflicts == 0 || opt.Conflicts > trailConflicts) {
			step.Conflicts = trailConflicts
		}
		if opt.Work > 0 {
			// A step may not find all work done: no bound is what 0 stands for.
			step.Work = max(1, opt.Work-all.Stats.Work)
		}
		e, err := Equivalent(ctx, from, g, step)
		all.Stats.add(e.Stats)
		if last || err != nil {
			if e.Witness != nil && from != row[0] {
				e, err = (&miter{pattern: e.Witness.Inputs}).different(row[0], g)
			}
			e.Stats = all.Stats
			if e.Proved = proved; e.Verdict == Equal {
				e.Proved = i + 1
			}
			return e, err
		}
		if e.Verdict == Equal {
			from, proved = g, i+1
		}
	}
	return all, nil
}

func (s *EquivalenceStats) add(t EquivalenceStats) {
	s.Rounds += t.Rounds
	s.ByTable += t.ByTable
	s.BySAT += t.BySAT
	s.Refuted += t.Refuted
	s.GivenUp += t.GivenUp
	s.Work += t.Work
	s.Patterns += t.Patterns
}
