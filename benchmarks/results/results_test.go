package results_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/results"
)

func TestStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	s, err := results.Open(dir)
	require.NoError(t, err)
	key := results.Key("x", map[string]int{"b": 2, "a": 1})
	require.Equal(t, key, results.Key("x", map[string]int{"a": 1, "b": 2}))
	require.NotEqual(t, key, results.Key("x", map[string]int{"a": 1, "b": 3}))
	require.NotEqual(t, results.Key("ab", "c"), results.Key("a", "bc"))
	require.Len(t, key, 64)
	var v []int
	ok, err := s.Get(key, &v)
	require.NoError(t, err)
	require.False(t, ok)
	require.NoError(t, s.Put(key, []int{1, 2}))
	ok, err = s.Get(key, &v)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, []int{1, 2}, v)
	require.NoError(t, s.Put(key, []int{3}))
	again, err := results.Open(dir)
	require.NoError(t, err)
	_, err = again.Get(key, &v)
	require.NoError(t, err)
	require.Equal(t, []int{3}, v)
	keys, err := s.Keys()
	require.NoError(t, err)
	require.Equal(t, []string{key}, keys)

	// What a process that died left behind is no result.
	require.NoError(t, os.WriteFile(filepath.Join(dir, key[:2], "new-123"), []byte("[1"), 0o600))
	keys, err = s.Keys()
	require.NoError(t, err)
	require.Equal(t, []string{key}, keys)
	require.NoError(t, os.WriteFile(filepath.Join(dir, key[:2], key+".json"), []byte("[1"), 0o600))
	_, err = s.Get(key, &v)
	require.ErrorContains(t, err, key+".json")
	_, err = results.Open(filepath.Join(dir, key[:2], "new-123"))
	require.Error(t, err)
}

// TestPutIsAtomic reads while others write: what is there is always whole.
func TestPutIsAtomic(t *testing.T) {
	s, err := results.Open(t.TempDir())
	require.NoError(t, err)
	key := results.Key("k")
	require.NoError(t, s.Put(key, "x"))
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range 30 {
				_ = s.Put(key, strings.Repeat(string(rune('a'+i)), 1+j*1000))
			}
		})
	}
	for range 300 {
		var v string
		ok, err := s.Get(key, &v)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, strings.Repeat(v[:1], len(v)), v)
	}
	wg.Wait()
}

func TestVersion(t *testing.T) {
	v, err := results.Version()
	require.NoError(t, err)
	require.Len(t, v, 64)
	t.Setenv("BITSCHED_RESULTS", "/r")
	d, err := results.UserDir("k")
	require.NoError(t, err)
	require.Equal(t, filepath.Join("/r", "k"), d)
}
