package figure

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/figuretest"
)

// TestTextWidth holds the estimate against a font: never less, and not much more.
func TestTextWidth(t *testing.T) {
	for _, bold := range []bool{false, true} {
		for r := ' '; r <= '~'; r++ {
			require.GreaterOrEqual(t, TextWidth(string(r), 1, bold), figuretest.Width(string(r), bold), "%c", r)
		}
		for _, s := range []string{"Energy by circuit and scheduler", "fp32 [1,M-1)x[1,N-1)x[1,L-1)", "gather_mlp_inner, M=32768 N=128", "12\u2009345", "multiplier, 128 rows"} {
			require.GreaterOrEqual(t, TextWidth(s, 1, bold), figuretest.Width(s, bold), s)
			require.Less(t, TextWidth(s, 1, bold), 1.2*figuretest.Width(s, bold), s)
		}
	}
	require.Equal(t, 3*TextWidth("abc", 1, false), TextWidth("abc", 3, false))
}

func TestShorten(t *testing.T) {
	require.Equal(t, "short", Shorten("short", 5))
	require.Equal(t, "ab…yz", Shorten("abcdefxyz", 5))
	require.Equal(t, "abc…yz", Shorten("abcdefxyz", 6))
	require.Equal(t, "é…é", Shorten("ééééé", 3))
}

func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1e-7: "1e-7", 2.5e-12: "2.5e-12", 0.0001: "0.0001", 1234567: "1.23e6", 0.1234: "0.123", 12: "12"} {
		require.Equal(t, want, ShortText(v))
	}
	for v, want := range map[float64]string{0.30000000000000004: "0.3", 1000: "1000", 12345: "12\u2009345", 1234567.5: "1\u2009234\u2009567.5"} {
		require.Equal(t, want, TickText(v))
	}
}
