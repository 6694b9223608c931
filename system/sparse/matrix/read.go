package matrix

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// Options say how a file is read.
type Options struct {
	Undirected bool       // add the mirror image of each entry
	KeepLoops  bool       // keep entries on the diagonal of a list of edges; of MatrixMarket they are kept unless DropLoops
	DropLoops  bool       // drop entries on the diagonal
	Duplicates Duplicates // what to do with entries that are there twice
	OneBased   bool       // the vertices of a list of edges are counted from 1
	Weights    bool       // entries are weights of edges: one below 0 is an error
	Progress   func(entries int64)
}

// Info says what was read.
type Info struct {
	Format     string `json:"format"` // matrixmarket, edges or bsx
	Entries    int64  `json:"entries"`
	Mirrored   int64  `json:"mirrored"`
	Loops      int64  `json:"loops_dropped"`
	Duplicates int64  `json:"duplicates_combined"`
}

// Error is what is wrong with a file.
type Error struct {
	File string
	Line int64 // 0 = none, as in a binary file
	Msg  string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Msg)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Msg)
}

// Open reads a file; "-" is not one.
func Open(file string, o Options) (*Matrix, Info, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, Info{}, fmt.Errorf("read %s: %w", file, cause(err))
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.IsDir() {
		return nil, Info{}, &Error{File: file, Msg: "is a directory, expected a sparse matrix"}
	}
	m, info, err := openCache(f, file, o)
	if m == nil && err == nil {
		m, info, err = Read(f, file, o)
	}
	var dup *duplicateError
	if errors.As(err, &dup) {
		return nil, Info{}, dup.locate(file, o)
	}
	return m, info, err
}

// cause is the error without the path, which the message has.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// notMatrix is said of a file that is no matrix at all.
const notMatrix = "no %%MatrixMarket banner and no edge list, expected a sparse matrix"

// Read reads a matrix in any of the formats; file is its name in errors.
func Read(r io.Reader, file string, o Options) (*Matrix, Info, error) {
	plain, err := unpack(r, file)
	if err != nil {
		return nil, Info{}, err
	}
	b := bufio.NewReaderSize(plain, 1<<16)
	head, err := b.Peek(64)
	if len(head) == 0 {
		if err != nil && err != io.EOF {
			return nil, Info{}, readError(file, 0, err)
		}
		return nil, Info{}, &Error{File: file, Line: 1, Msg: "empty, expected a sparse matrix"}
	}
	if bytes.HasPrefix(head, []byte(cacheMagic)) {
		m, err := ReadCache(b, file)
		if err != nil {
			return nil, Info{}, err
		}
		info := Info{Format: "bsx", Entries: m.NNZ()}
		return m, info, adjust(m, o, &info)
	}
	l := newLines(b, file)
	if bytes.HasPrefix(head, []byte("%%MatrixMarket")) || bytes.HasPrefix(head, []byte("%%matrixmarket")) {
		return readMarket(l, o)
	}
	return readEdges(l, o)
}

// adjust applies to a cache what is asked of a text.
func adjust(m *Matrix, o Options, info *Info) error {
	if o.DropLoops {
		info.Loops = m.dropLoops()
	}
	if o.Undirected {
		if m.Rows != m.Cols {
			return fmt.Errorf("matrix of %d x %d, --undirected expects a square one", m.Rows, m.Cols)
		}
		e := entries{valued: m.Val != nil}
		for c := range m.Cols {
			for k := m.Ptr[c]; k < m.Ptr[c+1]; k++ {
				v := uint32(0)
				if m.Val != nil {
					v = m.Val[k]
				}
				e.add(m.Idx[k], uint32(c), v)
				if int(m.Idx[k]) != c {
					e.add(uint32(c), m.Idx[k], v)
				}
			}
		}
		before := m.NNZ()
		*m = *e.matrix(m.Rows, m.Cols, m.Kind)
		gone, _, _, _ := m.combine(DuplicatesFirst)
		info.Mirrored, info.Duplicates = m.NNZ()-before, gone
	}
	return nil
}

func (m *Matrix) dropLoops() (gone int64) {
	var out, begin int64
	for c := range m.Cols {
		end := m.Ptr[c+1]
		for k := begin; k < end; k++ {
			if int(m.Idx[k]) == c {
				gone++
				continue
			}
			m.Idx[out] = m.Idx[k]
			if m.Val != nil {
				m.Val[out] = m.Val[k]
			}
			out++
		}
		begin = end
		m.Ptr[c+1] = out
	}
	m.Idx = m.Idx[:out]
	if m.Val != nil {
		m.Val = m.Val[:out]
	}
	return gone
}

// unpack opens compressed files and archives, as far as there are any.
func unpack(r io.Reader, file string) (io.Reader, error) {
	b := bufio.NewReaderSize(r, 1<<16)
	head, _ := b.Peek(4)
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, readError(file, 0, err)
		}
		in := bufio.NewReaderSize(z, 1<<16)
		if block, _ := in.Peek(512); len(block) == 512 && string(block[257:262]) == "ustar" {
			return openTar(in, file, r)
		}
		return in, nil
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return openZip(b, file)
	}
	if block, _ := b.Peek(512); len(block) == 512 && string(block[257:262]) == "ustar" {
		return openTar(b, file, r)
	}
	return b, nil
}

// isMatrix says whether a file in an archive can be the matrix.
func isMatrix(name string) bool {
	if strings.HasPrefix(path.Base(name), ".") {
		return false
	}
	return slices.Contains([]string{".mtx", ".edges", ".el", ".tsv", ".bsx"}, path.Ext(name))
}

// one checks that an archive has one matrix.
func one(names []string, file string) error {
	if len(names) == 1 {
		return nil
	}
	if len(names) == 0 {
		return &Error{File: file, Msg: "no matrix, expected one (.mtx, .edges, .el, .tsv or .bsx)"}
	}
	return &Error{File: file, Msg: fmt.Sprintf("%d matrices, expected one: %s", len(names), strings.Join(names, ", "))}
}

// openTar finds the one matrix. The archive is read twice where it can be, so that
// nothing is kept; else the matrix is kept until the others are known.
func openTar(in io.Reader, file string, from io.Reader) (io.Reader, error) {
	var names []string
	var kept bytes.Buffer
	seeker, _ := from.(io.Seeker)
	t := tar.NewReader(in)
	for {
		h, err := t.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, readError(file, 0, err)
		}
		if h.Typeflag != tar.TypeReg || !isMatrix(h.Name) {
			continue
		}
		names = append(names, path.Base(h.Name))
		if seeker == nil && len(names) == 1 {
			if _, err := io.Copy(&kept, t); err != nil {
				return nil, readError(file, 0, err)
			}
		}
	}
	if err := one(names, file); err != nil {
		return nil, err
	}
	if seeker == nil {
		return &kept, nil
	}
	if _, err := seeker.Seek(0, io.SeekStart); err != nil {
		return nil, readError(file, 0, err)
	}
	again := io.Reader(bufio.NewReaderSize(from, 1<<16))
	if head, _ := again.(*bufio.Reader).Peek(2); bytes.HasPrefix(head, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(again)
		if err != nil {
			return nil, readError(file, 0, err)
		}
		again = z
	}
	t = tar.NewReader(again)
	for {
		h, err := t.Next()
		if err != nil {
			return nil, readError(file, 0, err)
		}
		if h.Typeflag == tar.TypeReg && isMatrix(h.Name) {
			return t, nil
		}
	}
}

func openZip(in io.Reader, file string) (io.Reader, error) {
	var at io.ReaderAt
	var size int64
	if f, err := os.Open(file); err == nil {
		if st, err := f.Stat(); err == nil && st.Mode().IsRegular() {
			at, size = f, st.Size()
		}
	}
	if at == nil {
		text, err := io.ReadAll(in)
		if err != nil {
			return nil, readError(file, 0, err)
		}
		at, size = bytes.NewReader(text), int64(len(text))
	}
	z, err := zip.NewReader(at, size)
	if err != nil {
		return nil, readError(file, 0, err)
	}
	var names []string
	var found *zip.File
	for _, f := range z.File {
		if isMatrix(f.Name) && !f.FileInfo().IsDir() {
			names = append(names, path.Base(f.Name))
			found = f
		}
	}
	if err := one(names, file); err != nil {
		return nil, err
	}
	r, err := found.Open()
	if err != nil {
		return nil, readError(file, 0, err)
	}
	return r, nil
}

// readError is an error while reading, at a line if there is one.
func readError(file string, line int64, err error) error {
	var e *Error
	if errors.As(err, &e) {
		return err
	}
	msg := cause(err).Error()
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		msg = "ends within the compressed data"
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader), errors.Is(err, zip.ErrChecksum), errors.Is(err, zip.ErrFormat):
		msg = "damaged compressed data: " + msg
	case strings.HasPrefix(msg, "flate:"):
		msg = "damaged compressed data: " + msg
	}
	return &Error{File: file, Line: line, Msg: msg}
}

// maxLine is the greatest length of a line.
const maxLine = 1 << 20

// lines cuts a text into lines without copying.
type lines struct {
	r    io.Reader
	file string
	line int64 // of the last one returned
	buf  []byte
	pos  int
	end  int
	eof  bool
	err  error
}

func newLines(r io.Reader, file string) *lines {
	return &lines{r: r, file: file, buf: make([]byte, maxLine+2)}
}

func (l *lines) fail(format string, args ...any) error {
	return &Error{File: l.file, Line: l.line, Msg: fmt.Sprintf(format, args...)}
}

// next returns the next line without its end; ok is false at the end of the text,
// or after an error.
func (l *lines) next() (line []byte, ok bool) {
	from := l.pos
	for {
		if i := bytes.IndexByte(l.buf[from:l.end], '\n'); i >= 0 {
			line = l.buf[l.pos : from+i]
			l.pos = from + i + 1
			l.line++
			if len(line) > 0 && line[len(line)-1] == '\r' {
				line = line[:len(line)-1]
			}
			return line, true
		}
		if l.eof || l.err != nil {
			if l.pos == l.end || l.err != nil {
				return nil, false
			}
			line = l.buf[l.pos:l.end]
			l.pos = l.end
			l.line++
			return line, true
		}
		n := copy(l.buf, l.buf[l.pos:l.end])
		from, l.pos, l.end = n, 0, n
		if n > maxLine {
			l.line++
			l.err = l.fail("line of more than %d bytes, expected an entry", maxLine)
			return nil, false
		}
		k, err := l.r.Read(l.buf[n:])
		l.end += k
		if err == io.EOF {
			l.eof = true
		} else if err != nil {
			l.err = readError(l.file, 0, err)
		}
	}
}

// field cuts the next word off a line.
func field(line []byte) (word, rest []byte) {
	i := 0
	for i < len(line) && (line[i] == ' ' || line[i] == '\t' || line[i] == ',') {
		i++
	}
	j := i
	for j < len(line) && line[j] != ' ' && line[j] != '\t' && line[j] != ',' {
		j++
	}
	return line[i:j], line[j:]
}

// integer reads a decimal number; ok is false if the word is none, or beyond 2^63.
func integer(word []byte) (v int64, ok bool) {
	neg := false
	if len(word) > 1 && (word[0] == '-' || word[0] == '+') {
		neg = word[0] == '-'
		word = word[1:]
	}
	if len(word) == 0 || len(word) > 18 {
		return 0, false
	}
	for _, c := range word {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = v*10 + int64(c-'0')
	}
	if neg {
		v = -v
	}
	return v, true
}

// shown is a word as an error shows it.
func shown(word []byte) string {
	const most = 40
	if len(word) > most {
		return fmt.Sprintf("%q...", word[:most])
	}
	return fmt.Sprintf("%q", word)
}
