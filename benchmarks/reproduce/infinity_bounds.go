package reproduce

import (
	"fmt"
	"math"

	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tile"
)

// Bounds of figures of Infinity Stream, by what its runs counted.

// leastCycles are those of the design of a workload that takes the fewest: of memory at its peak
// for what the run reads there, and of the programs of arrays, under the faster of both latencies,
// all else for nothing and both at the same time. 0: not known.
func (b *best) leastCycles(paper *best, workload, config string) float64 {
	key := [2]string{workload, config}
	list, other := b.all[key], paper.all[key]
	least := math.Inf(1)
	for i, p := range list {
		if p.Peak == 0 {
			return 0
		}
		compute := 0.0
		if len(other) == len(list) { // of each design
			compute = min(p.computing(), other[i].computing())
		}
		least = min(least, max(p.Read/p.Peak, compute))
	}
	if len(list) == 0 {
		return 0
	}
	return least
}

// computing are the cycles of the programs of arrays.
func (p *infsPart) computing() float64 { return p.Shares[4] / 100 * float64(p.Cycles) }

// timeBounds are those of speedups of what computes in memory.
func (b *best) timeBounds(paper *best, names []string) (list []Bound) {
	const with = " without lowering, moves, barriers, last steps, drains, streams and cores, with all that it reads from memory at the peak of DRAM and what arrays compute at the same time"
	most := 0.0
	for _, x := range []struct{ config, over string }{{"in-l3", "near-l3"}, {"inf-s", "near-l3"}, {"inf-s", "in-l3"}, {"inf-s", multicore.Base}} {
		log, ok := 0.0, true
		for _, w := range names {
			p, least := b.of(w, x.over), b.leastCycles(paper, w, x.config)
			if ok = ok && least > 0 && p.Bound >= 0; !ok {
				break
			}
			one := float64(p.Cycles) * (1 + p.Bound) / least
			log += math.Log(one) / float64(len(names))
			if x.over == multicore.Base {
				most = max(most, one)
			}
		}
		if ok {
			list = append(list, Bound{x.config + " over " + x.over, AtMost, math.Exp(log), x.config + with, "what the runs counted: neither part is faster"})
			if x.over == multicore.Base {
				list = append(list, Bound{"inf-s over base, the most", AtMost, most, x.config + with, "what the runs counted: neither part is faster"})
			}
		}
	}
	return list
}

// jitBounds are those of the shares of lowering of single workloads in inf-s, whatever cycles a
// program, region, step, command, bank, check and number takes, while lowering has at most a fifth
// of the cycles in the mean of all workloads, or what it has in the run.
func (b *best) jitBounds(names []string) (list []Bound) {
	mean := 0.0
	for _, w := range names {
		mean += b.of(w, "inf-s").Shares[3] / float64(len(names))
	}
	most := max(mean, 20)
	for _, w := range names {
		p := b.of(w, "inf-s")
		if p.Lowered.Regions == 0 {
			continue
		}
		// The mean, if lowering of w takes so many cycles, at least.
		least := func(cycles float64) (sum float64) {
			for _, other := range names {
				q := b.of(other, "inf-s")
				sum += share(leastRatio(p.lowered(), q.lowered())*cycles, q.beside()) / float64(len(names))
			}
			return sum
		}
		low, high := 0.0, 1e3*p.beside() // 99.9 % of all
		if least(high) > most {
			for range 100 {
				if at := (low + high) / 2; least(at) > most {
					high = at
				} else {
					low = at
				}
			}
		}
		list = append(list, Bound{"JIT of " + w, AtMost, share(high, p.beside()), fmt.Sprintf("with any cycles for a program, region, step, command, bank, check and patched number, while lowering takes at most %.3g %% in the mean", most),
			"what is lowered for each workload was counted, and all else takes its cycles"})
	}
	return list
}

// lowered is what lowering was for, and the program.
func (p *infsPart) lowered() []int64 { return append(p.Lowered.Counts(), 1) }

// beside are the cycles without those of lowering.
func (p *infsPart) beside() float64 { return (1 - p.Shares[3]/100) * float64(p.Cycles) }

// share is that of a part in percent.
func share(part, rest float64) float64 {
	if part == 0 {
		return 0
	}
	return 100 * part / (part + rest)
}

// leastRatio is the least that a sum of the second counts is of one of the first counts, with the
// same weights that are not negative.
func leastRatio(of, other []int64) float64 {
	least := math.Inf(1)
	for i, n := range of {
		if n > 0 {
			least = min(least, float64(other[i])/float64(n))
		}
	}
	return least
}

// trafficBounds are those of what near-l3 and inf-s save.
func (b *best) trafficBounds(env *Env, names []string) ([]Bound, error) {
	m, err := env.machine(infsMachine(env))
	if err != nil {
		return nil, err
	}
	links := memoryLinks(m)
	least := func(p *infsPart) float64 { return min(links*p.Read, p.traffic()) }
	var list []Bound
	for _, x := range savings {
		if in := b.inTime(names, x.config, x.over); len(in) > 0 {
			list = append(list, Bound{x.name, AtMost, b.saved(in, x.config, x.over, least), "with nothing on the mesh but what comes from memory, without headers", "the bytes that were read, to the bank that they are of from the nearest controller, in the mean of banks"})
		}
	}
	return list, nil
}

// memoryLinks is how many links a bank is away from the nearest controller, in the mean.
func memoryLinks(m *tile.Machine) float64 {
	mesh := m.NoCConfig()
	sum := 0
	for bank := range m.Banks() {
		near := math.MaxInt
		for i := range m.NoC.MemoryControllers {
			near = min(near, mesh.Distance(m.Controller(i), bank))
		}
		sum += near
	}
	return float64(sum) / float64(m.Banks())
}

// mostEnergy is what the geometric mean of the energies of some runs over those of others is at
// most, whatever a core leaks: as much in all of them. Each factor rises or falls with that, so
// that between two leakages it is at most the greater one of those there.
func mostEnergy(p, q []*infsPart) float64 {
	at := func(i int, times float64) float64 { // as many times the leakage of the table
		leak, other := p[i].Energy[leakingCores], q[i].Energy[leakingCores]
		switch {
		case leak == 0 && other == 0:
			times = 0
		case math.IsInf(times, 1):
			return leak / other
		}
		return (p[i].energy() - leak + times*leak) / (q[i].energy() - other + times*other)
	}
	most := 0.0
	const step, last = 1.01, 1e4
	for low, high := 0.0, 1/last; low <= last; low, high = high, high*step {
		if high > last {
			high = math.Inf(1)
		}
		sum := 0.0
		for i := range p {
			sum += math.Log(max(at(i, low), at(i, high)))
		}
		most = max(most, math.Exp(sum/float64(len(p))))
	}
	return most
}
