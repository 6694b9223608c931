package cfront_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/bitsched/bitsched/tdfg/cfront"
)

// FuzzCompile looks for sources that make the front end panic or run for long, or
// that give a wrong program or an error without a place.
func FuzzCompile(f *testing.F) {
	files, err := filepath.Glob("testdata/broken/*.c")
	if err != nil {
		f.Fatal(err)
	}
	kernels, err := filepath.Glob("../../benchmarks/kernels/c/*.c")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range append(files, kernels...) {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 5))
		f.Add(generate(r.IntN, seed).source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		p, err := cfront.Compile(ctx, "k.c", source, cfront.Options{})
		var e *cfront.Error
		switch {
		case err != nil && !errors.As(err, &e):
			t.Fatalf("an error without a place: %v", err)
		case err == nil:
			if err := p.Check(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
