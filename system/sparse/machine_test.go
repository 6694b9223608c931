package sparse

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzMachine reads descriptions of stacks: what is accepted is valid, and its printed
// form is read back to an equal one; errors name the file.
func FuzzMachine(f *testing.F) {
	f.Add(Default().Effective())
	f.Add("organisation:\n  layers: 1\n  banks_per_layer: 3\n")
	f.Add("readings:\n  ring: one\n  ring: both\n")
	f.Add("clocks: {spu_mhz: 1e3, link_mhz: .nan}\n")
	f.Add("links:\n\t- 3\n")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseMachine(strings.NewReader(text), "f.yaml")
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "f.yaml"), err.Error())
			return
		}
		require.NoError(t, m.Check())
		again, err := ParseMachine(strings.NewReader(m.Effective()), "f.yaml")
		require.NoError(t, err, m.Effective())
		require.Equal(t, m, again)
	})
}
