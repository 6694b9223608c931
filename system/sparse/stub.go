package sparse

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/system/sparse/matrix"
)

func runRows(ctx context.Context, a App, m *matrix.Matrix, o AppOptions, cfg Config, ring Semiring, trace *Trace) (*Result, error) {
	return nil, fmt.Errorf("not yet")
}
