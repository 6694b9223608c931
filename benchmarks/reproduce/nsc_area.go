package reproduce

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/tile"
)

// nscAreaEntries is what Near-Stream Computing says of areas.
var nscAreaEntries = []*Entry{{
	ID: "nsc:area", Title: "Area of stream engines", Paper: "Near-Stream Computing, section VII.A",
	Doc: "the memories of stream engines made of 8 kB arrays (table cacti-22nm-8kb), and what engines add to the chip of Infinity Stream (its McPAT model), whose L3 is made as small " +
		"as that of this paper; both sizes are the same",
	Claims: []Claim{
		{Name: "buffer of SE_core", Section: "VII.A", Unit: "mm2", Paper: 0.09, Tolerance: 0.2},
		{Name: "buffer of SE_L3", Section: "VII.A", Unit: "mm2", Paper: 0.195, Tolerance: 0.2},
		{Name: "configuration of SE_L3", Section: "VII.A", Unit: "mm2", Paper: 0.11, Tolerance: 0.2},
		{Name: "share of engines in the chip with OOO8", Section: "VII.A", Unit: "%", Paper: 2.1, Tolerance: 0.2, Reading: "memories are as large as the paper says, and the chip is that of Infinity Stream"},
	},
	Run: nearArea,
}}

// configurationBytes is the memory of an SE_L3 for configurations (section VII.A).
const configurationBytes = 48 << 10

func nearArea(context.Context, *Env) (*Measured, error) {
	areas, err := loadAreas()
	if err != nil {
		return nil, err
	}
	machine, err := tile.LoadMachine("nsc")
	if err != nil {
		return nil, err
	}
	other, err := tile.LoadMachine("infinity-stream")
	if err != nil {
		return nil, err
	}
	arrays := areas["cacti-22nm-8kb"]
	array := arrays.Get("array.area")
	logic, support := areas.named("infinity-stream", "in-memory compute logic of the chip"), areas.named("infinity-stream", "near-memory support of the chip")
	share := areas.named("infinity-stream", "both, of the whole chip")
	bytes := func(m *tile.Machine) int { // of a bank
		return m.L3.Ways * m.L3.ArraysPerWay * m.Array.Rows * m.Array.Cols / 8
	}
	perByte := *array.Value / float64(arrays.Array.Rows*arrays.Array.Cols/8)
	tiles := float64(machine.Banks())
	m := &Measured{Notes: []string{
		fmt.Sprintf("an array of 8 kB takes %g mm2 (%s); arrays have no tags, no ports beyond the one, and no wires between them, which the paper's memories have", *array.Value, array.Source),
		fmt.Sprintf("the chip of Infinity Stream is %g and %g mm2, which are %g %% of it, without these, and without the arrays of its L3 beyond %d kB a bank", logic, support, share, bytes(machine)>>10),
		"what engines have beside memories, and cores of IO4 (2.5 %), have no source",
	}}
	t := Table{Title: "Memories of stream engines", Head: []string{"memory", "a tile, kB", "of arrays, mm2", "of the chip with OOO8, %"}}
	mm2 := (logic+support)/(share/100) - (logic + support) - perByte*tiles*float64(bytes(other)-bytes(machine))
	total := 0.0
	for i, part := range []struct {
		name  string
		bytes int
	}{{"buffer of SE_core", machine.CoreVariant().StreamFIFOBytes}, {"buffer of SE_L3", machine.Streams.L3.BufferBytes}, {"configuration of SE_L3", configurationBytes}} {
		own := perByte * float64(part.bytes)
		m.Add(part.name, "mm2", own)
		total += areas.named("near-stream", engineMemories[i])
		t.Rows = append(t.Rows, []string{part.name, fmt.Sprint(part.bytes >> 10), fmt.Sprintf("%.4f", own), fmt.Sprintf("%.3f", 100*own*tiles/mm2)})
	}
	m.Add("share of engines in the chip with OOO8", "%", 100*total*tiles/mm2)
	m.Tables = []Table{t}
	return m, nil
}
