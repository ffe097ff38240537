package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/client"
	"github.com/loadaware/loadaware/internal/store/postgres"
	"github.com/loadaware/loadaware/internal/trainer"
	"github.com/loadaware/loadaware/internal/trainer/subprocess"
)

const trainUsage = `DAG TASK [flags]
       loadaware train --database URL

Trains a task on a running server now, and waits until the new model is active. Too few
data, or a model that is not better than the active one, is not an error. The task is DAG
TASK, or DAG/TASK. It needs a token with the role admin.

Without a task it is the trainer process: it trains due tasks, and those named on its
standard input, until the input ends. serve starts one at a lower priority, so that
training does not delay predictions. Several trainers may use one database; a lease
assigns each task to one of them.`

// trainConns is enough for a training, a parameter search, their leases, and requested
// trainings.
const trainConns = 6

func train(ctx context.Context, con console, args []string) error {
	cmd := newCommand("train", trainUsage, "database", "url", "token")
	namespace := cmd.namespaceFlag()
	rest, err := cmd.parse(con, args)
	if err != nil {
		return err
	}
	switch {
	case len(rest) > 0 && cmd.given("database"):
		return usageErrorf("--database is for the trainer process; to train a task, name a server with --url")
	case len(rest) > 0:
		return trainTask(ctx, con, cmd, *namespace, rest)
	case cmd.serverGiven():
		return usageErrorf("name the task to train as DAG TASK; see loadaware train --help")
	case cmd.DatabaseURL == "":
		return usageErrorf("name the task to train as DAG TASK, or set DATABASE_URL to run the trainer process; see loadaware train --help")
	}
	log := cmd.logger(con)
	_, endTracing, err := cmd.trace(ctx, log)
	if err != nil {
		return err
	}
	defer endTracing()
	if isSupervised() {
		// A signal to the terminal or the container also reaches serve, which closes the
		// input of this process after the last response.
		ctx = context.WithoutCancel(ctx)
	}
	st, err := postgres.Open(ctx, cmd.DatabaseURL, postgres.Config{MaxConns: trainConns, Log: log, Tracer: cmd.statements})
	if err != nil {
		return err
	}
	defer st.Close()
	pipe := subprocess.NewPipe(con.in, con.out)
	return pipe.Serve(ctx, trainer.New(st, trainer.Config{SearchEvery: cmd.SearchEvery, Ended: pipe.Ended}, log))
}

// trainTimeout limits the training of one task, like the server does.
const trainTimeout = 10 * time.Minute

// trainTask trains one task on a server.
func trainTask(ctx context.Context, con console, cmd *command, namespace string, args []string) error {
	key, rest, err := taskArgument("train", namespace, args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return usageErrorf("unexpected argument %q; see loadaware train --help", rest[0])
	}
	server := cmd.server()
	server.HTTP.Timeout = trainTimeout
	var trained api.Training
	if err := server.Call(ctx, http.MethodPost, client.TaskPath(key, "train"), struct{}{}, &trained); err != nil {
		return explainNotFound(err)
	}
	_, err = fmt.Fprintf(con.out, "%s: %s\n", key, client.DescribeTraining(&trained))
	return err
}

// supervisorEnv is the environment variable with the process id of serve.
const supervisorEnv = "LOADAWARE_SUPERVISOR_PID"

// isSupervised reports whether serve started this process. It compares the process id of
// the parent, because a shell may have inherited the variable.
func isSupervised() bool {
	pid, err := strconv.Atoi(os.Getenv(supervisorEnv))
	return err == nil && pid == os.Getppid()
}

// trainerCommand returns the command of the trainer process. It does not inherit tokens.
func (c *config) trainerCommand(con console) func(context.Context) *exec.Cmd {
	return func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, executable(), "train")
		cmd.Args[0] = os.Args[0]
		cmd.Env = append(os.Environ(), "DATABASE_URL="+c.dsn, "LOADAWARE_SEARCH_EVERY="+c.SearchEvery.String(), "LOADAWARE_TOKENS=",
			supervisorEnv+"="+strconv.Itoa(os.Getpid()))
		cmd.Stderr = con.err
		return cmd
	}
}

// executable returns the path of this program; on Linux it works even if the file was
// replaced.
func executable() string {
	const self = "/proc/self/exe"
	if runtime.GOOS == "linux" && exists(self) {
		return self
	}
	path, _ := os.Executable() // Start reports an unknown path
	return cmp.Or(path, os.Args[0])
}
