package report

import (
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/system"
	"github.com/bitsched/bitsched/tdfg"
)

// KernelRun is a kernel and what became of it.
type KernelRun struct {
	Title   string
	Source  string // in C
	Regions []KernelRegion
	Trace   *system.Trace // of the run; nil for none
	Banks   int           // of the machine
	Facts   Facts
	Notes   []string
}

// KernelRegion is a region with its plan and the commands of one of its executions.
type KernelRegion struct {
	Name     string
	Graph    *tdfg.Graph
	Plan     *lowering.Plan // nil: executed near the memory
	Near     string         // why
	Commands []lowering.Command
}

// maxCommands is how many commands of a region are listed, maxDrawn how many nodes a
// graph that is drawn has, maxEvents how many events a timeline shows.
const (
	maxCommands = 600
	maxDrawn    = 250
	maxEvents   = 60_000
)

// lined is a line of text, and the line of the source that it is of.
type lined struct {
	Text string
	Line int
}

// kernelPart is the source beside the regions.
type kernelPart struct {
	Source  []lined // Line is 0 where nothing became of it
	Regions []regionPart
}

type regionPart struct {
	Name, Near, Plan, More string
	Drawing                template.HTML
	Steps, Commands        []lined
}

func (*kernelPart) template() string { return "kernel" }

// Kernel shows a kernel: its source beside the tensor graphs, plans and commands of
// its regions, and what happened when on the machine.
func Kernel(k *KernelRun) ([]Section, error) {
	part := &kernelPart{}
	linked := map[int]bool{}
	for _, r := range k.Regions {
		p := regionPart{Name: r.Name, Near: r.Near}
		for i := range r.Graph.Nodes {
			linked[r.Graph.Nodes[i].Line] = true
		}
		if len(r.Graph.Nodes) <= maxDrawn {
			text, err := cleanSVG(r.Graph.LinkedSVG())
			if err != nil {
				return nil, err
			}
			p.Drawing = template.HTML(text)
		} else {
			p.More = fmt.Sprintf("A graph of %s nodes is not drawn.", commas(len(r.Graph.Nodes)))
		}
		if r.Plan != nil {
			p.Plan = fmt.Sprintf("%d steps, at most %d rows in use, %d words spilled to memory", len(r.Plan.Steps), r.Plan.Peak, r.Plan.Slots)
			line := func(step int) int { return r.Graph.Nodes[r.Plan.Steps[step].Node].Line }
			for i := range r.Plan.Steps {
				p.Steps = append(p.Steps, lined{stepText(r.Plan, i), line(i)})
			}
			for i := range r.Commands {
				if i == maxCommands {
					p.More = strings.TrimSpace(p.More + fmt.Sprintf(" The first %s of %s commands are listed.", commas(maxCommands), commas(len(r.Commands))))
					break
				}
				c := &r.Commands[i]
				l := lined{Text: r.Plan.CommandText(c)}
				if c.Kind != lowering.Sync {
					l.Line = line(int(c.Step))
				}
				p.Commands = append(p.Commands, l)
			}
		}
		part.Regions = append(part.Regions, p)
	}
	for i, text := range strings.Split(strings.TrimRight(k.Source, "\n"), "\n") {
		l := lined{Text: strings.TrimRight(text, "\r")}
		if linked[i+1] {
			l.Line = i + 1
		}
		part.Source = append(part.Source, l)
	}
	s := Section{ID: "kernel", Title: k.Title, Lead: "Choose a marked line of C to see what became of it: nodes of the tensor graph, steps of the plan, commands, and events on the machine.",
		Parts: []Part{k.Facts, &View{Kind: "kernel"}, part}}
	for _, n := range k.Notes {
		s.Parts = append(s.Parts, Note(n))
	}
	sections := []Section{s}
	if k.Trace != nil {
		timeline, more := timelineOf(k.Trace)
		if len(timeline.Items.Lane) > 0 {
			sections[0].Parts = append(sections[0].Parts, &View{Kind: "lanes", Title: "Timeline", Lead: more, Data: timeline})
		}
		sections = append(sections, Machine(k.Trace, k.Banks)...)
	}
	return sections, nil
}

// stepText is a step of a plan on a line.
func stepText(p *lowering.Plan, i int) string {
	s := &p.Steps[i]
	text := s.Kind.String()
	if s.Program != nil {
		text += " " + s.Program.Spec.Op
	}
	var from []string
	for _, a := range s.Args {
		if a.Const {
			from = append(from, fmt.Sprintf("#%d", a.Value))
		} else {
			from = append(from, rowsText(a.Register))
		}
	}
	if len(from) == 0 && s.Src.Bits > 0 {
		from = append(from, rowsText(s.Src))
	}
	if len(from) > 0 {
		text += " of " + strings.Join(from, " and ")
	}
	if s.Dst.Bits > 0 {
		text += " to " + rowsText(s.Dst)
	}
	return text
}

func rowsText(r lowering.Register) string { return fmt.Sprintf("rows %d+%d", r.Row, r.Bits) }

// timelineOf is a trace as lanes, and what is left out of it.
func timelineOf(t *system.Trace) (*lanesData, string) {
	d := &lanesData{Label: "Timeline of the machine", Unit: "cycles", UnitName: "Cycle", LaneName: "Track", Kinds: []string{"host and barriers", "regions", "compute", "within tiles", "between tiles", "fill and copy", "DRAM", "other"}}
	type track struct {
		name   string
		events []system.TraceEvent
	}
	var tracks []*track
	find := map[string]*track{}
	total, kept := 0, 0
	for e := range t.Events {
		total++
		if kept == maxEvents {
			continue
		}
		kept++
		tr := find[e.Track]
		if tr == nil {
			tr = &track{name: e.Track}
			find[e.Track] = tr
			tracks = append(tracks, tr)
		}
		tr.events = append(tr.events, e)
	}
	rank := func(name string) int {
		i := slices.Index([]string{"regions", "host", "dram"}, name)
		if i < 0 {
			return 3
		}
		return i
	}
	slices.SortFunc(tracks, func(a, b *track) int {
		if x, y := rank(a.name), rank(b.name); x != y {
			return x - y
		}
		return strings.Compare(a.name, b.name)
	})
	texts := map[string]int{}
	g := group{Name: "machine"}
	for lane, tr := range tracks {
		g.Lanes = append(g.Lanes, tr.name)
		slices.SortStableFunc(tr.events, func(a, b system.TraceEvent) int { return int(a.Start - b.Start) })
		for _, e := range tr.events {
			at, ok := texts[e.Name]
			if !ok {
				at = len(d.Texts)
				texts[e.Name] = at
				d.Texts = append(d.Texts, e.Name)
			}
			end := int(e.Start + max(e.Cycles, 1))
			d.Span = max(d.Span, end)
			d.Items.Lane = append(d.Items.Lane, lane)
			d.Items.Start = append(d.Items.Start, int(e.Start))
			d.Items.End = append(d.Items.End, end)
			d.Items.Kind = append(d.Items.Kind, eventKind(e))
			d.Items.Text = append(d.Items.Text, at)
			d.Items.Line = append(d.Items.Line, e.Line)
		}
	}
	d.Groups = []group{g}
	more := ""
	if n := int64(total-kept) + t.Dropped(); n > 0 {
		more = fmt.Sprintf("The first %s events; %s more are left out.", commas(kept), commas(int(n)))
	}
	return d, more
}

// eventKind is the colour of an event.
func eventKind(e system.TraceEvent) int {
	switch {
	case e.Track == "regions":
		return 1
	case e.Track == "host":
		return 0
	case e.Track == "dram":
		return 6
	}
	switch e.Name {
	case lowering.ShiftIntra.String():
		return 3
	case lowering.ShiftInter.String():
		return 4
	case lowering.Fill.String(), lowering.Copy.String():
		return 5
	case lowering.Sync.String(), lowering.Near.String():
		return 7
	}
	return 2
}

// heatData is how busy things are over time, as the script heat.js has it.
type heatData struct {
	Label   string      `json:"label"`
	RowName string      `json:"rowName"`
	Rows    []string    `json:"rows"`
	Columns int         `json:"columns"`
	Span    int64       `json:"span"`
	Values  [][]float64 `json:"values"`
	Most    float64     `json:"most"`
	Scale   float64     `json:"scale"`
	Unit    string      `json:"unit"`
}

// heatColumns is how many parts the time of a heat map has at most.
const heatColumns = 160

// Machine shows how busy the banks and the links between them were over time.
func Machine(t *system.Trace, banks int) []Section {
	span := int64(0)
	for e := range t.Events {
		span = max(span, e.Start+e.Cycles)
	}
	if span == 0 {
		return nil
	}
	columns := int(min(heatColumns, span))
	part := func(cycle int64) int { return int(min(cycle*int64(columns)/span, int64(columns-1))) }
	edge := func(c int) int64 { return int64(c) * span / int64(columns) }
	width := func(c int) float64 { return float64(max(edge(c+1)-edge(c), 1)) }
	bank := &heatData{Label: "Banks over time", RowName: "Bank", Columns: columns, Span: span, Most: 1, Scale: 100, Unit: "% busy"}
	busy := make([]int64, banks)
	for b := range banks {
		bank.Rows = append(bank.Rows, fmt.Sprintf("bank %02d", b))
		bank.Values = append(bank.Values, make([]float64, columns))
	}
	for e := range t.Events {
		if e.Bank < 0 || e.Bank >= banks || e.Cycles == 0 {
			continue
		}
		busy[e.Bank] += e.Cycles
		for c := part(e.Start); c < columns && edge(c) < e.Start+e.Cycles; c++ {
			from, to := max(edge(c), e.Start), min(edge(c+1), e.Start+e.Cycles)
			bank.Values[e.Bank][c] += float64(max(to-from, 0)) / width(c)
		}
	}
	round(bank.Values)
	table := &Table{Table: benchmarks.Table{Title: "Banks", Columns: []benchmarks.Column{{Name: "bank", Left: true}, {Name: "busy, cycles"}, {Name: "of all, %"}}}}
	for b, n := range busy {
		table.Rows = append(table.Rows, []string{bank.Rows[b], strconv.FormatInt(n, 10), fmt.Sprintf("%.1f", 100*float64(n)/float64(span))})
	}
	s := Section{ID: "machine", Title: "Machine", Lead: "How much of each part of the time a bank executed commands, and what went over each link of the network.",
		Parts: []Part{&View{Kind: "heat", Title: "Banks", Data: bank}}}
	if n := t.Dropped(); n > 0 {
		s.Parts = append(s.Parts, Note(fmt.Sprintf("The last %s events are missing.", commas(int(n)))))
	}
	if samples := t.Links(); len(samples) > 1 {
		s.Parts = append(s.Parts, linkParts(samples, span, columns)...)
	} else {
		s.Parts = append(s.Parts, Note("Links over time are of --clock event; this clock looks at the packets of one shift at a time."))
	}
	s.Parts = append(s.Parts, table)
	return []Section{s}
}

// shownLinks is how many links a heat map has, those with most flits.
const shownLinks = 96

// linkParts shows links over time. Between two samples flits are spread evenly.
func linkParts(samples []system.LinkSample, span int64, columns int) []Part {
	last := samples[len(samples)-1].Links
	order := make([]int, 0, len(last))
	for i, l := range last {
		if l.Flits > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if last[a].Flits != last[b].Flits {
			if last[a].Flits > last[b].Flits {
				return -1
			}
			return 1
		}
		return a - b
	})
	all := len(order)
	order = order[:min(all, shownLinks)]
	if all == 0 {
		return []Part{Note("Nothing went over the links between banks.")}
	}
	d := &heatData{Label: "Links over time", RowName: "Link", Columns: columns, Span: span, Scale: 1, Unit: "flits a cycle"}
	table := &Table{Table: benchmarks.Table{Title: "Links", Columns: []benchmarks.Column{{Name: "link", Left: true}, {Name: "flits"}, {Name: "a cycle"}}}}
	for _, l := range order {
		name := fmt.Sprintf("%d to %d", last[l].From, last[l].To)
		row := make([]float64, columns)
		for i := 1; i < len(samples); i++ {
			a, b := &samples[i-1], &samples[i]
			n, from, to := float64(b.Links[l].Flits-a.Links[l].Flits), a.Cycle, max(b.Cycle, a.Cycle+1)
			if n == 0 {
				continue
			}
			for c := int(min(from*int64(columns)/span, int64(columns-1))); c < columns; c++ {
				lo, hi := int64(c)*span/int64(columns), int64(c+1)*span/int64(columns)
				if lo >= to {
					break
				}
				row[c] += n * float64(max(min(hi, to)-max(lo, from), 0)) / float64(to-from) / float64(max(hi-lo, 1))
			}
		}
		for _, v := range row {
			d.Most = max(d.Most, v)
		}
		d.Rows, d.Values = append(d.Rows, name), append(d.Values, row)
		table.Rows = append(table.Rows, []string{name, strconv.FormatUint(last[l].Flits, 10), fmt.Sprintf("%.4f", float64(last[l].Flits)/float64(span))})
	}
	round(d.Values)
	parts := []Part{&View{Kind: "heat", Title: "Links between banks", Data: d}}
	if all > len(order) {
		parts = append(parts, Note(fmt.Sprintf("The %d busiest of %d links.", len(order), all)))
	}
	return append(parts, table)
}

// round keeps four digits, which is what a colour shows at most.
func round(rows [][]float64) {
	for _, r := range rows {
		for i, v := range r {
			r[i], _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64) // of its own text
		}
	}
}
