package sparse

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"

	"github.com/bitsched/bitsched/system/sparse/matrix"
	"github.com/bitsched/bitsched/system/sparse/reference"
)

// Links between stacks, bytes a second each way, as the authors' simulator of sorting
// has them: 60 GB/s of 8 of 9 bits between stacks of a device, 50 GB/s between devices,
// 80 % of both used. How many stacks a device has is ours.
const (
	stackLink       = 60e9 * 8 / 9 * 0.8
	deviceLink      = 50e9 * 0.8
	stacksPerDevice = 4
	maxStacks       = 16
)

// StacksResult is a result on several stacks.
type StacksResult struct {
	App        string  `json:"app"`
	Variant    string  `json:"variant"`
	Type       Type    `json:"type"`
	Stacks     int     `json:"stacks"`
	NNZ        int64   `json:"nnz"`
	Iterations int     `json:"iterations"`
	Seconds    float64 `json:"seconds"`
	Products   float64 `json:"seconds_in_stacks"`
	Exchange   float64 `json:"seconds_between_stacks"`
	Reduce     float64 `json:"seconds_of_reduction"`
	Bytes      int64   `json:"bytes_between_stacks"`
	Nonzeros   int64   `json:"nonzeros_processed"`
	Digest     string  `json:"digest"`
	Checked    string  `json:"checked"`
	Compared   int64   `json:"compared"`
	Stopped    string  `json:"stopped,omitempty"` // what ended it before its end: what is complete counts

	values, levels []uint32
}

// cluster is some stacks, each with a block of the columns.
type cluster struct {
	jobs  []*job
	first []int // column of each block, and the end
	m     *matrix.Matrix
	ring  Semiring
	cfg   Config
	res   *StacksResult
	x     *Exchange // nil: all stacks are here
	key   [sha256.Size]byte
}

// RunStacks executes bfs, sssp, pagerank or cc on several stacks: each has a block of
// the columns and multiplies by it, results go down its logic layer and over links to
// the stacks that own their rows, whose vault cores reduce and apply them. With an
// exchange, all but one of the stacks are executed by other processes.
func RunStacks(ctx context.Context, app string, m *matrix.Matrix, o AppOptions, cfg Config, stacks int, x *Exchange) (*StacksResult, error) {
	a, err := LookupApp(app)
	if err != nil {
		return nil, err
	}
	if m, err = prepare(app, m, o); err != nil {
		return nil, err
	}
	switch {
	case app != "bfs" && app != "sssp" && app != "pagerank" && app != "cc":
		return nil, fmt.Errorf("%s on several stacks, expected bfs, sssp, pagerank or cc", app)
	case stacks < 1 || stacks > maxStacks || stacks > m.Cols:
		return nil, fmt.Errorf("%d stacks, expected 1 to %d", stacks, min(maxStacks, m.Cols))
	case cfg.Variant.Rows:
		return nil, fmt.Errorf("several stacks on %s, expected v1, hypo, v2 or v3", cfg.Variant.Name)
	}
	name, err := a.ring(o, cfg.Type)
	if err != nil {
		return nil, err
	}
	ring, _ := LookupSemiring(name)
	if cfg.Variant.Bank {
		return nil, fmt.Errorf("several stacks on bank, expected v1, hypo, v2 or v3")
	}
	c := &cluster{m: m, ring: ring, cfg: cfg, res: &StacksResult{App: app, Variant: cfg.Variant.Name, Type: cfg.Type, Stacks: stacks, NNZ: m.NNZ()}}
	if !ring.Float {
		c.res.Type = U32
	}
	for k := range stacks + 1 {
		c.first = append(c.first, int(int64(m.Cols)*int64(k)/int64(stacks)))
	}
	c.jobs = make([]*job, stacks)
	if c.x = x; x != nil {
		if x.Stack < 0 || x.Stack >= stacks {
			return nil, fmt.Errorf("stack %d of %d", x.Stack, stacks)
		}
		c.key = c.keyOf(app, o)
	}
	for k := range stacks {
		if x != nil && x.Stack != k {
			continue
		}
		lo, hi := c.first[k], c.first[k+1]
		block := &matrix.Matrix{Rows: m.Rows, Cols: hi - lo, Kind: m.Kind, Ptr: make([]int64, hi-lo+1), Idx: m.Idx[m.Ptr[lo]:m.Ptr[hi]]}
		for i := range block.Ptr {
			block.Ptr[i] = m.Ptr[lo+i] - m.Ptr[lo]
		}
		if m.Val != nil {
			block.Val = m.Val[m.Ptr[lo]:m.Ptr[hi]]
		}
		r, err := newRunner(ctx, block, ring, cfg)
		if err != nil {
			return nil, err
		}
		if cfg.Instr > 0 {
			r.shadow = newShadow(r, cfg.Instr)
		}
		j := &job{runner: r, o: o, m: block, res: &Result{}}
		j.words()
		c.jobs[k] = j
	}
	if app == "pagerank" {
		err = c.ranks(o)
	} else {
		err = c.search(app, o)
	}
	switch {
	case err == nil:
		c.res.Digest = digest(c.res.levels, c.res.values)
	case ctx.Err() == nil:
		return nil, err
	default:
		c.res.Stopped = context.Cause(ctx).Error()
	}
	c.res.Seconds = c.res.Products + c.res.Exchange + c.res.Reduce
	return c.res, nil
}

// execute multiplies the block of stack k by a frontier: by all columns, or by those
// that are active.
func (c *cluster) execute(k int, x []uint32, active []bool) (*product, error) {
	j := c.jobs[k]
	j.clearFront()
	j.longFront = j.longFront[:0]
	n := 0
	for i := range j.m.Cols {
		if v := c.first[k] + i; active == nil || active[v] {
			j.activate(j.p.ColTo[i], x[v])
			n++
		}
	}
	p := &product{}
	if n == 0 {
		return p, nil
	}
	out, err := j.single(true)
	if err != nil {
		return nil, fmt.Errorf("stack %d: %w", k, err)
	}
	if j.shadow != nil && j.shadow.err != nil {
		return nil, j.shadow.err
	}
	it := &j.iters[len(j.iters)-1]
	p.cycles, p.nonzeros = it.Cycles(), it.Nonzeros
	for i, v := range j.original(out) {
		if v == c.ring.Clean {
			continue
		}
		if c.ring.ID { // columns of the block are numbered from 0
			v += uint32(c.first[k])
		}
		p.idx, p.val = append(p.idx, uint32(i)), append(p.val, v)
	}
	return p, nil
}

// products are what all stacks give.
func (c *cluster) products(x []uint32, active []bool) ([]*product, error) {
	if c.x != nil {
		return c.x.products(c, x, active)
	}
	list := make([]*product, len(c.jobs))
	for k := range list {
		p, err := c.execute(k, x, active)
		if err != nil {
			return nil, err
		}
		list[k] = p
	}
	return list, nil
}

// multiply is the product of the matrix and a frontier: of all columns, or of those
// that are active.
func (c *cluster) multiply(x []uint32, active []bool) ([]uint32, error) {
	list, err := c.products(x, active)
	if err != nil {
		return nil, err
	}
	sum := make([]uint32, c.m.Rows)
	fill(sum, c.ring.Clean)
	stacks := len(c.jobs)
	sent := make([][]int64, stacks) // pairs from a stack to another
	var slowest float64
	most, nonzeros := int64(0), int64(0)
	received := make([]int64, stacks)
	for k, p := range list {
		sent[k] = make([]int64, stacks)
		slowest = max(slowest, float64(p.cycles)/(c.cfg.Machine.linkMHz()*1e6))
		nonzeros += p.nonzeros
		owner := 0
		for at, i := range p.idx {
			for int(i) >= c.first[owner+1] {
				owner++
			}
			sum[i] = acc(c.ring.Acc, c.ring.Clean, sum[i], p.val[at])
			sent[k][owner]++
			received[owner]++
		}
	}
	for _, n := range received {
		most = max(most, n)
	}
	c.res.Iterations++
	c.res.Nonzeros += nonzeros
	c.res.Products += slowest
	c.res.Exchange += c.exchange(sent)
	c.res.Reduce += c.logic(most)
	return sum, nil
}

// logic is the time in which the vault cores of a stack do operations.
func (c *cluster) logic(n int64) float64 {
	m := c.cfg.Machine
	vaults := int64(m.Organisation.Vaults)
	return float64((n+vaults-1)/vaults) * m.Logic.Reduce * 1e-9
}

// exchange is the time in which links carry pairs: each stack has one to the others of
// its device, each device one to other devices, both ways at once.
func (c *cluster) exchange(sent [][]int64) (seconds float64) {
	k := len(sent)
	device := func(s int) int { return s / stacksPerDevice }
	in, out := make([]int64, k), make([]int64, k)
	devIn, devOut := make([]int64, k), make([]int64, k)
	for a := range sent {
		for b, n := range sent[a] {
			bytes := 8 * n
			switch {
			case a == b:
				continue
			case device(a) == device(b):
				out[a] += bytes
				in[b] += bytes
			default:
				devOut[device(a)] += bytes
				devIn[device(b)] += bytes
			}
			c.res.Bytes += bytes
		}
	}
	for s := range sent {
		seconds = max(seconds, float64(max(in[s], out[s]))/stackLink, float64(max(devIn[s], devOut[s]))/deviceLink)
	}
	return seconds
}

// apply is the time of applying n entries in the logic layers, each a block of rows.
func (c *cluster) apply(n int) { c.res.Reduce += c.logic(int64((n + len(c.jobs) - 1) / len(c.jobs))) }

func (c *cluster) ranks(o AppOptions) error {
	n, d := c.m.Cols, o.Damping
	rounds := o.Iterations
	if rounds == 0 {
		rounds = 50
	}
	f := math.Float32frombits
	y, x, lengths := make([]uint32, n), make([]uint32, n), make([]uint32, n)
	for v := range lengths {
		lengths[v] = uint32(c.m.Ptr[v+1] - c.m.Ptr[v])
	}
	const baseU32 = 12345
	done := 0
	for v := range y {
		y[v] = 1
		if c.ring.Float {
			y[v] = math.Float32bits(float32(1 / float64(n)))
		}
	}
	for done < rounds {
		dangling := 0.0
		for v := range x {
			switch {
			case !c.ring.Float:
				x[v] = y[v] * lengths[v]
			case lengths[v] > 0:
				x[v] = math.Float32bits(f(y[v]) * float32(d/float64(lengths[v])))
			default:
				x[v] = 0
				dangling += float64(f(y[v]))
			}
		}
		sum, err := c.multiply(x, nil)
		if err != nil {
			return err
		}
		done++
		change := 0.0
		base := float32((1-d)/float64(n) + d*dangling/float64(n))
		for v, s := range sum {
			if s == c.ring.Clean {
				s = 0
			}
			now := s + baseU32
			if c.ring.Float {
				now = math.Float32bits(f(s) + base)
				change += math.Abs(float64(f(now) - f(y[v])))
			}
			y[v] = now
		}
		c.apply(n)
		if c.ring.Float && change < o.Tolerance {
			break
		}
	}
	c.res.values = y
	if !c.cfg.Check {
		return nil
	}
	if !c.ring.Float {
		return c.compare("plain loops modulo 2^32", reference.Recurrence(c.m, lengths, baseU32, done), y)
	}
	off, most := 0.0, uint32(0)
	for i, w := range reference.PageRank(c.m, d, done) {
		off += math.Abs(w - float64(f(y[i])))
	}
	for _, l := range c.m.RowLengths() {
		most = max(most, l)
	}
	if limit := float64(done) * max(1e-5, float64(most+4)*0x1p-24); off > limit {
		return fmt.Errorf("%w: ranks differ from those in float64 by %.3g in all, expected at most %.3g", ErrCheck, off, limit)
	}
	c.res.Checked, c.res.Compared = "plain products in float64 on each stack, power iteration in float64", int64(n)
	return nil
}

func (c *cluster) search(app string, o AppOptions) error {
	n := c.m.Cols
	y, x, active := make([]uint32, n), make([]uint32, n), make([]bool, n)
	fill(y, math.MaxUint32)
	levels := make([]uint32, n)
	fill(levels, math.MaxUint32)
	src := (&job{o: o, m: c.m}).source()
	op := OpAccMin
	switch app {
	case "bfs":
		op = OpKeep
		y[src], x[src], active[src], levels[src] = uint32(src), uint32(src), true, 0
	case "sssp":
		y[src], active[src] = 0, true
	case "cc":
		for v := range y {
			y[v], x[v], active[v] = uint32(v), uint32(v), true
		}
	}
	for round, left := 1, true; left && (o.Iterations == 0 || round <= o.Iterations); round++ {
		sum, err := c.multiply(x, active)
		if err != nil {
			return err
		}
		clear(active)
		left = false
		changed := 0
		for v, s := range sum {
			if s == c.ring.Clean {
				continue
			}
			changed++
			if now := acc(op, c.ring.Clean, y[v], s); now != y[v] {
				y[v], x[v], active[v], left = now, s, true, true
				levels[v] = uint32(round)
			}
		}
		c.apply(changed)
	}
	c.res.values = y
	if app == "bfs" {
		c.res.levels = levels
	}
	switch {
	case !c.cfg.Check:
		return nil
	case app == "bfs":
		level, parent := reference.BFS(c.m, src, o.Iterations)
		return c.compare("queue search", append(level, parent...), append(levels, y...))
	case o.Iterations > 0:
		start := make([]uint32, n)
		for v := range start {
			if start[v] = math.MaxUint32; app == "cc" {
				start[v] = uint32(v)
			}
		}
		if app == "sssp" {
			start[src] = 0
		}
		return c.compare("rounds of the least neighbour", reference.Relax(c.m, start, app == "sssp", o.Iterations), y)
	case app == "sssp":
		return c.compare("Dijkstra", reference.Distances(c.m, src), y)
	}
	return c.compare("union and find", reference.Components(c.m), y)
}

func (c *cluster) compare(with string, want, got []uint32) error {
	for i := range want {
		if want[i] != got[i] {
			return fmt.Errorf("%w: value %d is %d, the reference (%s) has %d", ErrCheck, i, got[i], with, want[i])
		}
	}
	c.res.Checked, c.res.Compared = with, int64(len(want))
	return nil
}
