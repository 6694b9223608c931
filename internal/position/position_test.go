package position_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/position"
)

func TestError(t *testing.T) {
	for _, c := range []struct {
		err  position.Error
		want string
	}{
		{position.Error{File: "f", Msg: "m"}, "f: m"},
		{position.Error{File: "f", Line: 2, Msg: "m"}, "f:2: m"},
		{position.Error{File: "f", Line: 2, Col: 3, Msg: "m"}, "f:2:3: m"},
		{position.Error{File: "f", Col: 3, Msg: "m"}, "f: m"},
		{position.Error{File: "f", Binary: true, Offset: 7, Msg: "m"}, "f: byte 7: m"},
		{position.Error{File: "f", Binary: true, Msg: "m"}, "f: byte 0: m"},
		{position.Error{File: "f", Line: 12, Msg: "m", Excerpt: "a: b"}, "f:12: m\n   12 | a: b"},
	} {
		require.EqualError(t, &c.err, c.want)
	}
	cause := errors.New("cause")
	require.ErrorIs(t, &position.Error{Err: cause}, cause)
	require.NoError(t, errors.Unwrap(&position.Error{}))
}
