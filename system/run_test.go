package system_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/lattice"
	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/scalar"
	"github.com/bitsched/bitsched/system"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/internal/random"
	"github.com/bitsched/bitsched/tdfg/interp"
	"github.com/bitsched/bitsched/tile"
)
