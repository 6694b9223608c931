package matrix_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/bitsched/bitsched/system/sparse/matrix"
)

func ExampleRead() {
	const edges = "# from to\n0 1\n0 2\n2 1\n"
	m, info, err := matrix.Read(strings.NewReader(edges), "edges.txt", matrix.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(info.Format, m.Rows, m.Cols, m.NNZ(), "of 0:", m.Col(0))
	if err := matrix.WriteMarket(os.Stdout, m); err != nil {
		fmt.Println(err)
	}
	// Output:
	// edges 3 3 3 of 0: [1 2]
	// %%MatrixMarket matrix coordinate pattern general
	// 3 3 3
	// 2 1
	// 3 1
	// 2 3
}
