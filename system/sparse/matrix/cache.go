package matrix

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"unsafe"
)

// The cache has a header and sections, each of which ends in a CRC-32C. All is
// little-endian.
const (
	cacheMagic   = "BSXMATRX"
	cacheVersion = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// little says whether this machine stores words as the cache does.
var little = func() bool {
	x := uint16(1)
	return *(*byte)(unsafe.Pointer(&x)) == 1
}()

// cacheHeader is the header as it is stored: 48 bytes with its CRC.
type cacheHeader struct {
	Magic   [8]byte
	Version uint32
	Kind    uint32
	Rows    uint64
	Cols    uint64
	NNZ     uint64
	Pad     uint32
}

// WriteCache writes a matrix in the form of the cache.
func WriteCache(w io.Writer, m *Matrix) error {
	h := cacheHeader{Version: cacheVersion, Kind: uint32(m.Kind), Rows: uint64(m.Rows), Cols: uint64(m.Cols), NNZ: uint64(m.NNZ())}
	copy(h.Magic[:], cacheMagic)
	head, err := binary.Append(nil, binary.LittleEndian, h)
	if err != nil {
		return err
	}
	if _, err := w.Write(binary.LittleEndian.AppendUint32(head, crc32.Checksum(head, castagnoli))); err != nil {
		return err
	}
	if err := writeSection(w, m.Ptr); err != nil {
		return err
	}
	if err := writeSection(w, m.Idx); err != nil {
		return err
	}
	if m.Val != nil {
		return writeSection(w, m.Val)
	}
	return nil
}

const sectionBlock = 1 << 16 // words that are converted at a time

func writeSection[T uint32 | int64](w io.Writer, words []T) error {
	sum := uint32(0)
	for len(words) > 0 {
		n := min(len(words), sectionBlock)
		var part []byte
		if little {
			part = bytesOf(words[:n])
		} else {
			var err error
			if part, err = binary.Append(nil, binary.LittleEndian, words[:n]); err != nil {
				return err
			}
		}
		sum = crc32.Update(sum, castagnoli, part)
		if _, err := w.Write(part); err != nil {
			return err
		}
		words = words[n:]
	}
	_, err := w.Write(binary.LittleEndian.AppendUint32(nil, sum))
	return err
}

// bytesOf is the memory of words.
func bytesOf[T uint32 | int64](words []T) []byte {
	if len(words) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), len(words)*int(unsafe.Sizeof(words[0])))
}

// failure makes errors of a file.
type failure func(format string, args ...any) error

func failureOf(file string) failure {
	return func(format string, args ...any) error { return &Error{File: file, Msg: fmt.Sprintf(format, args...)} }
}

// mapFrom is the size in bytes from which on a cache is mapped, not read: its pages
// then need not stay in memory. A variable for tests.
var mapFrom int64 = 1 << 28

// openCache maps a large cache; nil where the file is none, or cannot be mapped.
func openCache(f *os.File, file string, o Options) (*Matrix, Info, error) {
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() || st.Size() < max(mapFrom, headBytes) || st.Size() > math.MaxInt || !little {
		return nil, Info{}, nil
	}
	magic := make([]byte, len(cacheMagic))
	if _, err := f.ReadAt(magic, 0); err != nil || string(magic) != cacheMagic {
		return nil, Info{}, nil
	}
	data, err := mapFile(f, st.Size())
	if err != nil {
		return nil, Info{}, nil // read instead
	}
	m, err := mapCache(data, failureOf(file))
	if err != nil {
		return nil, Info{}, err
	}
	info := Info{Format: "bsx", Entries: m.NNZ()}
	return m, info, adjust(m, o, &info)
}

// mapCache makes a matrix whose words are those of a mapped cache.
func mapCache(data []byte, fail failure) (*Matrix, error) {
	m, nnz, err := parseHead(data[:headBytes], fail)
	if err != nil {
		return nil, err
	}
	data = data[headBytes:]
	if m.Ptr, data, err = mapSection[int64](data, int64(m.Cols)+1, "offsets", fail); err != nil {
		return nil, err
	}
	if m.Idx, data, err = mapSection[uint32](data, nnz, "rows", fail); err != nil {
		return nil, err
	}
	if m.Kind != Pattern {
		if m.Val, data, err = mapSection[uint32](data, nnz, "values", fail); err != nil {
			return nil, err
		}
	}
	if len(data) > 0 {
		return nil, fail("more bytes than the header says")
	}
	if err := m.Check(); err != nil {
		return nil, fail("%v", err)
	}
	return m, nil
}

// mapSection takes a section off the front of a mapped cache; its words are aligned.
func mapSection[T uint32 | int64](data []byte, n int64, name string, fail failure) (words []T, rest []byte, err error) {
	var word T
	size := n * int64(unsafe.Sizeof(word))
	if int64(len(data)) < size+4 {
		return nil, nil, fail("ends within section %s", name)
	}
	if crc32.Checksum(data[:size], castagnoli) != binary.LittleEndian.Uint32(data[size:]) {
		return nil, nil, fail("section %s is damaged (CRC)", name)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&data[0])), n), data[size+4:], nil
}

// headBytes is the size of the header with its CRC.
const headBytes = 48

// parseHead reads the header: a matrix without its words, and how many entries it has.
func parseHead(head []byte, fail failure) (m *Matrix, nnz int64, err error) {
	var h cacheHeader
	if _, err := binary.Decode(head, binary.LittleEndian, &h); err != nil {
		return nil, 0, fail("header: %v", err)
	}
	switch {
	case string(h.Magic[:]) != cacheMagic:
		return nil, 0, fail("no cache of a matrix")
	case h.Version != cacheVersion:
		return nil, 0, fail("format %d, expected %d: convert again", h.Version, cacheVersion)
	case crc32.Checksum(head[:44], castagnoli) != binary.LittleEndian.Uint32(head[44:]):
		return nil, 0, fail("section header is damaged (CRC)")
	case h.Kind > uint32(Real) || h.Rows > MaxSize || h.Cols > MaxSize || int64(max(h.Rows, h.Cols)) > sparsest(int64(min(h.NNZ, MaxEntries))) || h.NNZ > MaxEntries || h.NNZ == 0:
		return nil, 0, fail("header of a %d x %d matrix with %d entries of kind %d, expected a sparse matrix", h.Rows, h.Cols, h.NNZ, h.Kind)
	}
	return &Matrix{Rows: int(h.Rows), Cols: int(h.Cols), Kind: Kind(h.Kind)}, int64(h.NNZ), nil
}

// ReadCache reads what [WriteCache] wrote.
func ReadCache(r io.Reader, file string) (*Matrix, error) {
	fail := failureOf(file)
	head := make([]byte, headBytes)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, fail("ends within the header")
	}
	m, nnz, err := parseHead(head, fail)
	if err != nil {
		return nil, err
	}
	if m.Ptr, err = readSection[int64](r, int64(m.Cols)+1, "offsets", fail); err != nil {
		return nil, err
	}
	if m.Idx, err = readSection[uint32](r, nnz, "rows", fail); err != nil {
		return nil, err
	}
	if m.Kind != Pattern {
		if m.Val, err = readSection[uint32](r, nnz, "values", fail); err != nil {
			return nil, err
		}
	}
	var one [1]byte
	if n, _ := io.ReadFull(r, one[:]); n > 0 {
		return nil, fail("more bytes than the header says")
	}
	// The CRC is right, so this is a file that another program wrote.
	if err := m.Check(); err != nil {
		return nil, fail("%v", err)
	}
	return m, nil
}

// readSection reads words piece by piece, so that a false size does not take
// memory that the file has no words for.
func readSection[T uint32 | int64](r io.Reader, n int64, name string, fail failure) ([]T, error) {
	const piece = 1 << 24
	words := make([]T, min(n, piece))
	sum := uint32(0)
	for done := int64(0); done < n; {
		if int64(len(words)) == done {
			more := make([]T, min(n, 2*done))
			copy(more, words)
			words = more
		}
		part := words[done:min(int64(len(words)), done+sectionBlock)]
		if little {
			raw := bytesOf(part)
			if _, err := io.ReadFull(r, raw); err != nil {
				return nil, fail("ends within section %s", name)
			}
			sum = crc32.Update(sum, castagnoli, raw)
		} else {
			raw := make([]byte, binary.Size(part))
			if _, err := io.ReadFull(r, raw); err != nil {
				return nil, fail("ends within section %s", name)
			}
			sum = crc32.Update(sum, castagnoli, raw)
			if _, err := binary.Decode(raw, binary.LittleEndian, part); err != nil {
				return nil, fail("section %s: %v", name, err)
			}
		}
		done += int64(len(part))
	}
	var stored [4]byte
	if _, err := io.ReadFull(r, stored[:]); err != nil {
		return nil, fail("ends within section %s", name)
	}
	if binary.LittleEndian.Uint32(stored[:]) != sum {
		return nil, fail("section %s is damaged (CRC)", name)
	}
	return words, nil
}

// WriteMarket writes a matrix in MatrixMarket's form, general and in coordinates.
func WriteMarket(w io.Writer, m *Matrix) error {
	if _, err := fmt.Fprintf(w, "%%%%MatrixMarket matrix coordinate %s general\n%d %d %d\n", m.Kind, m.Rows, m.Cols, m.NNZ()); err != nil {
		return err
	}
	line := make([]byte, 0, 64)
	for c := range m.Cols {
		for k := m.Ptr[c]; k < m.Ptr[c+1]; k++ {
			line = append(line[:0], fmt.Sprint(m.Idx[k]+1)...)
			line = append(line, ' ')
			line = append(line, fmt.Sprint(c+1)...)
			switch m.Kind {
			case Integer:
				line = fmt.Appendf(line, " %d", int32(m.Val[k]))
			case Real:
				line = fmt.Appendf(line, " %v", m.Float(k))
			}
			if _, err := w.Write(append(line, '\n')); err != nil {
				return err
			}
		}
	}
	return nil
}
