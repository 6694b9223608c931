package mem

import "fmt"

// State is what a private cache knows of a line.
type State uint8

// The states of a private cache, MESI and between: the letters before and after the
// underscore are where it comes from and goes to, and what it waits for, data or
// acknowledgements (Sorin, Hill, Wood, A Primer on Memory Consistency and Cache
// Coherence, section 8.2).
const (
	I    State = iota
	S          // may read; others may, too
	E          // may read, and write without asking; equal to memory
	M          // written
	ISd        // asked to read
	IMad       // asked to write
	IMa        // has the data, waits for other copies to vanish
	SMad       // asked to write, has the data unless it is taken away
	SMa        // may write once other copies have vanished
	MIa        // gives the line back, written
	EIa        // gives the line back
	SIa        // gives the line back, which others share by now
	IIa        // gives back what it has no more
	numStates
)

var stateNames = [numStates]string{"I", "S", "E", "M", "IS_D", "IM_AD", "IM_A", "SM_AD", "SM_A", "MI_A", "EI_A", "SI_A", "II_A"}

func (s State) String() string { return name(stateNames[:], uint8(s)) }

// Event is what happens to a line in a private cache.
type Event uint8

// The events.
const (
	Load     Event = iota // the core reads
	Write                 // the core writes
	Evict                 // another line needs the place
	Inv                   // another core writes
	FwdGetS               // another core reads what this one owns
	FwdGetM               // another core writes what this one owns
	DataS                 // data to read
	DataE                 // data to read, and no other copy is there
	DataM                 // data to write, other copies are still to vanish
	DataMAll              // data to write, no other copy is left
	AckM                  // leave to write what it has, other copies are still to vanish
	AckMAll               // leave to write what it has, no other copy is left
	InvAck                // a copy has vanished
	LastAck               // and it was the last one
	PutAck                // what was given back has arrived
	numEvents
)

var eventNames = [numEvents]string{"Load", "Write", "Evict", "Inv", "FwdGetS", "FwdGetM", "DataS", "DataE", "DataM", "DataMAll", "AckM", "AckMAll", "InvAck", "LastAck", "PutAck"}

func (e Event) String() string { return name(eventNames[:], uint8(e)) }

// Action is what a private cache does on an event.
type Action uint8

// The actions.
const (
	noAction    Action = iota
	hit                // serve the core
	askGetS            // ask the home to read
	askGetM            // ask the home to write
	keepCopy           // remember the data that it has while it asks
	dropCopy           // forget what it has
	ackWriter          // tell the core that writes
	takeData           // the data of the message
	countAcks          // how many copies are to vanish
	countAck           // one has
	fill               // the line is there: serve who waits, and let the home go on
	sendShared         // data to the core that reads
	sendOwned          // data to the core that writes
	copyBack           // data to the home
	giveBack           // give the line to the home
	forgetWrite        // what was given back has arrived
	numActions
)

var actionNames = [numActions]string{"-", "hit", "askGetS", "askGetM", "keepCopy", "dropCopy", "ackWriter", "takeData", "countAcks", "countAck",
	"fill", "sendShared", "sendOwned", "copyBack", "giveBack", "forgetWrite"}

func (a Action) String() string { return name(actionNames[:], uint8(a)) }

// Transition is what to do, in this order, and the state after it.
type Transition struct {
	Do    [3]Action
	Next  State
	valid bool
}

// HomeState is what the home of a line knows of its copies in private caches.
type HomeState uint8

// The states of a home: no copy, shared, exclusive, and busy until the core that
// asked has the line (B), or the former owner has sent its data back, too.
const (
	HI  HomeState = iota
	HS            // some cores may read
	HX            // a core may write
	HBX           // becomes HX when the core has the line
	HBS           // becomes HS when all cores that read have the line
	HBF           // becomes HS when the core has the line, and the home has the data
	HBC           // becomes HS when the home has the data
	numHomeStates
)

var homeStateNames = [numHomeStates]string{"I", "S", "X", "BX", "BS", "BF", "BC"}

func (s HomeState) String() string { return name(homeStateNames[:], uint8(s)) }

// HomeEvent is what happens to a line at its home.
type HomeEvent uint8

// The events at a home.
const (
	GetS     HomeEvent = iota // a core reads
	GetM                      // a core writes
	PutOwner                  // the owner gives the line back
	PutOther                  // a core that is not the owner any more does
	Unblock                   // the core has the line
	CopyBack                  // the former owner has sent its data
	numHomeEvents
)

var homeEventNames = [numHomeEvents]string{"GetS", "GetM", "PutOwner", "PutOther", "Unblock", "CopyBack"}

func (e HomeEvent) String() string { return name(homeEventNames[:], uint8(e)) }

// HomeAction is what a home does.
type HomeAction uint8

// The actions of a home.
const (
	noHomeAction   HomeAction = iota
	grantShared               // data, to read
	grantExclusive            // data, and there is no other copy
	grantWrite                // leave to write; data unless the core has it
	invalidate                // tell all that share the line, but the core that asks
	forwardGetS               // let the owner send the data
	forwardGetM               //
	addSharer                 // the core that asks
	ownerShares               // the owner becomes a sharer
	setOwner                  // the core that asks, alone
	clearOwner                //
	dropSharer                // the core that gives back
	storeData                 // what came is newer than what is here
	ackPut                    //
	wait                      // until the line is not busy
	countRead                 // one more core that reads and has not said that it has the line
	countUnblock              // one has; the line stays busy while there are others
	numHomeActions
)

var homeActionNames = [numHomeActions]string{"-", "grantShared", "grantExclusive", "grantWrite", "invalidate", "forwardGetS", "forwardGetM", "addSharer",
	"ownerShares", "setOwner", "clearOwner", "dropSharer", "storeData", "ackPut", "wait", "countRead", "countUnblock"}

func (a HomeAction) String() string { return name(homeActionNames[:], uint8(a)) }

// HomeTransition is what a home does, in this order, and its state after it.
type HomeTransition struct {
	Do    [4]HomeAction
	Next  HomeState
	valid bool
}

func name(names []string, i uint8) string {
	if int(i) < len(names) {
		return names[i]
	}
	return fmt.Sprint(i)
}

// Protocol is a coherence protocol as data: what private caches and homes do on
// each event. Tests take it apart.
type Protocol struct {
	Cache [numStates][numEvents]Transition
	Home  [numHomeStates][numHomeEvents]HomeTransition
}

// MESI is the protocol: invalidations, a full directory at the home of each line,
// which serves one request for a line at a time, from its arrival until the core
// that asked says that it has the line; but cores that read what is shared are served at
// the same time. Messages may overtake each other.
func MESI() *Protocol {
	p := &Protocol{}
	at := func(s State, e Event, next State, do ...Action) {
		t := Transition{Next: next, valid: true}
		copy(t.Do[:], do)
		p.Cache[s][e] = t
	}
	at(I, Load, ISd, askGetS)
	at(I, Write, IMad, askGetM)
	at(I, Inv, I, ackWriter) // a copy that was dropped in silence
	at(S, Load, S, hit)
	at(S, Write, SMad, keepCopy, askGetM)
	at(S, Evict, I, dropCopy)
	at(S, Inv, I, dropCopy, ackWriter)
	at(E, Load, E, hit)
	at(E, Write, M, hit)
	at(E, Evict, EIa, giveBack)
	at(E, FwdGetS, S, sendShared, copyBack)
	at(E, FwdGetM, I, sendOwned, dropCopy)
	at(M, Load, M, hit)
	at(M, Write, M, hit)
	at(M, Evict, MIa, giveBack)
	at(M, FwdGetS, S, sendShared, copyBack)
	at(M, FwdGetM, I, sendOwned, dropCopy)
	at(ISd, Inv, ISd, ackWriter)
	at(ISd, DataS, S, takeData, fill)
	at(ISd, DataE, E, takeData, fill)
	at(IMad, Inv, IMad, ackWriter)
	at(IMad, InvAck, IMad, countAck)
	at(IMad, DataM, IMa, takeData, countAcks)
	at(IMad, DataMAll, M, takeData, fill)
	at(IMa, InvAck, IMa, countAck)
	at(IMa, LastAck, M, fill)
	at(SMad, Inv, IMad, dropCopy, ackWriter)
	at(SMad, InvAck, SMad, countAck)
	at(SMad, AckM, SMa, countAcks)
	at(SMad, AckMAll, M, fill)
	at(SMa, InvAck, SMa, countAck)
	at(SMa, LastAck, M, fill)
	at(MIa, FwdGetS, SIa, sendShared, copyBack)
	at(MIa, FwdGetM, IIa, sendOwned)
	at(MIa, PutAck, I, forgetWrite)
	at(EIa, FwdGetS, SIa, sendShared, copyBack)
	at(EIa, FwdGetM, IIa, sendOwned)
	at(EIa, PutAck, I, forgetWrite)
	at(SIa, Inv, IIa, ackWriter)
	at(SIa, PutAck, I, forgetWrite)
	at(IIa, PutAck, I, forgetWrite)

	home := func(s HomeState, e HomeEvent, next HomeState, do ...HomeAction) {
		t := HomeTransition{Next: next, valid: true}
		copy(t.Do[:], do)
		p.Home[s][e] = t
	}
	home(HI, GetS, HBX, grantExclusive, setOwner)
	home(HI, GetM, HBX, grantWrite, setOwner)
	home(HS, GetS, HBS, grantShared, addSharer, countRead)
	home(HBS, GetS, HBS, grantShared, addSharer, countRead)
	home(HS, GetM, HBX, invalidate, grantWrite, setOwner)
	home(HX, GetS, HBF, forwardGetS, ownerShares, addSharer, countRead)
	home(HX, GetM, HBX, forwardGetM, setOwner)
	home(HX, PutOwner, HI, storeData, clearOwner, ackPut)
	home(HI, PutOther, HI, ackPut)
	home(HS, PutOther, HS, dropSharer, ackPut)
	home(HX, PutOther, HX, ackPut)
	home(HBX, Unblock, HX)
	home(HBS, Unblock, HS, countUnblock)
	home(HBF, Unblock, HBC, countUnblock)
	home(HBF, CopyBack, HBS, storeData)
	home(HBC, CopyBack, HS, storeData)
	for _, busy := range []HomeState{HBX, HBS, HBF, HBC} {
		for _, e := range []HomeEvent{GetS, GetM, PutOther} {
			if busy != HBS || e != GetS {
				home(busy, e, busy, wait)
			}
		}
	}
	home(HBX, PutOwner, HBX, wait) // it has overtaken the Unblock
	return p
}

// serves tells whether a copy in the state serves an access without asking.
func (p *Protocol) serves(s State, e Event) bool { return p.Cache[s][e].Do[0] == hit }
