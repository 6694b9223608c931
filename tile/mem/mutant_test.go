package mem

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// mutant is a protocol with one transition changed.
type mutant struct {
	name     string
	protocol *Protocol
}

// mutants are all protocols with an action left out, or another state after a
// transition.
func mutants() (list []mutant) {
	base := MESI()
	for s := range numStates {
		for e := range numEvents {
			t := base.Cache[s][e]
			if !t.valid {
				continue
			}
			for k, a := range t.Do {
				if a == noAction {
					continue
				}
				p := MESI()
				p.Cache[s][e].Do[k] = noAction
				list = append(list, mutant{fmt.Sprintf("%s, %s without %s", s, e, a), p})
			}
			for _, next := range []State{I, S, M} {
				if t.Next <= M && next != t.Next && t.Do[0] != hit { // hits keep the state, but for a write in E
					p := MESI()
					p.Cache[s][e].Next = next
					list = append(list, mutant{fmt.Sprintf("%s, %s to %s instead of %s", s, e, next, t.Next), p})
				}
			}
		}
	}
	for s := range numHomeStates {
		for e := range numHomeEvents {
			t := base.Home[s][e]
			if !t.valid {
				continue
			}
			for k, a := range t.Do {
				if a == noHomeAction {
					continue
				}
				p := MESI()
				p.Home[s][e].Do[k] = noHomeAction
				list = append(list, mutant{fmt.Sprintf("home %s, %s without %s", s, e, a), p})
			}
			for _, next := range []HomeState{HI, HS, HX} {
				if t.Next <= HX && next != t.Next {
					p := MESI()
					p.Home[s][e].Next = next
					list = append(list, mutant{fmt.Sprintf("home %s, %s to %s instead of %s", s, e, next, t.Next), p})
				}
			}
		}
	}
	return list
}

// harmless are mutants that no access can tell apart, with the reason.
var harmless = map[string]string{
	"S, Evict without dropCopy":           "the copy is gone anyway; the action tells the core, whose order of loads the litmus tests look at",
	"IS_D, DataE to M instead of E":       "a line that nobody wrote is written back",
	"home S, PutOther without dropSharer": "a core that has no copy is told to drop it",
	"home X, PutOwner without clearOwner": "the home forgets the line",
	"home I, PutOther to S instead of I":  "the next reader may only read",
	"home X, PutOwner to S instead of I":  "the next reader may only read",
}

// TestMutants changes each transition of the protocol in turn: the random tester
// must tell every mutant from the protocol.
func TestMutants(t *testing.T) {
	list := mutants()
	require.Greater(t, len(list), 25)
	caught := 0
	for _, m := range list {
		var err error
		for seed := uint64(0); seed < 8 && err == nil; seed++ {
			shape := testShape{cores: 5, banks: 2, lines: 12, accesses: 6000, delay: 60}
			if seed%2 == 1 {
				shape = testShape{cores: 24, banks: 1, lines: 3, accesses: 6000, delay: 200}
			}
			if seed > 5 {
				shape = testShape{cores: 4, banks: 1, lines: 24, accesses: 30_000, delay: 100}
			}
			x := newTester(m.protocol, seed, shape)
			err = safely(x.run)
		}
		if err == nil {
			if harmless[m.name] == "" {
				t.Errorf("%s: not caught", m.name)
			}
			continue
		}
		require.Empty(t, harmless[m.name], "%s: %v", m.name, err)
		caught++
	}
	t.Logf("%d of %d mutants caught", caught, len(list))
}

// safely makes an error of a panic: a mutant may ask a map for what is not there.
func safely(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return f()
}
