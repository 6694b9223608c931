package gearbox

import (
	"context"
	"fmt"
	"math"

	"github.com/bitsched/bitsched/system/sparse"
	"github.com/bitsched/bitsched/system/sparse/matrix"
)

// apps are the five of section 7.1.
var apps = []string{"bfs", "pagerank", "sssp", "spknn", "svm"}

func (l *Lab) table4(ctx context.Context, e *Entry) error {
	m, err := matrix.Generate("gen:rmat,scale=9,edgefactor=8,undirected", l.o.Seed)
	if err != nil {
		return err
	}
	for _, app := range apps {
		digest, same := "", true
		for _, v := range sparse.Variants() {
			cfg := sparse.Config{Machine: l.o.Machine, Variant: v, Type: sparse.U32, Long: -1, Seed: l.o.Seed, Threads: 1, Check: true, Instr: 64}
			o := sparse.DefaultAppOptions()
			o.Queries = 4
			if app == "pagerank" {
				o.Iterations = 3
			}
			res, err := sparse.Run(ctx, app, m, o, cfg, nil)
			if err != nil {
				return err
			}
			same = same && (digest == "" || digest == res.Digest)
			digest = res.Digest
		}
		e.Rows = append(e.Rows, gate(app+", variants with one digest", float64(len(sparse.Variants())), "", "one digest", same))
	}
	for _, v := range sparse.Variants() {
		e.Text = append(e.Text, fmt.Sprintf("%-5s %s", v.Name, v.Text))
	}
	return nil
}

func (l *Lab) fig5(ctx context.Context, e *Entry) error {
	for _, d := range l.sets() {
		m, err := l.matrix(d.Name)
		if err != nil {
			return err
		}
		sum := 0.0
		for _, b := range sparse.LengthBins(m) {
			e.Rows = append(e.Rows, beside(fmt.Sprintf("%s, columns of length %s", d.Name, b.Text), nil, 100*b.Share, "%", ""))
			sum += 100 * b.Share
		}
		e.Rows = append(e.Rows, gate(d.Name+", all", sum, "%", "100 %", math.Abs(sum-100) < 1e-6))
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// spaceA is the time of an ideal SpaceA: all nonzeros in each iteration, a nonzero a
// cycle at each of 512 banks.
func (l *Lab) spaceA(res *sparse.Result) float64 {
	banks := float64(l.o.Machine.Banks())
	return float64(res.NNZ) * float64(len(res.Iterations)) / banks / (l.o.Machine.Clocks.SPU * 1e6)
}

// idealGPU is the time of a GPU that does nothing but move the words of what was
// executed at the 549 GB/s of the paper's: 8 bytes a nonzero and an active column, 4
// bytes an accumulation.
func (l *Lab) idealGPU(res *sparse.Result) float64 {
	bytes := 12 * float64(res.Nonzeros)
	for _, it := range res.Iterations {
		bytes += 8 * float64(it.Columns)
	}
	share := float64(l.o.Machine.Organisation.Layers) / float64(sparse.Default().Organisation.Layers)
	return bytes / (paperGPU * share)
}

// paperGPU is the bandwidth of the paper's P100, bytes a second.
const paperGPU = 549e9

func (l *Lab) fig12(ctx context.Context, e *Entry) error {
	var gpu, rounds, ideal, space []float64
	published12, ideal12 := map[string][]float64{}, map[string][]float64{}
	for _, d := range l.sets() {
		for _, app := range apps {
			res, err := l.run(ctx, plain(d.Name, app, "v3"))
			if err != nil {
				return err
			}
			x := l.speedup(d.Name, app, res)
			gpu, published12[app] = append(gpu, x), append(published12[app], x)
			note := "no log of a P100, or data and stack are not divided alike"
			if t, ok := published(d.Name, app); ok && !math.IsNaN(x) {
				by := perRound("pagerank", t.Millis/1e3, t.Rounds) / perRound("pagerank", res.Seconds, len(res.Iterations))
				rounds = append(rounds, by)
				note = fmt.Sprintf("its %d rounds, our %d; a round over a round %.3gx", t.Rounds, len(res.Iterations), by)
			}
			e.Rows = append(e.Rows, beside(fmt.Sprintf("%s, %s, over published P100 times", d.Name, app), nil, x, "x", note))
			g := l.idealGPU(res) / res.Seconds
			ideal, ideal12[app] = append(ideal, g), append(ideal12[app], g)
			e.Rows = append(e.Rows, beside(fmt.Sprintf("%s, %s, over an ideal P100", d.Name, app), nil, g, "x", "modelled: the words of the executed accesses at 549 GB/s"))
			s := l.spaceA(res) / res.Seconds
			space = append(space, s)
			e.Rows = append(e.Rows, beside(fmt.Sprintf("%s, %s, over an ideal SpaceA", d.Name, app), nil, s, "x", "modelled: 512 banks, a nonzero a cycle, all nonzeros each iteration"))
		}
	}
	e.Rows = append(e.Rows, beside("GPU, mean of all", num(15.73), mean(gpu), "x", "published: which mean is not said"), beside("GPU, geometric mean of all", num(15.73), geomean(gpu), "x", ""),
		beside("GPU, geometric mean, were the card of the logs the paper's", num(15.73), geomean(gpu)/PaperShare, "x", "its times over 0.75, as 549 of 732 GB/s: not measured"),
		beside("GPU, a round over a round, geometric mean", nil, geomean(rounds), "x", "stand-ins need other rounds than the sets of the logs"),
		beside("ideal P100, geometric mean of all", nil, geomean(ideal), "x", "the paper has 7.94x a stack over an ideal GPU, 3 stacks"),
		beside("SpaceA, mean, not per area", num(116.5), mean(space), "x", "published 58x per area"))
	for _, app := range apps {
		g := geomean(published12[app])
		row := beside("GPU, "+app+", geometric mean", nil, g, "x", fmt.Sprintf("over an ideal P100 %.3gx", geomean(ideal12[app])))
		if app == "pagerank" && !math.IsNaN(g) {
			row.Gate, row.Holds = "1.5 to 16", yes(g >= 1.5 && g <= 16)
		}
		e.Rows = append(e.Rows, row)
		if !math.IsNaN(g) {
			e.Rows = append(e.Rows, beside("share of the published mean that "+app+" gives", num(1), g/headline, "", "nothing is fitted"))
		}
	}
	if g := geomean(gpu); !math.IsNaN(g) {
		e.Rows = append(e.Rows, beside("share of the published mean that the geometric mean of all gives", num(1), g/headline, "", "three applications: of the others there is no log"))
	}
	e.Rows = append(e.Rows, beside("share of the published mean that five applications give over an ideal P100", num(1), geomean(ideal)/headline, "", "a GPU without latencies, launches and misses"))
	e.Text = append(e.Text, "The published mean is over the paper's own measurements of five applications on a 12 GB P100; ours over logs of Gunrock",
		"0.4.0 on a 16 GB P100, which have breadth-first search, PageRank and shortest paths only. What bounds ours: random",
		"accumulations load a row of 9 cycles for 3 instructions; a ring takes 7.9 pairs a link cycle; and an iteration of few",
		"vertices costs the launch of its six steps, which decides on road networks. spknn and svm multiply by one row at a",
		"time: their frontiers of some tens of columns leave most SPUs without work, and only the launch counts.")
	return nil
}

// headline is the paper's mean speedup over a P100.
const headline = 15.73

func (l *Lab) fig13(ctx context.Context, e *Entry) error {
	paper := map[string]*float64{"v0": num(1e-3), "v1": num(1e-2), "hypo": num(4.28), "v2": num(12.48), "v3": num(15.73)}
	speeds := map[string][]float64{}
	gpu := map[string][]float64{}
	for _, d := range l.sets() {
		for _, v := range sparse.Variants() {
			res, err := l.run(ctx, plain(d.Name, "pagerank", v.Name))
			if err != nil {
				return err
			}
			speeds[v.Name] = append(speeds[v.Name], 1/perRound("pagerank", res.Seconds, len(res.Iterations)))
			gpu[v.Name] = append(gpu[v.Name], l.speedup(d.Name, "pagerank", res))
			e.Rows = append(e.Rows, beside(fmt.Sprintf("%s, %s, a round", d.Name, v.Name), nil, perRound("pagerank", res.Seconds, len(res.Iterations)), "ms", l.fits(plain(d.Name, "pagerank", v.Name))))
		}
		n := len(speeds["v3"]) - 1
		e.Rows = append(e.Rows, beside(d.Name+", v3 over v1", nil, speeds["v3"][n]/speeds["v1"][n], "x", ""))
		if d.Name == "soc-twitter-2010" {
			e.Rows = append(e.Rows, l.atSize(gate(d.Name+", v3 over v2", speeds["v3"][n]/speeds["v2"][n], "x", "above 1", speeds["v3"][n] > speeds["v2"][n])),
				l.atSize(gate(d.Name+", v3 over v1", speeds["v3"][n]/speeds["v1"][n], "x", "2 to 8", speeds["v3"][n] >= 2*speeds["v1"][n] && speeds["v3"][n] <= 8*speeds["v1"][n])))
		}
	}
	g := map[string]float64{}
	for _, v := range sparse.Variants() {
		g[v.Name] = geomean(speeds[v.Name])
		e.Rows = append(e.Rows, beside(v.Name+" over published P100 times, geometric mean", paper[v.Name], geomean(gpu[v.Name]), "x", "published: all apps; modelled: PageRank"))
	}
	e.Rows = append(e.Rows, gate("v1 over v0", g["v1"]/g["v0"], "x", "above 1", g["v1"] > g["v0"]), l.atSize(gate("v2 over v1", g["v2"]/g["v1"], "x", "above 1", g["v2"] > g["v1"])),
		l.atSize(Row{Item: "v3 over v2", Published: num(1.26), Modelled: num(g["v3"] / g["v2"]), Unit: "x", Gate: "at least 0.95", Holds: yes(g["v3"] >= 0.95*g["v2"])}),
		beside("v2 over hypo", num(2.92), g["v2"]/g["hypo"], "x", ""))
	return nil
}

func yes(b bool) *bool { return &b }

func (l *Lab) fig14a(ctx context.Context, e *Entry) error {
	for _, v := range []string{"v2", "v3"} {
		var dominant, broadcast []float64
		for _, d := range l.sets() {
			res, err := l.run(ctx, plain(d.Name, "pagerank", v))
			if err != nil {
				return err
			}
			for _, s := range res.Steps {
				e.Rows = append(e.Rows, beside(fmt.Sprintf("%s, %s, %s", d.Name, v, s.Name), nil, 100*float64(s.Cycles)/float64(res.Cycles), "%", ""))
			}
			share := float64(res.Steps[2].Cycles+res.Steps[4].Cycles) / float64(res.Cycles)
			dominant = append(dominant, share)
			broadcast = append(broadcast, float64(res.Steps[0].Cycles)/float64(res.Cycles))
		}
		m := mean(dominant)
		e.Rows = append(e.Rows, l.atSize(gate(v+", steps 3 and 5, mean", 100*m, "%", "at least 50 %", m >= 0.5)), beside(v+", step 1, mean", num(1.1), 100*mean(broadcast), "%", ""))
	}
	return nil
}

func (l *Lab) fig14b(ctx context.Context, e *Entry) error {
	for _, d := range l.sets() {
		for _, app := range []string{"pagerank", "bfs", "spknn"} {
			res, err := l.run(ctx, plain(d.Name, app, "v3"))
			if err != nil {
				return err
			}
			sum := 0.0
			for _, line := range res.Energy.Lines {
				if line.Joules != nil {
					e.Rows = append(e.Rows, beside(fmt.Sprintf("%s, %s, %s", d.Name, app, line.Name), nil, 100*line.Share, "%", ""))
					sum += line.Share
				}
			}
			e.Rows = append(e.Rows, gate(fmt.Sprintf("%s, %s, known energy", d.Name, app), 100*sum, "%", "100 %", math.Abs(sum-1) < 1e-9))
		}
	}
	e.Rows = append(e.Rows, beside("saving against the GPU, mean", num(97), math.NaN(), "%", "SRAM and cores of the logic layer, and refresh, are unknown: no saving is stated"))
	return nil
}

// traffic is the bytes of an ideal GPU for a run of PageRank: by words, and by
// sectors of 32 bytes of which a cache of some bytes holds the latest.
func traffic(m *matrix.Matrix, rounds int, cache int) (word, sector float64) {
	nnz, n := float64(m.NNZ()), float64(m.Cols)
	word = float64(rounds) * (8*nnz + 8*n + 4*nnz)
	misses := lruMisses(m, cache)
	sector = float64(rounds) * (8*nnz + 8*n + 64*float64(misses))
	return word, sector
}

// lruMisses counts accumulations whose sector is not in a cache of 16 ways.
func lruMisses(m *matrix.Matrix, bytes int) (misses int64) {
	const ways = 16
	sets := max(1, bytes/32/ways)
	tags := make([][ways]uint32, sets)
	for _, r := range m.Idx {
		sector := r/8 + 1 // 0 is an empty place
		set := &tags[int(sector)%sets]
		at := ways - 1
		for i, t := range set {
			if t == sector {
				at = i
				break
			}
		}
		if set[at] != sector {
			misses++
		}
		copy(set[1:at+1], set[:at])
		set[0] = sector
	}
	return misses
}

func (l *Lab) fig15(ctx context.Context, e *Entry) error {
	const gpu, logic = 183e9, 512e9
	var words, sectors, inLogic []float64
	for _, d := range l.sets() {
		res, err := l.run(ctx, plain(d.Name, "pagerank", "v3"))
		if err != nil {
			return err
		}
		m, err := l.matrix(d.Name)
		if err != nil {
			return err
		}
		share := float64(l.o.Machine.Organisation.Layers) / 8 // of a stack and its bandwidth
		w, s := traffic(m, len(res.Iterations), int(float64(4<<20)*share))
		_, c := traffic(m, len(res.Iterations), int(float64(4<<20+56*64<<10)*share))
		words = append(words, w/(gpu*share)/res.Seconds)
		sectors = append(sectors, s/(gpu*share)/res.Seconds)
		inLogic = append(inLogic, c/(logic*share)/res.Seconds)
		k := len(words) - 1
		e.Rows = append(e.Rows, beside(d.Name+", ideal GPU, words", nil, words[k], "x", "modelled traffic"), beside(d.Name+", ideal GPU, sectors", nil, sectors[k], "x", "modelled traffic"),
			beside(d.Name+", ideal GPU in the logic layer", nil, inLogic[k], "x", "modelled traffic, caches included"))
	}
	e.Rows = append(e.Rows, beside("ideal GPU, words, mean", num(7.94), mean(words), "x", "published: all apps; modelled: PageRank"), beside("ideal GPU, sectors, mean", num(7.94), mean(sectors), "x", ""),
		beside("ideal GPU in the logic layer, mean", num(2.83), mean(inLogic), "x", ""))
	return nil
}

func (l *Lab) fig16a(ctx context.Context, e *Entry) error {
	for _, d := range l.sets() {
		var none float64
		for _, p := range []float64{0, 0.001, 0.01, 0.1, 1} {
			s := plain(d.Name, "pagerank", "v3")
			s.long = p
			res, err := l.run(ctx, s)
			if err != nil {
				e.Rows = append(e.Rows, beside(fmt.Sprintf("%s, %g %% long", d.Name, p), nil, math.NaN(), "x", err.Error()))
				continue
			}
			if p == 0 {
				none = res.Seconds
			}
			e.Rows = append(e.Rows, beside(fmt.Sprintf("%s, %g %% long, over none", d.Name, p), nil, none/res.Seconds, "x", l.fits(s)))
		}
	}
	return nil
}

func (l *Lab) fig16b(ctx context.Context, e *Entry) error {
	var all []float64
	for _, d := range l.sets() {
		var seconds []float64
		for _, place := range []string{"same-subarray", "same-bank"} {
			s := plain(d.Name, "bfs", "v3")
			s.place = place
			res, err := l.run(ctx, s)
			if err != nil {
				return err
			}
			seconds = append(seconds, res.Seconds)
		}
		x := seconds[0] / seconds[1]
		all = append(all, x)
		if d.Name == "road_usa" {
			e.Rows = append(e.Rows, l.atSize(gate(d.Name+", BFS", x, "x", "above 1", x > 1)))
		} else {
			e.Rows = append(e.Rows, beside(d.Name+", BFS", nil, x, "x", ""))
		}
	}
	e.Rows = append(e.Rows, beside("mean", num(22.3), mean(all), "x", "published: all apps; modelled: BFS"),
		beside("most that dealing within a bank can give", num(76.9), float64(l.o.Machine.ComputePairs()), "x", "SPUs of a bank; published: up to"))
	e.Text = append(e.Text, "A step ends with its busiest SPU. Dealing the columns of a bank over its SPUs divides what one of them would do by their",
		"number at most, 15, so neither 22.3 nor 76.9 follows from balance within a bank; what else its other placement loses the",
		"paper does not say. Ours is far below 15, as a level has hardly a vertex for each SPU and launches, which are the same for",
		"both, take most of an iteration; it grows where levels are numbered one after the other (sparse bfs --order bfs --place).")
	return nil
}

func (l *Lab) fig17a(ctx context.Context, e *Entry) error {
	layers := float64(l.o.Machine.Organisation.Layers)
	for _, d := range l.sets() {
		res, err := l.run(ctx, plain(d.Name, "pagerank", "v3"))
		if err != nil {
			return err
		}
		w := res.Energy.Watts * 8 / layers
		if d.Name == "road_usa" {
			e.Rows = append(e.Rows, l.atSize(Row{Item: d.Name + ", PageRank, 8 layers", Published: num(32.72), Modelled: &w, Unit: "W", Gate: "20 to 50", Holds: yes(w >= 20 && w <= 50), Note: "published: mean of all; without what is unknown"}))
		} else {
			e.Rows = append(e.Rows, beside(d.Name+", PageRank, 8 layers", num(32.72), w, "W", "without what is unknown"))
		}
	}
	m := sparse.Default()
	peak := float64(m.SPUs()) * 544.6e-12 / 128e-9
	e.Rows = append(e.Rows, beside("all SPUs, a row activation each 128 ns", num(32.72), peak, "W", "arithmetic"), beside("GPU", num(130.9), math.NaN(), "W", "from the printed -75 %"))
	return nil
}

func (l *Lab) fig17b(ctx context.Context, e *Entry) error {
	var kept []float64
	for _, d := range l.sets() {
		base, err := l.run(ctx, plain(d.Name, "pagerank", "v3"))
		if err != nil {
			return err
		}
		s := plain(d.Name, "pagerank", "v3")
		s.spuMHz = math.Round(l.o.Machine.Clocks.SPU*10/32.72*100) / 100
		res, err := l.run(ctx, s)
		if err != nil {
			return err
		}
		k := base.Seconds / res.Seconds
		kept = append(kept, k)
		e.Rows = append(e.Rows, beside(fmt.Sprintf("%s, speed kept at %g MHz", d.Name, s.spuMHz), nil, k, "", "SPUs slower, rows and links not"),
			beside(fmt.Sprintf("%s, power kept", d.Name), nil, res.Energy.Watts/base.Energy.Watts, "", ""))
	}
	e.Rows = append(e.Rows, beside("speed kept at 10 of 32.72 W, mean", num(6.8/15.73), mean(kept), "", "clock by the ratio of powers"))
	return nil
}

func (l *Lab) readings(ctx context.Context, e *Entry) error {
	set := l.sets()[0].Name
	base, err := l.run(ctx, plain(set, "pagerank", "v3"))
	if err != nil {
		return err
	}
	e.Rows = append(e.Rows, beside(set+", PageRank, defaults", nil, perRound("pagerank", base.Seconds, len(base.Iterations)), "ms", ""))
	keys, values := sparse.ReadingAlternatives()
	keys, values = append(keys, "lanes"), append(values, []string{"64", "32"})
	for i, key := range keys {
		for _, v := range values[i][1:] {
			s := plain(set, "pagerank", "v3")
			if key == "v1_place" {
				s.variant = "v1"
			}
			s.readings = key + "=" + v
			res, err := l.run(ctx, s)
			if err != nil {
				return err
			}
			same, err := l.run(ctx, plain(set, "pagerank", s.variant))
			if err != nil {
				return err
			}
			e.Rows = append(e.Rows, beside(fmt.Sprintf("%s=%s, %s", key, v, s.variant), nil, res.Seconds/same.Seconds, "x the time", l.fits(s)))
		}
	}
	return nil
}

// sram sets the stack beside the SRAM chip: all applications on the first matrix,
// PageRank and BFS on the others; and sizes of the first on both whole machines.
func (l *Lab) sram(ctx context.Context, e *Entry) error {
	chip := func(app string, m *matrix.Matrix) (*sparse.ChipResult, error) {
		o := sparse.DefaultAppOptions()
		o.Queries = 4
		if app == "pagerank" {
			o.Iterations = l.o.Iterations
		}
		return sparse.RunChip(ctx, app, m, o, sparse.ChipConfig{Type: sparse.F32, Seed: l.o.Seed, Check: l.o.Check, Coalesce: 8})
	}
	for i, d := range l.sets() {
		m, err := l.matrix(d.Name)
		if err != nil {
			return err
		}
		list := apps
		if i > 0 {
			list = []string{"pagerank", "bfs"}
		}
		for _, app := range list {
			s := plain(d.Name, app, "v3")
			s.queries = 4
			stack, err := l.run(ctx, s)
			if err != nil {
				return err
			}
			l.say("%s of %s, SRAM chip", app, d.Name)
			c, err := chip(app, m)
			if err != nil {
				return err
			}
			if c.Stopped != "" {
				return context.Cause(ctx)
			}
			unit, of := "ms", ""
			if app == "pagerank" {
				of = ", a round"
			}
			note := "the matrix stays in the arrays"
			if !c.Resident {
				note = fmt.Sprintf("DRAM %.3g ms an iteration", c.DRAMMillis)
			}
			e.Rows = append(e.Rows, beside(fmt.Sprintf("%s, %s, stack%s", d.Name, app, of), nil, perRound(app, stack.Seconds, len(stack.Iterations)), unit, ""),
				beside(fmt.Sprintf("%s, %s, SRAM chip%s", d.Name, app, of), nil, perRound(app, c.Seconds, len(c.Iterations)), unit, note))
			if c.ApplyBits > 0 {
				e.Rows = append(e.Rows, beside(d.Name+", SRAM chip, step 6 by SPUs", nil, float64(c.ApplySPU)/float64(len(c.Iterations)), "cycles a round", ""),
					beside(d.Name+", SRAM chip, step 6 in bitlines", nil, float64(c.ApplyBits)/float64(len(c.Iterations)), "cycles a round", "bit-serial programs, and transposition"))
			}
		}
	}
	return l.sramSizes(ctx, e)
}

// sramSizes looks for the size from which on the stack is the faster: the chip's matrix
// then comes from DRAM.
func (l *Lab) sramSizes(ctx context.Context, e *Entry) error {
	name := l.sets()[0].Name
	v, err := sparse.LookupVariant("v3")
	if err != nil {
		return err
	}
	o := sparse.DefaultAppOptions()
	o.Iterations = 1
	turned := math.NaN()
	last := 0
	for _, scale := range []int{8 * l.o.Scale, 4 * l.o.Scale, 2 * l.o.Scale, l.o.Scale, l.o.Scale / 2} {
		if scale < 1 {
			continue
		}
		m, err := matrix.Standin(name, scale, l.o.Locality, l.o.Seed)
		if err != nil {
			return err
		}
		l.say("%s / %d on the stack and the SRAM chip", name, scale)
		stack, err := sparse.Run(ctx, "pagerank", m, o, sparse.Config{Machine: sparse.Default(), Variant: v, Type: sparse.F32, Long: -1, Seed: l.o.Seed, Threads: max(1, l.o.Threads), Check: l.o.Check, Every: 64, Instr: 64}, nil)
		if err != nil {
			return err
		}
		if stack.Stopped != "" {
			return context.Cause(ctx)
		}
		chip, err := sparse.RunChip(ctx, "pagerank", m, o, sparse.ChipConfig{Type: sparse.F32, Seed: l.o.Seed, Check: l.o.Check, Coalesce: 8})
		if err != nil {
			return err
		}
		if chip.Stopped != "" {
			return context.Cause(ctx)
		}
		last = m.Cols
		note := "resident"
		if !chip.Resident {
			note = fmt.Sprintf("DRAM %.3g ms", chip.DRAMMillis)
		}
		e.Rows = append(e.Rows, beside(fmt.Sprintf("%s of n=%d, whole stack over SRAM chip, PageRank", name, m.Cols), nil, stack.Seconds/chip.Seconds, "x", note))
		if math.IsNaN(turned) && stack.Seconds < chip.Seconds {
			turned = float64(m.Cols)
		}
	}
	e.Rows = append(e.Rows, beside(name+", least n of these at which the stack is faster", nil, turned, "", fmt.Sprintf("looked at up to n=%d", last)))
	return nil
}

// stacks is PageRank on 1 to 16 stacks: of one matrix (strong), and of one that grows
// with them (weak).
func (l *Lab) stacks(ctx context.Context, e *Entry) error {
	name := l.sets()[0].Name
	v, err := sparse.LookupVariant("v3")
	if err != nil {
		return err
	}
	o := sparse.DefaultAppOptions()
	o.Iterations = l.o.Iterations
	cfg := sparse.Config{Machine: l.o.Machine, Variant: v, Type: sparse.F32, Long: -1, Seed: l.o.Seed, Threads: max(1, l.o.Threads), Check: l.o.Check, Every: 64, Instr: 64}
	for _, weak := range []bool{false, true} {
		var first float64
		for _, k := range []int{1, 2, 4, 8, 16} {
			scale, kind := l.o.Scale, "strong"
			if weak {
				scale, kind = l.o.Scale*16/k, "weak"
			}
			m, err := matrix.Standin(name, scale, l.o.Locality, l.o.Seed)
			if err != nil {
				return err
			}
			l.say("%s on %d stacks", name, k)
			res, err := sparse.RunStacks(ctx, "pagerank", m, o, cfg, k, nil)
			if err != nil {
				return err
			}
			if res.Stopped != "" {
				return context.Cause(ctx)
			}
			if k == 1 {
				first = res.Seconds
			}
			e.Rows = append(e.Rows, beside(fmt.Sprintf("%s, %s, stacks=%d, over one", name, kind, k), nil, first/res.Seconds, "x", fmt.Sprintf("%.3g ms, of which %.3g between stacks", res.Seconds*1e3, res.Exchange*1e3)))
		}
	}
	return nil
}
