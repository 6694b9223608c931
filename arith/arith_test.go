package arith

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/sram"
)

func TestMain(m *testing.M) {
	SetCacheDir("")
	os.Exit(m.Run())
}

func mustBuild(t testing.TB, s Spec) *Program {
	t.Helper()
	p, err := Build(context.Background(), s)
	require.NoError(t, err, "%+v", s)
	return p
}

// TestIntegers builds every integer operation, which compares it with the
// processor on all operands where these are few.
func TestIntegers(t *testing.T) {
	for i := range Operations {
		o := &Operations[i]
		if o.IsFloat() {
			continue
		}
		t.Run(o.Name, func(t *testing.T) {
			for _, tech := range sram.Technologies {
				for _, w := range []int{1, 2, 3, 4, 5, 6, 7, 8, 13, 16, 31, 32, 33, 63, 64} {
					_, err := Build(context.Background(), Spec{Op: o.Name, Width: w, Tech: tech.Name, Rows: 1024})
					require.NoError(t, err, "width %d for %s", w, tech.Name)
				}
			}
		})
	}
}

func TestPrint(t *testing.T) {
	for i := range Operations {
		o := &Operations[i]
		for _, tech := range sram.Technologies {
			n := o.Name
			if o.IsFloat() {
				n = "fp32" + n[2:]
			}
			p, err := Build(context.Background(), Spec{Op: n, Tech: tech.Name})
			if errors.Is(err, ErrRows) || err != nil {
				fmt.Println(o.Name, tech.Name, err)
				continue
			}
			fmt.Println(p.Spec.Op, tech.Name, p.Latency(), p.Scratch, p.InPlace)
		}
	}
}
