package se

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSlab: what a slab hands out is 0, belongs to none else, and does not grow into what comes next.
func TestSlab(t *testing.T) {
	var s slab[uint64]
	var lists [][]uint64
	for i := range 400 {
		list := s.make(1 + i*37%1500)
		require.Len(t, list, 1+i*37%1500)
		require.Zero(t, list[0]|list[len(list)-1])
		for k := range list {
			require.Zero(t, list[k])
			list[k] = uint64(i) + 1
		}
		_ = append(list, ^uint64(0))
		if lists = append(lists, list); len(lists) > 20 {
			lists = lists[1:]
		}
		for k, l := range lists {
			require.Equal(t, uint64(i-len(lists)+k)+2, l[0])
			require.Equal(t, l[0], l[len(l)-1])
		}
	}
}
