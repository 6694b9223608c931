package timing_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/bitsched/bitsched/benchmarks/timing"
)

// A measurement of ChampSim, a gather from the L1 by a core in order, made again.
func ExamplePoint_Run() {
	const csv = `point_id,core,prefetch,memory,kernel,F_bytes,params,warm_instr,instr,cycles,use
io4-nopf-fixed-gather-16K-ind8,io4,none,fixed,gather,16384,ind=8,12256,24000,54662,io15
`
	points, err := timing.ReadPoints("core_cache.csv", strings.NewReader(csv))
	if err != nil {
		fmt.Println(err)
		return
	}
	o, err := points[0].Run(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(o.Verdict, "15 percent of", o.Reference, o.Quantity)
	// Output:
	// within 15 percent of 54662 cycles
}
