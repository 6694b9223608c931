package sparse

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/bitsched/bitsched/system/sparse/matrix"
)

// FlipsAMonth is the share of bytes of DRAM with a flipped bit after a month that the
// paper quotes.
const FlipsAMonth = 1.86375e-8

// flips are single bits that flipped in the pairs of rows, before the run, and in pairs
// on their way. A pair whose index then names no row of the SPUs of its bank is lost.
type flips struct {
	share  float64 // of bytes
	seed   uint64
	values map[int64]uint32 // masks of the values of nonzeros
	rows   int64
	sent   atomic.Int64
	lost   atomic.Int64
}

// newFlips flips bits of the indices of a placement, and draws those of values.
func newFlips(p *Placement, share float64, seed uint64) *flips {
	f := &flips{share: share, seed: seed, values: map[int64]uint32{}}
	rng := rand.New(rand.NewPCG(seed, 0x666c6970))
	// Bytes that flip are as far apart as a geometric distribution says.
	bytes := 8 * int64(len(p.Idx))
	for at := int64(-1); ; {
		gap := math.Log(1-rng.Float64()) / math.Log1p(-share)
		if !(gap < float64(bytes)) {
			break
		}
		if at += 1 + int64(gap); at >= bytes {
			break
		}
		f.rows++
		k, byte := at/8, at%8
		mask := uint32(1) << (byte%4*8 + rng.Int64N(8))
		if byte < 4 {
			p.Idx[k] ^= mask
		} else {
			f.values[k] ^= mask
		}
	}
	return f
}

// send flips a bit of a pair that SPU s sends as its n-th in an iteration.
func (f *flips) send(iteration, s int, n uint32, idx, val *uint32) {
	d := dice(f.seed ^ uint64(iteration)<<48 ^ uint64(s)<<32 ^ uint64(n))
	if float64(d.below(1<<31)) >= 8*f.share*(1<<31) {
		return
	}
	f.sent.Add(1)
	if bit := d.below(64); bit < 32 {
		*idx ^= 1 << bit
	} else {
		*val ^= 1 << (bit - 32)
	}
}

// Damage is what flipped bits did to a result.
type Damage struct {
	Share      float64 `json:"flips_a_byte"`
	Rows       int64   `json:"flips_in_rows"`
	Sent       int64   `json:"flips_in_pairs"`
	Lost       int64   `json:"pairs_lost"`
	Wrong      int64   `json:"wrong_values"`
	Values     int64   `json:"values"`
	Levels     int64   `json:"wrong_levels"`
	Tau        float64 `json:"kendall_tau"` // of the order of the values: 1 is the same, -1 the reverse
	Clean      *Result `json:"clean"`
	Faulty     *Result `json:"faulty"`
	CleanSteps int     `json:"clean_iterations"`
	Steps      int     `json:"faulty_iterations"`
}

// RunFlipped executes an application twice, the second time with flipped bits, and
// compares. The first run is checked as ever; in the second, conservation of nonzeros
// and pairs is.
func RunFlipped(ctx context.Context, app string, m *matrix.Matrix, o AppOptions, cfg Config, share float64) (*Damage, error) {
	if !(share > 0 && share <= 0.1) {
		return nil, fmt.Errorf("flips in %v of the bytes, expected a share above 0, up to 0.1", share)
	}
	if cfg.Variant.Rows {
		return nil, fmt.Errorf("flips on %s, expected v1, hypo, v2 or v3", cfg.Variant.Name)
	}
	clean, err := Run(ctx, app, m, o, cfg, nil)
	if err != nil {
		return nil, err
	}
	cfg.Flip, cfg.Check, cfg.Instr, cfg.Every = share, false, 0, 0
	faulty, err := Run(ctx, app, m, o, cfg, nil)
	if err != nil {
		return nil, err
	}
	d := &Damage{Share: share, Rows: faulty.flips.rows, Sent: faulty.flips.sent.Load(), Lost: faulty.flips.lost.Load(), Clean: clean, Faulty: faulty, CleanSteps: len(clean.Iterations), Steps: len(faulty.Iterations)}
	if clean.Stopped != "" || faulty.Stopped != "" {
		return d, nil
	}
	for i, v := range clean.Values {
		d.Values++
		if i >= len(faulty.Values) || faulty.Values[i] != v {
			d.Wrong++
		}
	}
	for i, v := range clean.Levels {
		if faulty.Levels[i] != v {
			d.Levels++
		}
	}
	if len(clean.Values) == len(faulty.Values) {
		d.Tau = KendallTau(ordered(clean), ordered(faulty))
	}
	return d, nil
}

// ordered are the values of a result as numbers.
func ordered(r *Result) []float64 {
	out := make([]float64, len(r.Values))
	for i, v := range r.Values {
		out[i] = float64(v)
		if r.Type == F32 {
			if out[i] = float64(math.Float32frombits(v)); math.IsNaN(out[i]) {
				out[i] = math.Inf(1)
			}
		}
	}
	return out
}

// KendallTau returns Kendall's tau-b of two lists: concordant pairs less discordant
// ones over the geometric mean of the pairs that each does not tie. It takes
// O(n log n). Two lists that tie all are in the same order.
func KendallTau(x, y []float64) float64 {
	n := len(x)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case x[a] < x[b] || x[a] == x[b] && y[a] < y[b]:
			return -1
		case x[a] == x[b] && y[a] == y[b]:
			return 0
		}
		return 1
	})
	pairs := func(k int64) int64 { return k * (k - 1) / 2 }
	ties := func(same func(i int) bool) (sum int64) {
		run := int64(1)
		for i := 1; i <= n; i++ {
			if i < n && same(i) {
				run++
				continue
			}
			sum += pairs(run)
			run = 1
		}
		return sum
	}
	if n < 2 {
		return 1
	}
	tx := ties(func(i int) bool { return x[order[i]] == x[order[i-1]] })
	txy := ties(func(i int) bool { return x[order[i]] == x[order[i-1]] && y[order[i]] == y[order[i-1]] })
	list, temp := make([]float64, n), make([]float64, n)
	for i, k := range order {
		list[i] = y[k]
	}
	swaps := inversions(list, temp)
	ty := ties(func(i int) bool { return list[i] == list[i-1] }) // it is sorted now
	all := pairs(int64(n))
	if all == tx || all == ty {
		if tx == ty {
			return 1
		}
		return 0
	}
	return float64(all-tx-ty+txy-2*swaps) / math.Sqrt(float64(all-tx)) / math.Sqrt(float64(all-ty))
}

// inversions sorts a list and counts the pairs that were in falling order.
func inversions(list, temp []float64) (count int64) {
	if len(list) < 2 {
		return 0
	}
	mid := len(list) / 2
	count = inversions(list[:mid], temp[:mid]) + inversions(list[mid:], temp[mid:])
	i, j, k := 0, mid, 0
	for i < mid || j < len(list) {
		if j == len(list) || i < mid && list[i] <= list[j] {
			temp[k] = list[i]
			i++
		} else {
			temp[k] = list[j]
			j++
			count += int64(mid - i)
		}
		k++
	}
	copy(list, temp)
	return count
}
