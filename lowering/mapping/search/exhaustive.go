package search

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/lowering/mapping"
)

// exhaustive prices every mapping of a space, symmetric ones too: the oracle. It takes
// no notice of the number of evaluations, and refuses spaces of more than maxSpace.
type exhaustive struct{}

const maxSpace = 50_000_000

func (exhaustive) Name() string { return "exhaustive" }
func (exhaustive) Doc() string {
	return fmt.Sprintf("every mapping of the space, up to %d; the oracle of the others", maxSpace)
}

func (exhaustive) Search(ctx context.Context, q *mapping.Problem, o Options) (*Result, error) {
	if n := q.SpaceSize(); n > maxSpace {
		return nil, fmt.Errorf("%w: %.3g mappings, expected at most %d", ErrSpace, n, maxSpace)
	}
	r := newRun(ctx, q, o, 1<<62, 0)
	q.Every(func(m *mapping.Mapping) bool {
		r.price(m)
		if (r.res.Evaluations+r.res.Refused)%4096 == 0 && ctx.Err() != nil {
			r.res.Stopped = true
			return false
		}
		return true
	})
	res, err := r.finish()
	if err == nil {
		res.Proved = !res.Stopped
	}
	return res, err
}
