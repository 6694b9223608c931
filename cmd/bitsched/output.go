package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// checkWritable reports why path cannot become an output file, so that a long
// run fails at its start and not at its end: it must not be one of the inputs
// either, which it would replace. It leaves nothing behind.
func (a *app) checkWritable(path string, inputs ...string) error {
	if path == "" || path == "-" {
		return nil
	}
	target, special, err := resolve(path)
	if err != nil || special {
		return err
	}
	if old, err := os.Stat(target); err == nil {
		for _, in := range inputs {
			if given, err := os.Stat(in); in != "" && in != "-" && err == nil && os.SameFile(old, given) {
				return fmt.Errorf("bitsched: write %s: is the input %s, expected another file", path, in)
			}
		}
	}
	f, err := a.createTemp(target)
	if err != nil {
		return err
	}
	a.discardTemp(f)
	return nil
}

// checkDistinct reports the first two outputs that are one file: the second would replace
// the first. "" is none, and to a device or a pipe there may be several.
func checkDistinct(paths ...string) error {
	seen := map[string]string{}
	for _, path := range paths {
		if path == "" || path == "-" {
			continue
		}
		target, special, err := resolve(path)
		if err != nil {
			return err
		}
		if special {
			continue
		}
		if target, err = filepath.Abs(target); err != nil {
			return err
		}
		if dir, err := filepath.EvalSymlinks(filepath.Dir(target)); err == nil { // of a file that does not exist yet
			target = filepath.Join(dir, filepath.Base(target))
		}
		if first, twice := seen[target]; twice {
			return fmt.Errorf("bitsched: write %s twice, expected another file for one of the outputs", first)
		}
		seen[target] = path
	}
	return nil
}

// writeBytes is writeFile for what is in memory.
func (a *app) writeBytes(path string, b []byte) error {
	return a.writeFile(path, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// writeFile writes an output file, or stdout for "-". The file appears complete
// or not at all: it is written under a temporary name in the same directory and
// renamed. Devices and pipes are written directly.
func (a *app) writeFile(path string, write func(io.Writer) error) error {
	if path == "-" {
		return a.writeStdout(write)
	}
	target, special, err := resolve(path)
	if err != nil {
		return err
	}
	if special {
		f, err := os.OpenFile(target, os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("bitsched: write %s: %w", path, cause(err))
		}
		if err := errors.Join(writeBuffered(f, write), f.Close()); err != nil {
			return fmt.Errorf("bitsched: write %s: %w", path, cause(err))
		}
		return nil
	}
	f, err := a.createTemp(target)
	if err != nil {
		return err
	}
	defer a.discardTemp(f)
	if old, err := os.Stat(target); err == nil {
		// Keep the permissions of a file that is replaced, where we may.
		_ = f.Chmod(old.Mode().Perm())
	}
	if err := writeBuffered(f, write); err != nil {
		return fmt.Errorf("bitsched: write %s: %w", path, cause(err))
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("bitsched: write %s: %w", path, cause(err))
	}
	if err := os.Rename(f.Name(), target); err != nil {
		return fmt.Errorf("bitsched: write %s: %w", path, cause(err))
	}
	return nil
}

// resolve follows symbolic links, so that the file and not the link is
// replaced, and tells devices and pipes from regular files.
func resolve(path string) (target string, special bool, err error) {
	target = path
	if t, err := filepath.EvalSymlinks(path); err == nil {
		target = t
	}
	info, err := os.Stat(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if to, err := os.Readlink(target); err == nil {
			return "", false, fmt.Errorf("bitsched: write %s: is a link to %s, which does not exist", path, to)
		}
		return target, false, nil
	case err != nil:
		return "", false, fmt.Errorf("bitsched: write %s: %w", path, cause(err))
	case info.IsDir():
		return "", false, fmt.Errorf("bitsched: write %s: is a directory", path)
	case info.Mode().IsRegular():
		// To replace a file takes no permission of its own, but whoever made it
		// read-only did not mean that.
		if err := writable(target, info); err != nil {
			return "", false, fmt.Errorf("bitsched: write %s: %w", path, err)
		}
	}
	return target, !info.Mode().IsRegular(), nil
}

// createTemp creates a new file next to target. Unlike os.CreateTemp it leaves
// the permissions to the umask, as for any file that a program creates.
func (a *app) createTemp(target string) (*os.File, error) {
	dir, base := filepath.Split(target)
	for try := 0; ; try++ {
		path := filepath.Join(dir, fmt.Sprintf(".%s.%08x.tmp", base, rand.Uint32()))
		f, err := a.interrupt.createTemp(path)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, fs.ErrExist) || try == 100 {
			return nil, fmt.Errorf("bitsched: write %s: %w", target, cause(err))
		}
	}
}

// discardTemp closes and removes a temporary file; one that was renamed is gone
// already.
func (a *app) discardTemp(f *os.File) {
	f.Close()
	os.Remove(f.Name())
	a.interrupt.removeTemp(f.Name())
}

func (a *app) writeStdout(write func(io.Writer) error) error {
	if err := writeBuffered(a.stdout, write); err != nil {
		return fmt.Errorf("bitsched: write stdout: %w", cause(err))
	}
	return nil
}

func writeBuffered(w io.Writer, write func(io.Writer) error) error {
	b := bufio.NewWriterSize(w, 1<<16)
	if err := write(b); err != nil {
		return err
	}
	return b.Flush()
}

// printText prints a finished text on stdout, its tables folded to the width of the
// terminal.
func (a *app) printText(text string) error {
	return a.writeStdout(func(w io.Writer) error {
		_, err := io.WriteString(w, foldTables(text, a.width))
		return err
	})
}

// printJSON prints v as the one JSON document on stdout.
func (a *app) printJSON(v any) error {
	return a.writeStdout(func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(v)
	})
}

// cause strips the operation and the path from an error of the file system;
// the message around it names them already.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	var le *os.LinkError
	if errors.As(err, &le) {
		return le.Err
	}
	return err
}
