package dram

import (
	"fmt"
	"math/bits"
	"strings"
)

// Timing is the timing of a device in clocks of the DRAM, half the data rate.
type Timing struct {
	ClockNs float64 `yaml:"clock_ns" json:"clock_ns"`
	CL      int     `yaml:"cl" json:"cl"`           // read to data
	CWL     int     `yaml:"cwl" json:"cwl"`         // write to data
	RCD     int     `yaml:"rcd" json:"rcd"`         // activate to read or write
	RP      int     `yaml:"rp" json:"rp"`           // precharge to activate
	RAS     int     `yaml:"ras" json:"ras"`         // activate to precharge
	RFC     int     `yaml:"rfc" json:"rfc"`         // refresh to activate
	REFI    int     `yaml:"refi" json:"refi"`       // between refreshes of a rank
	RRDS    int     `yaml:"rrd_s" json:"rrd_s"`     // activate to activate, other bank group
	RRDL    int     `yaml:"rrd_l" json:"rrd_l"`     // the same bank group
	WTRS    int     `yaml:"wtr_s" json:"wtr_s"`     // end of write data to read, other bank group
	WTRL    int     `yaml:"wtr_l" json:"wtr_l"`     // the same bank group
	FAW     int     `yaml:"faw" json:"faw"`         // in which a rank has at most four activates
	WR      int     `yaml:"wr" json:"wr"`           // end of write data to precharge
	RTP     int     `yaml:"rtp" json:"rtp"`         // read to precharge
	CCDS    int     `yaml:"ccd_s" json:"ccd_s"`     // column command to the next, other bank group
	CCDL    int     `yaml:"ccd_l" json:"ccd_l"`     // the same bank group
	RTRS    int     `yaml:"rtrs" json:"rtrs"`       // the bus changes hands between ranks
	Burst   int     `yaml:"burst" json:"burst"`     // of a line on the bus
	Forward int     `yaml:"forward" json:"forward"` // a read that the write buffer serves
}

// Spec is a memory: channels that are alike, and the controller of each.
type Spec struct {
	Name     string `yaml:"name" json:"name"`
	Timing   Timing `yaml:"timing" json:"timing"`
	Channels int    `yaml:"channels" json:"channels"`
	Ranks    int    `yaml:"ranks" json:"ranks"`
	Groups   int    `yaml:"bank_groups" json:"bank_groups"`
	Banks    int    `yaml:"banks_per_group" json:"banks_per_group"`
	Rows     int    `yaml:"rows" json:"rows"`
	RowLines int    `yaml:"lines_per_row" json:"lines_per_row"` // of 64 B, in all devices of a rank
	// Mapping gives the fields of an address above the offset in a line, the
	// highest first: ro, ra, ba, bg, ch, co. With [Hashed] behind it, which bank a line
	// is in depends on its row too, so that rows of addresses that differ by a power of
	// two do not meet in a bank.
	Mapping string `yaml:"mapping" json:"mapping"`

	ReadQueue  int `yaml:"read_queue" json:"read_queue"`
	WriteQueue int `yaml:"write_queue" json:"write_queue"`
	BankQueue  int `yaml:"bank_queue" json:"bank_queue"`   // commands of a bank
	DrainAbove int `yaml:"drain_above" json:"drain_above"` // writes that are drained when nothing else is to do
	HitLimit   int `yaml:"hit_limit" json:"hit_limit"`     // accesses to a row after which another row may be opened
}

// LineBytes is what a burst carries: 64 bits, eight times.
const LineBytes = 64

// DDR4At3200 is a channel of DDR4-3200 with two ranks of 8 Gb x8 devices:
// DDR4_8Gb_x8_3200.ini of DRAMsim3, which follows the data sheet of Micron's
// MT40A1G8.
func DDR4At3200() Spec {
	return Spec{
		Name: "ddr4-3200",
		Timing: Timing{ClockNs: 0.63, CL: 22, CWL: 16, RCD: 22, RP: 22, RAS: 52, RFC: 560, REFI: 12480, RRDS: 4, RRDL: 8, WTRS: 4, WTRL: 12,
			FAW: 34, WR: 24, RTP: 12, CCDS: 4, CCDL: 8, RTRS: 1, Burst: 4, Forward: 1},
		Channels: 1, Ranks: 2, Groups: 4, Banks: 4, Rows: 65536, RowLines: 128, Mapping: "rorababgcoch",
		ReadQueue: 32, WriteQueue: 32, BankQueue: 8, DrainAbove: 8, HitLimit: 4,
	}
}

// DDR4At2400 is the same at 2400 MT/s: DDR4_8Gb_x8_2400.ini.
func DDR4At2400() Spec {
	s := DDR4At3200()
	s.Name = "ddr4-2400"
	s.Timing = Timing{ClockNs: 0.83, CL: 17, CWL: 12, RCD: 17, RP: 17, RAS: 39, RFC: 420, REFI: 9360, RRDS: 4, RRDL: 6, WTRS: 3, WTRL: 9,
		FAW: 26, WR: 18, RTP: 9, CCDS: 4, CCDL: 6, RTRS: 1, Burst: 4, Forward: 1}
	return s
}

// PeakGBs is what all channels transfer without a pause, in 10^9 bytes a second.
func (s *Spec) PeakGBs() float64 {
	return float64(s.Channels) * LineBytes / (float64(s.Timing.Burst) * s.Timing.ClockNs)
}

// Capacity is the bytes of all channels.
func (s *Spec) Capacity() int64 {
	return int64(s.Channels) * int64(s.Ranks*s.Groups*s.Banks) * int64(s.Rows) * int64(s.RowLines) * LineBytes
}

// Validate refuses what cannot be built.
func (s *Spec) Validate() error {
	for _, p := range []struct {
		name  string
		value int
		least int
		most  int
		power bool
	}{
		{"channels", s.Channels, 1, 256, true}, {"ranks", s.Ranks, 1, 16, true}, {"bank_groups", s.Groups, 1, 16, true},
		{"banks_per_group", s.Banks, 1, 64, true}, {"rows", s.Rows, 1, 1 << 24, true}, {"lines_per_row", s.RowLines, 1, 1 << 12, true},
		{"read_queue", s.ReadQueue, 1, 4096, false}, {"write_queue", s.WriteQueue, 1, 4096, false}, {"bank_queue", s.BankQueue, 1, 256, false},
		{"drain_above", s.DrainAbove, 0, s.WriteQueue - 1, false}, {"hit_limit", s.HitLimit, 1, 1 << 20, false},
	} {
		if p.value < p.least || p.value > p.most {
			return fmt.Errorf("dram: %s of %d, expected %d to %d", p.name, p.value, p.least, p.most)
		}
		if p.power && p.value&(p.value-1) != 0 {
			return fmt.Errorf("dram: %s of %d, expected a power of two", p.name, p.value)
		}
	}
	t := &s.Timing
	for _, p := range []struct {
		name  string
		value int
	}{{"cl", t.CL}, {"cwl", t.CWL}, {"rcd", t.RCD}, {"rp", t.RP}, {"ras", t.RAS}, {"rfc", t.RFC}, {"refi", t.REFI}, {"rrd_s", t.RRDS}, {"rrd_l", t.RRDL},
		{"wtr_s", t.WTRS}, {"wtr_l", t.WTRL}, {"faw", t.FAW}, {"wr", t.WR}, {"rtp", t.RTP}, {"ccd_s", t.CCDS}, {"ccd_l", t.CCDL}, {"rtrs", t.RTRS}, {"burst", t.Burst}, {"forward", t.Forward}} {
		if p.value < 0 || p.value > 1<<20 || p.value == 0 && p.name != "rtrs" {
			return fmt.Errorf("dram: timing %s of %d clocks, expected 1 to %d", p.name, p.value, 1<<20)
		}
	}
	switch {
	case !(t.ClockNs > 0) || t.ClockNs > 1000:
		return fmt.Errorf("dram: clock_ns of %g, expected above 0 and at most 1000", t.ClockNs)
	case t.REFI <= (t.RFC+t.RP)*s.Ranks:
		return fmt.Errorf("dram: timing refi of %d clocks for %d ranks, expected above their refreshes of %d each", t.REFI, s.Ranks, t.RFC+t.RP)
	case t.CCDL < t.CCDS || t.RRDL < t.RRDS || t.WTRL < t.WTRS:
		return fmt.Errorf("dram: a timing within a bank group is below that between groups, expected ccd_l, rrd_l, wtr_l at least ccd_s, rrd_s, wtr_s")
	}
	_, err := s.layout()
	return err
}

// Hashed ends a mapping whose fields bg, ba and ra are, as one number, combined by
// exclusive or with the row, folded to as many bits (permutation-based page interleaving:
// Zhang, Zhu and Zhang, MICRO 2000).
const Hashed = "-xor"

// Place is where a line is.
type Place struct {
	Channel, Rank, Group, Bank int32
	Row, Column                int32
}

// Layout finds the place of an address.
type Layout struct {
	channel, rank, group, bank, row, column field
	hashed                                  uint8 // bits of all banks of a channel, 0: not hashed
}

type field struct {
	shift uint8
	mask  uint32
}

func (f field) of(line uint64) int32 { return int32(uint32(line>>f.shift) & f.mask) }

// Layout returns the layout of a valid memory.
func (s *Spec) Layout() Layout {
	l, err := s.layout()
	if err != nil {
		panic(err)
	}
	return l
}

func (s *Spec) layout() (l Layout, err error) {
	wrong := fmt.Errorf("dram: mapping %q, expected ro, ra, ba, bg, ch and co in some order, and %s behind if banks are hashed", s.Mapping, Hashed)
	mapping, hashed := strings.CutSuffix(s.Mapping, Hashed)
	if len(mapping) != 12 {
		return l, wrong
	}
	at := 0
	for i := 10; i >= 0; i -= 2 {
		name := mapping[i : i+2]
		if strings.Index(mapping[:i], name)&1 == 0 && strings.Contains(mapping[:i], name) {
			return l, wrong
		}
		f, n := &l.row, s.Rows
		switch name {
		case "ro":
		case "ra":
			f, n = &l.rank, s.Ranks
		case "ba":
			f, n = &l.bank, s.Banks
		case "bg":
			f, n = &l.group, s.Groups
		case "ch":
			f, n = &l.channel, s.Channels
		case "co":
			f, n = &l.column, s.RowLines
		default:
			return l, wrong
		}
		*f = field{uint8(at), uint32(n - 1)}
		at += bits.Len(uint(n - 1))
	}
	if hashed {
		l.hashed = uint8(bits.Len(uint(s.Ranks*s.Groups*s.Banks - 1)))
	}
	return l, nil
}

// Of returns the place of the line with a byte address; what is beyond the
// capacity wraps around.
func (l *Layout) Of(address uint64) Place {
	line := address / LineBytes
	p := Place{l.channel.of(line), l.rank.of(line), l.group.of(line), l.bank.of(line), l.row.of(line), l.column.of(line)}
	if l.hashed > 0 {
		l.hash(&p)
	}
	return p
}

// hash moves a line to another bank by its row, the lines of a row all to the same one.
func (l *Layout) hash(p *Place) {
	fold := uint32(0)
	for row := uint32(p.Row); row != 0; row >>= l.hashed {
		fold ^= row
	}
	for _, f := range []struct {
		value *int32
		field field
	}{{&p.Group, l.group}, {&p.Bank, l.bank}, {&p.Rank, l.rank}} {
		*f.value ^= int32(fold & f.field.mask)
		fold >>= bits.Len32(f.field.mask)
	}
}
