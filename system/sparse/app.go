package sparse

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/emirpasic/gods/queues/priorityqueue"

	"github.com/bitsched/bitsched/system/sparse/matrix"
	"github.com/bitsched/bitsched/system/sparse/reference"
)

// AppOptions are what the applications take: section 3 of the specification.
type AppOptions struct {
	Source     int     // of bfs and sssp; -1: the vertex with the most edges
	Damping    float64 // of pagerank
	Tolerance  float64 // change of all ranks that ends pagerank
	Iterations int     // at most; 0: until the end, or 50 rounds of pagerank
	Queries    int     // of spknn and svm
	Top        int     // neighbours of spknn
	Kernel     string  // of svm: linear or rbf
	Gamma      float64 // of rbf; 0: one over the number of columns
	Density    float64 // of the input of spmspv
	Semiring   string  // of spmv and spmspv; "": plus-times of the type
	Weights    uint64  // seed of the weights that a pattern gets in sssp
}

// DefaultAppOptions are those that the specification assumes.
func DefaultAppOptions() AppOptions {
	return AppOptions{Source: -1, Damping: 0.85, Tolerance: 1e-6, Queries: 32, Top: 10, Kernel: "linear", Density: 0.01, Weights: 1}
}

// App is an application.
type App struct {
	Name string
	Text string
	run  func(j *job) error
	ring func(o AppOptions, t Type) (string, error)
}

// Apps returns the applications.
func Apps() []App {
	plus := func(_ AppOptions, t Type) (string, error) { return "plus-times-" + string(t), nil }
	named := func(name string) func(AppOptions, Type) (string, error) {
		return func(AppOptions, Type) (string, error) { return name, nil }
	}
	any := func(o AppOptions, t Type) (string, error) {
		if o.Semiring == "" {
			return "plus-times-" + string(t), nil
		}
		if _, ok := LookupSemiring(o.Semiring); !ok {
			var names []string
			for _, s := range Semirings() {
				names = append(names, s.Name)
			}
			return "", fmt.Errorf("unknown semiring %q, expected %v", o.Semiring, names)
		}
		return o.Semiring, nil
	}
	return []App{
		{"bfs", "levels and parents of a breadth-first search", (*job).bfs, named("min-column")},
		{"sssp", "shortest distances, by rounds of Bellman and Ford", (*job).sssp, named("min-plus")},
		{"pagerank", "ranks of vertices", (*job).pagerank, plus},
		{"spknn", "nearest neighbours of some rows by their scalar products", (*job).spknn, plus},
		{"svm", "classes of some rows by a support vector machine of all", (*job).svm, plus},
		{"cc", "connected components", (*job).cc, named("min-first")},
		{"spmv", "one product with a dense vector", (*job).spmv, any},
		{"spmspv", "one product with a sparse vector", (*job).spmspv, any},
	}
}

// LookupApp returns an application by name.
func LookupApp(name string) (App, error) {
	var names []string
	for _, a := range Apps() {
		if a.Name == name {
			return a, nil
		}
		names = append(names, a.Name)
	}
	return App{}, fmt.Errorf("unknown application %q, expected %v", name, names)
}

// Result is what an application gave, and what the stack took for it.
type Result struct {
	App        string      `json:"app"`
	Variant    string      `json:"variant"`
	Type       Type        `json:"type"`
	Rows       int         `json:"rows"`
	Cols       int         `json:"cols"`
	NNZ        int64       `json:"nnz"`
	Long       int         `json:"long"`
	SPUs       int         `json:"spus"`
	Values     []uint32    `json:"-"`        // in the numbering of the matrix
	Levels     []uint32    `json:"-"`        // of bfs
	Digest     string      `json:"digest"`   // of the values, SHA-256; "" if it was stopped
	Checked    string      `json:"checked"`  // what the result was compared with
	Compared   int64       `json:"compared"` // how many values
	Replayed   int64       `json:"replayed"` // sums in f32 that were repeated in their order
	Shadowed   int64       `json:"interpreted_spus"`
	Stopped    string      `json:"stopped,omitempty"`
	Iterations []Iteration `json:"iterations"`
	Cycles     int64       `json:"link_cycles"`
	Seconds    float64     `json:"seconds"`
	Nonzeros   int64       `json:"nonzeros_processed"`
	Pairs      Pairs       `json:"pairs"`
	Counters   Counters    `json:"counters"`
	MeanRing   float64     `json:"mean_ring_hops"`
	InterBank  float64     `json:"inter_bank_share"` // of the remote pairs of all processed nonzeros
	Backlog    int32       `json:"most_waiting_pairs"`
	Layout     Layout      `json:"layout"`
	Network    string      `json:"network"` // cycle, or bound: a lower bound of the time
	Steps      [6]Step     `json:"steps"`
	Rounds     int         `json:"rounds"`
	Energy     *Energy     `json:"energy"`
	Summary    string      `json:"summary"`
	Neighbours [][]int     `json:"neighbours,omitempty"`
	Classes    []int       `json:"classes,omitempty"`

	flips *flips
}

// job is a run of an application.
type job struct {
	*runner
	o   AppOptions
	m   *matrix.Matrix
	res *Result
}

// Run executes an application on a matrix. If the context ends, the iterations that
// are complete make the result, whose Stopped is then set.
func Run(ctx context.Context, app string, m *matrix.Matrix, o AppOptions, cfg Config, trace *Trace) (*Result, error) {
	a, err := LookupApp(app)
	if err != nil {
		return nil, err
	}
	m, err = prepare(a.Name, m, o)
	if err != nil {
		return nil, err
	}
	name, err := a.ring(o, cfg.Type)
	if err != nil {
		return nil, err
	}
	ring, _ := LookupSemiring(name)
	if cfg.Variant.Rows {
		cfg.Every = 0 // sums are repeated in the order of columns, which is that of the plain product
	}
	r, err := newRunner(ctx, m, ring, cfg)
	if err != nil {
		return nil, err
	}
	return runOn(a, m, o, cfg, r, trace)
}

// runOn executes an application by a runner.
func runOn(a App, m *matrix.Matrix, o AppOptions, cfg Config, r *runner, trace *Trace) (*Result, error) {
	r.trace = trace
	trace.begin(r)
	if cfg.Instr > 0 {
		r.shadow = newShadow(r, cfg.Instr)
	}
	j := &job{runner: r, o: o, m: m, res: &Result{App: a.Name, Variant: cfg.Variant.Name, Type: cfg.Type, Rows: m.Rows, Cols: m.Cols, NNZ: m.NNZ(), Long: r.p.Long, SPUs: len(r.spus), Layout: r.p.Layout}}
	if !r.ring.Float {
		j.res.Type = U32
	}
	if err := a.run(j); err != nil {
		if r.ctx.Err() == nil {
			return nil, err
		}
		j.res.Stopped = context.Cause(r.ctx).Error()
		if n := len(r.iters); n > 0 {
			r.iters = r.iters[:n-1] // the one that was stopped
		}
	}
	if r.shadow != nil {
		if r.shadow.err != nil {
			return nil, r.shadow.err
		}
		j.res.Shadowed = int64(r.shadow.count)
	}
	j.finish()
	return j.res, nil
}

// finish sums up.
func (j *job) finish() {
	res, r := j.res, j.runner
	res.Network, res.flips = "cycle", r.flips
	if r.cfg.Bound {
		res.Network = "bound"
	}
	res.Iterations = r.iters
	for k := range res.Steps {
		res.Steps[k].Name = stepNames[k]
	}
	for i := range r.iters {
		it := &r.iters[i]
		res.Cycles += it.Cycles()
		res.Nonzeros += it.Nonzeros
		res.Rounds += it.Rounds
		res.Pairs.add(it.Pairs)
		for k, s := range it.Steps {
			res.Steps[k].Cycles += s.Cycles
			res.Steps[k].Busiest += s.Busiest
			res.Steps[k].Mean += s.Mean
			res.Steps[k].Loads += s.Loads
		}
	}
	res.Seconds = float64(res.Cycles) / (r.m.linkMHz() * 1e6)
	res.Counters = r.counters
	if r.counters.RingUsed > 0 {
		res.MeanRing = float64(r.counters.RingHops) / float64(r.counters.RingUsed)
	}
	if res.Nonzeros > 0 {
		res.InterBank = float64(r.counters.RingUsed) / float64(res.Nonzeros)
	}
	for i := range r.net.stations {
		res.Backlog = max(res.Backlog, r.net.stations[i].most)
	}
	if res.Stopped == "" {
		res.Digest = digest(res.Levels, res.Values)
	}
}

// digest is the SHA-256 of words.
func digest(lists ...[]uint32) string {
	h := sha256.New()
	for _, words := range lists {
		writeWords(h, words)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func writeWords(w interface{ Write([]byte) (int, error) }, words []uint32) {
	buf := make([]byte, 0, 1<<16)
	for _, v := range words {
		if buf = binary.LittleEndian.AppendUint32(buf, v); len(buf) == cap(buf) {
			_, _ = w.Write(buf) // a hash takes all
			buf = buf[:0]
		}
	}
	_, _ = w.Write(buf)
}

// prepare checks and completes a matrix for an application.
func prepare(app string, m *matrix.Matrix, o AppOptions) (*matrix.Matrix, error) {
	square := app == "bfs" || app == "sssp" || app == "pagerank" || app == "cc"
	if square && m.Rows != m.Cols {
		return nil, fmt.Errorf("%s of a matrix of %d x %d, expected a square one", app, m.Rows, m.Cols)
	}
	if (app == "bfs" || app == "sssp") && o.Source >= m.Cols {
		return nil, fmt.Errorf("--source %d, expected 0 to %d", o.Source, m.Cols-1)
	}
	if app == "spknn" && o.Top > m.Rows {
		return nil, fmt.Errorf("--top %d, expected 1 to %d", o.Top, m.Rows)
	}
	switch app {
	case "bfs", "pagerank", "cc":
		if m.Val != nil { // structure only
			m = &matrix.Matrix{Rows: m.Rows, Cols: m.Cols, Ptr: m.Ptr, Idx: m.Idx}
		}
	}
	switch app {
	case "cc":
		if r, c, ok := m.Asymmetry(); ok {
			return nil, fmt.Errorf("pattern is not symmetric, as entry (%d, %d) shows; --undirected makes it so", r, c)
		}
	case "sssp":
		if m.Val == nil {
			return weighted(m, o.Weights), nil
		}
		for c := range m.Cols {
			for k := m.Ptr[c]; k < m.Ptr[c+1]; k++ {
				if w := m.Float(k); w < 0 {
					return nil, fmt.Errorf("weight %v on edge (%d, %d), expected 0 or more", w, c, m.Idx[k])
				}
			}
		}
		// Distances are whole numbers of 32 bits.
		w := &matrix.Matrix{Rows: m.Rows, Cols: m.Cols, Kind: matrix.Integer, Ptr: m.Ptr, Idx: m.Idx, Val: make([]uint32, len(m.Idx))}
		for k := range w.Val {
			w.Val[k] = m.Uint(int64(k))
		}
		return w, nil
	}
	return m, nil
}

// weighted gives each edge of a pattern a weight of 1 to 64, the same both ways.
func weighted(m *matrix.Matrix, seed uint64) *matrix.Matrix {
	w := &matrix.Matrix{Rows: m.Rows, Cols: m.Cols, Kind: matrix.Integer, Ptr: m.Ptr, Idx: m.Idx, Val: make([]uint32, len(m.Idx))}
	for c := range m.Cols {
		for k := m.Ptr[c]; k < m.Ptr[c+1]; k++ {
			r := m.Idx[k]
			x := uint64(min(r, uint32(c)))<<32 | uint64(max(r, uint32(c)))
			x = (x ^ seed*0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9
			x = (x ^ x>>29) * 0x94d049bb133111eb
			w.Val[k] = uint32(x>>58) + 1
		}
	}
	return w
}

// words converts values of the matrix to those of the placement's type.
func (r *runner) words() {
	p := r.p
	if p.Val == nil || r.ring.ID {
		p.Val = nil
		return
	}
	if r.cfg.Variant.Rows {
		p.Val = slices.Clone(p.Matrix.Val)
		defer func() { r.rowVal = p.Val }()
	}
	conv := matrix.Matrix{Kind: p.Matrix.Kind, Val: p.Val}
	for k := range p.Val {
		if r.ring.Mul == OpMulF32 {
			p.Val[k] = math.Float32bits(conv.Float(int64(k)))
		} else {
			p.Val[k] = conv.Uint(int64(k))
		}
	}
}

// source is the vertex that a search begins at.
func (j *job) source() int {
	if j.o.Source >= 0 {
		return j.o.Source
	}
	best := 0
	for c := range j.m.Cols {
		if j.m.Ptr[c+1]-j.m.Ptr[c] > j.m.Ptr[best+1]-j.m.Ptr[best] {
			best = c
		}
	}
	return best
}

// start puts one entry into the frontier.
func (j *job) start(vertex int, value uint32) {
	c := j.p.ColTo[vertex]
	j.activate(c, value)
}

// activate puts column c into the frontier of its owner, or into the logic layer.
func (r *runner) activate(c, value uint32) {
	if int(c) < r.p.Long {
		r.longFront = append(r.longFront, uint64(c)<<32|uint64(value))
		return
	}
	s := ownerOf(r.p.ColFirst, c)
	r.setFrontier(s, c, value)
}

func ownerOf(first []uint32, c uint32) int {
	s, _ := slices.BinarySearchFunc(first, c, func(a, b uint32) int {
		if a <= b {
			return -1
		}
		return 1
	})
	return s - 1
}

// original puts a vector by new rows into the numbering of the matrix.
func (r *runner) original(v []uint32) []uint32 {
	out := make([]uint32, len(v))
	for i, x := range v {
		out[r.p.RowFrom[i]] = x
	}
	return out
}

// search runs rounds until no frontier is left.
func (j *job) search(op Op, each func(round int)) error {
	j.checkClean = true
	j.words()
	for round := 1; j.o.Iterations == 0 || round <= j.o.Iterations; round++ {
		if len(j.longFront) == 0 && j.withFront.empty() {
			break
		}
		if err := j.begin(); err != nil {
			return err
		}
		j.distribute(round == 1)
		if err := j.product(); err != nil {
			return err
		}
		if j.shadow != nil && j.shadow.err != nil {
			return j.shadow.err
		}
		if err := j.applySparse(op); err != nil {
			return err
		}
		if err := j.ownFrontier(); err != nil {
			return err
		}
		if each != nil {
			each(round)
		}
	}
	return nil
}

// ownFrontier asserts that each entry of the frontier lies with its owner, and that
// outputs are clean again.
func (r *runner) ownFrontier() (err error) {
	r.withFront.each(func(s int) {
		for i := range r.frontLen[s] {
			e, _ := r.frontier(s, i)
			c := uint32(e >> 32)
			switch {
			case err != nil:
				return
			case c < r.p.ColFirst[s] || c >= r.p.ColFirst[s+1]:
				err = fmt.Errorf("%w: frontier entry %d lies with SPU %d, which owns %d to %d", ErrCheck, c, s, r.p.ColFirst[s], r.p.ColFirst[s+1]-1)
			case r.out[c] != r.ring.Clean:
				err = fmt.Errorf("%w: output %d is not clean after Applying", ErrCheck, c)
			}
		}
	})
	return err
}

// newY makes y, all v.
func (j *job) newY(v uint32) {
	j.y = make([]uint32, j.m.Rows)
	fill(j.y, v)
}

func (j *job) bfs() error {
	src := j.source()
	j.newY(math.MaxUint32)
	levels := make([]uint32, j.m.Rows)
	fill(levels, math.MaxUint32)
	levels[src] = 0
	j.y[j.p.ColTo[src]] = uint32(src)
	j.start(src, uint32(src))
	depth := 0
	err := j.search(OpKeep, func(round int) {
		mark := func(e uint64) {
			levels[j.p.ColFrom[e>>32]] = uint32(round)
			depth = round
		}
		for _, e := range j.longFront {
			mark(e)
		}
		j.withFront.each(func(s int) {
			for i := range j.frontLen[s] {
				e, _ := j.frontier(s, i)
				mark(e)
			}
		})
	})
	if err != nil {
		return err
	}
	j.res.Values, j.res.Levels = j.original(j.y), levels
	reached := 0
	for _, l := range levels {
		if l != math.MaxUint32 {
			reached++
		}
	}
	j.res.Summary = fmt.Sprintf("%d of %d vertices reached from %d, %d levels", reached, j.m.Rows, src, depth)
	if !j.cfg.Check {
		return nil
	}
	level, parent := reference.BFS(j.m, src, j.o.Iterations)
	return j.compare("queue search", append(slices.Clone(level), parent...), append(slices.Clone(levels), j.res.Values...))
}

// compare asserts that two lists of words are equal.
func (j *job) compare(with string, want, got []uint32) error {
	for i := range want {
		if want[i] != got[i] {
			return fmt.Errorf("%w: value %d is %d, the reference (%s) has %d", ErrCheck, i, got[i], with, want[i])
		}
	}
	j.res.Checked, j.res.Compared = with, j.res.Compared+int64(len(want))
	return nil
}

func (j *job) sssp() error {
	src := j.source()
	j.newY(math.MaxUint32)
	j.y[j.p.ColTo[src]] = 0
	j.start(src, 0)
	if err := j.search(OpAccMin, nil); err != nil {
		return err
	}
	j.res.Values = j.original(j.y)
	var most uint32
	reached := 0
	for _, d := range j.res.Values {
		if d != math.MaxUint32 {
			most = max(most, d)
			reached++
		}
	}
	j.res.Summary = fmt.Sprintf("%d of %d vertices reached from %d, greatest distance %d", reached, j.m.Rows, src, most)
	if !j.cfg.Check {
		return nil
	}
	if j.o.Iterations > 0 {
		return j.compare("rounds of Bellman and Ford", reference.Relax(j.m, j.start0(src, 0), true, j.o.Iterations), j.res.Values)
	}
	return j.compare("Dijkstra", reference.Distances(j.m, src), j.res.Values)
}

// start0 is a vector in which nothing is reached but a vertex.
func (j *job) start0(vertex int, value uint32) []uint32 {
	v := make([]uint32, j.m.Cols)
	fill(v, math.MaxUint32)
	v[vertex] = value
	return v
}

func (j *job) cc() error {
	j.newY(math.MaxUint32)
	for v := range j.m.Cols {
		c := j.p.ColTo[v]
		j.y[c] = uint32(v)
	}
	for c := range uint32(j.m.Cols) {
		j.activate1(c, j.p.ColFrom[c])
	}
	if err := j.search(OpAccMin, nil); err != nil {
		return err
	}
	j.res.Values = j.original(j.y)
	parts := 0
	for v, l := range j.res.Values {
		if int(l) == v {
			parts++
		}
	}
	j.res.Summary = fmt.Sprintf("%d components", parts)
	if !j.cfg.Check {
		return nil
	}
	if j.o.Iterations > 0 {
		labels := make([]uint32, j.m.Cols)
		for v := range labels {
			labels[v] = uint32(v)
		}
		return j.compare("rounds of the least neighbour", reference.Relax(j.m, labels, false, j.o.Iterations), j.res.Values)
	}
	return j.compare("union and find", reference.Components(j.m), j.res.Values)
}

// activate1 is activate for columns in rising order, all of them.
func (r *runner) activate1(c, value uint32) {
	if int(c) < r.p.Long {
		r.longFront = append(r.longFront, uint64(c)<<32|uint64(value))
		return
	}
	for r.cursor+1 < len(r.p.ColFirst)-1 && c >= r.p.ColFirst[r.cursor+1] {
		r.cursor++
	}
	if c < r.p.ColFirst[r.cursor] {
		r.cursor = ownerOf(r.p.ColFirst, c)
	}
	r.setFrontier(r.cursor, c, value)
}

func (j *job) pagerank() error {
	n := j.m.Cols
	rounds := j.o.Iterations
	if rounds == 0 {
		rounds = 50
	}
	j.words()
	scale := make([]uint32, n) // of new columns: d over the length, or the length
	d := j.o.Damping
	dangling := 0.0
	for c := range uint32(n) {
		old := j.p.ColFrom[c]
		length := j.m.Ptr[old+1] - j.m.Ptr[old]
		switch {
		case !j.ring.Float:
			scale[c] = uint32(length)
		case length > 0:
			scale[c] = math.Float32bits(float32(d / float64(length)))
		default:
			dangling += 1 / float64(n)
		}
	}
	j.scale = scale
	const baseU32 = 12345 // in integers: any constant
	first := uint32(1)
	base := uint32(baseU32)
	if j.ring.Float {
		first = math.Float32bits(float32(1 / float64(n)))
		base = math.Float32bits(float32((1-d)/float64(n) + d*dangling/float64(n)))
	}
	j.newY(first)
	for c := range uint32(n) {
		j.activate1(c, mul(j.ring.Mul, first, scale[c]))
	}
	done := 0
	for done < rounds {
		if err := j.begin(); err != nil {
			return err
		}
		j.distribute(false)
		if err := j.product(); err != nil {
			return err
		}
		if err := j.reduceReplicas(); err != nil {
			return err
		}
		if err := j.checkProduct(); err != nil {
			return err
		}
		if j.chip != nil && j.chip.inBits {
			j.chip.bits.outs = slices.Clone(j.out)
		}
		change, dangling := j.applyDense(base, scale)
		if j.chip != nil && j.chip.inBits {
			if err := j.chip.bits.verify(j.runner, base, scale); err != nil {
				return err
			}
		}
		if j.cfg.Variant.Rows {
			if err := j.rowsSend(); err != nil {
				return err
			}
		}
		done++
		if !j.ring.Float {
			continue
		}
		base = math.Float32bits(float32((1-d)/float64(n) + d*dangling/float64(n)))
		j.res.Summary = fmt.Sprintf("%s, the last changed all ranks by %.2e", rounded(done), change)
		if change < j.o.Tolerance {
			break
		}
	}
	j.res.Values = j.original(j.y)
	if j.res.Summary == "" {
		j.res.Summary = rounded(done)
	}
	if !j.cfg.Check {
		return nil
	}
	if !j.ring.Float {
		lengths := make([]uint32, n)
		for c := range lengths {
			lengths[c] = uint32(j.m.Ptr[c+1] - j.m.Ptr[c])
		}
		return j.compare("plain loops modulo 2^32", reference.Recurrence(j.m, lengths, baseU32, done), j.res.Values)
	}
	want := reference.PageRank(j.m, d, done)
	off := 0.0
	for i, w := range want {
		off += math.Abs(w - float64(math.Float32frombits(j.res.Values[i])))
	}
	// Ranks sum to 1; each round rounds a sum of so many terms to 24 bits as often.
	most := uint32(0)
	for _, l := range j.m.RowLengths() {
		most = max(most, l)
	}
	if limit := float64(done) * max(1e-5, float64(most+4)*0x1p-24); off > limit {
		return fmt.Errorf("%w: ranks differ from those in float64 by %.3g in all, expected at most %.3g", ErrCheck, off, limit)
	}
	j.res.Checked = "plain products in float64 each round, power iteration in float64"
	j.res.Compared += int64(n)
	return nil
}

// rounded is a number of rounds for a person.
func rounded(n int) string {
	if n == 1 {
		return "1 round"
	}
	return fmt.Sprintf("%d rounds", n)
}

// applyDense is step 6 where all outputs count. It returns the change of y and the
// sum over columns without nonzeros.
func (r *runner) applyDense(base uint32, scale []uint32) (change, dangling float64) {
	spus := len(r.spus)
	changes := make([]float64, spus)
	danglings := make([]float32, spus)
	if !r.allDown {
		b, s, l := r.eachSPU(&r.whole, func(s int, loads *uint32) (c int64) {
			before := *loads
			c, changes[s] = r.denseOut(s, base, loads)
			if r.shadow != nil {
				r.shadow.denseOut(s, base, c, int64(*loads-before))
			}
			return c
		})
		r.stepDense(b, s, l)
		b, s, l = r.eachSPU(&r.whole, func(s int, loads *uint32) (c int64) {
			before := *loads
			c, danglings[s] = r.denseFront(s, scale, loads)
			if r.shadow != nil {
				r.shadow.denseFront(s, danglings[s], c, int64(*loads-before))
			}
			return c
		})
		r.stepDense(b, s, l)
		if r.chip != nil {
			took := r.chip.bits.take(int64(r.p.Matrix.Rows))
			r.chip.bits.cycles += took + chipLaunch
			if r.chip.inBits {
				r.step(5, took, 0, 0, 0)
			}
		}
	}
	for s := range spus {
		change += changes[s]
		dangling += float64(danglings[s])
	}
	logic := uint32(r.p.LongRows)
	if r.allDown {
		logic = uint32(r.p.Matrix.Rows)
		r.clearFront()
		r.cursor = 0
	}
	r.longFront = r.longFront[:0]
	for i := range logic {
		old := r.y[i]
		now := r.addBase(r.out[i], base)
		r.y[i] = now
		r.out[i] = r.ring.Clean
		if r.ring.Float {
			change += math.Abs(float64(math.Float32frombits(now) - math.Float32frombits(old)))
			if scale[i] == 0 {
				dangling += float64(math.Float32frombits(now))
			}
		}
		r.activate1(i, mul(r.ring.Mul, now, scale[i]))
	}
	r.logicOps(int64(logic))
	return change, dangling
}

// stepDense records a program of Applying that looks at all outputs; on a chip that
// applies them in its bitlines it is timed only.
func (r *runner) stepDense(busiest, sum, loads int64) {
	if r.chip != nil {
		r.chip.bits.spuCycles += r.link(busiest) + chipLaunch
		if r.chip.inBits {
			return
		}
	}
	r.step(5, r.link(busiest), busiest, sum, loads)
}

// input is the frontier as a vector by new columns, with the turn of each column at
// its SPU.
func (r *runner) input() (x, turn []uint32) {
	x, turn = make([]uint32, r.p.Matrix.Cols), make([]uint32, r.p.Matrix.Cols)
	fill(turn, inactive)
	r.withFront.each(func(s int) {
		for i := range r.frontLen[s] {
			e, _ := r.frontier(s, i)
			x[e>>32], turn[e>>32] = uint32(e), uint32(i)
		}
	})
	for i, e := range r.longFront {
		x[e>>32], turn[e>>32] = uint32(e), uint32(r.p.Matrix.Cols+i)
	}
	return x, turn
}

// checkProduct compares the outputs of an iteration with the product of the matrix
// and the frontier, before Applying makes them clean.
func (j *job) checkProduct() error {
	if !j.cfg.Check {
		return nil
	}
	x, turn := j.input()
	if !j.ring.Float {
		return j.checkWords(x, turn)
	}
	if j.log != nil {
		n, err := j.log.verify(x, turn)
		if err != nil {
			return err
		}
		j.res.Replayed += int64(n)
	}
	v := make([]float32, len(x))
	for c, b := range x {
		old := j.p.ColFrom[c]
		if v[old] = math.Float32frombits(b); turn[c] == inactive {
			v[old] = float32(math.NaN())
		}
	}
	y, magnitude, terms := reference.Product(j.m, v)
	for i := range y {
		got := j.out[j.p.RowTo[i]]
		if terms[i] == 0 {
			if got != j.ring.Clean {
				return fmt.Errorf("%w: output %d is %v, its row has no active nonzero", ErrCheck, i, math.Float32frombits(got))
			}
			continue
		}
		off := math.Abs(float64(math.Float32frombits(got)) - y[i])
		if limit := float64(terms[i]+2) * 0x1p-24 * magnitude[i]; !(off <= limit+1e-44) {
			return fmt.Errorf("%w: output %d is %v, in float64 %v: off by %.3g, expected at most %.3g", ErrCheck, i, math.Float32frombits(got), y[i], off, limit)
		}
	}
	j.res.Checked = "plain product in float64"
	j.res.Compared += int64(len(y))
	return nil
}

// checkWords compares the outputs of an iteration in integers with a plain product.
func (j *job) checkWords(x, turn []uint32) error {
	v, there := make([]uint32, len(x)), make([]bool, len(x))
	for c := range x {
		old := j.p.ColFrom[c]
		v[old], there[old] = x[c], turn[c] != inactive
		if j.ring.ID {
			v[old] = old
		}
	}
	for i, w := range plainProduct(j.m, v, there, j.ring) {
		if got := j.out[j.p.RowTo[i]]; got != w {
			return fmt.Errorf("%w: output %d is %d, the plain product has %d", ErrCheck, i, got, w)
		}
	}
	j.res.Checked = "plain product"
	j.res.Compared += int64(j.m.Rows)
	return nil
}

// plainProduct multiplies by plain loops in a semiring of integers.
func plainProduct(m *matrix.Matrix, x []uint32, there []bool, ring Semiring) []uint32 {
	times := map[Op]func(a, b uint32) uint32{
		OpMulU32: func(a, b uint32) uint32 { return a * b },
		OpFirst:  func(a, _ uint32) uint32 { return a },
		OpAddSat: func(a, b uint32) uint32 { return uint32(min(uint64(a)+uint64(b), math.MaxUint32)) },
	}[ring.Mul]
	plus := map[Op]func(a, b uint32) uint32{
		OpAccU32: func(a, b uint32) uint32 { return a + b },
		OpAccMin: func(a, b uint32) uint32 { return min(a, b) },
	}[ring.Acc]
	if ring.Mul == OpFirst { // the structure alone
		m = &matrix.Matrix{Rows: m.Rows, Cols: m.Cols, Ptr: m.Ptr, Idx: m.Idx}
	}
	return reference.ProductU32(m, x, there, times, plus, ring.Clean)
}

// single runs one product with a frontier that is there, and collects the outputs.
func (j *job) single(host bool) ([]uint32, error) {
	j.checkClean = true
	if err := j.begin(); err != nil {
		return nil, err
	}
	j.distribute(host)
	if err := j.product(); err != nil {
		return nil, err
	}
	if err := j.reduceReplicas(); err != nil {
		return nil, err
	}
	if err := j.checkProduct(); err != nil {
		return nil, err
	}
	out := make([]uint32, j.m.Rows)
	fill(out, j.ring.Clean)
	logic := uint32(j.p.LongRows)
	if j.allDown {
		logic = uint32(j.m.Rows)
	}
	var n int64
	for i := range logic {
		if j.out[i] != j.ring.Clean {
			out[i] = j.out[i]
			j.out[i] = j.ring.Clean
			n++
		}
	}
	j.logicOps(n)
	j.logicTouched = j.logicTouched[:0]
	from := j.gatherAll()
	var sent int64
	from.each(func(s int) {
		sent += int64(j.tempLen[s])
		if j.shadow != nil {
			j.shadow.collect(s)
		}
	})
	before := j.it.Pairs.Reduced
	err := j.sendDown(from, j.collect, sent, func(f flit) { out[f.idx()] = f.val() }, func(s int) { j.tempLen[s] = 0 })
	j.withTemp.clear()
	j.clearFront()
	j.it.Pairs.Reduced = before
	j.longFront = j.longFront[:0]
	for _, v := range j.out {
		if v != j.ring.Clean {
			return nil, fmt.Errorf("%w: an output is not clean after Applying", ErrCheck)
		}
	}
	return out, err
}

func (j *job) spmv() error {
	rng := rand.New(rand.NewPCG(j.cfg.Seed, 0x73706d76))
	x := make([]uint32, j.m.Cols)
	for c := range x {
		x[c] = j.draw(rng)
	}
	return j.product1(x, nil)
}

func (j *job) spmspv() error {
	rng := rand.New(rand.NewPCG(j.cfg.Seed, 0x73707370))
	x, there := make([]uint32, j.m.Cols), make([]bool, j.m.Cols)
	for c := range x {
		x[c] = j.draw(rng)
		there[c] = rng.Float64() < j.o.Density
	}
	return j.product1(x, there)
}

// draw is an entry of a vector.
func (j *job) draw(rng *rand.Rand) uint32 {
	v := rng.Uint32N(1<<16) + 1
	if j.ring.Mul == OpMulF32 {
		return math.Float32bits(float32(v) / (1 << 16))
	}
	return v
}

// product1 multiplies the matrix by one vector, all of it if there is nil.
func (j *job) product1(x []uint32, there []bool) error {
	j.words()
	n := 0
	for c := range uint32(j.m.Cols) {
		old := j.p.ColFrom[c]
		if there == nil || there[old] {
			j.activate1(c, x[old])
			n++
		}
	}
	out, err := j.single(there != nil)
	if err != nil {
		return err
	}
	j.res.Values = j.original(out)
	filled := 0
	for _, v := range out {
		if v != j.ring.Clean {
			filled++
		}
	}
	j.res.Summary = fmt.Sprintf("%d entries of the input, %d of the output", n, filled)
	return nil
}

// queries draws rows of the matrix, in rising order.
func (j *job) queries() []int {
	rng := rand.New(rand.NewPCG(j.cfg.Seed, 0x717565))
	k := min(j.o.Queries, j.m.Rows)
	rows := rng.Perm(j.m.Rows)[:k]
	slices.Sort(rows)
	return rows
}

// scores multiplies the matrix by some of its rows, one after the other.
func (j *job) scores(rows []int, each func(q int, out []uint32)) error {
	type entry struct{ col, val uint32 }
	at := map[uint32]int{}
	for q, row := range rows {
		at[uint32(row)] = q
	}
	x := make([][]entry, len(rows))
	for c := range j.m.Cols {
		for k := j.m.Ptr[c]; k < j.m.Ptr[c+1]; k++ {
			q, ok := at[j.m.Idx[k]]
			if !ok {
				continue
			}
			v := j.m.Uint(k)
			if j.ring.Float {
				v = math.Float32bits(j.m.Float(k))
			}
			x[q] = append(x[q], entry{uint32(c), v})
		}
	}
	j.words()
	for q := range rows {
		j.clearFront()
		j.longFront = j.longFront[:0]
		for _, e := range x[q] {
			j.activate(j.p.ColTo[e.col], e.val)
		}
		out, err := j.single(true)
		if err != nil {
			return err
		}
		each(q, j.original(out))
	}
	return nil
}

// value is a word as a number.
func (j *job) value(v uint32) float64 {
	switch {
	case v == j.ring.Clean:
		return 0
	case j.ring.Float:
		return float64(math.Float32frombits(v))
	}
	return float64(v)
}

// scored is a row with its score.
type scored struct {
	row   int
	score uint32
	value float64
}

func (j *job) spknn() error {
	rows := j.queries()
	top := max(1, j.o.Top)
	err := j.scores(rows, func(q int, out []uint32) {
		j.res.Neighbours = append(j.res.Neighbours, nil)
		for _, s := range j.nearest(out, top) {
			j.res.Neighbours[q] = append(j.res.Neighbours[q], s.row)
			j.res.Values = append(j.res.Values, uint32(s.row), s.score)
		}
	})
	if err != nil {
		return err
	}
	j.res.Summary = fmt.Sprintf("%d queries, %d nearest rows of each", len(rows), top)
	if !j.cfg.Check {
		return nil
	}
	// Scores in f32 are checked within each product; the order is, if they are exact.
	for q, dots := range reference.Dots(j.m, rows) {
		exact := true
		if !j.ring.Float {
			for i := range dots {
				exact = exact && dots[i] == math.Trunc(dots[i]) && dots[i] < 1<<32
			}
			exact = exact && j.m.Kind != matrix.Real
		} else {
			for _, v := range dots {
				exact = exact && float64(float32(v)) == v && v == math.Trunc(v) && v < 1<<24
			}
		}
		if !exact {
			continue
		}
		want := reference.Top(dots, top)
		if !slices.Equal(want, j.res.Neighbours[q]) {
			return fmt.Errorf("%w: neighbours of row %d are %v, the reference has %v", ErrCheck, rows[q], j.res.Neighbours[q], want)
		}
		j.res.Compared += int64(len(want))
	}
	j.res.Checked = "plain products, brute-force neighbours where scores are exact"
	return nil
}

// nearest is the last merge of the vault cores: the greatest scores, the lesser row
// first.
func (j *job) nearest(out []uint32, k int) []scored {
	better := func(a, b scored) int { // below 0 where a comes before b
		if c := cmp.Compare(b.value, a.value); c != 0 {
			return c
		}
		return a.row - b.row
	}
	best := priorityqueue.NewWith(func(a, b any) int { return better(b.(scored), a.(scored)) }) // the worst in front
	var worst scored
	for i, v := range out {
		s := scored{i, v, j.value(v)}
		if s.value == 0 || best.Size() == k && better(s, worst) > 0 {
			continue
		}
		if best.Size() == k {
			best.Dequeue()
		}
		best.Enqueue(s)
		front, _ := best.Peek()
		worst = front.(scored)
	}
	list := make([]scored, best.Size())
	for i := range list {
		s, _ := best.Dequeue()
		list[len(list)-1-i] = s.(scored)
	}
	return list
}

func (j *job) svm() error {
	rows := j.queries()
	if j.o.Kernel != "linear" && j.o.Kernel != "rbf" {
		return fmt.Errorf("kernel %q, expected linear or rbf", j.o.Kernel)
	}
	gamma := j.o.Gamma
	if gamma == 0 {
		gamma = 1 / float64(j.m.Cols)
	}
	weight := func(i int) float64 { return float64(int64(uint32(i)*2654435761)%2001-1000) / 1000 }
	norm := make([]float64, j.m.Rows)
	if j.o.Kernel == "rbf" {
		for k := range j.m.Idx {
			v := float64(j.m.Float(int64(k)))
			norm[j.m.Idx[k]] += v * v
		}
	}
	decide := func(q int, score func(i int) float64) (sum, scale float64) {
		for i := range j.m.Rows {
			s := score(i)
			if j.o.Kernel == "rbf" {
				s = math.Exp(-gamma * max(0, norm[i]+norm[rows[q]]-2*s))
			}
			sum += weight(i) * s
			scale += math.Abs(weight(i) * s)
		}
		return sum, scale
	}
	var sums, scales []float64
	err := j.scores(rows, func(q int, out []uint32) {
		sum, scale := decide(q, func(i int) float64 { return j.value(out[i]) })
		class := 1
		if sum < 0 {
			class = -1
		}
		sums, scales = append(sums, sum), append(scales, scale)
		j.res.Classes = append(j.res.Classes, class)
		j.res.Values = append(j.res.Values, uint32(class+1))
	})
	if err != nil {
		return err
	}
	j.res.Summary = fmt.Sprintf("%d queries, %d of class 1, kernel %s", len(rows), countOf(j.res.Classes, 1), j.o.Kernel)
	if !j.cfg.Check || !j.ring.Float && j.m.Kind == matrix.Real {
		return nil // integers are rounded values then
	}
	for q, dots := range reference.Dots(j.m, rows) {
		want, _ := decide(q, func(i int) float64 { return dots[i] })
		if off, limit := math.Abs(want-sums[q]), 1e-4*scales[q]+1e-9; off > limit {
			return fmt.Errorf("%w: decision value of row %d is %v, in float64 %v", ErrCheck, rows[q], sums[q], want)
		}
		j.res.Compared++
	}
	j.res.Checked = "plain products in float64, brute-force decisions"
	return nil
}

func countOf(list []int, v int) (n int) {
	for _, x := range list {
		if x == v {
			n++
		}
	}
	return n
}
