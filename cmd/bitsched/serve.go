package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bitsched/bitsched/benchmarks/report"
)

const serveLong = `Serve shows the page that "report" makes of RESULTS, and adds to it what comes while it
is looked at, as while a sweep runs. It only reads. Ctrl-C ends it.

It answers on this machine only, unless --listen says otherwise: anybody who reaches
another address sees the results.`

const serveExample = `  bitsched serve plan.results
  bitsched serve plan.results --plan plan.yaml --listen 127.0.0.1:8080`

type serveFlags struct {
	listen string
	plan   string
	title  string
}

func (a *app) serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:     "serve RESULTS...",
		Short:   "Show results in a browser while they come",
		Long:    serveLong,
		Example: serveExample,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError(cmd, "missing RESULTS")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.serve(cmd, args, f) },
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.listen, "listen", "127.0.0.1:0", "`address`, HOST:PORT (port 0 = one that is free)")
	fl.StringVar(&f.plan, "plan", "", "`file` of the sweep, which says how many jobs there are")
	fl.StringVar(&f.title, "title", "", "`title` of the page (default that of the first of the results)")
	return cmd
}

func (a *app) serve(cmd *cobra.Command, paths []string, f serveFlags) error {
	if _, _, err := net.SplitHostPort(f.listen); err != nil {
		return usageError(cmd, "--listen %s, expected HOST:PORT as in 127.0.0.1:8080", f.listen)
	}
	s := &report.Server{Title: f.title, Paths: paths}
	if f.title == "" {
		base := filepath.Base(filepath.Clean(paths[0]))
		s.Title = strings.TrimSuffix(base, filepath.Ext(base))
	}
	if f.plan != "" {
		plan, err := readPlan(cmd, f.plan, "", true)
		if err != nil {
			return err
		}
		s.Total = len(plan.Jobs)
	}
	for _, p := range paths {
		if _, err := os.Stat(p); err != nil {
			return fmt.Errorf("bitsched: %w", err)
		}
	}
	l, err := net.Listen("tcp", f.listen)
	if err != nil {
		op := new(net.OpError)
		if errors.As(err, &op) {
			err = op.Err
		}
		return fmt.Errorf("bitsched: listen on %s: %w", f.listen, err)
	}
	line := a.newProgress()
	search := a.startStoppable(0, line, "ending")
	defer search.end()
	if err := a.printText(fmt.Sprintf("http://%s/\n", l.Addr())); err != nil {
		l.Close()
		return err
	}
	return pathError(s.Run(search.ctx, l))
}
