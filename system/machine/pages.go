package machine

import (
	"math/bits"

	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
)

// frameLines is the lines of a page of 4 kB.
const frameLines = 64

// FrameBytes is the size of pages that lie anywhere.
const FrameBytes = frameLines * mem.LineBytes

// Pages says that pages of 4 kB lie anywhere in physical memory: a permutation of its
// frames that a seed chooses. Cores know addresses of programs, caches and memory
// physical ones.
type Pages struct {
	Frames uint64 `yaml:"frames" json:"frames"` // of the memory
	Seed   uint64 `yaml:"seed" json:"seed"`
}

// rounds of the Feistel network that permutes frames: four suffice for a pseudo-random
// permutation (Luby and Rackoff, SIAM J. Computing 17, 1988).
const rounds = 4

// frame returns where a page lies. Those beyond the memory stay where they are.
func (p *Pages) frame(page uint64) uint64 { return p.walk(page, p.forward) }

// page returns what lies in a frame.
func (p *Pages) page(frame uint64) uint64 { return p.walk(frame, p.back) }

// walk applies a permutation of the next power of four until it comes to a frame that
// there is.
func (p *Pages) walk(n uint64, step func(uint64) uint64) uint64 {
	if n >= p.Frames {
		return n
	}
	for n = step(n); n >= p.Frames; n = step(n) {
	}
	return n
}

// half is the bits of a half of the number of a frame.
func (p *Pages) half() uint { return uint(bits.Len64(max(1, p.Frames-1))+1) / 2 }

func (p *Pages) forward(n uint64) uint64 {
	h := p.half()
	left, right := n>>h, n&(1<<h-1)
	for k := range uint64(rounds) {
		left, right = right, left^p.mix(k, right)
	}
	return left<<h | right
}

func (p *Pages) back(n uint64) uint64 {
	h := p.half()
	left, right := n>>h, n&(1<<h-1)
	for k := range uint64(rounds) {
		left, right = right^p.mix(rounds-1-k, left), left
	}
	return left<<h | right
}

// mix is a function of a round (splitmix64), as wide as a half.
func (p *Pages) mix(round, n uint64) uint64 {
	z := (p.Seed*rounds+round)*0x9e3779b97f4a7c15 + n*0xd1342543de82ef95
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return (z ^ z>>31) >> (64 - p.half())
}

// physical returns where a line of the program lies; nil pages lie where their addresses
// say.
func (p *Pages) physical(line mem.Line) mem.Line {
	if p == nil {
		return line
	}
	return p.frame(line/frameLines)*frameLines + line%frameLines
}

// translated is between caches and what is above them, which knows lines by other names.
type translated struct {
	mem.Client
	caches *mem.Private
	pages  *Pages
}

// Load implements core.Memory.
func (t *translated) Load(now event.Time, pc uint32, line mem.Line, id uint64) (*mem.Bytes, int) {
	return t.caches.Load(now, pc, t.pages.physical(line), id)
}

// Own implements core.Memory.
func (t *translated) Own(now event.Time, pc uint32, line mem.Line) bool {
	return t.caches.Own(now, pc, t.pages.physical(line))
}

// Fetch implements se.Caches.
func (t *translated) Fetch(now event.Time, pc uint32, line mem.Line, write bool) bool {
	return t.caches.Fetch(now, pc, t.pages.physical(line), write)
}

// Spare implements se.Caches.
func (t *translated) Spare(now event.Time, pc uint32, line mem.Line, id uint64, write bool) (*mem.Bytes, bool) {
	return t.caches.Spare(now, pc, t.pages.physical(line), id, write)
}

// Write implements core.Memory.
func (t *translated) Write(line mem.Line) *mem.Bytes {
	return t.caches.Write(t.pages.physical(line))
}

// Owned implements mem.Client.
func (t *translated) Owned(now event.Time, line mem.Line) { t.Client.Owned(now, t.virtual(line)) }

// Lost implements mem.Client.
func (t *translated) Lost(now event.Time, line mem.Line) { t.Client.Lost(now, t.virtual(line)) }

func (t *translated) virtual(line mem.Line) mem.Line {
	return t.pages.page(line/frameLines)*frameLines + line%frameLines
}
