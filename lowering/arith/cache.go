package arith

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

// Schedules of circuits that took a search are kept in files, one each, named by
// the hash of all that they depend on: the gates, the places of operands and
// result, the rows and the version of this form. Microcode is not kept, since it
// is made faster than a file is read. A file that does not hold what its name
// says, by its own hash or by [sram.Kernel.Check], is as if it were not there; what it
// holds is verified like any program that is built.

// CacheEnv is the environment variable that says where schedules are kept: a
// folder, or "off". If it is not set they are in bitsched/arith of
// [os.UserCacheDir].
const CacheEnv = "BITSCHED_CACHE"

const cacheVersion = "1"

var cacheDir atomic.Pointer[string]

// SetCacheDir sets the folder where schedules are kept, whatever the environment
// says; "" turns keeping off.
func SetCacheDir(dir string) { cacheDir.Store(&dir) }

// cacheFolder returns the folder, "" for none.
func cacheFolder() string {
	if d := cacheDir.Load(); d != nil {
		return *d
	}
	switch d := os.Getenv(CacheEnv); d {
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

// cacheFile returns the path of the schedule of g, "" for none.
func (p *Program) cacheFile(g *xmg.Graph) string {
	dir := cacheFolder()
	if dir == "" {
		return ""
	}
	h := sha256.New()
	k := sram.Kernel{Tech: p.Kernel.Tech, Rows: p.Kernel.Rows, Inputs: p.Kernel.Inputs, Outputs: p.Kernel.Outputs}
	fmt.Fprintln(h, cacheVersion)
	k.WriteTo(h) // a hash takes all
	l := listOf(g)
	for _, x := range l.gates {
		fmt.Fprintln(h, x.xor, x.src)
	}
	fmt.Fprintln(h, l.outputs)
	return filepath.Join(dir, hex.EncodeToString(h.Sum(nil))+".kernel")
}

// readSchedule sets the kernel from its file and reports whether there was a
// sound one.
func (p *Program) readSchedule(ctx context.Context, g *xmg.Graph) (bool, error) {
	path := p.cacheFile(g)
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
func (p *Program) writeSchedule(g *xmg.Graph) error {
	path := p.cacheFile(g)
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
