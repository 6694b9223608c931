package arith

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

// Store keeps programs that were built, so that each is built once: in memory, and
// schedules of circuits that took a search in files too. It may be used
// concurrently. A nil Store keeps nothing.
//
// A file is named by the hash of all that its schedule depends on: the gates, the
// places of operands and result, the rows and the version of this form. Microcode
// is not kept in files, since it is made faster than a file is read. A file that
// does not hold what its name says, by its own hash or by [sram.Kernel.Check], is
// as if it were not there; what it holds is verified like any program that is
// built.
type Store struct {
	dir   string   // "" = no files
	built sync.Map // of *stored by key
}

type stored struct {
	once sync.Once
	p    *Program
	err  error
}

// NewStore returns an empty store whose files are in a folder, which is made when
// it is needed; "" keeps none.
func NewStore(dir string) *Store { return &Store{dir: dir} }

// StoreEnv is the environment variable that says where the files of the user's
// store are: a folder, or "off".
const StoreEnv = "BITSCHED_CACHE"

// UserDir returns the folder of the user's store: that of [StoreEnv], or
// bitsched/arith of [os.UserCacheDir]; "" for none.
func UserDir() string {
	switch d := os.Getenv(StoreEnv); d {
	case "off":
		return ""
	case "":
		user, err := os.UserCacheDir()
		if err != nil {
			return ""
		}
		return filepath.Join(user, "bitsched", "arith")
	default:
		return d
	}
}

// Build returns the program of a spec, made and verified on the first call; see the
// function [Build].
func (st *Store) Build(ctx context.Context, s Spec) (*Program, error) {
	key, err := s.resolve()
	if err != nil {
		return nil, err
	}
	if st == nil {
		return st.build(ctx, s)
	}
	v, _ := st.built.LoadOrStore(key, &stored{})
	c := v.(*stored)
	c.once.Do(func() { c.p, c.err = st.build(ctx, s) })
	if c.err != nil && ctx.Err() == nil && errors.Is(c.err, context.Canceled) {
		st.built.CompareAndDelete(key, v) // another caller gave up, not this one
		return st.Build(ctx, s)
	}
	if c.err != nil {
		st.built.CompareAndDelete(key, v)
	}
	return c.p, c.err
}

const storeVersion = "1"

// file returns the path of the schedule of g, "" for none.
func (st *Store) file(p *Program, g *xmg.Graph) string {
	if st == nil || st.dir == "" {
		return ""
	}
	h := sha256.New()
	k := sram.Kernel{Tech: p.Kernel.Tech, Rows: p.Kernel.Rows, Inputs: p.Kernel.Inputs, Outputs: p.Kernel.Outputs}
	fmt.Fprintln(h, storeVersion)
	k.WriteTo(h) // a hash takes all
	l := listOf(g)
	for _, x := range l.gates {
		fmt.Fprintln(h, x.xor, x.src)
	}
	fmt.Fprintln(h, l.outputs)
	return filepath.Join(st.dir, hex.EncodeToString(h.Sum(nil))+".kernel")
}

// readSchedule sets the kernel from its file and reports whether there was a
// sound one.
func (st *Store) readSchedule(ctx context.Context, p *Program, g *xmg.Graph) (bool, error) {
	path := st.file(p, g)
	if path == "" {
		return false, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return false, nil
	}
	sum, text, ok := bytes.Cut(data, []byte("\n"))
	if h := sha256.Sum256(text); !ok || string(sum) != "# "+hex.EncodeToString(h[:]) {
		return false, nil
	}
	k, err := sram.ParseKernel(bytes.NewReader(text), path)
	if err != nil || k.Check() != nil || k.Tech != p.Kernel.Tech || k.Rows != p.Kernel.Rows {
		return false, nil
	}
	p.Kernel.Instrs = k.Instrs
	return true, ctx.Err()
}

// writeSchedule keeps the schedule. That it cannot be kept is no error.
func (st *Store) writeSchedule(p *Program, g *xmg.Graph) error {
	path := st.file(p, g)
	if path == "" {
		return nil
	}
	var b bytes.Buffer
	if _, err := p.Kernel.WriteTo(&b); err != nil {
		return err
	}
	h := sha256.Sum256(b.Bytes())
	if os.MkdirAll(filepath.Dir(path), 0o755) != nil {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), "new-*")
	if err != nil {
		return nil
	}
	defer os.Remove(f.Name())
	_, err = io.WriteString(f, "# "+hex.EncodeToString(h[:])+"\n"+b.String())
	if closed := f.Close(); err == nil && closed == nil {
		_ = os.Rename(f.Name(), path) // another process may have been first
	}
	return nil
}
