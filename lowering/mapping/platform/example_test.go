package platform_test

import (
	"fmt"

	"github.com/bitsched/bitsched/lowering/mapping/platform"
)

func ExampleLoad() {
	p, err := platform.Load("mvm-reram")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Title, p.Executor, p.Units(), "units at", p.ClockGHz, "GHz")
	_, err = platform.Load("abacus")
	fmt.Println(err)
	// Output:
	// 256 ReRAM crossbars of 128 x 128, like PUMA crossbar 256 units at 1 GHz
	// platform: unknown platform "abacus", expected one of logic-sram, logic-dram, mvm-reram, pnm-hbm, core-avx2, logic-dram-const, logic-sram-const, mvm-reram-groups, or a file
}
