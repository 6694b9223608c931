package masim

import "context"

// rematerialize searches once more, from the starts on and by energy, with gates
// computed again where that takes less than copies; then with clones too. A schedule that
// was found without stays if it takes no more energy. It returns the search that
// has the best plan, and the costs of that plan.
func (b *bitsched) rematerialize(ctx context.Context, c *costs) (*bitsched, *costs) {
	again := &bitsched{ctx: b.ctx, in: b.in, o: b.o, costs: c, best: infeasible, trials: b.trials, copies: -1, floor: b.floorAgain}
	once := *c
	once.rematerial = false
	least := infeasible
	if b.plan != nil {
		again.copies = b.best
		least = b.evaluatorOf(b.plan, &once).reset()
		again.offer(b.plan, again.evaluator(b.plan).reset())
	}
	again.efforts(ctx)
	if again.plan != nil {
		again.weigh(ctx, c)
	}
	if again.best < least {
		return again, c
	}
	b.trials = again.trials
	return b, &once
}
