package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// TestMultIsGenerated regenerates testdata/mult.aig, the circuit of the README.
func TestMultIsGenerated(t *testing.T) {
	want, err := os.ReadFile(filepath.Join("..", "..", "testdata", "mult.aig"))
	if err != nil {
		t.Fatal(err)
	}
	got := filepath.Join(t.TempDir(), "mult.aig")
	a := newApp()
	a.stdout = io.Discard
	if code := a.run([]string{"gen", "multiplier", "--width", "16", "-o", got}); code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	text, err := os.ReadFile(got)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(text, want) {
		t.Errorf("testdata/mult.aig is not what `bitsched gen multiplier --width 16` writes")
	}
}
