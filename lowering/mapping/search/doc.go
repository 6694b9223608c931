// Package search looks for good mappings of an operator on a platform. All optimisers
// stand behind one interface and are given a number of evaluations: legal mappings
// that they price in closed form. A result says how many it took, whether it is proved
// to be the best of the whole space, and how far it is from a bound that knows nothing
// of the search.
//
//	r, err := search.Optimizers["bitsched"].Search(ctx, problem, search.Options{Evals: 10000, Seed: 1})
//
// bitsched is ours; ares is the genetic algorithm as published (ARES, section V-C),
// with what the paper leaves open in docs/mapping.md; exhaustive is the oracle of small
// spaces; gamma, anneal, random and cosa are rivals; templates are the baselines of the
// paper and others. A search depends on seed and evaluations, never on threads.
package search
