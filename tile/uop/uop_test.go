package uop

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"
)

func TestApply(t *testing.T) {
	tests := []struct {
		op      RMW
		size    int
		m, a, e uint64
		want    uint64
	}{
		{Add, 4, 0xffffffff, 2, 0, 1},
		{Add, 1, 250, 10, 0, 4},
		{Exchange, 8, 1, 2, 0, 2},
		{And, 2, 0xff0f, 0x0fff, 0, 0x0f0f},
		{Or, 2, 0xf000, 0x000f, 0, 0xf00f},
		{Xor, 4, 0xff, 0x0f, 0, 0xf0},
		{Min, 4, 1, 0xffffffff, 0, 0xffffffff},
		{UMin, 4, 1, 0xffffffff, 0, 1},
		{Max, 4, 1, 0xffffffff, 0, 1},
		{UMax, 4, 1, 0xffffffff, 0, 0xffffffff},
		{Min, 8, 5, 3, 0, 3},
		{CompareSwap, 4, 7, 9, 7, 9},
		{CompareSwap, 4, 7, 9, 8, 7},
		{FAdd, 4, uint64(math.Float32bits(1.5)), uint64(math.Float32bits(2.25)), 0, uint64(math.Float32bits(3.75))},
		{FAdd, 8, math.Float64bits(1.5), math.Float64bits(-2), 0, math.Float64bits(-0.5)},
	}
	le := func(v uint64, n int) []byte { return binary.LittleEndian.AppendUint64(nil, v)[:n] }
	for _, x := range tests {
		dst := make([]byte, x.size)
		x.op.Apply(dst, le(x.m, x.size), le(x.a, x.size), le(x.e, x.size))
		if got := word(dst); got != x.want {
			t.Errorf("%s of %d bytes: %#x with %#x (%#x) gives %#x, want %#x", x.op, x.size, x.m, x.a, x.e, got, x.want)
		}
	}
}

func TestCheck(t *testing.T) {
	ok := Op{Kind: Load, Lanes: 16, Size: 64, Dst: 1}
	tests := []struct {
		name string
		ops  []Op
		want string
	}{
		{"load", []Op{ok}, ""},
		{"no lanes", []Op{{Kind: IntALU}}, "no lanes"},
		{"size", []Op{{Kind: Load, Lanes: 1, Size: 64}}, "64 bytes in 1 lanes"},
		{"data", []Op{{Kind: Store, Lanes: 16, Size: 64, Data: 8}}, "inside of 64"},
		{"gather", []Op{{Kind: Gather, Lanes: 8, Size: 32}}, "expected 96 bytes"},
		{"bytes", []Op{{Kind: IntMul, Lanes: 1, Size: 4}}, "no access"},
		{"register", []Op{{Kind: IntMul, Lanes: 1, Dst: NumRegs}}, "register"},
		{"taken", []Op{{Kind: IntMul, Lanes: 1, Flags: Taken}}, "no branch"},
		{"atomic", []Op{{Kind: Atomic, Lanes: 1, Size: 4}}, "operation none"},
		{"blocking", []Op{{Kind: Load, Lanes: 1, Size: 4, Flags: Blocking}, ok}, "not the last"},
	}
	for _, x := range tests {
		b := Batch{Ops: x.ops, Data: make([]byte, 64)}
		err := b.Check()
		if x.want == "" && err != nil || x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)) {
			t.Errorf("%s: %v, want %q", x.name, err, x.want)
		}
	}
}
