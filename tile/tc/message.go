package tc

// MessageKind is what a message between tensor controllers says.
type MessageKind uint8

// The messages.
const (
	MsgConfigure MessageKind = iota // TC_core lets a bank fetch or return lines, or begins a walk
	MsgPrepared                     // the bank has done so
	MsgCommand                      // a command for banks
	MsgFree                         // a bank has executed commands
	MsgData                         // elements between banks
	MsgCount                        // a bank tells another one how many packets it has sent to it
	MsgReport                       // a bank is at a sync, and says how many packets it has sent
	MsgArrived                      // how many have landed at a bank
	MsgClear                        // the barrier is cleared
	MsgWalk                         // a walk goes on at another bank, with what it has
	MsgEnded                        // a walk has ended
	NumMessages
)

var messageNames = [NumMessages]string{"configure", "prepared", "command", "free", "data", "count", "report", "arrived", "clear", "walk", "ended"}

func (k MessageKind) String() string {
	if k < NumMessages {
		return messageNames[k]
	}
	return "?"
}

// Message goes from a node of the mesh to others.
type Message struct {
	Kind  MessageKind
	From  int
	To    []int // several: a multicast
	Count int   // packets
	Freed int   // commands that the bank has executed since its last message to TC_core

	job     *job
	command *Command
	part    []int32 // of the command, by destination
	walk    *walk
	bytes   int
	of      *Core
}

// Bytes is the length of a message.
func (m *Message) Bytes() int { return m.bytes }

// Of returns the controllers whose message it is.
func (m *Message) Of() *Core { return m.of }

// Moves reports whether a message carries elements, not only control.
func (m *Message) Moves() bool { return m.Kind == MsgData || m.Kind == MsgWalk }

// Network carries messages. Send keeps the message, and Receive of the controller at a
// destination gets it once for each.
type Network interface{ SendTensor(m *Message) }

// NetworkCounters count the traffic of tensor controllers.
type NetworkCounters struct {
	Messages [NumMessages]uint64 `parts:"configure,prepared,command,free,data,count,report,arrived,clear,walk,ended" desc:"messages of tensor controllers by kind"`
	Bytes    [NumMessages]uint64 `unit:"Byte" parts:"configure,prepared,command,free,data,count,report,arrived,clear,walk,ended" desc:"bytes of them"`
	ByteHops [NumMessages]uint64 `unit:"Byte" parts:"configure,prepared,command,free,data,count,report,arrived,clear,walk,ended" desc:"bytes of whole flits times links between routers"`
}
