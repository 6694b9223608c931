package reproduce

import (
	"context"
	"errors"
	"fmt"

	"github.com/bitsched/bitsched/sram/cost"
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

// saidAreas are the memories of the engines of a tile as the paper prints them, mm2.
var saidAreas = [3]float64{0.09, 0.195, 0.11}

func nearArea(context.Context, *Env) (*Measured, error) {
	arrays, err := cost.Load("cacti-22nm-8kb")
	if err != nil {
		return nil, err
	}
	chip, err := cost.Load("infinity-stream")
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
	array := arrays.Get("array.area")
	if array == nil || array.Value == nil || arrays.Array == nil || len(chip.Values) < 3 {
		return nil, errors.New("reproduce: tables of costs without the areas of an array and of a chip")
	}
	bytes := func(m *tile.Machine) int { // of a bank
		return m.L3.Ways * m.L3.ArraysPerWay * m.Array.Rows * m.Array.Cols / 8
	}
	perByte := *array.Value / float64(arrays.Array.Rows*arrays.Array.Cols/8)
	tiles := float64(machine.Banks())
	m := &Measured{Notes: []string{
		fmt.Sprintf("an array of 8 kB takes %g mm2 (%s); arrays have no tags, no ports beyond the one, and no wires between them, which the paper's memories have", *array.Value, array.Source),
		fmt.Sprintf("the chip of Infinity Stream is %g and %g mm2, which are %g %% of it, without these, and without the arrays of its L3 beyond %d kB a bank", *chip.Values[0].Value, *chip.Values[1].Value, *chip.Values[2].Value, bytes(machine)>>10),
		"what engines have beside memories, and cores of IO4 (2.5 %), have no source",
	}}
	t := Table{Title: "Memories of stream engines", Head: []string{"memory", "a tile, kB", "of arrays, mm2", "of the chip with OOO8, %"}}
	inference := *chip.Values[0].Value + *chip.Values[1].Value
	mm2 := inference/(*chip.Values[2].Value/100) - inference - perByte*tiles*float64(bytes(other)-bytes(machine))
	total := 0.0
	for i, part := range []struct {
		name  string
		bytes int
	}{{"buffer of SE_core", machine.CoreVariant().StreamFIFOBytes}, {"buffer of SE_L3", machine.Streams.L3.BufferBytes}, {"configuration of SE_L3", configurationBytes}} {
		own := perByte * float64(part.bytes)
		m.Add(part.name, "mm2", own)
		total += saidAreas[i]
		t.Rows = append(t.Rows, []string{part.name, fmt.Sprint(part.bytes >> 10), fmt.Sprintf("%.4f", own), fmt.Sprintf("%.3f", 100*own*tiles/mm2)})
	}
	m.Add("share of engines in the chip with OOO8", "%", 100*total*tiles/mm2)
	m.Tables = []Table{t}
	return m, nil
}
