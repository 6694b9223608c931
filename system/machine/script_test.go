package machine

import (
	"encoding/binary"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tile"
	"github.com/bitsched/bitsched/tile/uop"
)

// script is a thread of a list of micro-ops with their data.
type script struct {
	ops  []uop.Op
	data [][]byte
	at   int
	then func(old []byte, s *script) // after a blocking micro-op: may append more
}

func (s *script) add(op uop.Op, data []byte) {
	if op.Lanes == 0 {
		op.Lanes = 1
	}
	op.PC = uint32(len(s.ops))
	s.ops = append(s.ops, op)
	s.data = append(s.data, data)
}

func word(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }

func (s *script) store(addr, v uint64) {
	s.add(uop.Op{Kind: uop.Store, Size: 8, Addr: addr}, word(v))
}

// racy loads whatever is there into a register.
func (s *script) racy(addr uint64, dst uop.Reg) {
	s.add(uop.Op{Kind: uop.Load, Flags: uop.Racy, Dst: dst, Size: 8, Addr: addr}, word(0))
}

// load expects a value.
func (s *script) load(addr, v uint64, dst, src uop.Reg) {
	s.add(uop.Op{Kind: uop.Load, Dst: dst, Src: [3]uop.Reg{src}, Size: 8, Addr: addr}, word(v))
}

// chain is n dependent additions.
func (s *script) chain(n int, r uop.Reg) {
	for range n {
		s.add(uop.Op{Kind: uop.IntALU, Dst: r, Src: [3]uop.Reg{r}}, nil)
	}
}

func (s *script) Next(b *uop.Batch, n int) (uop.Status, error) {
	for ; n > 0 && s.at < len(s.ops); n-- {
		op := s.ops[s.at]
		op.Data = uint32(len(b.Data))
		b.Data = append(b.Data, s.data[s.at]...)
		b.Ops = append(b.Ops, op)
		s.at++
		if op.Flags&uop.Blocking != 0 {
			return uop.Wait, nil
		}
	}
	if s.at == len(s.ops) {
		return uop.Done, nil
	}
	return uop.More, nil
}

func (s *script) Resolve(old []byte) error {
	if s.then != nil {
		s.then(old, s)
	}
	return nil
}

// descriptions are those that were read, by name: litmus tests take thousands.
var descriptions sync.Map

// described is the machine of a description with one of its cores.
func described(t testing.TB, name, core string) *Spec {
	kept, ok := descriptions.Load(name)
	if !ok {
		m, err := tile.LoadMachine(name)
		require.NoError(t, err)
		kept = *m
		descriptions.Store(name, kept)
	}
	m := kept.(tile.Machine)
	m.Core = core
	s, err := Of(&m)
	require.NoError(t, err)
	return s
}
