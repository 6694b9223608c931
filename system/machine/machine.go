package machine

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"strings"

	"github.com/bitsched/bitsched/tile/core"
	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
	"github.com/bitsched/bitsched/tile/mem/dram"
	"github.com/bitsched/bitsched/tile/noc"
	"github.com/bitsched/bitsched/tile/se"
	"github.com/bitsched/bitsched/tile/tc"
	"github.com/bitsched/bitsched/tile/uop"
)

// Spec is a machine of cores that are alike.
type Spec struct {
	Name       string          `yaml:"name" json:"name"`
	ClockGHz   float64         `yaml:"clock_ghz" json:"clock_ghz"`
	Cores      int             `yaml:"cores" json:"cores"`
	Core       core.Spec       `yaml:"core" json:"core"`
	Private    mem.PrivateSpec `yaml:"private" json:"private"`
	TLB        *mem.TLBSpec    `yaml:"tlb" json:"tlb"` // nil: translation takes no time
	Banks      int             `yaml:"banks" json:"banks"`
	Interleave int             `yaml:"interleave_lines" json:"interleave_lines"` // of lines among banks
	Home       mem.HomeSpec    `yaml:"l3_bank" json:"l3_bank"`
	Memory     Memory          `yaml:"memory" json:"memory"`
	// Pages says where pages lie; nil: all addresses are physical.
	Pages *Pages `yaml:"pages,omitempty" json:"pages,omitempty"`
	// Streams are the stream engines of cores and banks; nil: there are none.
	Streams *se.Spec `yaml:"streams,omitempty" json:"streams,omitempty"`
	// Tensors are the tensor controllers of thread 0's core and of banks, for each program; nil:
	// there are none.
	Tensors []*tc.Spec `yaml:"tensors,omitempty" json:"tensors,omitempty"`
	// Mesh has a core, a bank and, where Memory says so, a controller at each node;
	// nil: messages take no time.
	Mesh *noc.Config `yaml:"mesh" json:"mesh"`
}

// Memory is what is behind the L3.
type Memory struct {
	Fixed       *mem.FixedSpec `yaml:"fixed" json:"fixed"`                       // nil: DRAM
	DRAM        *dram.Spec     `yaml:"dram" json:"dram"`                         // of a controller
	Controllers []int          `yaml:"controllers" json:"controllers"`           // nodes that have one
	Interleave  int            `yaml:"interleave_lines" json:"interleave_lines"` // of lines among controllers
}

// Validate refuses what cannot be built.
func (s *Spec) Validate() error {
	switch {
	case !(s.ClockGHz > 0) || s.ClockGHz > 100:
		return fmt.Errorf("machine: clock of %g GHz, expected above 0 and at most 100", s.ClockGHz)
	case s.Cores < 1 || s.Cores > mem.MaxCores:
		return fmt.Errorf("machine: %d cores, expected 1 to %d", s.Cores, mem.MaxCores)
	case s.Banks < 1 || s.Banks > 4096:
		return fmt.Errorf("machine: %d banks, expected 1 to 4096", s.Banks)
	case s.Interleave < 1 || s.Memory.Interleave < 1:
		return fmt.Errorf("machine: interleave of %d and %d lines, expected at least 1", s.Interleave, s.Memory.Interleave)
	case len(s.Memory.Controllers) == 0:
		return errors.New("machine: no memory controller, expected at least one")
	case (s.Memory.Fixed == nil) == (s.Memory.DRAM == nil):
		return errors.New("machine: memory, expected either fixed or dram")
	}
	nodes := max(s.Cores, s.Banks)
	if s.Mesh != nil {
		if err := s.Mesh.Validate(); err != nil {
			return err
		}
		if n := s.Mesh.Nodes(); n < nodes {
			return fmt.Errorf("machine: a mesh of %d nodes, expected at least %d", n, nodes)
		}
		nodes = s.Mesh.Nodes()
	}
	for _, c := range s.Memory.Controllers {
		if c < 0 || c >= nodes {
			return fmt.Errorf("machine: memory controller at node %d, expected 0 to %d", c, nodes-1)
		}
	}
	if s.TLB != nil {
		if err := s.TLB.Validate(); err != nil {
			return err
		}
	}
	if s.Memory.DRAM != nil {
		if err := s.Memory.DRAM.Validate(); err != nil {
			return err
		}
	}
	return errors.Join(s.Core.Validate(), s.Private.Validate(), s.Home.Validate())
}

// Machine is a machine that runs.
type Machine struct {
	Engine  *event.Engine
	Cores   []*core.Core
	Caches  []*mem.Private
	TLBs    []*mem.TLB
	Homes   []*mem.Home
	Fixed   []*mem.Fixed
	DDR     []*mem.DDR
	Memory  *mem.Store
	Network *mem.NetworkCounters
	Mesh    *noc.Network // nil without one

	// Of a machine with stream engines.
	StreamCores   []*se.Core
	StreamBanks   []*se.Bank
	StreamTraffic se.NetworkCounters
	Tensors       []*tc.Core // of each program; nil without tensor controllers
	// InterceptTensor is Intercept for messages of tensor controllers.
	InterceptTensor func(m *tc.Message) bool
	// Intercept, if it is set, sees each message of streams before it is sent, may change
	// it, and says whether it is sent at all: for tests that break the protocol.
	Intercept func(m *se.Message) bool

	spec    *Spec
	err     error
	net     mem.Network
	paused  []mem.PrivateCounters // at the last Pause
	skips   []skips               // of threads
	forward *forward              // nil while time passes
	bank    func(mem.Line) int16  // that is the home of a line

	interleave int                   // of lines among banks
	controller func(mem.Line) int16  // of a line
	local      func(mem.Line) uint64 // its number among those of its controller
	layout     *dram.Layout          // of these; nil if memory has no banks
}

// share finds which of n parts has a line, where each has so many lines in turn.
func share(lines, n uint64) func(mem.Line) int16 {
	if lines&(lines-1)|n&(n-1) == 0 {
		shift := bits.TrailingZeros64(lines)
		return func(line mem.Line) int16 { return int16(line >> (shift & 63) & (n - 1)) }
	}
	return func(line mem.Line) int16 { return int16(line / lines % n) }
}

// New builds a machine with empty caches and a memory of zeros.
func New(spec *Spec) (*Machine, error) {
	return build(spec, func(*mem.Message) event.Time { return 0 })
}

// build builds a machine whose messages take so long, if it has no mesh.
func build(spec *Spec, delay func(*mem.Message) event.Time) (*Machine, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	m := &Machine{Engine: event.New(), Memory: mem.NewStore(), spec: spec}
	var net mem.Network
	var streams se.Network
	var tensors tc.Network
	if spec.Mesh != nil {
		n, err := newMesh(m, spec)
		if err != nil {
			return nil, err
		}
		net, m.Network, m.Mesh = n, &n.counters, n.net
		streams, tensors = n, n
	} else {
		d := mem.NewDirect(m.Engine, delay, m.receiver)
		net, m.Network = d, &d.Counters
		streams, tensors = &near{m: m, engine: m.Engine}, &tensorNet{m: m}
	}
	if spec.Streams != nil {
		spec.Streams.Banks = spec.Banks
		if spec.Mesh != nil {
			spec.Streams.Distance = spec.Mesh.Distance
		}
	}
	m.net = net
	protocol := mem.MESI()
	m.Share(spec.Interleave * mem.LineBytes)
	homeOf := func(line mem.Line) mem.Place { return mem.Place{Kind: mem.Bank, Index: m.bank(line)} }
	bankOf := func(line mem.Line) int { return int(m.bank(spec.Pages.physical(line))) } // of a line of the program
	controllers, lines := uint64(len(spec.Memory.Controllers)), uint64(spec.Memory.Interleave)
	m.controller = share(lines, controllers)
	controllerOf := func(line mem.Line) mem.Place { return mem.Place{Kind: mem.Controller, Index: m.controller(line)} }
	for i, s := range spec.Tensors {
		c, err := tc.New(m.Engine, s, spec.Banks, tensors, net, bankOf, m.fail)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			c.Beside(m.Tensors[0])
		}
		m.Tensors = append(m.Tensors, c)
	}
	m.local = func(line mem.Line) mem.Line { return line/(lines*controllers)*lines + line%lines }
	if spec.Memory.Fixed == nil {
		layout := spec.Memory.DRAM.Layout()
		m.layout = &layout
	}
	for i := range spec.Cores {
		var tlb core.Translator
		if spec.TLB != nil {
			t := mem.NewTLB(spec.TLB, m.Engine.Memory())
			m.TLBs = append(m.TLBs, t)
			tlb = streamTLB{t}
		}
		c := core.New(m.Engine, &spec.Core, i, tlb, m.fail)
		var above mem.Client = c // what is above the caches
		var s *se.Core
		if spec.Streams != nil {
			s = se.NewCore(m.Engine, spec.Streams, i, streams, bankOf, c, m.fail)
			m.StreamCores = append(m.StreamCores, s)
			c.OnCommit = func(now event.Time, op *uop.Op, _ []byte) { s.Commit(now, op) }
			c.Hold, c.Quiet = s.Hold, s.Quiet
			above = s
		}
		var below interface {
			core.Memory
			se.Caches
		}
		var p *mem.Private
		if spec.Pages != nil {
			t := &translated{Client: above, pages: spec.Pages}
			p = mem.NewPrivate(m.Engine, &spec.Private, protocol, i, net, homeOf, t, m.fail)
			t.caches, below = p, t
		} else {
			p = mem.NewPrivate(m.Engine, &spec.Private, protocol, i, net, homeOf, above, m.fail)
			below = p
		}
		memory := core.Memory(below)
		if s != nil {
			s.Connect(below, c)
			p.Missed = s.Missed
			memory = s
		}
		c.Connect(m.port(i, memory))
		m.Cores, m.Caches = append(m.Cores, c), append(m.Caches, p)
	}
	for i := range spec.Banks {
		m.Homes = append(m.Homes, mem.NewHome(m.Engine, &spec.Home, protocol, i, spec.Banks, spec.Interleave, net, controllerOf, m.fail))
		if spec.Streams != nil {
			m.StreamBanks = append(m.StreamBanks, se.NewBank(m.Engine, spec.Streams, i, net, streams, bankOf, spec.Pages.physical, m.fail))
		}
	}
	for range spec.Memory.Controllers {
		if spec.Memory.Fixed != nil {
			m.Fixed = append(m.Fixed, mem.NewFixed(m.Engine, *spec.Memory.Fixed, m.Memory, net))
		} else {
			m.DDR = append(m.DDR, mem.NewDDR(m.Engine, spec.Memory.DRAM, 1/spec.ClockGHz, m.local, m.Memory, net))
		}
	}
	m.back()
	return m, nil
}

// back asks for huge pages of the host for what all cores of a large machine look at in turn.
func (m *Machine) back() {
	const few = 16 // whose state mostly fits into the TLB of the host with small pages
	if len(m.Cores) < few {
		return
	}
	s := m.Engine.Memory()
	for i, c := range m.Cores {
		c.Back(s)
		m.Caches[i].Back(s)
	}
	if m.Mesh != nil {
		m.Mesh.Back(s)
	}
}

func (m *Machine) fail(err error) {
	if m.err == nil {
		m.err = err
		m.Engine.Stop()
	}
}

func (m *Machine) receiver(p mem.Place) mem.Receiver {
	switch p.Kind {
	case mem.Core:
		if p.Index >= 2*mem.MaxCores {
			return m.Tensors[p.Index/mem.MaxCores-2].Banks[p.Index%mem.MaxCores]
		}
		if p.Index >= mem.MaxCores { // the stream engine of a bank
			return m.StreamBanks[p.Index-mem.MaxCores]
		}
		return m.Caches[p.Index]
	case mem.Bank:
		return m.Homes[p.Index]
	}
	if m.spec.Memory.Fixed != nil {
		return m.Fixed[p.Index]
	}
	return m.DDR[p.Index]
}

// Instant lets memory answer at once, or no more: to warm caches up.
func (m *Machine) Instant(on bool) {
	for _, f := range m.Fixed {
		f.Instant = on
	}
	for _, d := range m.DDR {
		d.Instant = on
	}
}

// Write puts bytes of the program into memory, before a run.
func (m *Machine) Write(addr uint64, data []byte) {
	for len(data) > 0 {
		n := copy(m.Memory.Line(m.spec.Pages.physical(addr / mem.LineBytes))[addr%mem.LineBytes:], data)
		data, addr = data[n:], addr+uint64(n)
	}
}

// Preload puts a line of the program into the bank that is its home, before a run.
func (m *Machine) Preload(line mem.Line) {
	line = m.spec.Pages.physical(line)
	m.Homes[m.bank(line)].Preload(line, m.Memory.Line(line))
}

// ErrDeadlock says that nothing happens any more and not all is done.
var ErrDeadlock = errors.New("machine: deadlock")

// Run executes threads, the first one on the first core and so on, until all have
// ended and their stores are performed. It stops with the error of the context, of
// a thread, or of a check.
func (m *Machine) Run(ctx context.Context, threads ...uop.Thread) error {
	if len(threads) > len(m.Cores) {
		return fmt.Errorf("machine: %d threads, expected at most one for each of %d cores", len(threads), len(m.Cores))
	}
	for i, t := range threads {
		m.Cores[i].Start(t)
	}
	return m.Continue(ctx, event.Forever)
}

// Continue runs up to and including a cycle, or until nothing is left to do.
func (m *Machine) Continue(ctx context.Context, until event.Time) error {
	if err := m.Engine.Run(ctx, until); err != nil {
		return err
	}
	if m.err != nil {
		return m.err
	}
	if n, ok := m.net.(*mesh); ok {
		n.attached.Current() // comes to the cycle of the engine
	}
	if until == event.Forever && m.Engine.Next() == event.Forever {
		var stuck []string
		for _, t := range m.Tensors {
			if t.Waits() != "" {
				stuck = append(stuck, t.Waits())
			}
		}
		for i, c := range m.Cores {
			if !c.Done() {
				stuck = append(stuck, fmt.Sprintf("core %d %s", i, c.Waits()))
			}
		}
		if len(stuck) > 0 {
			return fmt.Errorf("%w in cycle %d: %s", ErrDeadlock, m.Engine.Now(), strings.Join(stuck, "; "))
		}
	}
	return nil
}

// streamTLB translates what a core loads of streams by the part of the window that it is in.
type streamTLB struct{ *mem.TLB }

func (t streamTLB) Translate(now event.Time, addr uint64) int {
	return t.TLB.Translate(now, se.Translated(addr))
}

// Peek is the newest contents of a line of the program, wherever it is.
func (m *Machine) Peek(line mem.Line) mem.Bytes {
	return m.peek(m.spec.Pages.physical(line), m.Caches)
}

// peek is the contents of a line in memory, which none but some caches may have.
func (m *Machine) peek(line mem.Line, caches []*mem.Private) mem.Bytes {
	for _, c := range caches {
		if b, ok := c.Peek(line); ok {
			return b
		}
	}
	if b, ok := m.Homes[m.bank(line)].Peek(line); ok {
		return b
	}
	return *m.Memory.Line(line)
}

// Contents is the newest contents of lines of the program while nothing happens: it knows
// which caches may have a line, where Peek looks into all of them.
type Contents struct {
	m       *Machine
	holders [1 << holderBits]uint8 // by hash of lines: the cache that has them, from 1 on, or several; 0: none
}

const (
	holderBits = 20
	several    = 255
)

// Contents returns the contents of the machine as they are.
func (m *Machine) Contents() *Contents {
	c := &Contents{m: m}
	for k, p := range m.Caches {
		p.Lines(func(line mem.Line) {
			switch at := c.at(line); *at {
			case 0:
				*at = uint8(min(k+1, several))
			case uint8(k + 1):
			default:
				*at = several
			}
		})
	}
	return c
}

func (c *Contents) at(line mem.Line) *uint8 {
	return &c.holders[line*0x9e3779b97f4a7c15>>(64-holderBits)]
}

// Line is what Peek returns.
func (c *Contents) Line(line mem.Line) mem.Bytes {
	m := c.m
	line = m.spec.Pages.physical(line)
	caches := m.Caches
	switch k := int(*c.at(line)); k {
	case 0:
		caches = nil
	case several:
	default:
		caches = caches[k-1 : k]
	}
	return m.peek(line, caches)
}

// Read takes bytes from the machine, wherever they are.
func (m *Machine) Read(addr uint64, data []byte) {
	for len(data) > 0 {
		line := m.Peek(addr / mem.LineBytes)
		n := copy(data, line[addr%mem.LineBytes:])
		data, addr = data[n:], addr+uint64(n)
	}
}
