package gen

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bitsched/bitsched/netlist"
)

// MaxNodes is the largest network that Build makes: 2^26 nodes, which take
// 1 GiB. That is a multiplier of about 4700 bits, or of about 2890 bits with
// [Options.AndInverter]. It is far below the 2^31 nodes that a
// [netlist.Network] can hold, so that a width typed with one digit too many is
// an error at once and not an exhausted memory.
const MaxNodes = 1 << 26

// ErrTooLarge is what Build's error wraps when the network would have more than
// [MaxNodes] nodes.
var ErrTooLarge = errors.New("circuit too large")

// Options say what Build builds.
type Options struct {
	// Width is the width in bits, as the kind's doc defines it. 0 means the
	// kind's default.
	Width int

	// Extra gives the kind's extra parameters by name. One that is missing has
	// its default.
	Extra map[string]int

	// AndInverter asks for And nodes only.
	AndInverter bool

	// Progress, if set, is called now and then with the number of nodes built
	// and the expected number, which is an upper bound.
	Progress func(done, total int)
}

// Build builds a circuit: name is that of a kind or an alias. The error tells
// what was wrong with the options and what was expected, wraps [ErrTooLarge]
// where the circuit would be too large, or wraps the error of a context that
// was cancelled.
func Build(ctx context.Context, name string, o Options) (*netlist.Network, error) {
	k, err := Lookup(name)
	if err != nil {
		return nil, err
	}
	return k.Build(ctx, o)
}

// Lookup finds a kind by its name or by an alias.
func Lookup(name string) (*Kind, error) {
	for i := range Kinds {
		if k := &Kinds[i]; k.Name == name || slices.Contains(k.Aliases, name) {
			return k, nil
		}
	}
	names := make([]string, 0, len(Kinds))
	for i := range Kinds {
		names = append(names, Kinds[i].Name)
		names = append(names, Kinds[i].Aliases...)
	}
	slices.Sort(names)
	return nil, fmt.Errorf("gen: unknown kind %q, expected one of %s", name, strings.Join(names, ", "))
}

// Param is an integer parameter of a kind.
type Param struct {
	Name string
	Doc  string // one line

	// Default is the value when none is given. An extra parameter whose default
	// is 0 while Min is larger takes its value from the width, as Doc says.
	Default  int
	Min, Max int // inclusive
}

// Kind is a family of circuits.
type Kind struct {
	Name    string
	Aliases []string // other names of this kind
	Doc     string   // what it computes, with its inputs and outputs
	Width   Param    // the width in bits; its Doc says of what
	Extra   []Param  // further parameters

	// derive gives the value of extra parameter i when its default depends on
	// the width; nil when there is none such.
	derive func(width, i int) int
	// check tells which combination of parameters is wrong; nil allows all.
	check func(p params) error
	// size is an upper bound on the gates, by the sort of gate; nil for circuits
	// of a word or two, which are always small enough. These are built with no
	// gate twice and then swept: their parts may build what is not needed.
	size func(p params) tally
	// build adds inputs, gates and outputs.
	build func(b *builder, p params)
}

// params are the values of a kind's parameters, checked against the limits.
type params struct {
	width int
	extra [6]int // in the order of Kind.Extra
}

// Build builds the circuit. Its errors are those of the function [Build].
func (k *Kind) Build(ctx context.Context, o Options) (n *netlist.Network, err error) {
	p, err := k.resolve(o)
	if err != nil {
		return nil, err
	}
	var total int64
	if k.size != nil {
		total = k.size(p).nodes(o.AndInverter)
	}
	if total > MaxNodes {
		return nil, fmt.Errorf("gen: %s of width %d would take up to %d nodes, at most %d are allowed: %w",
			k.Name, p.width, total, MaxNodes, ErrTooLarge)
	}
	b := &builder{
		net:      netlist.New(strings.ReplaceAll(k.Name, "-", "_") + "_" + strconv.Itoa(p.width)),
		and:      o.AndInverter,
		ctx:      ctx,
		progress: o.Progress,
		total:    int(total),
	}
	if k.size == nil {
		b.known = map[gate]lit{}
	}
	defer func() {
		// Every gate may find that the context is done; unwinding from there
		// keeps the error out of the arithmetic.
		if r := recover(); r != nil {
			s, ok := r.(stop)
			if !ok {
				panic(r)
			}
			n, err = nil, fmt.Errorf("gen: %s of width %d: %w", k.Name, p.width, s.err)
		}
	}()
	b.breathe()
	b.net.Grow(int(total))
	k.build(b, p)
	if k.size == nil {
		return swept(b.net), nil
	}
	return b.net, nil
}

// resolve fills in the defaults and checks the limits.
func (k *Kind) resolve(o Options) (params, error) {
	p := params{width: o.Width}
	if p.width == 0 {
		p.width = k.Width.Default
	}
	if err := k.within(&k.Width, p.width); err != nil {
		return p, err
	}
	known := 0
	for i := range k.Extra {
		x := &k.Extra[i]
		v, given := o.Extra[x.Name]
		switch {
		case given:
			known++
		case x.Default == 0 && k.derive != nil:
			v = k.derive(p.width, i)
		default:
			v = x.Default
		}
		if given || x.Default != 0 {
			if err := k.within(x, v); err != nil {
				return p, err
			}
		}
		p.extra[i] = v
	}
	if known < len(o.Extra) {
		return p, k.unknown(o.Extra)
	}
	if k.check != nil {
		if err := k.check(p); err != nil {
			return p, fmt.Errorf("gen: %s: %w", k.Name, err)
		}
	}
	return p, nil
}

func (k *Kind) within(x *Param, v int) error {
	if v < x.Min || v > x.Max {
		return fmt.Errorf("gen: %s: %s is %d, expected %d to %d", k.Name, x.Name, v, x.Min, x.Max)
	}
	return nil
}

// unknown names the first parameter, in order of name, that k does not have.
func (k *Kind) unknown(extra map[string]int) error {
	var bad []string
	for name := range extra {
		if !slices.ContainsFunc(k.Extra, func(x Param) bool { return x.Name == name }) {
			bad = append(bad, name)
		}
	}
	slices.Sort(bad)
	if len(k.Extra) == 0 {
		return fmt.Errorf("gen: %s has no parameter %q, expected only a width", k.Name, bad[0])
	}
	names := make([]string, len(k.Extra))
	for i, x := range k.Extra {
		names[i] = x.Name
	}
	return fmt.Errorf("gen: %s has no parameter %q, expected one of %s", k.Name, bad[0], strings.Join(names, ", "))
}
