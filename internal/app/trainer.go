package app

import (
	"cmp"
	"context"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"github.com/loadaware/loadaware/internal/config"
	"github.com/loadaware/loadaware/internal/store/postgres"
	"github.com/loadaware/loadaware/internal/trainer"
	"github.com/loadaware/loadaware/internal/trainer/subprocess"
)

// trainConns bounds the connections to PostgreSQL of the six background loops (trainings, cohorts, parameter searches, shapes,
// usage profiles, plans), the renewals of leases, and requested trainings. Each of them holds a connection only during a
// query or a transaction. With fewer connections they would wait for each other more often.
const trainConns = 6

// Trainer configures the trainer process.
type Trainer struct {
	*config.Config
	Version string    // of this build; empty if unknown
	In      io.Reader // requests of the server
	Out     io.Writer // responses to the server
	Err     io.Writer // log
}

// Run trains the tasks that In names, until In ends. If Background is set, it also learns in the background, as
// trainer.Trainer.Run describes.
func (t *Trainer) Run(ctx context.Context) error {
	log := t.Logger(t.Err)
	tracer, endTracing, err := startTracing(ctx, t.Config, t.Version, log)
	if err != nil {
		return err
	}
	defer endTracing()
	if IsSupervised() {
		// A signal to the terminal or the container also reaches the server. The server finishes its HTTP requests, which may
		// need this process, and then closes the input of this process. So this process ignores the signal.
		ctx = context.WithoutCancel(ctx)
	}
	st, err := postgres.Open(ctx, t.DatabaseURL, postgres.Config{MaxConns: trainConns, Log: log, Tracer: queryTracer(tracer)})
	if err != nil {
		return err
	}
	defer st.Close()
	pipe := subprocess.NewPipe(t.In, t.Out)
	return pipe.Serve(ctx, trainer.New(st, trainer.Config{
		SearchEvery: t.SearchEvery, ShapesEvery: shapesEvery, ProfilesEvery: profilesEvery, PlansEvery: plansEvery, OnlyRequested: !t.Background, NoCohorts: !t.Similar, Ended: pipe.Ended,
	}, log))
}

// shapesEvery is the age of the stored shapes of run times from which on the trainer learns them again. With a lower age it
// would more often read the stored models of up to 2,000 tasks of a namespace.
const shapesEvery = time.Hour

// plansEvery is the interval at which the trainer looks for tasks with new usage series or new outcomes of plans, to learn
// their plans. Without such tasks it costs two short statements.
const plansEvery = 10 * time.Minute

// profilesEvery is the age of stored usage profiles from which on the trainer may replace them. The trainer looks for
// profiles of this age every 15 minutes.
const profilesEvery = time.Hour

const supervisorEnv = "LOADAWARE_SUPERVISOR_PID"

// IsSupervised reports whether a server started this process. It compares the process id of
// the parent, because a shell may have inherited the variable.
func IsSupervised() bool {
	pid, err := strconv.Atoi(os.Getenv(supervisorEnv))
	return err == nil && pid == os.Getppid()
}

// trainerCommand returns a function that returns the command of the trainer process. This process does not inherit the
// server's tokens (LOADAWARE_TOKENS), session key or read replica.
func trainerCommand(dsn string, c *config.Config, stderr io.Writer) func(context.Context) *exec.Cmd {
	return func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, executable(), "train")
		cmd.Args[0] = os.Args[0]
		cmd.Env = append(os.Environ(), "DATABASE_URL="+dsn, "DATABASE_REPLICA_URL=", "LOADAWARE_TOKENS=", "LOADAWARE_UI_KEY=", "LOADAWARE_SEARCH_EVERY="+c.SearchEvery.String(),
			"LOADAWARE_BACKGROUND_TRAINING="+strconv.FormatBool(c.Background), "LOADAWARE_SIMILAR_TASKS="+strconv.FormatBool(c.Similar),
			supervisorEnv+"="+strconv.Itoa(os.Getpid()))
		cmd.Stderr = stderr
		return cmd
	}
}

// executable returns the path of this program. On Linux the path works even if the file was replaced.
func executable() string {
	const self = "/proc/self/exe"
	if runtime.GOOS == "linux" {
		if _, err := os.Stat(self); err == nil {
			return self
		}
	}
	path, _ := os.Executable() // Start reports an unknown path
	return cmp.Or(path, os.Args[0])
}
