package benchmarks

// Columns of Table II, by the name that the scheduler has here.
const (
	pubGPPIC = iota
	pubSIMPLER
	pubSTAR
	pubDATE24
	pubMASIM
	pubDATE24IG
	pubNoImpr
	pubDATE24Impr
	numPub
)

var pubNames = [numPub]string{"gppic", "simpler", "star", "date24", "masim", "date24+cicpp", "masim-noimpr", "date24+impr"}

// Published is what the MASIM paper says of one netlist: its row of Table I and
// its row of Table II.
type Published struct {
	Name                   string
	Gates, Inputs, Outputs int // Table I
	Rows, Arrays           int // Table II: rows of an array, and arrays that MASIM uses
	copies                 [numPub]int
	seconds                [3]int // of [10]; of each of [4], [8], [9] and MASIM; of NoImpr
}

// Copies returns the entry of Table II in the column of a scheduler, by its name
// here, and whether the table has that column. The rivals' columns have the
// greedy instruction generation of [10]; there is none for gppic-naive.
func (p *Published) Copies(scheduler string) (int, bool) {
	for i, name := range pubNames {
		if p != nil && name == scheduler {
			return p.copies[i], true
		}
	}
	return 0, false
}

// Seconds returns the wall time of a scheduler in Table II, in seconds on 12
// threads of a Xeon 4214R at 2.4 GHz (section IV), and whether the table has it.
func (p *Published) Seconds(scheduler string) (int, bool) {
	if p == nil {
		return 0, false
	}
	switch scheduler {
	case "date24":
		return p.seconds[0], true
	case "gppic", "simpler", "star", "masim":
		return p.seconds[1], true
	case "masim-noimpr":
		return p.seconds[2], true
	}
	return 0, false
}

// Paper has Tables I and II of the MASIM paper, in the order of Table II, as they
// are printed: the inputs and outputs of adder are exchanged in Table I.
var Paper = [...]Published{
	{"int2float", 199, 11, 7, 16, 2, [numPub]int{252, 220, 222, 211, 87, 105, 114, 179}, [3]int{43, 6, 3}},
	{"router", 201, 60, 3, 64, 2, [numPub]int{188, 170, 169, 176, 70, 88, 71, 152}, [3]int{19, 9, 7}},
	{"cavlc", 600, 10, 11, 64, 2, [numPub]int{421, 205, 281, 54, 19, 24, 26, 49}, [3]int{227, 72, 41}},
	{"priority", 551, 128, 8, 128, 2, [numPub]int{238, 238, 238, 238, 128, 128, 128, 238}, [3]int{235, 30, 20}},
	{"dec", 304, 8, 256, 256, 2, [numPub]int{18, 20, 18, 18, 9, 9, 9, 18}, [3]int{92, 24, 15}},
	{"adder", 256, 129, 256, 256, 2, [numPub]int{512, 512, 512, 512, 256, 256, 256, 512}, [3]int{42, 29, 21}},
	{"max", 1824, 512, 130, 256, 4, [numPub]int{2294, 1726, 1725, 1723, 937, 1250, 1156, 1723}, [3]int{149, 97, 71}},
	{"sin", 3482, 24, 25, 256, 2, [numPub]int{687, 1574, 572, 423, 120, 132, 136, 361}, [3]int{809, 502, 483}},
	{"sqrt", 9240, 128, 64, 256, 3, [numPub]int{4915, 4639, 4701, 4331, 1290, 1307, 1478, 4039}, [3]int{1437, 135, 111}},
	{"multiplier", 14176, 128, 128, 256, 2, [numPub]int{16009, 7303, 11231, 5961, 1440, 1736, 1643, 5525}, [3]int{1131, 708, 596}},
	{"div", 12536, 128, 128, 256, 3, [numPub]int{6144, 6013, 7609, 5812, 872, 926, 965, 4986}, [3]int{1339, 700, 439}},
	{"log2", 19760, 32, 32, 256, 4, [numPub]int{11388, 14702, 12581, 7043, 3311, 3878, 3793, 6414}, [3]int{2465, 886, 732}},
}

// PublishedFor returns what the paper says of the netlist of that name, or nil.
func PublishedFor(name string) *Published {
	for i := range Paper {
		if Paper[i].Name == name {
			return &Paper[i]
		}
	}
	return nil
}

// sameInstance reports whether the paper's figures are for a netlist of this
// size on arrays of this size. A circuit that merely has the name of a benchmark
// is not compared with its figures.
func (p *Published) sameInstance(gates, rows int) bool {
	return p != nil && p.Gates == gates && p.Rows == rows
}
