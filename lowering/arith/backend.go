package arith

import (
	"context"

	"github.com/bitsched/bitsched/sram"
)

// backend makes the programs of a technology.
type backend interface {
	// supports reports whether there is a program of an operation.
	supports(o *Operation) bool
	// build fills in the instructions of a kernel whose ports are placed. An error
	// that wraps ErrRows says that they do not fit. What took a search may be kept
	// in the store, which may be nil.
	build(ctx context.Context, p *Program, st *Store) error
}

// backends are the backends by technology.
var backends = map[*sram.Technology]backend{}

// register makes the backend of a technology known. Its file calls it when the
// program starts; nothing else names it.
func register(t *sram.Technology, b backend) { backends[t] = b }
