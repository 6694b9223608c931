package xmg

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bitsched/bitsched/internal/invariants"
)

// SynthOptions are how [Synthesize] works. The zero value is the default: few
// gates, at fast effort.
type SynthOptions struct {
	Effort Effort
	// Script is run instead of that of the effort, if it is not empty; see
	// [ParseScript].
	Script string
	Seed   uint64 // of the random choices
	// Cost is what the result has least of; nil means gates. It is called with
	// the result of each pass. The passes themselves go for gates.
	Cost func(*Graph) float64
	// Progress is called now and then from the calling goroutine; may be nil.
	Progress func(Progress)
}

// SynthReport is what [Synthesize] did.
type SynthReport struct {
	Passes  []PassReport
	Stopped bool // the context ended before the script did

	// Trail are the graphs on the way to the result, from the graph given to the
	// result, each made of the one before by a pass, or on the way to what a pass made. It is easier to prove each of
	// them equal to the next than the last to the first, see [EquivalentAlong].
	Trail []*Graph
}

// PassReport is one run of a pass.
type PassReport struct {
	Pass   string
	Before int // gates
	After  int // gates of what the pass gave
}

// Synthesize makes the graph smaller with the passes of a script and returns
// the best of their results, an equivalent graph with the same inputs and
// outputs that costs no more than g.
//
// When the context ends it returns the best so far, and says so in the report;
// that is no error. The result depends on g and the options only. Time and
// memory are those of the passes: at fast effort they are those of [Map]; the
// work that the other efforts do is bounded whatever the size (see efforts), so
// that large graphs get fewer passes.
func Synthesize(ctx context.Context, g *Graph, opt SynthOptions) (*Graph, *SynthReport, error) {
	script := efforts[opt.Effort].script
	if opt.Script != "" {
		var err error
		if script, err = ParseScript(opt.Script); err != nil {
			return nil, nil, err
		}
	}
	g = g.Sweep()
	start := &milestone{g: g}
	s := &synthesis{ctx: ctx, opt: opt, report: &SynthReport{}, cur: start, best: start, room: efforts[opt.Effort].work}
	if opt.Script != "" {
		s.room = efforts[High].work
	}
	s.cost, s.wide = s.costOf(g), isWide(g)
	err := s.run(script)
	switch {
	case err == nil:
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		s.report.Stopped = true
	default:
		return nil, nil, err
	}
	for m := s.best; m != nil; m = m.from {
		s.report.Trail = append(s.report.Trail, m.g)
	}
	slices.Reverse(s.report.Trail)
	return s.best.g, s.report, nil
}

// milestone is a graph and what it was made of.
type milestone struct {
	g    *Graph
	from *milestone
}

// maxTrail is the number of gates from which on graphs on the way are not kept: such
// graphs get few passes, and memory is what they are short of.
const maxTrail = 2_000_000

// synthesis is a running script.
type synthesis struct {
	ctx    context.Context
	opt    SynthOptions
	report *SynthReport
	cur    *milestone // what the next pass gets
	best   *milestone
	cost   float64 // of best
	room   int64   // work that is left
	done   int64   // work so far
	runs   uint64  // of passes so far
	wide   bool    // what was given is, see isWide

	choice *choice // that is being made, nil if none
}

// choice is one among alternatives.
type choice struct {
	least float64 // cost of the best alternative so far
	vain  int     // gates of trials in a row that gained nothing
}

// errNotThis is of a pass that can do nothing with a graph.
var errNotThis = errors.New("xmg: this pass is not for this graph")

func (s *synthesis) costOf(g *Graph) float64 {
	if s.opt.Cost == nil {
		return float64(g.NumGates())
	}
	return s.opt.Cost(g)
}

// run runs the steps of a script one after another.
func (s *synthesis) run(sc Script) error {
	last := s.cost // before the step before
	for _, st := range sc {
		if st.onGain && s.cost >= last {
			continue
		}
		last = s.cost
		var err error
		switch {
		case st.pass != nil:
			if err = s.pass(st.pass); errors.Is(err, errNotThis) && s.choice == nil {
				err = nil
			}
		case st.others != nil:
			err = s.choose(st)
		default:
			err = s.repeat(st)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// choose runs all alternatives on the same graph and goes on with what costs
// least; of equals, with the first. One that has a pass which can do nothing ends there.
func (s *synthesis) choose(st Step) error {
	start, outer := s.cur, s.choice
	s.choice = &choice{least: math.Inf(1)}
	defer func() { s.choice = outer }()
	pick := start
	for _, alternative := range append([]Script{st.group}, st.others...) {
		s.cur = start
		switch err := s.run(alternative); {
		case errors.Is(err, errNotThis):
			continue
		case err != nil:
			return err
		}
		if c := s.costOf(s.cur.g); c < s.choice.least {
			pick, s.choice.least = s.cur, c
		}
	}
	s.cur = pick
	return nil
}

// repeat runs a group until it gains nothing, but a limited number of times.
func (s *synthesis) repeat(st Step) error {
	effort := &efforts[s.opt.Effort]
	idle, vain := 0, 0
	for range st.most {
		cost, runs, done := s.cost, s.runs, s.done
		if err := s.run(st.group); err != nil {
			return err
		}
		if s.runs == runs {
			break // no work is left for any of its passes
		}
		least := max(minGroupGain, float64(s.done-done)/float64(effort.worth))
		if s.cost < cost*(1-least) {
			idle, vain = 0, 0
			continue
		}
		idle++
		if vain += s.best.g.NumGates(); idle == effort.patience || vain >= effort.vain {
			break
		}
	}
	return nil
}

// minGroupGain is the share of the cost that a group has to gain to be run again, however
// little it works.
const minGroupGain = 1e-4

// vainGates is how many gates are looked at without a gain before a search for chances
// that are rare is ended, by runs of a whole graph. What gains a share p of the gates
// in the mean gains nothing of n with probability e^(-pn): after 512 gates, p is less
// than 0.6 % at a confidence of 95 %. A large graph shows that in one run, a small one may need several.
const vainGates = 512

// gainPays is the work that each gate adds which a pass with a bound of its own saves: where
// it saves many, others find what they did not before, however little the starts have left them.
const gainPays = 1000

func (s *synthesis) pass(p *pass) error {
	if err := s.ctx.Err(); err != nil {
		return fmt.Errorf("xmg: synthesis: %w", err)
	}
	before := s.cur.g.NumGates()
	if p.most > 0 && before > p.most {
		return nil
	}
	work := p.work * int64(before)
	again := slices.ContainsFunc(s.report.Passes, func(r PassReport) bool { return r.Pass == p.name })
	if work > s.room && (again || !p.first) {
		return nil // too large a graph for this pass at this effort
	}
	if p.name == trialPass && s.choice != nil && s.choice.vain >= vainGates && s.costOf(s.cur.g) >= s.choice.least {
		return nil // others are as good already, and trials gain nothing
	}
	s.room -= work
	s.done += work
	s.runs++
	from := s.cur
	g, err := p.run(passContext{
		Context: s.ctx, seed: s.opt.Seed + s.runs*0x9E3779B97F4A7C15, wide: s.wide, progress: s.progress(p.name),
		via: func(g *Graph) { from = &milestone{g, from} },
	}, s.cur.g)
	if err != nil {
		return err
	}
	if invariants.Enabled {
		if err := g.Check(); err != nil {
			return fmt.Errorf("xmg: after %s: %w", p.name, err)
		}
	}
	s.report.Passes = append(s.report.Passes, PassReport{p.name, before, g.NumGates()})
	gain := before - g.NumGates()
	if p.work == 0 {
		s.room += gainPays * int64(max(0, gain))
	}
	if p.name == trialPass && s.choice != nil {
		if s.choice.vain += before; gain > 0 {
			s.choice.vain = 0
		}
	}
	if from.from != nil && from.g.NumGates() > maxTrail {
		from = from.from
	}
	s.cur = &milestone{g, from}
	if c := s.costOf(g); c < s.cost {
		s.best, s.cost = s.cur, c
	}
	return nil
}

// progress puts the gates of the best graph so far into the reports of a pass.
func (s *synthesis) progress(name string) func(Progress) {
	if s.opt.Progress == nil {
		return nil
	}
	best := s.best.g.NumGates()
	return func(p Progress) {
		if p.Phase != name {
			p.Phase = name + ", " + p.Phase
		}
		p.Phase = fmt.Sprintf("%d gates, %s", best, p.Phase)
		s.opt.Progress(p)
	}
}

// Script is a sequence of passes and groups of passes.
type Script []Step

// Step is a pass, a group that is repeated while it gains, or a choice among
// alternatives.
type Step struct {
	pass   *pass
	group  Script   // what is repeated, or the first alternative
	most   int      // times that the group is run at most
	others []Script // further alternatives
	onGain bool     // it is left out where the step before it gained nothing
}

func (sc Script) String() string {
	var words []string
	for _, st := range sc {
		if st.onGain {
			words = append(words, "&")
		}
		switch {
		case st.pass != nil:
			words = append(words, st.pass.name)
		case st.others != nil:
			text := "[" + st.group.String()
			for _, other := range st.others {
				text += " | " + other.String()
			}
			words = append(words, text+"]")
		case st.most == maxRepeat:
			words = append(words, "("+st.group.String()+")*")
		default:
			words = append(words, fmt.Sprintf("(%v)*%d", st.group, st.most))
		}
	}
	return strings.Join(words, " ")
}

// maxRepeat bounds the runs of a group; each of them gains.
const maxRepeat = 1000

// ParseScript reads a script: names of passes, apart by spaces or semicolons,
// and groups in parentheses; a group is followed by `*`, to repeat it while it
// gains, or `*N`, to repeat it N times at most. Of alternatives in brackets, apart
// by bars, each is run on the same graph, and the best result is taken. What follows an
// ampersand is run where the step before it gained.
//
//	[map | exclusive map] (rewrite resub)* anneal & anneal-long
func ParseScript(text string) (Script, error) {
	r := strings.NewReplacer("(", " ( ", ")", " ) ", "[", " [ ", "]", " ] ", "|", " | ", "&", " & ", ";", " ", "*", " *")
	words := strings.Fields(r.Replace(text))
	sc, rest, err := parseSteps(words, 0)
	if err != nil {
		return nil, err
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("xmg: script: %q without a group before it, expected the name of a pass", rest[0])
	}
	if len(sc) == 0 {
		return nil, errors.New("xmg: script is empty, expected names of passes")
	}
	return sc, nil
}

const maxNesting = 16

func parseSteps(words []string, depth int) (sc Script, rest []string, err error) {
	if depth > maxNesting {
		return nil, nil, fmt.Errorf("xmg: script: groups nested more than %d deep", maxNesting)
	}
	for len(words) > 0 {
		w := words[0]
		var st Step
		if w == "&" {
			if st.onGain, words = true, words[1:]; len(sc) == 0 || len(words) == 0 || strings.Contains(")]|*&", words[0][:1]) {
				return nil, nil, errors.New("xmg: script: & without a step on either side, expected the names of passes")
			}
			w = words[0]
		}
		switch {
		case strings.Contains(")]|*", w[:1]):
			return sc, words, nil
		case w == "(":
			st.most = 1
			if st.group, words, err = parseGroup(words[1:], depth); err != nil {
				return nil, nil, err
			}
			if words[0] != ")" {
				return nil, nil, fmt.Errorf("xmg: script: %q in a group, expected )", words[0])
			}
			if words = words[1:]; len(words) > 0 && words[0][0] == '*' {
				if st.most, err = parseRepeat(words[0]); err != nil {
					return nil, nil, err
				}
				words = words[1:]
			}
		case w == "[":
			if st.group, words, err = parseGroup(words[1:], depth); err != nil {
				return nil, nil, err
			}
			for st.others = []Script{}; words[0] == "|"; {
				var other Script
				if other, words, err = parseGroup(words[1:], depth); err != nil {
					return nil, nil, err
				}
				st.others = append(st.others, other)
			}
			if words[0] != "]" {
				return nil, nil, fmt.Errorf("xmg: script: %q among alternatives, expected | or ]", words[0])
			}
			words = words[1:]
		default:
			if st.pass, err = lookupPass(w); err != nil {
				return nil, nil, err
			}
			words = words[1:]
		}
		sc = append(sc, st)
	}
	return sc, nil, nil
}

// parseGroup parses the steps of a group; what ends it comes first in the rest.
func parseGroup(words []string, depth int) (Script, []string, error) {
	sc, rest, err := parseSteps(words, depth+1)
	switch {
	case err != nil:
		return nil, nil, err
	case len(rest) == 0:
		return nil, nil, errors.New("xmg: script: a group is not closed, expected ) or ]")
	case len(sc) == 0:
		return nil, nil, errors.New("xmg: script: a group is empty, expected names of passes")
	}
	return sc, rest, nil
}

func parseRepeat(word string) (int, error) {
	if word == "*" {
		return maxRepeat, nil
	}
	n := 0
	if _, err := fmt.Sscanf(word, "*%d", &n); err != nil || n < 1 || n > maxRepeat || word != fmt.Sprintf("*%d", n) {
		return 0, fmt.Errorf("xmg: script: %q after a group, expected * or *1 to *%d", word, maxRepeat)
	}
	return n, nil
}
