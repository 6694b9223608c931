package plan

import (
	"fmt"
	"sync"

	"github.com/bitsched/bitsched/lowering/mapping/dnn"
)

// Found keeps what was searched for operators, so that networks that have some in common
// search them once. It may be used concurrently, for one optimiser with one set of options.
type Found struct {
	mu sync.Mutex
	of map[string]func() (any, error)
}

// key tells searches of a kind apart; "" is one that depends on more than the operator.
func (rep *Report) key(kind string, op *dnn.Operator) string {
	if rep.Platform.Programs() && op.Weights() > 0 {
		return "" // the weights are instructions
	}
	return fmt.Sprintf("%s %s %s %v", kind, rep.Platform.Name, op.Signature(), rep.Options.Cold)
}

// shared returns what was searched under a key, or searches it.
func shared[T any](f *Found, key string, search func() (*T, error)) (*T, error) {
	if f == nil || key == "" {
		return search()
	}
	f.mu.Lock()
	if f.of == nil {
		f.of = map[string]func() (any, error){}
	}
	once := f.of[key]
	if once == nil {
		once = sync.OnceValues(func() (any, error) { return search() })
		f.of[key] = once
	}
	f.mu.Unlock()
	x, err := once()
	return x.(*T), err
}
