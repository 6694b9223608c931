// Package results keeps what long work found, by what it depends on: a folder of
// files, one for each result, named by a key of its inputs.
//
// A result appears whole or not at all, whenever the process dies, so that work
// which is started again finds what is done and does the rest; two processes may
// share a folder. It is not a data base: nothing is looked up but by its key.
//
//	key := results.Key("noc:mesh", version, sizes)
//	if ok, err := store.Get(key, &r); err == nil && !ok {
//		r = work()
//		err = store.Put(key, r)
//	}
package results

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Key returns the key of a result that depends on the parts, which JSON must be
// able to say: maps are ordered by it. 64 hexadecimal digits.
func Key(parts ...any) string {
	h := sha256.New()
	e := json.NewEncoder(h)
	for _, p := range parts {
		if err := e.Encode(p); err != nil {
			panic(fmt.Sprintf("results: part of a key: %v", err))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// FileKey returns the key of what a file holds.
func FileKey(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Version is the key of the program that runs, so that results of another build
// are not taken for its own.
var Version = sync.OnceValues(func() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	return FileKey(path)
})

// Store is a folder of results. It may be used concurrently.
type Store struct{ dir string }

// Open returns the store in a folder, which is made if need be.
func Open(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}
	return &Store{dir}, nil
}

const ending = ".json"

func (s *Store) path(key string) string { return filepath.Join(s.dir, key[:2], key+ending) }

// Get reads the result of a key into v and reports whether there is one. An error
// is a file that is none of ours.
func (s *Store) Get(key string, v any) (bool, error) {
	text, err := os.ReadFile(s.path(key))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		return false, fmt.Errorf("results: %s: %w", s.path(key), err)
	}
	return true, nil
}

// Put keeps v as the result of a key, in the place of an older one. Once it
// returns, the result outlives the process and the machine.
func (s *Store) Put(key string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("results: %w", err)
	}
	path := s.path(key)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("results: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "new-*")
	if err != nil {
		return fmt.Errorf("results: %w", err)
	}
	_, err = f.Write(append(text, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("results: %w", err)
	}
	return nil
}

// Keys returns the keys of all results, in order.
func (s *Store) Keys() ([]string, error) {
	var keys []string
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if key, ok := strings.CutSuffix(d.Name(), ending); ok && len(key) == 2*sha256.Size {
			keys = append(keys, key)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}
	slices.Sort(keys)
	return keys, nil
}

// UserDir returns the folder for results of a kind where the user names none: that of
// the environment variable BITSCHED_RESULTS, or bitsched of [os.UserCacheDir].
func UserDir(kind string) (string, error) {
	if d := os.Getenv("BITSCHED_RESULTS"); d != "" {
		return filepath.Join(d, kind), nil
	}
	d, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("results: %w", err)
	}
	return filepath.Join(d, "bitsched", kind), nil
}
