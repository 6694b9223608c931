package main

import (
	"cmp"
	"context"
	"os"
	"runtime"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bitsched/bitsched/benchmarks/results"
	"github.com/bitsched/bitsched/benchmarks/sweep"
	"github.com/bitsched/bitsched/benchmarks/sweep/queue"
	"github.com/bitsched/bitsched/masim"
)

// natsFlags say where a server is and who asks. Their defaults are the environment
// variables of the nats command.
type natsFlags struct {
	url, user, creds, ca, cert, key string
}

// embedded stands for a server in the process, in the place of a URL.
const embedded = "embedded"

// natsPasswordEnv has a password; a flag would show it to all users of the machine.
const natsPasswordEnv = "NATS_PASSWORD"

func (f *natsFlags) add(fl *pflag.FlagSet, usage string) {
	fl.StringVar(&f.url, "nats", "", usage)
	fl.StringVar(&f.user, "nats-user", "", "`name` for the server, with the password in "+natsPasswordEnv+" (default $NATS_USER, or bitsched for one that is embedded)")
	fl.StringVar(&f.creds, "nats-creds", "", "`file` of credentials (default $NATS_CREDS)")
	fl.StringVar(&f.ca, "nats-ca", "", "`file` of the certificates that the server's is signed by (default $NATS_CA)")
	fl.StringVar(&f.cert, "nats-cert", "", "`file` of the certificate: the client's, or that of the embedded server (default $NATS_CERT)")
	fl.StringVar(&f.key, "nats-key", "", "`file` of its key (default $NATS_KEY)")
}

// complete takes what no flag says from the environment, and looks at what belongs together.
func (f *natsFlags) complete(cmd *cobra.Command) error {
	for _, v := range []struct {
		flag *string
		name string
	}{{&f.user, "NATS_USER"}, {&f.creds, "NATS_CREDS"}, {&f.ca, "NATS_CA"}, {&f.cert, "NATS_CERT"}, {&f.key, "NATS_KEY"}} {
		*v.flag = cmp.Or(*v.flag, os.Getenv(v.name))
	}
	if f.user == "" && os.Getenv(natsPasswordEnv) != "" {
		f.user = "bitsched"
	}
	if (f.cert == "") != (f.key == "") {
		return usageError(cmd, "--nats-cert and --nats-key belong together, expected both")
	}
	return nil
}

func (f *natsFlags) dial(ctx context.Context, line *progressLine) (*nats.Conn, error) {
	c := queue.Connection{URL: f.url, User: f.user, Password: os.Getenv(natsPasswordEnv), Creds: f.creds, CA: f.ca, Cert: f.cert, Key: f.key, Note: line.note}
	return c.Dial(ctx)
}

type workerFlags struct {
	nats    natsFlags
	workers int
	idle    time.Duration
}

const workerLong = `Worker runs jobs of sweeps that a NATS server hands out, until Ctrl-C. A job runs as a
process in a folder with its inputs and nothing else. Ctrl-C gives jobs that run back
to the queue; those of a worker that dies go to another after 15 seconds.

A worker takes jobs of sweeps that the same build of this program started, so that
results of different builds do not mix. The password of the server is in its URL or in
NATS_PASSWORD; the other flags have their defaults in the variables of the nats
command.`

const workerExample = `  bitsched worker --nats nats://127.0.0.1:4222
  NATS_PASSWORD=... bitsched worker --nats tls://queue.example.org:4222 --nats-ca ca.pem --idle 10m`

func (a *app) workerCommand() *cobra.Command {
	var f workerFlags
	cmd := &cobra.Command{
		Use:     "worker --nats URL",
		Short:   "Run jobs of sweeps that a server hands out",
		Long:    workerLong,
		Example: workerExample,
		Args:    exactArgs(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.worker(cmd, f) },
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	f.nats.add(fl, "`URL` of the server (required)")
	fl.IntVar(&f.workers, "workers", 0, "`jobs` at a time (0 = one for each core)")
	fl.DurationVar(&f.idle, "idle", 0, "end when there was nothing to do for this `time` (0 = never)")
	return cmd
}

func (a *app) worker(cmd *cobra.Command, f workerFlags) error {
	switch {
	case f.nats.url == "":
		return usageError(cmd, "missing --nats")
	case f.workers < 0:
		return usageError(cmd, "--workers %d, expected 0 (one for each core) or more", f.workers)
	case f.idle < 0:
		return usageError(cmd, "--idle %v, expected a time that is not negative", f.idle)
	}
	if err := f.nats.complete(cmd); err != nil {
		return err
	}
	if f.workers == 0 {
		f.workers = runtime.GOMAXPROCS(0)
	}
	version, err := results.Version()
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	line := a.newProgress()
	defer line.clear()
	s := a.startStoppable(0, line, "giving the jobs that run back")
	defer s.end()
	conn, err := f.nats.dial(s.ctx, line)
	if err != nil {
		return s.reasonOf(err)
	}
	defer conn.Close()
	done, failed := 0, 0
	w := &queue.Worker{Conn: conn, Version: version, Program: program, Slots: f.workers, Idle: f.idle, Note: line.note}
	w.Finished = func(r *sweep.Record) {
		done++
		if r.Failed() {
			failed++
		}
		line.report(masim.Progress{Phase: jobsText(done, failed), Best: -1})
	}
	line.report(masim.Progress{Phase: "waiting for jobs", Best: -1})
	if err := w.Run(s.ctx); err != nil {
		return err
	}
	conn.Close()
	line.clear()
	return a.printText(jobsText(done, failed) + "\n")
}

// jobsText counts jobs that were run.
func jobsText(done, failed int) string {
	text := count(done, "job") + " run"
	if failed > 0 {
		text += ", " + count(failed, "failure") + " among them"
	}
	return text
}
