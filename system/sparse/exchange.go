package sparse

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/bitsched/bitsched/system/sparse/matrix"
)

// Exchange lets processes, on several machines with a folder in common, execute a stack
// each: what a stack gives in an iteration is a file there, complete from when it
// appears. All processes apply all files in the order of stacks, and end with the same
// result. One that begins again takes what it has written before.
type Exchange struct {
	Dir   string
	Stack int                                                    // the one that this process executes, from 0
	Write func(file string, write func(w io.Writer) error) error // writes a file whole or not at all
}

// product is what the block of a stack gives in an iteration: rows of the whole matrix
// in rising order, with their values.
type product struct {
	cycles, nonzeros int64
	idx, val         []uint32
}

// The file of a product: magic, key of the run, header, words and a CRC-32C of it all.
const (
	productMagic = "bsxp0001"
	productHead  = len(productMagic) + sha256.Size + 4 + 4 + 8 + 8 + 8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// keyOf tells runs apart: files of another one are refused.
func (c *cluster) keyOf(app string, o AppOptions) (key [sha256.Size]byte) {
	h := sha256.New()
	cfg := c.cfg
	fmt.Fprintf(h, "%s %+v %s %+v %s %d %q %d %d %v %d\n", app, o, cfg.Machine.Effective(), cfg.Variant, c.res.Type, cfg.Long, cfg.Deal, cfg.Seed, cfg.Buffer, cfg.Bound, c.res.Stacks)
	fmt.Fprintln(h, c.m.Rows, c.m.Cols, c.m.Kind, c.m.Ptr)
	writeWords(h, c.m.Idx)
	writeWords(h, c.m.Val)
	return [sha256.Size]byte(h.Sum(nil))
}

// encode is the file of a product.
func (p *product) encode(key [sha256.Size]byte, iteration, stack int) []byte {
	b := bytes.NewBuffer(make([]byte, 0, productHead+8*len(p.idx)+4))
	b.WriteString(productMagic)
	b.Write(key[:])
	head := binary.LittleEndian.AppendUint32(nil, uint32(iteration))
	head = binary.LittleEndian.AppendUint32(head, uint32(stack))
	for _, v := range []int64{p.cycles, p.nonzeros, int64(len(p.idx))} {
		head = binary.LittleEndian.AppendUint64(head, uint64(v))
	}
	b.Write(head)
	writeWords(b, p.idx)
	writeWords(b, p.val)
	return binary.LittleEndian.AppendUint32(b.Bytes(), crc32.Checksum(b.Bytes(), castagnoli))
}

// decodeProduct reads a file of a product of a matrix of some rows.
func decodeProduct(data []byte, file string, key [sha256.Size]byte, iteration, stack, rows int) (*product, error) {
	fail := func(format string, args ...any) (*product, error) {
		return nil, &matrix.Error{File: file, Msg: fmt.Sprintf(format, args...)}
	}
	switch {
	case len(data) < productHead+4 || string(data[:len(productMagic)]) != productMagic:
		return fail("no product of a stack")
	case crc32.Checksum(data[:len(data)-4], castagnoli) != binary.LittleEndian.Uint32(data[len(data)-4:]):
		return fail("is damaged (CRC)")
	case [sha256.Size]byte(data[len(productMagic):]) != key:
		return fail("of another run, expected the same matrix, flags and program")
	}
	head := data[len(productMagic)+sha256.Size:]
	number := func(at int) int64 { return int64(binary.LittleEndian.Uint64(head[at:])) }
	p := &product{cycles: number(8), nonzeros: number(16)}
	n := number(24)
	switch at, of := binary.LittleEndian.Uint32(head), binary.LittleEndian.Uint32(head[4:]); {
	case int(at) != iteration || int(of) != stack:
		return fail("of iteration %d, stack %d, expected %d and %d", at, of, iteration, stack)
	case p.cycles < 0 || p.nonzeros < 0 || n < 0 || n > int64(rows) || int64(len(data)) != int64(productHead)+8*n+4:
		return fail("%d rows in %d bytes, expected at most %d rows of 8 bytes", n, len(data), rows)
	}
	words := func(from int64) []uint32 {
		list := make([]uint32, n)
		for i := range list {
			list[i] = binary.LittleEndian.Uint32(data[int64(productHead)+4*(from+int64(i)):])
		}
		return list
	}
	p.idx, p.val = words(0), words(n)
	for i, r := range p.idx {
		if int64(r) >= int64(rows) || i > 0 && r <= p.idx[i-1] {
			return fail("row %d at place %d, expected rising ones below %d", r, i, rows)
		}
	}
	return p, nil
}

// file is the name of a product.
func (x *Exchange) file(iteration, stack, stacks int) string {
	return filepath.Join(x.Dir, fmt.Sprintf("iteration-%06d.stack-%d-of-%d", iteration, stack+1, stacks))
}

// exchangePoll is how often a process looks for what others have not yet written.
const exchangePoll = 20 * time.Millisecond

// products executes the own stack, unless that was done before, and takes what the others
// give.
func (x *Exchange) products(c *cluster, in []uint32, active []bool) ([]*product, error) {
	ctx, stacks := c.jobs[x.Stack].ctx, len(c.jobs)
	iteration := c.res.Iterations + 1
	own, err := x.read(ctx, c.key, iteration, x.Stack, stacks, c.m.Rows, false)
	if err == nil && own == nil {
		if own, err = c.execute(x.Stack, in, active); err == nil {
			err = x.Write(x.file(iteration, x.Stack, stacks), func(w io.Writer) error {
				_, err := w.Write(own.encode(c.key, iteration, x.Stack))
				return err
			})
		}
	}
	if err != nil {
		return nil, err
	}
	list := make([]*product, stacks)
	for k := range list {
		if list[k] = own; k == x.Stack {
			continue
		}
		if c.cfg.Progress != nil {
			c.cfg.Progress(iteration, fmt.Sprintf("waiting for stack %d of %d", k+1, stacks))
		}
		if list[k], err = x.read(ctx, c.key, iteration, k, stacks, c.m.Rows, true); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// read waits for the product of a stack; nil if there is none and wait is false.
func (x *Exchange) read(ctx context.Context, key [sha256.Size]byte, iteration, stack, stacks, rows int, wait bool) (*product, error) {
	name := x.file(iteration, stack, stacks)
	for {
		data, err := os.ReadFile(name)
		switch {
		case err == nil:
			return decodeProduct(data, name, key, iteration, stack, rows)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("sparse: read %w", err)
		case !wait:
			return nil, nil
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(exchangePoll):
		}
	}
}
