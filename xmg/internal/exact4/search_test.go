package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The table is what the generator writes, as far as the search is quick.
func TestTableIsCurrent(t *testing.T) {
	const steps = 3
	table, err := os.ReadFile("../../npn4.txt")
	require.NoError(t, err)
	var want strings.Builder
	for line := range strings.Lines(string(table)) {
		if strings.HasPrefix(line, "#") || line[5]-'0' <= steps {
			want.WriteString(line)
		}
	}
	s := newSearch(steps)
	s.run()
	var got bytes.Buffer
	require.NoError(t, s.write(&got, keepStructures))
	require.Equal(t, want.String(), got.String())
}

func TestClasses(t *testing.T) {
	of := classes()
	count := 0
	for f, rep := range of {
		require.LessOrEqual(t, rep, truth(f).normal())
		require.Equal(t, rep, of[rep])
		if int(rep) == f {
			count++
		}
	}
	require.Equal(t, 222, count)
}
