package core

import (
	"fmt"

	"github.com/bitsched/bitsched/tile/uop"
)

// Spec is a core. Widths are micro-ops a cycle, times are cycles.
type Spec struct {
	Name string `yaml:"name" json:"name"`
	// InOrder lets micro-ops issue in the order of the program only.
	InOrder bool `yaml:"in_order" json:"in_order"`

	Fetch    int `yaml:"fetch" json:"fetch"`       // a taken branch ends a cycle's fetch
	Dispatch int `yaml:"dispatch" json:"dispatch"` // from the front end to the window
	Issue    int `yaml:"issue" json:"issue"`
	Commit   int `yaml:"commit" json:"commit"`
	// FrontEnd is from fetch to dispatch; Buffer micro-ops fit into it.
	FrontEnd int `yaml:"front_end_cycles" json:"front_end_cycles"`
	Buffer   int `yaml:"front_end_buffer" json:"front_end_buffer"`
	// Redirect is from the execution of a mispredicted branch to the next fetch.
	Redirect  int    `yaml:"redirect_cycles" json:"redirect_cycles"`
	Predictor string `yaml:"predictor" json:"predictor"` // one of Predictors

	ROB       int `yaml:"rob" json:"rob"`
	IQ        int `yaml:"iq" json:"iq"` // the oldest that have not issued are considered
	LQ        int `yaml:"lq" json:"lq"`
	SQ        int `yaml:"sq" json:"sq"`
	Registers int `yaml:"registers" json:"registers"` // results in flight; 0: as many as there are micro-ops

	LoadPorts int `yaml:"load_ports" json:"load_ports"`
	// StorePorts take a store's address and data, and, if SharedPorts, what goes from
	// the queue to the cache as well.
	StorePorts  int  `yaml:"store_ports" json:"store_ports"`
	SharedPorts bool `yaml:"shared_store_ports" json:"shared_store_ports"`
	// StoreBuffer is how many stores that have left the SQ wait for their line; 0: they
	// wait in the SQ. StoresInFlight of those that are committed ask for their lines at
	// once, whatever the order in which they are performed.
	StoreBuffer    int `yaml:"store_buffer" json:"store_buffer"`
	StoresInFlight int `yaml:"stores_in_flight" json:"stores_in_flight"`
	// StorePrefetch asks for the line of a store when its address is known, so that it may
	// be there when the store is to be performed.
	StorePrefetch bool `yaml:"store_prefetch,omitempty" json:"store_prefetch,omitempty"`
	// LoadSelect says which of the loads that have their address go to the cache
	// first: the oldest (age), or those in the first places of the LQ (slot), as where
	// the queue has no age matrix.
	LoadSelect string `yaml:"load_select" json:"load_select"`
	// EarlyLQ frees the place of a load when it has its data, not when it commits.
	EarlyLQ bool `yaml:"early_lq" json:"early_lq"`

	// HitUse is from the issue of a load, which takes a cycle for its address, to that
	// of its first user, if the line is in the L1; FillUse the same from the time when
	// the line comes there.
	HitUse  int `yaml:"hit_use_cycles" json:"hit_use_cycles"`
	FillUse int `yaml:"fill_use_cycles" json:"fill_use_cycles"`
	Forward int `yaml:"forward_cycles" json:"forward_cycles"` // from a store in the queue to a load

	Units []Unit `yaml:"units" json:"units"`

	// Plain executes each cycle of loops that wait for other threads, as of all others: to
	// compare with, as nothing else changes.
	Plain bool `yaml:"-" json:"-"`
}

// Unit is functional units that are alike.
type Unit struct {
	Name  string `yaml:"name" json:"name"`
	Count int    `yaml:"count" json:"count"` // 0: unlimited
	Runs  []Run  `yaml:"runs" json:"runs"`
}

// Run is a kind of micro-op that a unit executes.
type Run struct {
	Kind string `yaml:"kind" json:"kind"`
	// SIMD tells whether those of one lane (scalar), of several (simd), or all (any).
	Width    string `yaml:"width,omitempty" json:"width,omitempty"`
	Latency  int    `yaml:"latency" json:"latency"`
	Interval int    `yaml:"interval,omitempty" json:"interval,omitempty"` // from one to the next in a unit; 0: a cycle
}

// maxLatency bounds latencies of units and of loads that hit.
const maxLatency = 200

// Validate refuses what cannot be built.
func (s *Spec) Validate() error {
	for _, p := range []struct {
		name        string
		value       int
		least, most int
	}{
		{"fetch", s.Fetch, 1, 64}, {"dispatch", s.Dispatch, 1, 64}, {"issue", s.Issue, 1, 64}, {"commit", s.Commit, 1, 64},
		{"front_end_cycles", s.FrontEnd, 1, 100}, {"front_end_buffer", s.Buffer, s.Fetch, 4096}, {"redirect_cycles", s.Redirect, 0, 1000},
		{"rob", s.ROB, 1, 8192}, {"iq", s.IQ, 1, 8192}, {"lq", s.LQ, 1, 8192}, {"sq", s.SQ, 1, 8192}, {"registers", s.Registers, 0, 1 << 20},
		{"load_ports", s.LoadPorts, 1, 64}, {"store_ports", s.StorePorts, 1, 64}, {"store_buffer", s.StoreBuffer, 0, 8192},
		{"stores_in_flight", s.StoresInFlight, 1, 8192}, {"hit_use_cycles", s.HitUse, 2, maxLatency}, {"fill_use_cycles", s.FillUse, 1, maxLatency},
		{"forward_cycles", s.Forward, 1, maxLatency},
	} {
		if p.value < p.least || p.value > p.most {
			return fmt.Errorf("core: %s: %s of %d, expected %d to %d", s.Name, p.name, p.value, p.least, p.most)
		}
	}
	if s.SharedPorts && s.StorePorts < 2 {
		return fmt.Errorf("core: %s: %d store port that is shared, expected at least 2", s.Name, s.StorePorts)
	}
	if s.LoadSelect != "age" && s.LoadSelect != "slot" {
		return fmt.Errorf("core: %s: load select %q, expected age or slot", s.Name, s.LoadSelect)
	}
	if Predictors[s.Predictor] == nil {
		return fmt.Errorf("core: %s: predictor %q, expected %s", s.Name, s.Predictor, predictorNames())
	}
	_, err := s.table()
	return err
}

// issueInfo is how a kind of micro-op, scalar or SIMD, is executed.
type issueInfo struct {
	unit     int // -1: none is needed
	latency  int
	interval int
}

// table finds the unit of each kind.
func (s *Spec) table() (t [2][uop.NumKinds]issueInfo, err error) {
	for w := range t {
		for k := range t[w] {
			t[w][k] = issueInfo{-1, 0, 0}
		}
	}
	for i, u := range s.Units {
		if u.Count < 0 || u.Count > 64 {
			return t, fmt.Errorf("core: %s: %d units %s, expected 0 to 64", s.Name, u.Count, u.Name)
		}
		for _, r := range u.Runs {
			k, ok := kindNamed(r.Kind)
			switch {
			case !ok:
				return t, fmt.Errorf("core: %s: unit %s runs kind %q, which does not exist", s.Name, u.Name, r.Kind)
			case r.Latency < 1 || r.Latency > maxLatency || r.Interval < 0 || r.Interval > maxLatency:
				return t, fmt.Errorf("core: %s: unit %s runs %s in %d cycles, one every %d, expected 1 to %d", s.Name, u.Name, r.Kind, r.Latency, r.Interval, maxLatency)
			case r.Width != "" && r.Width != "any" && r.Width != "scalar" && r.Width != "simd":
				return t, fmt.Errorf("core: %s: unit %s runs %s of width %q, expected scalar, simd or any", s.Name, u.Name, r.Kind, r.Width)
			}
			for w, skip := range []string{"simd", "scalar"} {
				if r.Width == skip {
					continue
				}
				if t[w][k].latency != 0 {
					return t, fmt.Errorf("core: %s: unit %s runs %s, which %s runs already", s.Name, u.Name, r.Kind, s.Units[t[w][k].unit].Name)
				}
				t[w][k] = issueInfo{i, r.Latency, max(1, r.Interval)}
			}
		}
	}
	for k := uop.IntALU; k < uop.NumKinds; k++ {
		if k.Memory() || k == uop.Fence {
			continue
		}
		for w := range t {
			if t[w][k].latency == 0 && (k != uop.Branch || w == 0) {
				return t, fmt.Errorf("core: %s: no unit runs %s", s.Name, k)
			}
		}
	}
	return t, nil
}

func kindNamed(name string) (uop.Kind, bool) {
	for k := range uop.NumKinds {
		if k.String() == name {
			return k, true
		}
	}
	return 0, false
}
