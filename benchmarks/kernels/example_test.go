package kernels_test

import (
	"fmt"

	"github.com/bitsched/bitsched/benchmarks/kernels"
)

// The plain program of a kernel on its smallest data.
func ExampleGet() {
	k, err := kernels.Get("vec_add")
	if err != nil {
		fmt.Println(err)
		return
	}
	d := k.Data(k.Small, 1)
	before := d.Memory()
	k.Reference(d)
	a, b, c := d.Floats["A"], d.Floats["B"], d.Floats["C"]
	fmt.Println(k.File, k.Small, c[0] == a[0]+b[0], d.Diff(before) != "")
	// Output:
	// vec_add.c map[N:100] true true
}
