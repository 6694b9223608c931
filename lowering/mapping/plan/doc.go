// Package plan maps whole networks: it searches each different operator once, clocks
// the mappings, executes every layer on what the layer before it made, and compares
// all outputs with the loop nest. What is no sum of products is executed at word level,
// counted and not timed.
//
//	rep, err := plan.Map(ctx, network, platform, plan.Options{Evals: 10000})
//
// It prices nothing itself: costs are those of package mapping.
package plan
