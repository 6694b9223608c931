package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bitsched/bitsched/benchmarks/gearbox"
)

// paperKey is what entries depend on: documents of one key can be merged.
type paperKey struct {
	Program    string   `json:"program"`
	IDs        []string `json:"ids"` // of all shards
	Machine    string   `json:"machine_digest"`
	Layers     int      `json:"layers"`
	Vaults     int      `json:"vaults"`
	Scale      int      `json:"scale"`
	Locality   float64  `json:"locality"`
	Datasets   []string `json:"datasets"`
	Iterations int      `json:"iterations"`
	Check      bool     `json:"check"`
	Seed       uint64   `json:"seed"`
}

// paperDocument is what sparse paper --json prints.
type paperDocument struct {
	paperKey
	Shard      string           `json:"shard,omitempty"`
	Entries    []*gearbox.Entry `json:"entries"`
	Stopped    string           `json:"stopped"`
	CPUSeconds float64          `json:"cpu_seconds"`
}

func newPaperDocument(ids []string, o gearbox.Options) *paperDocument {
	v := version()
	sum := sha256.Sum256([]byte(o.Machine.Effective()))
	org := o.Machine.Organisation
	return &paperDocument{paperKey: paperKey{Program: strings.TrimSpace(v.Version + " " + v.Revision), IDs: ids, Machine: hex.EncodeToString(sum[:8]), Layers: org.Layers, Vaults: org.Vaults,
		Scale: o.Scale, Locality: o.Locality, Datasets: o.Datasets, Iterations: o.Iterations, Check: o.Check, Seed: o.Seed}}
}

func (a *app) sparseMergeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "merge FILE...",
		Short: "Put documents of sparse paper --shard --json together",
		Long: `Merge reads what sparse paper --shard I/N --json printed on several machines, and
prints the document that one machine would have printed. Documents of other programs,
machines, sizes or seeds, entries that are there twice, and entries that are missing
are refused.`,
		Example: `  bitsched sparse merge part1.json part2.json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError(cmd, "no FILE, expected documents of sparse paper --shard --json")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			var all *paperDocument
			from := map[string]string{}
			found := map[string]*gearbox.Entry{}
			for _, file := range args {
				doc, err := a.readPaperDocument(file)
				if err != nil {
					return err
				}
				if all == nil {
					all = &paperDocument{paperKey: doc.paperKey}
				}
				if err := sameKey(all.paperKey, doc.paperKey); err != nil {
					return fmt.Errorf("%s: %w as in %s", file, err, args[0])
				}
				for _, e := range doc.Entries {
					if other, ok := from[e.ID]; ok {
						return fmt.Errorf("%s: entry %s again, which %s has", file, e.ID, other)
					}
					from[e.ID], found[e.ID] = file, e
				}
				all.CPUSeconds += doc.CPUSeconds
			}
			var missing []string
			for _, id := range all.IDs {
				if found[id] == nil {
					missing = append(missing, id)
					continue
				}
				all.Entries = append(all.Entries, found[id])
			}
			if len(missing) > 0 {
				return fmt.Errorf("bitsched: %s missing, expected all of %s", strings.Join(missing, ", "), strings.Join(all.IDs, ", "))
			}
			return a.printJSON(all)
		},
	}
}

// readPaperDocument reads a document.
func (a *app) readPaperDocument(file string) (*paperDocument, error) {
	text, err := a.readInput(file, 1<<28)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	doc := &paperDocument{}
	if err := d.Decode(doc); err != nil || len(doc.IDs) == 0 {
		return nil, fmt.Errorf("%s: no document of sparse paper --json", file)
	}
	if doc.Stopped != "" {
		return nil, fmt.Errorf("%s: stopped by %s, expected a complete shard", file, doc.Stopped)
	}
	return doc, nil
}

// sameKey says in which field two keys differ.
func sameKey(want, got paperKey) error {
	fields := func(k paperKey) (m map[string]json.RawMessage) {
		text, err := json.Marshal(k)
		if err == nil {
			err = json.Unmarshal(text, &m)
		}
		if err != nil {
			panic(err) // strings and numbers always have a form
		}
		return m
	}
	a, b := fields(want), fields(got)
	for _, key := range []string{"program", "ids", "machine_digest", "layers", "vaults", "scale", "locality", "datasets", "iterations", "check", "seed"} {
		if !bytes.Equal(a[key], b[key]) {
			return fmt.Errorf("%s is %s, expected %s", key, b[key], a[key])
		}
	}
	return nil
}
