package interp

import (
	"context"
	"errors"

	"github.com/bitsched/bitsched/tdfg"
)

func (x *executor) stream(context.Context, *tdfg.Node) (view, error) {
	return view{}, errors.New("streams wait for their executor")
}
