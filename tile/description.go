package tile

// Version is the version of descriptions of machines. A file that says none has the
// fields of this one.
const Version = 2

// Machine is the description of a chip. What a file leaves out is as in the machine
// that it is based on, [Default] if it names none, but for the name, which then is
// that of the file, and the title. Each value has a source, see [Machine.Source].
//
// Tags say what values may be: range of a number, from..to; power, of two; oneof, of
// a text. reading marks the switches that a paper and its simulator, or two ways to
// read a paper, set differently: the values to compare. [Parameters] lists them all.
type Machine struct {
	Version  int     `yaml:"version" range:"2..2"`
	Name     string  `yaml:"name"`
	Title    string  `yaml:"title"`
	Base     string  `yaml:"base"` // the machine that this one is like, "" for the default one
	ClockGHz float64 `yaml:"clock_ghz" range:">0..1000"`
	Mesh     Mesh    `yaml:"mesh"`

	Core     string   `yaml:"core" oneof:"io4 ooo4 ooo8"` // which of cores a tile has
	Cores    Cores    `yaml:"cores"`
	TLB      TLB      `yaml:"tlb"`
	L1I      Cache    `yaml:"l1i"`
	L1D      Cache    `yaml:"l1d"`
	L2       Cache    `yaml:"l2"`
	L3       L3       `yaml:"l3"`
	Prefetch Prefetch `yaml:"prefetch"`

	Array     Array     `yaml:"array"`
	HTree     HTree     `yaml:"htree"`
	Transpose Transpose `yaml:"transpose"`
	NoC       NoC       `yaml:"noc"`
	DRAM      DRAM      `yaml:"dram"`
	Memory    Memory    `yaml:"memory"`
	Streams   Streams   `yaml:"streams"`
	LOT       LOT       `yaml:"lot"`
	Tensor    Tensor    `yaml:"tensor"`
	JIT       JIT       `yaml:"jit"`
	Threads   Threads   `yaml:"threads"`

	sources map[string]source // by path; never changed once it is read
}

// source is where a value is from, while the parameter has it.
type source struct{ value, text string }

// Mesh is the arrangement of tiles, each with a core and a bank of the L3.
type Mesh struct {
	Cols int `yaml:"cols" range:"1..64"`
	Rows int `yaml:"rows" range:"1..64"`
}

// Cores are the variants of a core.
type Cores struct {
	IO4  Core `yaml:"io4"`
	OOO4 Core `yaml:"ooo4"`
	OOO8 Core `yaml:"ooo8"`
}

// Core is a core. Instructions are micro-ops.
type Core struct {
	Order string `yaml:"order" oneof:"in out"` // of issue
	Width int    `yaml:"width" range:"1..32"`  // of fetch, decode, dispatch, issue and commit, in instructions a cycle

	ROB int `yaml:"rob" range:"1..4096"` // reorder buffer, or of an in-order core instructions under way
	IQ  int `yaml:"iq" range:"1..4096"`  // issue queue
	LQ  int `yaml:"lq" range:"1..4096"`  // loads, from dispatch to commit
	SQ  int `yaml:"sq" range:"1..4096"`  // stores, from dispatch until the cache has them

	IntRegisters int `yaml:"int_registers" range:"1..8192"` // physical
	FPRegisters  int `yaml:"fp_registers" range:"1..8192"`

	FrontEndCycles   int       `yaml:"front_end_cycles" range:"1..64"` // from fetch to dispatch
	RedirectCycles   int       `yaml:"redirect_cycles" range:"0..64"`  // from the execution of a branch that was mispredicted to the fetch behind it
	FetchToTaken     bool      `yaml:"fetch_to_taken"`                 // a taken branch ends the fetch of a cycle
	Predictor        Predictor `yaml:"predictor"`
	Units            Units     `yaml:"units"`
	SIMDBits         int       `yaml:"simd_bits" range:"64..4096" power:"two"`
	FPSIMD           string    `yaml:"fp_simd" oneof:"4-pipelined 2-unpipelined 1-a-cycle" reading:"4-pipelined 2-unpipelined 1-a-cycle"`
	LoadPorts        int       `yaml:"load_ports" range:"1..16"`                       // loads that the L1 takes in a cycle
	StorePorts       int       `yaml:"store_ports" range:"1..16"`                      // stores
	StreamLoadPorts  int       `yaml:"stream_load_ports" range:"0..16"`                // loads, in configurations with streams; 0: load_ports
	StreamStorePorts int       `yaml:"stream_store_ports" range:"0..16"`               // stores, likewise
	MaxRequests      int       `yaml:"max_requests" range:"1..4096"`                   // to the memory system at a time
	StoresInFlight   int       `yaml:"stores_in_flight" range:"1..4096" reading:"1 8"` // committed, on their way to the cache at a time
	StorePrefetch    bool      `yaml:"store_prefetch" reading:"false true"`            // asks for lines of stores before they commit
	ForwardCycles    int       `yaml:"forward_cycles" range:"1..64"`                   // from a store in the queue to a load
	DependenceBytes  int       `yaml:"dependence_bytes" range:"1..64" power:"two"`     // grain of the check of loads against stores
	StreamFIFOBytes  int       `yaml:"stream_fifo_bytes" range:"0..1048576"`           // of its stream engine
	SCCROB           int       `yaml:"scc_rob" range:"0..4096"`                        // entries of a stream computing context
	Computations     int       `yaml:"computations" range:"0..4096" reading:"0 2 4"`   // that contexts of a tile have under way; 0: as many as have entries
}

// Predictor predicts branches.
type Predictor struct {
	Kind       string `yaml:"kind" oneof:"tage gshare perceptron perfect"`
	TableBits  int    `yaml:"table_bits" range:"4..24"` // logarithm of the entries of a table
	Tables     int    `yaml:"tables" range:"1..32"`
	History    int    `yaml:"history" range:"1..1024"` // branches, of the longest
	BTBEntries int    `yaml:"btb_entries" range:"1..1048576" power:"two"`
}

// Units are the functional units of a core. Divisions of a type share the units of
// its multiplications.
type Units struct {
	IntALU  Unit `yaml:"int_alu"`
	IntMul  Unit `yaml:"int_mul"`
	IntDiv  Unit `yaml:"int_div"`
	FPALU   Unit `yaml:"fp_alu"`
	FPMul   Unit `yaml:"fp_mul"`
	FPDiv   Unit `yaml:"fp_div"`
	FPSqrt  Unit `yaml:"fp_sqrt"`
	IntSIMD Unit `yaml:"int_simd"`
	FPSIMD  int  `yaml:"fp_simd" range:"1..64"` // their number; the cycles are those of the reading fp_simd
}

// Unit is a kind of functional unit.
type Unit struct {
	Count     int  `yaml:"count" range:"1..64"`
	Cycles    int  `yaml:"cycles" range:"1..256"`
	Pipelined bool `yaml:"pipelined"`
}

// TLB is the translation of addresses, of a core and of the stream engine of a bank.
type TLB struct {
	L1           Translations `yaml:"l1"`
	L2           Translations `yaml:"l2"`
	Streams      Translations `yaml:"streams"` // of a bank
	WalkCycles   int          `yaml:"walk_cycles" range:"0..65536"`
	WalksAtATime int          `yaml:"walks_at_a_time" range:"1..64"`
}

// Translations is one TLB.
type Translations struct {
	Entries       int `yaml:"entries" range:"1..1048576"`
	Ways          int `yaml:"ways" range:"1..64"`
	LatencyCycles int `yaml:"latency_cycles" range:"0..1024"`
}

// Cache is a private cache of a core.
type Cache struct {
	Bytes         int    `yaml:"bytes" range:"64..1073741824"`
	Ways          int    `yaml:"ways" range:"1..64"`
	LatencyCycles int    `yaml:"latency_cycles" range:"1..1024"` // of a hit
	MSHRs         int    `yaml:"mshrs" range:"1..1024" reading:"4 16"`
	TagsPerCycle  int    `yaml:"tags_per_cycle" range:"1..64"`                                      // requests that are looked up
	FillsPerCycle int    `yaml:"fills_per_cycle" range:"1..64"`                                     // lines that come in
	FillCycles    int    `yaml:"fill_cycles" range:"0..64"`                                         // from the arrival of a line to its use
	QueueEntries  int    `yaml:"queue_entries" range:"1..4096"`                                     // requests that wait to be looked up
	Replacement   string `yaml:"replacement" oneof:"lru brrip tree-plru" reading:"brrip tree-plru"` // Table 2 has one for all caches, the simulator another in the L2
}

// L3 is the last-level cache; there is a bank in each tile.
type L3 struct {
	Ways            int    `yaml:"ways" range:"1..64"`         // of a bank
	ComputeWays     int    `yaml:"compute_ways" range:"0..64"` // of these, for transposed data
	ArraysPerWay    int    `yaml:"arrays_per_way" range:"1..1024"`
	LatencyCycles   int    `yaml:"latency_cycles" range:"1..1048576"`
	InterleaveBytes int    `yaml:"interleave_bytes" range:"1..1073741824" reading:"64 1024"` // of addresses among banks
	LineBytes       int    `yaml:"line_bytes" range:"1..4096" power:"two"`
	MSHRs           int    `yaml:"mshrs" range:"1..4096"`
	TagsPerCycle    int    `yaml:"tags_per_cycle" range:"1..64"`
	FillsPerCycle   int    `yaml:"fills_per_cycle" range:"1..64"`
	FillCycles      int    `yaml:"fill_cycles" range:"0..64"`
	QueueEntries    int    `yaml:"queue_entries" range:"1..4096"`
	Replacement     string `yaml:"replacement" oneof:"lru brrip tree-plru"`
	Directory       int    `yaml:"directory_transactions" range:"1..65536"` // of a bank at a time
}

// Prefetch are the prefetchers of a core.
type Prefetch struct {
	L1     string  `yaml:"l1" oneof:"none bingo stride ip-stride"`
	L2     string  `yaml:"l2" oneof:"none stride ip-stride"`
	BRRIP  float64 `yaml:"brrip_p" range:"0..1"` // probability of a long re-reference interval of brrip to be a short one
	Bingo  Bingo   `yaml:"bingo"`
	Stride Stride  `yaml:"stride"`
}

// Bingo is the prefetcher of spatial patterns by Bakhshalipour et al. (HPCA 2019).
type Bingo struct {
	RegionBytes  int `yaml:"region_bytes" range:"128..4096" power:"two"` // of up to 64 lines
	Filter       int `yaml:"filter_entries" range:"1..65536"`
	Accumulation int `yaml:"accumulation_entries" range:"1..65536"`
	Patterns     int `yaml:"pattern_entries" range:"1..1048576"`
	PatternWays  int `yaml:"pattern_ways" range:"1..64"`
	Queue        int `yaml:"queue_entries" range:"1..1024"`
}

// Stride is a prefetcher of streams with a constant distance.
type Stride struct {
	Streams    int  `yaml:"streams" range:"1..1024"`
	Distance   int  `yaml:"distance" range:"1..1024"` // lines ahead
	Train      int  `yaml:"train_misses" range:"1..64"`
	Filter     int  `yaml:"filter_entries" range:"1..65536"`
	CrossPages bool `yaml:"cross_pages"`
}

// Array is an SRAM array.
type Array struct {
	Rows       int    `yaml:"rows" range:"1..1024"` // wordlines have 10 bits in Table 1
	Cols       int    `yaml:"cols" range:"64..2048" power:"two"`
	Technology string `yaml:"technology"` // one of sram.Technologies
	CostTable  string `yaml:"cost_table"` // a table of package sram/cost, or a file

	ShiftBitlines int `yaml:"shift_bitlines" range:"0..2048" reading:"0 1"` // that a row is shifted by in a cycle at most; 0: any
}

// HTree is the wiring within a bank.
type HTree struct {
	Levels         int `yaml:"levels" range:"1..16"`
	BandwidthBytes int `yaml:"bandwidth_bytes" range:"1..1048576"`     // in all, a cycle
	LeafBytes      int `yaml:"leaf_bytes" range:"0..64" reading:"0 4"` // of an array in shifts between tiles, with levels one after another; 0: arrays share the bandwidth
}

// Transpose is the unit of a bank that turns lines into columns and back.
type Transpose struct {
	LinesPerCycle float64 `yaml:"lines_per_cycle" range:"0..64"` // of each bank; 0: as fast as they come
}

// NoC is the network between tiles.
type NoC struct {
	LinkBytes         int    `yaml:"link_bytes" range:"1..65536"` // a cycle
	LinkCycles        int    `yaml:"link_cycles" range:"1..64"`
	RouterStages      int    `yaml:"router_stages" range:"3..65" reading:"3 5 6"` // one is the first cycle of the link behind the router
	Routing           string `yaml:"routing" oneof:"xy yx" reading:"xy yx"`
	VCs               int    `yaml:"vcs" range:"1..12"`            // virtual channels of a link
	BufferFlits       int    `yaml:"buffer_flits" range:"1..4096"` // of a virtual channel
	CreditCycles      int    `yaml:"credit_cycles" range:"1..64"`  // of a credit on its way back
	HeaderBytes       int    `yaml:"header_bytes" range:"0..64"`   // of a packet with data
	ControlBytes      int    `yaml:"control_bytes" range:"1..64"`  // of a packet without
	PacketBytes       int    `yaml:"packet_bytes" range:"1..4096"` // data of a packet between banks
	MemoryControllers int    `yaml:"memory_controllers" range:"1..4096"`
	Controllers       string `yaml:"controller_place" oneof:"corners tiled edges"`
}

// DRAM is the memory; each controller has a channel.
type DRAM struct {
	BandwidthGBs    float64    `yaml:"bandwidth_gb_s" range:">0..1000000"` // of a channel, or of all, by the reading
	Reading         string     `yaml:"reading" oneof:"per-controller total" reading:"per-controller total"`
	TransferMTs     int        `yaml:"transfer_mt_s" range:"1..1048576"`
	InterleaveBytes int        `yaml:"interleave_bytes" range:"64..1073741824" power:"two" reading:"64 4096"` // of addresses among channels
	Mapping         string     `yaml:"mapping"`                                                               // fields of an address, the highest first; -xor behind: banks hashed by the row
	Ranks           int        `yaml:"ranks" range:"1..16" power:"two"`
	Groups          int        `yaml:"bank_groups" range:"1..16" power:"two"`
	Banks           int        `yaml:"banks_per_group" range:"1..64" power:"two"`
	Rows            int        `yaml:"rows" range:"1..16777216" power:"two"`
	RowLines        int        `yaml:"lines_per_row" range:"1..4096" power:"two"`
	ReadQueue       int        `yaml:"read_queue" range:"1..4096"`
	WriteQueue      int        `yaml:"write_queue" range:"1..4096"`
	BankQueue       int        `yaml:"bank_queue" range:"1..256"`
	DrainAbove      int        `yaml:"drain_above" range:"0..4096"`
	HitLimit        int        `yaml:"hit_limit" range:"1..1048576"`
	Timing          DRAMTiming `yaml:"timing"`
}

// DRAMTiming is the timing of a device in clocks of the DRAM, half the data rate.
type DRAMTiming struct {
	ClockNs float64 `yaml:"clock_ns" range:">0..1000"`
	CL      int     `yaml:"cl" range:"1..1048576"`
	CWL     int     `yaml:"cwl" range:"1..1048576"`
	RCD     int     `yaml:"rcd" range:"1..1048576"`
	RP      int     `yaml:"rp" range:"1..1048576"`
	RAS     int     `yaml:"ras" range:"1..1048576"`
	RFC     int     `yaml:"rfc" range:"1..1048576"`
	REFI    int     `yaml:"refi" range:"1..1048576"`
	RRDS    int     `yaml:"rrd_s" range:"1..1048576"`
	RRDL    int     `yaml:"rrd_l" range:"1..1048576"`
	WTRS    int     `yaml:"wtr_s" range:"1..1048576"`
	WTRL    int     `yaml:"wtr_l" range:"1..1048576"`
	FAW     int     `yaml:"faw" range:"1..1048576"`
	WR      int     `yaml:"wr" range:"1..1048576"`
	RTP     int     `yaml:"rtp" range:"1..1048576"`
	CCDS    int     `yaml:"ccd_s" range:"1..1048576"`
	CCDL    int     `yaml:"ccd_l" range:"1..1048576"`
	RTRS    int     `yaml:"rtrs" range:"0..1048576"`
	Burst   int     `yaml:"burst" range:"1..1048576"`
	Forward int     `yaml:"forward" range:"1..1048576"` // a read that the write buffer serves
}

// Memory is the physical memory, and where programs lie in it.
type Memory struct {
	Bytes     int    `yaml:"bytes" range:"1..1099511627776"`
	PageBytes int    `yaml:"page_bytes" range:"4096..1073741824" power:"two"`
	Placement string `yaml:"placement" oneof:"aligned staggered random-4k" reading:"aligned staggered random-4k"` // of arrays
}

// Streams are the stream engines of cores, of L2 caches and of banks.
type Streams struct {
	Core CoreStreams `yaml:"core"`
	L2   L2Streams   `yaml:"l2"`
	L3   L3Streams   `yaml:"l3"`
}

// CoreStreams is the stream engine of a core, SE_core. The bytes of its FIFO and what
// a context has are those of the variant of the core.
type CoreStreams struct {
	Streams     int    `yaml:"streams" range:"0..1024"`
	SCCs        int    `yaml:"sccs" range:"0..64"` // stream computing contexts
	Elements    int    `yaml:"run_ahead_elements" range:"1..65536"`
	AtomicAhead int    `yaml:"atomic_ahead_elements" range:"1..65536"`
	Offload     string `yaml:"offload" oneof:"history computation always"` // by what the engine decides; computation: for streams that compute at the L3 always
	// Of streams without any progress, and of those that lock lines.
	TimeoutCycles     int `yaml:"timeout_cycles" range:"0..1000000000"`
	LockTimeoutCycles int `yaml:"lock_timeout_cycles" range:"0..1000000000"`
}

// L2Streams is the buffer of a core for streams that run at the L3.
type L2Streams struct {
	Slices         int `yaml:"slices" range:"1..65536"`                        // lines, of a direct stream
	IndirectSlices int `yaml:"indirect_slices" range:"0..65536" reading:"0 8"` // elements, of an indirect stream that the core takes values of; 0: as many iterations as others
	Segments       int `yaml:"segments" range:"1..64"`                         // after which credits are sent
}

// L3Streams is the stream engine of a bank, SE_L3.
type L3Streams struct {
	PerBank           int    `yaml:"per_bank" range:"0..1048576"`
	BufferBytes       int    `yaml:"buffer_bytes" range:"0..1073741824"`
	Sharing           string `yaml:"sharing" oneof:"none static dynamic" reading:"none static dynamic"` // of the buffer, among cores; none: there is room for all
	ComputeInitCycles int    `yaml:"compute_init_cycles" range:"0..1048576" reading:"4 16"`
	ScalarPE          bool   `yaml:"scalar_pe"` // scalars are computed in the engine
	Vectorize         bool   `yaml:"vectorize"` // streams of SIMD loops compute as many elements at once as there are lanes
	OpsPerCycle       int    `yaml:"ops_per_cycle" range:"1..1024"`
	IssueWidth        int    `yaml:"issue_width" range:"1..64"`
	Migrate           string `yaml:"migrate" oneof:"whole changed"`         // what goes to a bank that a stream was at
	Order             string `yaml:"order" oneof:"turns ahead"`             // in which affine streams of several cores are read; ahead: the loop that is ahead of others first
	PatienceCycles    int    `yaml:"patience_cycles" range:"0..1000000000"` // after which a stream goes first that is not; 0: never
	QueueFlits        int    `yaml:"queue_flits" range:"0..1048576"`        // that wait for the link of a tile, with which its bank reads nothing more to be sent; 0: it always does
	MigrateWidth      int    `yaml:"migrate_width" range:"1..64"`
	Requests          int    `yaml:"requests" range:"1..4096"` // in flight, of a stream
	RangeIterations   int    `yaml:"range_iterations" range:"1..4096"`
	RangePolicy       string `yaml:"range_policy" oneof:"fixed adaptive"` // adaptive: ranges of a loop without aliases grow
	AffineRanges      string `yaml:"affine_ranges" oneof:"core l3"`       // where ranges of affine streams are made
	Strands           bool   `yaml:"strands"`                             // near-l3 splits streams over banks
	Multicast         int    `yaml:"multicast" range:"1..64"`             // cores in x and y of a group
	Broadcast         bool   `yaml:"broadcast"`                           // near-l3 reads a line once for streams of a group, and strands
	KeepOperands      bool   `yaml:"keep_operands"`                       // a bank of near-l3 keeps operands that come again, and
	KeepPatterns      bool   `yaml:"keep_patterns"`                       // patterns of strands that do
	// BroadcastWaitCycles is how long a stream waits for others that have no credit.
	BroadcastWaitCycles int    `yaml:"broadcast_wait_cycles" range:"0..1048576"`
	Locks               string `yaml:"locks" oneof:"exclusive multi-reader"` // of atomics
	// Messages that take a cycle and no network, of runs that have streams.
	InstantEnd  bool `yaml:"instant_end" reading:"false true"`  // that end streams before their time
	InstantFlow bool `yaml:"instant_flow" reading:"false true"` // that credit streams
	InstantAck  bool `yaml:"instant_ack" reading:"false true"`  // that tell what is done, in near-l3
}

// LOT is the layout override table.
type LOT struct {
	Regions         int     `yaml:"regions" range:"1..65536"`
	ReleaseRequests int     `yaml:"release_requests" range:"1..1073741824"` // after which, and with that miss rate, transposed data are released
	ReleaseMissRate float64 `yaml:"release_miss_rate" range:"0..1"`
	ReleaseCycles   int     `yaml:"release_cycles" range:"1..1073741824"`
}

// Tensor are the tensor controllers.
type Tensor struct {
	CommandCacheBytes int `yaml:"command_cache_bytes" range:"64..1073741824"`
}

// JIT is the time that a core takes to lower regions to commands. By the reading
// host-fitted each lowering takes the cycles of its steps, commands and banks, or
// those of patching the commands of the last time; by
// command-once those of its commands, the first time that a region is lowered; by
// paper-mean a program takes the paper's mean time, once.
type JIT struct {
	Reading       string  `yaml:"reading" oneof:"host-fitted command-once paper-mean" reading:"host-fitted command-once paper-mean"`
	NodeCycles    int     `yaml:"node_cycles" range:"0..1048576"`    // for a step of a plan
	CommandCycles int     `yaml:"command_cycles" range:"0..1048576"` // for a command
	BankCycles    int     `yaml:"bank_cycles" range:"0..1048576"`    // for each bank that a command is matched with
	Patching      bool    `yaml:"patching" reading:"true false"`     // commands of the last time are patched where a loop of the host goes on
	CheckCycles   int     `yaml:"check_cycles" range:"0..1048576"`   // of a region that is patched
	PatchCycles   int     `yaml:"patch_cycles" range:"0..1048576"`   // for a number of a command
	OnceCycles    int     `yaml:"once_cycles" range:"0..1048576"`    // for a command, by the reading command-once
	MeanUs        float64 `yaml:"mean_us" range:"0..1000000"`        // of a program
}

// Threads is what threads of a program take beside their instructions.
type Threads struct {
	ForkCycles int    `yaml:"fork_cycles" range:"0..1048576"`                      // of thread 0 to start a parallel loop, beside what it tells the others
	Barrier    string `yaml:"barrier" oneof:"central tree" reading:"central tree"` // how threads meet: at a counter, or in a tree
	Fanout     int    `yaml:"fanout" range:"2..64"`                                // of the tree
}
