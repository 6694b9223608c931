package se

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestWindow has how many iterations may be under way, by hand: four ranges of 8, and no more than so
// many elements of indirect streams that the core takes values of.
func TestWindow(t *testing.T) {
	for name, x := range map[string]struct {
		s        Stream
		indirect int
		strands  int
		want     int64
	}{
		"affine":                       {Stream{ToCore: true}, 8, 0, 32},
		"indirect, as others":          {Stream{Indirect: true, Old: true}, 0, 0, 32},
		"old values":                   {Stream{Indirect: true, Old: true}, 8, 0, 8},
		"elements":                     {Stream{Indirect: true, ToCore: true}, 20, 0, 20},
		"a range at least":             {Stream{Indirect: true, ToCore: true}, 2, 0, 8},
		"more than there are":          {Stream{Indirect: true, ToCore: true}, 99, 0, 32},
		"the core takes none of them":  {Stream{Indirect: true}, 8, 0, 32},
		"each strand has its own ones": {Stream{Indirect: true, ToCore: true}, 8, 3, 24},
	} {
		g := &Group{Range: 8, Window: 8, Strands: x.strands, Streams: []Stream{{}, x.s}}
		assert.Equal(t, x.want, g.window(&Spec{Ranges: 4, Indirect: x.indirect}), name)
	}
}
