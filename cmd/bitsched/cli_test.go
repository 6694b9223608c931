package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/stretchr/testify/require"
)

// TestCLIReference keeps docs/cli, a page for each command, which -update writes.
func TestCLIReference(t *testing.T) {
	for _, name := range []string{"BITSCHED_DATA", "BITSCHED_RESULTS"} { // defaults of flags
		t.Setenv(name, "")
	}
	made := t.TempDir()
	root := newApp().rootCommand()
	root.DisableAutoGenTag = true
	var plain func(c *cobra.Command)
	plain = func(c *cobra.Command) {
		c.DisableAutoGenTag = true
		for _, sub := range c.Commands() {
			plain(sub)
		}
	}
	plain(root)
	require.NoError(t, doc.GenMarkdownTree(root, made))
	kept := filepath.Join("..", "..", "docs", "cli")
	if *update {
		require.NoError(t, os.RemoveAll(kept))
		require.NoError(t, os.CopyFS(kept, os.DirFS(made)))
		return
	}
	require.Equal(t, pagesOf(t, made), pagesOf(t, kept), "docs/cli is out of date: go test ./cmd/bitsched -run CLIReference -update")
}

// pagesOf has the texts of a folder's files by their names.
func pagesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	pages := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		pages[d.Name()] = string(text)
		return err
	}))
	return pages
}
