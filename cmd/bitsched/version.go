package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/bitsched/bitsched/sram"
)

// buildInfo says which build this is, as far as the Go tool recorded it.
type buildInfo struct {
	Version  string `json:"version"`            // module version, "devel" for a checkout
	Revision string `json:"revision,omitempty"` // commit
	Modified bool   `json:"modified"`           // built from changed files
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Executor string `json:"executor"` // what rows are computed with
}

func version() buildInfo {
	b := buildInfo{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Executor: sram.Executor()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

func (b buildInfo) String() string {
	s := "bitsched " + b.Version
	if b.Revision != "" {
		s += " " + b.Revision[:min(12, len(b.Revision))]
	}
	if b.Modified {
		s += " modified"
	}
	return fmt.Sprintf("%s (%s %s, rows by %s)", s, b.Go, b.Platform, b.Executor)
}

func (a *app) versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  bitsched version\n  bitsched version --json",
		Args:    exactArgs(),
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return a.printJSON(version())
			}
			return a.printText(version().String() + "\n")
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}
