package hugepage

import (
	"testing"
	"unsafe"
)

// TestMake takes tables of several sizes from a slab: each begins with a line, is zero, has
// the length asked for, and shares no byte with another one.
func TestMake(t *testing.T) {
	var s Slab
	var tables [][]uint32
	for _, n := range []int{0, 1, 15, 16, 17, 1000, least, huge, 3, most / 4, 1} {
		x := Make[uint32](&s, n)
		if len(x) != n || cap(x) != n {
			t.Fatalf("%d values, expected %d", len(x), n)
		}
		if n > 0 && uintptr(unsafe.Pointer(&x[0]))%line != 0 {
			t.Fatalf("table of %d begins within a line", n)
		}
		for i, v := range x {
			if v != 0 {
				t.Fatalf("value %d of %d is %d, expected 0", i, n, v)
			}
			x[i] = uint32(len(tables) + 1)
		}
		tables = append(tables, x)
	}
	for k, x := range tables {
		for i, v := range x {
			if v != uint32(k+1) {
				t.Fatalf("value %d of table %d was written by table %d", i, k, v-1)
			}
		}
	}
}

// TestBack asks for huge pages for tables with pointers: where each of their parts lies is
// asked for, once, and they stay as they are.
func TestBack(t *testing.T) {
	var s Slab
	Back(&s, []*int(nil))
	for _, n := range []int{1, 1000, 3 * huge / 8} {
		table := make([]*int, n)
		for i := range table {
			table[i] = &n
		}
		Back(&s, table)
		Back(&s, table)
		for i, p := range table {
			if p != &n {
				t.Fatalf("value %d of %d is another one", i, n)
			}
			if at := uintptr(unsafe.Pointer(&table[i])) &^ (huge - 1); !s.backed[at] {
				t.Fatalf("value %d of %d lies where no huge page was asked for", i, n)
			}
		}
	}
}
