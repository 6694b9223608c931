package platform

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNamesLoad(t *testing.T) {
	for _, name := range Names() {
		p, err := Load(name)
		require.NoError(t, err)
		require.Equal(t, name, p.Name)
		q := p.clone()
		require.Equal(t, p.Hash(), q.Hash())
	}
}

func TestPaperTables(t *testing.T) {
	for _, name := range Names() {
		p, err := Load(name)
		require.NoError(t, err)
		for _, r := range p.Paper {
			require.Less(t, math.Abs(p.PaperValue(r)-r.Value), 1e-6, "%s: %s", name, r.Item)
		}
	}
}
