package reference_test

import (
	"fmt"
	"strings"

	"github.com/bitsched/bitsched/system/sparse/matrix"
	"github.com/bitsched/bitsched/system/sparse/reference"
)

// A path of four vertices, from its second one.
func ExampleBFS() {
	m, _, err := matrix.Read(strings.NewReader("0 1\n1 2\n2 3\n"), "path.txt", matrix.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	level, _ := reference.BFS(m, 1, 10)
	fmt.Println(level[1:], level[0] == reference.Unreached)
	// Output:
	// [0 1 2] true
}
