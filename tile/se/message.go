package se

// MessageKind is what a message between stream engines says.
type MessageKind uint8

// The messages (section IV.B).
const (
	MsgConfigure MessageKind = iota // a stream begins at a bank
	MsgMigrate                      // and goes on at another one
	MsgCredit                       // it may go on until an iteration
	MsgForward                      // elements for another stream
	MsgData                         // elements for the core
	MsgCommit                       // a range may be written
	MsgDone                         // iterations are written, or reduced
	MsgFinal                        // what a reduction has come to
	MsgRange                        // the addresses of iterations of an indirect stream
	MsgRequest                      // an access of an indirect stream
	MsgEnd                          // the streams of a loop end before their time
	MsgEnded                        // a bank has forgotten them
	MsgOffload                      // an iteration that is computed where its operands meet
	MsgFetch                        // its operands are asked for
	MsgWrite                        // and its result is written
	MsgVisited                      // the banks that have parts of a reduction
	MsgCollect                      // one of them is asked for its part
	MsgBroadcast                    // elements for streams of several engines
	MsgAsk                          // a core wants room in the buffer of a bank
	MsgGrant                        // it has more from now on
	MsgRecall                       // the bank wants back what it has above its share
	MsgReturn                       // it has less from now on
	NumMessages
)

var messageNames = [NumMessages]string{"configure", "migrate", "credit", "forward", "data", "commit", "done", "final", "range", "request", "end", "ended", "offload", "fetch", "write", "visited", "collect", "broadcast", "ask", "grant", "recall", "return"}

func (k MessageKind) String() string {
	if k < NumMessages {
		return messageNames[k]
	}
	return "?"
}

// Message goes from a node of the mesh to another one.
type Message struct {
	Kind     MessageKind
	From, To int
	Core     int // whose stream it is
	Group    uint32
	Stream   int
	Strand   int // of Final and End

	First, End int64    // iterations
	Values     []uint64 // elements, or what a reduction has come to, also at the end of a range
	Low, High  uint64   // of Range: from the first byte to behind the last one; of Request: the address
	Targets    []Target // of Broadcast
	Others     []int    // of Credit: more streams of the loop that it is for
	Last       int64    // of Request: the iteration that the bank got before, -1 for none; of Ask, Grant and Return: bytes

	head  *head  // of Configure and Migrate: the stream itself
	from  int    // of Forward: the stream whose elements these are
	bytes int    // of values
	kept  []bool // of Write: which values are none
	knows bool   // of Migrate: the bank has the pattern
}

// headerBytes is what each message has beside its payload: as a coherence message.
const headerBytes = 8

// Bytes of a number of iterations, of an address and of the number of a bank.
const (
	countBytes   = 6
	addressBytes = 6
	bankBytes    = 2
	memberBytes  = 7 // number and address of one more load of a stream (table IV, sid and base)
)

// Bytes is the length of a message. One that credits, commits or tells progress has its
// stream and iteration in its header.
func (m *Message) Bytes() int {
	switch m.Kind {
	case MsgConfigure, MsgMigrate:
		n := headerBytes + m.head.g.Streams[m.Stream].Config
		if m.knows {
			n = headerBytes + countBytes
		}
		if m.head.g.Streams[m.Stream].Kind == Reduce {
			n += 8 // the value so far
			if m.head.g.report > 1 {
				n += countBytes // and since when it was told
			}
		}
		if m.head.short { // in place of the configuration: iteration and parameters
			n += countBytes + m.head.g.Streams[m.Stream].Varies - m.head.g.Streams[m.Stream].Config
			if m.head.g.Streams[m.Stream].Kind == Chase && !m.head.bare {
				n += addressBytes
			}
		}
		n += m.head.telling
		n += m.head.strandBytes()
		n += m.head.packed
		n += memberBytes * max(0, len(m.head.nexts)-1)
		for _, r := range m.head.g.Streams[m.Stream].reducers { // what is reduced over its elements
			n += m.head.g.Streams[r].Config
		}
		if m.head.high > 0 && !m.head.g.SyncFree { // what it has visited
			n += 2 * addressBytes
		}
		return n + len(m.head.issued)*(countBytes+bankBytes)
	case MsgBroadcast:
		return headerBytes + len(m.Values)*m.bytes + (len(m.Targets)-1)*targetBytes
	case MsgForward, MsgData:
		return headerBytes + len(m.Values)*m.bytes
	case MsgFinal:
		n := headerBytes + 8*len(m.Values)
		if m.head != nil {
			n += m.head.telling
		}
		return n
	case MsgRange:
		return headerBytes + 2*addressBytes
	case MsgRequest:
		n := headerBytes + addressBytes + len(m.Values)*m.bytes
		if m.head.g.Streams[m.Stream].sink() {
			n += 2 * countBytes
		}
		return n
	case MsgCredit:
		if len(m.Others) > 0 { // a bit for each stream
			return headerBytes + bankBytes
		}
	case MsgCommit, MsgAsk, MsgGrant, MsgReturn:
		return headerBytes + countBytes
	case MsgEnded:
		if m.head != nil { // it goes on elsewhere
			return headerBytes + len(m.head.issued)*(countBytes+bankBytes)
		}
	case MsgVisited:
		return headerBytes + len(m.head.issued)*(countBytes+bankBytes)
	case MsgCollect: // before which iteration, and of how many elements
		return headerBytes + 2*countBytes
	case MsgDone:
		return headerBytes + 8*len(m.Values)
	case MsgOffload: // what is computed, and the addresses of operands and result
		if s := &m.head.g.Streams[m.Stream]; s.Task {
			return headerBytes + 8 + addressBytes + len(m.Values)*m.bytes + 2*countBytes
		}
		return headerBytes + 8*(2+len(m.head.g.Streams[m.Stream].Inputs))
	case MsgWrite:
		return headerBytes + len(m.Values)*m.bytes
	}
	return headerBytes
}

// Begins is the loop and the stream of a message that brings one to a bank, or an iteration or
// access of one; nil for others.
func (m *Message) Begins() (*Group, *Stream) {
	switch m.Kind {
	case MsgConfigure, MsgMigrate, MsgOffload, MsgRequest:
		return m.head.g, &m.head.g.Streams[m.Stream]
	}
	return nil, nil
}

// ToCore reports whether the engine of a core gets a message, and not that of a bank.
func (m *Message) ToCore() bool {
	switch m.Kind {
	case MsgData, MsgDone, MsgFinal, MsgRange, MsgEnded, MsgVisited, MsgGrant, MsgRecall:
		return true
	}
	return false
}

// Network carries messages. Send keeps the message.
type Network interface {
	SendStream(m *Message)
	// Queued is how many flits wait in a node for its link, or any lower number than most.
	Queued(node, most int) int
}

// NetworkCounters count the traffic of stream engines.
type NetworkCounters struct {
	Messages [NumMessages]uint64 `parts:"configure,migrate,credit,forward,data,commit,done,final,range,request,end,ended,offload,fetch,write,visited,collect,broadcast,ask,grant,recall,return" desc:"messages of stream engines by kind"`
	Bytes    [NumMessages]uint64 `unit:"Byte" parts:"configure,migrate,credit,forward,data,commit,done,final,range,request,end,ended,offload,fetch,write,visited,collect,broadcast,ask,grant,recall,return" desc:"bytes of them"`
	ByteHops [NumMessages]uint64 `unit:"Byte" parts:"configure,migrate,credit,forward,data,commit,done,final,range,request,end,ended,offload,fetch,write,visited,collect,broadcast,ask,grant,recall,return" desc:"bytes of whole flits times links between routers"`
}
