package workload

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sbinet/npyio/npy"

	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// File is a file with the elements of an array, or with a scalar. Its format is by
// the end of its name: .npy is NumPy's, all others are the bytes of the elements,
// lowest first, in the order of C.
type File struct {
	Name  string  // of the array or scalar
	Path  string  //
	Shape []int64 // as in C; that of an .npy is read from it, that of others may be left out

	value string // of a scalar that is given as a number
	npy   bool
}

// ParseInput reads NAME=FILE, NAME=FILE:SHAPE or, for a scalar, NAME=NUMBER. A shape
// is written as 64x32. The head of an .npy file is read.
func ParseInput(text string) (File, error) {
	f, err := parseFile(text, true)
	if err != nil || !f.npy {
		return f, err
	}
	r, err := os.Open(f.Path)
	if err != nil {
		return f, usage("read %s: %v", f.Path, cause(err))
	}
	defer r.Close()
	h, err := header(r)
	if err != nil {
		return f, usage("%s: %v", f.Path, err)
	}
	shape := make([]int64, len(h.Descr.Shape))
	for i, n := range h.Descr.Shape {
		shape[i] = int64(n)
	}
	if f.Shape != nil && !slices.Equal(f.Shape, shape) {
		return f, usage("%s: shape %s, expected %s", f.Path, dims(shape), dims(f.Shape))
	}
	f.Shape = shape
	return f, nil
}

// ParseOutput reads NAME=FILE.
func ParseOutput(text string) (File, error) { return parseFile(text, false) }

func parseFile(text string, in bool) (File, error) {
	name, path, ok := strings.Cut(text, "=")
	want := "NAME=FILE such as C=c.npy"
	if in {
		want = "NAME=FILE such as A=a.npy, A=a.bin:64x32, or NAME=NUMBER for a scalar"
	}
	if !ok || name == "" || path == "" {
		return File{}, usage("%q, expected %s", text, want)
	}
	f := File{Name: name, Path: path}
	if at := strings.LastIndexByte(path, ':'); in && at > 0 {
		if shape, ok := parseShape(path[at+1:]); ok {
			f.Path, f.Shape = path[:at], shape
		}
	}
	if _, err := strconv.ParseFloat(path, 64); in && err == nil {
		f.value = path
	}
	f.npy = strings.EqualFold(filepath.Ext(f.Path), ".npy")
	if !in && !f.npy && !strings.EqualFold(filepath.Ext(f.Path), ".bin") {
		return f, usage("%q: the name of a file ends in .npy or .bin", text)
	}
	return f, nil
}

func parseShape(text string) ([]int64, bool) {
	var shape []int64
	for _, part := range strings.Split(text, "x") {
		n, err := strconv.ParseInt(part, 10, 64)
		if err != nil || n < 0 {
			return nil, false
		}
		shape = append(shape, n)
	}
	return shape, true
}

// code is what NumPy calls a type. It has none for bf16, whose bits it keeps as
// unsigned integers.
func code(t scalar.Type) string {
	switch t {
	case scalar.Int8:
		return "|i1"
	case scalar.BF16:
		return "<u2"
	case scalar.FP16:
		return "<f2"
	case scalar.FP32:
		return "<f4"
	case scalar.FP64:
		return "<f8"
	case scalar.UInt8:
		return "|u1"
	}
	if t.Unsigned() {
		return fmt.Sprintf("<u%d", t.Bytes())
	}
	return fmt.Sprintf("<i%d", t.Bytes())
}

// maxHeader bounds the head of an .npy file.
const maxHeader = 1 << 16

// header reads the head of an .npy file and leaves r at its data. npyio panics for
// some heads that are none.
func header(r io.Reader) (h npy.Header, err error) {
	bad := errors.New("not an .npy file, expected one that numpy.save wrote")
	defer func() {
		if recover() != nil {
			err = bad
		}
	}()
	start := make([]byte, 12)
	if n, err := io.ReadFull(r, start[:10]); n < 10 || err != nil || string(start[:6]) != "\x93NUMPY" {
		return h, bad
	}
	size, have := int64(binary.LittleEndian.Uint16(start[8:])), start[:10]
	if start[6] > 1 {
		if _, err := io.ReadFull(r, start[10:]); err != nil {
			return h, bad
		}
		size, have = int64(binary.LittleEndian.Uint32(start[8:])), start
	}
	if size > maxHeader {
		return h, fmt.Errorf("a head of %d bytes, expected at most %d", size, maxHeader)
	}
	p, err := npy.NewReader(io.MultiReader(strings.NewReader(string(have)), io.LimitReader(r, size)))
	if err != nil {
		return h, bad
	}
	return p.Header, nil
}

// read takes the elements of an array, or a scalar, from a file.
func (k *Kernel) read(ctx context.Context, f *File, m *memory.Memory) error {
	a := m.Arrays[f.Name]
	if a == nil {
		s := k.Program.Scalar(f.Name)
		if s == nil || !s.Input {
			return usage("%s has no array or argument %s, expected one of %s", k.Program.Name, f.Name, strings.Join(k.arguments(), ", "))
		}
		if f.value == "" {
			return usage("%s is a %s, not an array: expected %s=NUMBER", f.Name, s.Type, f.Name)
		}
		v, err := scalar.Parse(s.Type, f.value)
		if err != nil {
			return usage("%s=%s: expected a number that %s holds", f.Name, f.value, s.Type)
		}
		m.Scalars[f.Name] = v
		return nil
	}
	if f.value != "" {
		return usage("%s is an array, expected %s=FILE", f.Name, f.Name)
	}
	want := cShape(a)
	if f.Shape != nil && !slices.Equal(f.Shape, want) {
		return usage("%s: shape %s, expected that of %s, %s", f.Path, dims(f.Shape), f.Name, dims(want))
	}
	r, err := os.Open(f.Path)
	if err != nil {
		return usage("read %s: %v", f.Path, cause(err))
	}
	defer r.Close()
	in := bufio.NewReaderSize(r, 1<<20)
	if f.npy {
		h, err := header(in)
		if err != nil {
			return usage("%s: %v", f.Path, err)
		}
		if err := checkType(h.Descr.Type, a.Type); err != nil {
			return usage("%s: %v", f.Path, err)
		}
		if h.Descr.Fortran && len(want) > 1 {
			return usage("%s: in the order of Fortran, expected that of C: save numpy.ascontiguousarray(a)", f.Path)
		}
	}
	if err := readElements(ctx, in, a); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return usage("%s: %v", f.Path, err)
	}
	return nil
}

// arguments lists the names that files may be given for.
func (k *Kernel) arguments() []string {
	var names []string
	for _, a := range k.Program.Arrays {
		names = append(names, a.Name)
	}
	for _, s := range k.Program.Scalars {
		if s.Input {
			names = append(names, s.Name)
		}
	}
	return names
}

// checkType compares the type that a file names with that of an array.
func checkType(have string, t scalar.Type) error {
	want := code(t)
	switch {
	case have == want, t.Bytes() == 1 && len(have) == 3 && have[1:] == want[1:]:
		return nil
	case len(have) > 1 && have[0] == '>' && have[1:] == want[1:]:
		return fmt.Errorf("type %s has its highest byte first, expected %s: save a.astype(%q)", have, want, want)
	}
	return fmt.Errorf("type %s, expected %s (%s): save a.astype(%q)", have, want, t, want)
}

// readElements reads all elements of an array, and expects the end after them.
func readElements(ctx context.Context, in io.Reader, a *memory.Array) error {
	n := a.Type.Bytes()
	buf := make([]byte, n*4096)
	var word [8]byte
	for at := 0; at < len(a.Elems); {
		if at%looks == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		part := buf[:n*min(4096, len(a.Elems)-at)]
		if got, err := io.ReadFull(in, part); err != nil {
			return fmt.Errorf("%d bytes of elements, expected %d", at*n+got, len(a.Elems)*n)
		}
		for i := 0; i < len(part); i += n {
			copy(word[:], part[i:i+n])
			a.Elems[at] = canonical(a.Type, binary.LittleEndian.Uint64(word[:]))
			at++
		}
	}
	if _, err := io.ReadFull(in, buf[:1]); err == nil {
		return fmt.Errorf("more than the %d bytes of %d elements", len(a.Elems)*n, len(a.Elems))
	}
	return nil
}

// canonical makes every NaN the one that arithmetic gives.
func canonical(t scalar.Type, v scalar.Value) scalar.Value {
	if t.Float() {
		if f := scalar.ToFloat(t, v); f != f {
			return scalar.FromFloat(t, f)
		}
	}
	return v
}

// WriteArray writes the elements of an array in the format of the file.
func (f *File) WriteArray(w io.Writer, a *memory.Array) error {
	if f.npy {
		head := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", code(a.Type), tuple(cShape(a)))
		// Elements begin at a multiple of 64 bytes, as NumPy has it.
		head += strings.Repeat(" ", 63-(10+len(head))%64) + "\n"
		if _, err := fmt.Fprintf(w, "\x93NUMPY\x01\x00%c%c", len(head)&0xff, len(head)>>8); err != nil {
			return err
		}
		if _, err := io.WriteString(w, head); err != nil {
			return err
		}
	}
	n := a.Type.Bytes()
	buf := make([]byte, 0, 1<<16)
	var word [8]byte
	for _, v := range a.Elems {
		binary.LittleEndian.PutUint64(word[:], v)
		if buf = append(buf, word[:n]...); len(buf) > 1<<16-8 {
			if _, err := w.Write(buf); err != nil {
				return err
			}
			buf = buf[:0]
		}
	}
	_, err := w.Write(buf)
	return err
}

// Known checks that each file is for an array of the kernel.
func (k *Kernel) Known(outputs []File) error {
	for _, f := range outputs {
		if k.Program.Array(f.Name) == nil {
			var names []string
			for _, a := range k.Program.Arrays {
				names = append(names, a.Name)
			}
			return usage("%s has no array %s, expected one of %s", k.Program.Name, f.Name, strings.Join(names, ", "))
		}
	}
	return nil
}

// cShape returns the sizes of an array, outermost first.
func cShape(a *memory.Array) []int64 {
	s := slices.Clone(a.Size)
	slices.Reverse(s)
	return s
}

// tuple is a shape as Python has it.
func tuple(shape []int64) string {
	parts := make([]string, len(shape))
	for i, n := range shape {
		parts[i] = fmt.Sprint(n)
	}
	if len(parts) == 1 {
		return "(" + parts[0] + ",)"
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

func dims(shape []int64) string {
	parts := make([]string, len(shape))
	for i, n := range shape {
		parts[i] = fmt.Sprint(n)
	}
	if len(parts) == 0 {
		return "of a scalar"
	}
	return shapeText(parts)
}

func shapeText(parts []string) string { return strings.Join(parts, "x") }

// cause strips the operation and the path from an error of the file system.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
