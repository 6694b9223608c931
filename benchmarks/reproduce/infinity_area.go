package reproduce

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/sram/cost"
	"github.com/bitsched/bitsched/tile"
)

// areaEntry is the area that Infinity Stream adds to a chip.
var areaEntry = &Entry{
	ID: "infs:area", Title: "Area of what computes in and near memory", Paper: "Infinity Stream, section 8",
	Doc: "the machine of table 2 from parts with published areas at 22 nm: arrays by CACTI, what computes in them by the share that MagiCache prints, stream engines by Near-Stream Computing. A chip is 64 tiles of Near-Stream " +
		"Computing's OOO8, whose area follows from its 2.1 %, with the arrays that the L3 has more. Nothing is executed, and sizes make no difference",
	Claims: []Claim{
		{Name: "in-memory compute logic", Section: "8", Unit: "mm2", Paper: 66.75, Tolerance: 0.2},
		{Name: "near-memory support", Section: "8", Unit: "mm2", Paper: 28.16, Tolerance: 0.2},
		{Name: "both, of the chip", Section: "8", Unit: "%", Paper: 6.52, Tolerance: 0.2},
		{Name: "both, of the chip, with the logic that the paper prints", Section: "8", Unit: "%", Paper: 6.52, Tolerance: 0.2, Reading: "compute logic as the paper prints it"},
	},
	Run: infsArea,
}

// nearTileBytes is the L3 of a tile of Near-Stream Computing (table V).
const nearTileBytes = 1 << 20

// engineMemories are the memories of the stream engines of a tile, in table near-stream.
var engineMemories = [3]string{"stream buffer of SE_core", "buffer of SE_L3, 64 kB", "configuration of streams in SE_L3, 48 kB"}

// publishedAreas are the tables of costs that have areas.
type publishedAreas map[string]*cost.Table

func loadAreas() (publishedAreas, error) {
	areas := publishedAreas{}
	for _, name := range []string{"cacti-22nm-8kb", "magicache", "near-stream", "infinity-stream"} {
		t, err := cost.Load(name)
		if err != nil {
			return nil, err
		}
		areas[name] = t
	}
	return areas, nil
}

// named is what a table has under a name.
func (areas publishedAreas) named(table, name string) float64 {
	for _, v := range areas[table].Values {
		if v.Name == name && v.Value != nil {
			return *v.Value
		}
	}
	panic("reproduce: " + table + " has no " + name) // the tables are part of the program
}

func infsArea(_ context.Context, _ *Env) (*Measured, error) {
	machine, err := tile.LoadMachine("infinity-stream-base")
	if err != nil {
		return nil, err
	}
	areas, err := loadAreas()
	if err != nil {
		return nil, err
	}
	other := areas.named
	array, share := *areas["cacti-22nm-8kb"].Get("array.area").Value, *areas["magicache"].Get("array.overhead").Value
	m := &Measured{}
	t := Table{Title: "Areas at 22 nm, mm2", Head: []string{"part", "count", "each", "all", "source"}}
	add := func(name string, count int, each float64, source string) float64 {
		t.Rows = append(t.Rows, []string{name, fmt.Sprint(count), fmt.Sprintf("%.4g", each), fmt.Sprintf("%.4g", float64(count)*each), source})
		return float64(count) * each
	}
	add("arrays of the L3 that compute", machine.Arrays(), array, "CACTI 7")
	logic := add("compute logic of an array", machine.Arrays(), array*share/100, fmt.Sprintf("MagiCache, %.3g %% of an array at 40 nm", share))
	each := 0.0
	for _, name := range engineMemories {
		each += other("near-stream", name)
		add(name, machine.Banks(), other("near-stream", name), "Near-Stream Computing")
	}
	near := each * float64(machine.Banks())
	old := each / (other("near-stream", "all of it, of a chip of OOO8") / 100)
	chip := add("tile of Near-Stream Computing, OOO8", machine.Banks(), old, "its parts above by its 2.1 %: at least, since other parts are not printed")
	more := machine.L3.Ways*machine.L3.ArraysPerWay - nearTileBytes/(machine.Array.Rows*machine.Array.Cols/8)
	chip += add("arrays that the L3 has more", more*machine.Banks(), array, "CACTI 7")
	m.Add("in-memory compute logic", "mm2", logic)
	m.Add("near-memory support", "mm2", near)
	m.Add("both, of the chip", "%", 100*(logic+near)/chip)
	printed := other("infinity-stream", "in-memory compute logic of the chip")
	m.Add("both, of the chip, with the logic that the paper prints", "%", 100*(printed+near)/chip)
	m.Tables = []Table{t}
	all := float64(machine.Arrays()) * array
	m.Notes = []string{
		fmt.Sprintf("the paper's %.4g mm2 of logic are %.1f %% of the arrays that compute by CACTI, or %.1f um2 a bitline: sense amplifiers and write drivers for each bitline by COFFE, which is not at hand", printed, 100*printed/all, 1e6*printed/float64(machine.Bitlines())),
		fmt.Sprintf("the paper's areas by its 6.52 %% are a chip of %.0f mm2; the one above has %.0f", (printed+other("infinity-stream", "near-memory support of the chip"))/(other("infinity-stream", "both, of the whole chip")/100), chip),
	}
	return m, nil
}
