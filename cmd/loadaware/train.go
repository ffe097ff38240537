package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/app"
	"github.com/loadaware/loadaware/internal/cli"
	"github.com/loadaware/loadaware/internal/client"
)

const trainUsage = `DAG TASK [flags]
       loadaware train --database URL

Trains a task on a running server now, and waits until the training has ended. Too few
data, or a model that is not better than the active one, is not an error: the active model
stays. The task is DAG TASK, or DAG/TASK. If the server uses tokens, this needs one with the
role admin.

Without a task the command is the trainer process: it trains due tasks, and those named on its
standard input, until the input ends. serve starts one at a lower priority, so that
training does not delay predictions. Several trainers may use one database; a lease
assigns each task to one of them.`

func train(ctx context.Context, con cli.Console, args []string) error {
	cmd := cli.New("train", trainUsage, "database", "url", "token")
	cmd.DescribeVariables(cli.TraceVariable)
	namespace := cmd.NamespaceFlag()
	rest, err := cmd.ParseArgs(con, args)
	if err != nil {
		return err
	}
	switch {
	case len(rest) > 0 && cmd.Given("database"):
		return cli.UsageErrorf("--database is for the trainer process; to train a task, name a server with --url")
	case len(rest) > 0:
		return trainTask(ctx, con, cmd, *namespace, rest)
	case cmd.ServerGiven():
		return cli.UsageErrorf("name the task to train as DAG TASK; see loadaware train --help")
	case cmd.DatabaseURL == "":
		return cli.UsageErrorf("name the task to train as DAG TASK, or set DATABASE_URL to run the trainer process; see loadaware train --help")
	}
	process := app.Trainer{Config: &cmd.Config, Version: currentVersion(), In: con.In, Out: con.Out, Err: con.Err}
	return process.Run(ctx)
}

// trainTimeout is how long the command waits for a training. The server has the same limit.
const trainTimeout = 10 * time.Minute

func trainTask(ctx context.Context, con cli.Console, cmd *cli.Command, namespace string, args []string) error {
	key, rest, err := cli.TaskArgument("train", namespace, args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return cli.UsageErrorf("unexpected argument %q; see loadaware train --help", rest[0])
	}
	server := cmd.Server()
	server.HTTP.Timeout = trainTimeout
	var trained api.Training
	if err := server.Call(ctx, http.MethodPost, client.TaskPath(key, "train"), struct{}{}, &trained); err != nil {
		return cli.ExplainNotFound(err)
	}
	_, err = fmt.Fprintf(con.Out, "%s: %s\n", key, client.DescribeTraining(&trained))
	return err
}
