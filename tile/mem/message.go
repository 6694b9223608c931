package mem

import (
	"math/bits"

	"github.com/bitsched/bitsched/tile/event"
)

// Place is who sends and receives messages.
type Place struct {
	Kind  PlaceKind
	Index int16
}

// PlaceKind is a kind of component.
type PlaceKind uint8

// The kinds of components.
const (
	Core       PlaceKind = iota // a private cache
	Bank                        // the home of lines, with a bank of the L3
	Controller                  // of memory
)

// MessageKind is what a message says.
type MessageKind uint8

// The messages.
const (
	MsgGetS MessageKind = iota
	MsgGetM
	MsgPut
	MsgUnblock
	MsgCopyBack
	MsgInv
	MsgFwdGetS
	MsgFwdGetM
	MsgDataS
	MsgDataE
	MsgDataM // Acks copies are to vanish
	MsgAckM  // the same without data
	MsgInvAck
	MsgPutAck
	MsgRead // to memory
	MsgReadData
	MsgWrite
	MsgWriteAck
	NumMessages
)

var messageNames = [NumMessages]string{"GetS", "GetM", "Put", "Unblock", "CopyBack", "Inv", "FwdGetS", "FwdGetM", "DataS", "DataE", "DataM", "AckM", "InvAck",
	"PutAck", "Read", "ReadData", "Write", "WriteAck"}

func (k MessageKind) String() string { return name(messageNames[:], uint8(k)) }

// Message goes from one component to another.
type Message struct {
	Kind    MessageKind
	HasData bool   // Data counts, and the message is as long as a line
	Dirty   bool   // the data differs from memory's
	Upgrade bool   // GetM of a core that has the data
	Whole   bool   // GetM of one that writes all of the line, and needs no data
	Direct  bool   // GetM of a new home of the line, and the Read for it: see Home
	More    uint16 // GetM that is Direct, Put without data, and answers without data: of the lines behind Line, those that are meant, too
	From    Place
	To      Place
	Asks    int16 // the core that asked
	Acks    int16
	Line    Line
	Data    Bytes
}

// Lines calls f for the lines that a message is about.
func (m *Message) Lines(f func(Line)) {
	f(m.Line)
	for more := m.More; more != 0; more &= more - 1 {
		f(m.Line + 1 + Line(bits.TrailingZeros16(more)))
	}
}

// Batch is how many lines a message may be about: all of a group of so many.
const Batch = 16

// With has the message be about another line of the group, too, behind its own.
func (m *Message) With(line Line) { m.More |= 1 << (line - m.Line - 1) }

// add has the message be about a line, the first one or behind others.
func (m *Message) add(line Line) {
	if m.Line == noLine {
		m.Line = line
		return
	}
	m.With(line)
}

// answer is what memory says to a request, with the bytes of the line if it asks for them.
func (m *Message) answer(line *Bytes) Message {
	switch {
	case m.Kind != MsgRead:
		return Message{Kind: MsgWriteAck, From: m.To, To: m.From, Line: m.Line}
	case m.Direct:
		return Message{Kind: MsgDataM, HasData: true, From: m.To, To: Place{Core, m.Asks}, Acks: m.Acks, Line: m.Line, Data: *line}
	}
	return Message{Kind: MsgReadData, HasData: true, From: m.To, To: m.From, Line: m.Line, Data: *line}
}

// Answer performs a request of memory at once, and returns what it says.
func (s *Store) Answer(m *Message) Message {
	line := s.Line(m.Line)
	if m.Kind != MsgRead {
		*line = m.Data
	}
	return m.answer(line)
}

// Class is what traffic is for.
type Class uint8

// The classes of traffic.
const (
	Request   Class = iota // from a core to a home
	Forward                // from a home to other cores
	Response               // all that ends a request
	Memory                 // between homes and memory controllers
	WriteBack              // lines that are given back, and their acknowledgement
	NumClasses
)

var classNames = [NumClasses]string{"request", "forward", "response", "memory", "writeback"}

func (c Class) String() string { return name(classNames[:], uint8(c)) }

// Class tells the class of a message.
func (m *Message) Class() Class {
	switch m.Kind {
	case MsgGetS, MsgGetM:
		return Request
	case MsgInv, MsgFwdGetS, MsgFwdGetM:
		return Forward
	case MsgPut, MsgPutAck, MsgCopyBack:
		return WriteBack
	case MsgRead, MsgReadData, MsgWrite, MsgWriteAck:
		return Memory
	}
	return Response
}

// Size of messages: 8 bytes of control in front of a line or alone, as in the
// network of the authors' simulator (gem-forge, src/mem/ruby/network/Network.cc).
const (
	ControlBytes = 8
	DataBytes    = ControlBytes + LineBytes
)

// Bytes is the length of a message.
func (m *Message) Bytes() int {
	if m.HasData {
		return DataBytes
	}
	return ControlBytes
}

// Network takes messages to their destination. Send copies the message.
type Network interface {
	Send(m *Message)
}

// Receiver gets messages.
type Receiver interface {
	Receive(now event.Time, m *Message)
}

// Direct is a network in which each message takes the time that delay says, and
// none waits for others.
type Direct struct {
	engine   *event.Engine
	delay    func(m *Message) event.Time
	receiver func(p Place) Receiver
	deliver  event.Handler
	pool     []*Message
	free     []int32
	Counters NetworkCounters
}

// NetworkCounters count traffic.
type NetworkCounters struct {
	Messages [NumClasses]uint64 `parts:"request,forward,response,memory,writeback" desc:"messages by class"`
	Bytes    [NumClasses]uint64 `unit:"Byte" parts:"request,forward,response,memory,writeback" desc:"bytes by class"`
	ByteHops [NumClasses]uint64 `unit:"Byte" parts:"request,forward,response,memory,writeback" desc:"bytes of whole flits times links between routers, by class"`
}

// Count counts a message.
func (c *NetworkCounters) Count(m *Message) {
	c.Messages[m.Class()]++
	c.Bytes[m.Class()] += uint64(m.Bytes())
}

// NewDirect returns such a network; receiver finds components, when they exist.
func NewDirect(e *event.Engine, delay func(m *Message) event.Time, receiver func(p Place) Receiver) *Direct {
	d := &Direct{engine: e, delay: delay, receiver: receiver}
	d.deliver = e.Handle(func(now event.Time, i uint64) {
		m := d.pool[i]
		d.receiver(m.To).Receive(now, m)
		d.free = append(d.free, int32(i))
	})
	return d
}

// Send takes a message on its way.
func (d *Direct) Send(m *Message) {
	d.Counters.Count(m)
	var i int32
	if n := len(d.free); n > 0 {
		i, d.free = d.free[n-1], d.free[:n-1]
	} else {
		i = int32(len(d.pool))
		d.pool = append(d.pool, new(Message))
	}
	*d.pool[i] = *m
	d.engine.After(d.delay(m), d.deliver, uint64(i))
}
