package tdfg_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tdfg"
)

// TestIndices has programs whose subscripts and bounds are read from arrays, with what
// a reader sees in them.
func TestIndices(t *testing.T) {
	const head = `program p
symbol N in [1,inf)
array a int32[N] on 0
array b int32[N] on 0
array c int32[N] on 0
region r dims 1 {
  array a int32[N] on 0
  array b int32[N] on 0
  array c int32[N] on 0
`
	const stream = `  %0 = strm int32 c {
    graph g
    symbol N in [1,inf)
    array a int32[N]
    array b int32[N]
    array c int32[N]
    for i in [0,N) {
`
	for _, x := range []struct {
		name, body string
		from, into []string
		all        bool
	}{
		{"no streams", `  %0 = tensor a [0,N)
  %1 = tensor b [0,N)
  %2 = cmp add %0 %1
  store %2 c
}
`, nil, nil, false},
		{"affine", stream + `      load a.1: a[i]
      store c.1: c[i] = a.1
    }
  }
  store %0 c
}
`, nil, nil, false},
		{"c[i] = b[a[i]]", stream + `      load a.1: a[i]
      load b.1: b[a.1]
      store c.1: c[i] = b.1
    }
  }
  store %0 c
}
`, []string{"a"}, []string{"b"}, false},
		{"b[a[i] & 7], by a value on the way", stream + `      load a.1: a[i]
      reduce x over i from int32(0) = and(a.1, int32(7))
      load b.1: b[x]
      store c.1: c[i] = b.1
    }
  }
  store %0 c
}
`, []string{"a"}, []string{"b"}, false},
		{"b[b[a[i]]]: what is selected selects", stream + `      load a.1: a[i]
      load b.1: b[a.1]
      load b.2: b[b.1]
      store c.1: c[i] = b.2
    }
  }
  store %0 c
}
`, []string{"a", "b"}, []string{"b"}, false},
		{"bounds of a loop", stream + `      load a.1: a[i]
      for j in [0,a.1) {
        load b.1: b[j]
        store c.1: c[j] = b.1
      }
    }
  }
  store %0 c
}
`, []string{"a"}, []string{"b", "c"}, false},
		{"subscripts that the program writes", stream + `      load c.1: c[i]
      load b.1: b[c.1]
      store c.2: c[i] = b.1
    }
  }
  store %0 c
}
`, []string{"c"}, []string{"b"}, true},
	} {
		t.Run(x.name, func(t *testing.T) {
			p, err := tdfg.ParseProgram("p", head+x.body)
			require.NoError(t, err)
			from, into, all := p.Indices()
			require.Equal(t, x.from, from)
			require.Equal(t, x.into, into)
			require.Equal(t, x.all, all)
		})
	}
}
