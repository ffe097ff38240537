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
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store/postgres"
	"github.com/loadaware/loadaware/internal/trainer"
	"github.com/loadaware/loadaware/internal/trainer/subprocess"
)

const trainUsage = `DAG TASK [flags]
       loadaware train --database URL

Has a running server train a task now, and waits until the new model answers. Too
little data, or a model that is no better than the one that answers, is no error. The
task is DAG TASK, or DAG/TASK. It needs a token of role admin.

Without a task it learns what is due, and what it is told to on its input, until that ends. serve
starts one for itself at a lower priority, so that learning holds up no answer. Any
number may learn from one database: each task is learned by one at a time.`

// trainConns: a training, a search, their leases, and some that were asked for.
const trainConns = 6

func train(ctx context.Context, con console, args []string) error {
	cmd := newCommand("train", trainUsage, "database", "url", "token")
	namespace := cmd.namespaceFlag(sizing.DefaultNamespace)
	rest, err := cmd.parse(con, args)
	if err != nil {
		return err
	}
	switch {
	case len(rest) > 0 && cmd.given("database"):
		return usageErrorf("--database is for the learner: a task is trained by a server, which --url names")
	case len(rest) > 0:
		return trainTask(ctx, con, cmd, *namespace, rest)
	case cmd.serverGiven():
		return usageErrorf("name the task to train as DAG TASK; see loadaware train --help")
	case cmd.DatabaseURL == "":
		return usageErrorf("name the task to train as DAG TASK, or for a learner a database that is ready by DATABASE_URL; see loadaware train --help")
	}
	log := cmd.logger(con)
	_, endTracing, err := cmd.trace(ctx, log)
	if err != nil {
		return err
	}
	defer endTracing()
	if isSupervised() {
		// What interrupts a terminal or stops a container reaches serve, which ends the
		// input when the last answer is given.
		ctx = context.WithoutCancel(ctx)
	}
	st, err := postgres.Open(ctx, cmd.DatabaseURL, postgres.Config{MaxConns: trainConns, Log: log, Tracer: cmd.statements})
	if err != nil {
		return err
	}
	defer st.Close()
	line := subprocess.NewPipe(con.in, con.out)
	return line.Serve(ctx, trainer.New(st, trainer.Config{SearchEvery: cmd.SearchEvery, Ended: line.Ended}, log))
}

// trainFor bounds the training of one task, as the server does.
const trainFor = 10 * time.Minute

// trainTask has a server train one task.
func trainTask(ctx context.Context, con console, cmd *command, namespace string, args []string) error {
	key, rest, err := taskArgument("train", namespace, args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return usageErrorf("%q is not understood; see loadaware train --help", rest[0])
	}
	server := cmd.server()
	server.client.Timeout = trainFor
	var trained api.Training
	if err := server.call(ctx, http.MethodPost, taskPath(key, "train"), struct{}{}, &trained); err != nil {
		return orNotFound(err, key)
	}
	if trained.Published {
		_, err = fmt.Fprintf(con.out, "%s: model %d: %s\n", key, deref(trained.Version), trained.Reason)
	} else {
		_, err = fmt.Fprintf(con.out, "%s: no new model: %s\n", key, trained.Reason)
	}
	return err
}

// supervisorEnv tells a learner which process started it and ends it.
const supervisorEnv = "LOADAWARE_SUPERVISOR_PID"

// isSupervised reports whether serve started this process. The number of the parent
// tells it from a learner that inherited the variable from somebody's shell.
func isSupervised() bool {
	pid, err := strconv.Atoi(os.Getenv(supervisorEnv))
	return err == nil && pid == os.Getppid()
}

// learner is the command that learns beside serve, from its database. It needs none of
// the secrets of callers.
func (c *config) learner(con console) func(context.Context) *exec.Cmd {
	return func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, itself(), "train")
		cmd.Args[0] = os.Args[0]
		cmd.Env = append(os.Environ(), "DATABASE_URL="+c.dsn, "LOADAWARE_SEARCH_EVERY="+c.SearchEvery.String(), "LOADAWARE_TOKENS=",
			supervisorEnv+"="+strconv.Itoa(os.Getpid()))
		cmd.Stderr = con.err
		return cmd
	}
}

// itself is this program's file; on Linux also where it was replaced meanwhile.
func itself() string {
	const running = "/proc/self/exe"
	if runtime.GOOS == "linux" && exists(running) {
		return running
	}
	path, _ := os.Executable() // "" where the system does not know: Start says so
	return cmp.Or(path, os.Args[0])
}
