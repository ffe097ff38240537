package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/cli"
	"github.com/loadaware/loadaware/internal/client"
	"github.com/loadaware/loadaware/internal/render"
)

const whatIfUsage = `--task DAG/TASK [flags]
       loadaware whatif --dag DAG [flags]

Replays the history of a running server with other settings: each run is predicted before
it is learned, once with the current policies and once with the settings of the flags.
A peak is learned when its run has ended, but a kill already when the killed try is
launched: if many runs start together, all rows show fewer kills than the server would have
had.
Nothing changes on the server. --curve adds a row for each of several risk targets.
--set FEATURE=VALUE, which may be repeated, also shows what the model would grant to the
newest runs if the feature had this value.

  loadaware whatif --task pricing/predict_demand --risk 0.005 --floor 2Gi --max-lifts 2`

var curveTargets = [...]float64{0.001, 0.0025, 0.005, 0.01, 0.015, 0.025, 0.05, 0.1}

const pollEvery = 500 * time.Millisecond

func whatIf(ctx context.Context, con cli.Console, args []string) error {
	cmd := cli.New("whatif", whatIfUsage, "url", "token")
	namespace := cmd.NamespaceFlag()
	task := cmd.String("task", "", "the task, as DAG/TASK")
	dag := cmd.String("dag", "", "tasks of this DAG, at most the first 200 by name")
	flags := newSettingsFlags(cmd)
	curve := cmd.Bool("curve", false, "also replay risk targets from 0.001 to 0.1")
	var set []string
	cmd.Func("set", "feature of the newest runs to replace, as FEATURE=VALUE; may be repeated", func(s string) error {
		set = append(set, s)
		return nil
	})
	format := cmd.String("o", "text", "output: text or json")
	rest, err := cmd.ParseArgs(con, args)
	if err != nil {
		return err
	}
	if *format != "text" && *format != "json" {
		return cli.UsageErrorf("-o must be text or json, not %q", *format)
	}
	if len(rest) > 0 {
		return cli.UsageErrorf("unexpected argument %q; name the task with --task DAG/TASK", rest[0])
	}
	if (*task == "") == (*dag == "") {
		return cli.UsageErrorf("name either --task DAG/TASK or --dag DAG; see loadaware whatif --help")
	}
	request := api.WhatIfRequest{Namespace: namespace, DagID: *dag}
	if *task != "" {
		key, _, err := cli.TaskArgument("whatif", *namespace, []string{*task})
		if err != nil {
			return err
		}
		request.DagID, request.TaskID = key.DAG, &key.Task
	}
	if request.Settings, err = replayedSettings(flags, *curve); err != nil {
		return err
	}
	if len(set) > 0 {
		if request.Set, err = client.ParseFeatures(set); err != nil {
			return cli.UsageErrorf("--set: %v", err)
		}
	}
	answer, err := replay(ctx, con, cmd.Server(), &request)
	if err != nil {
		return err
	}
	if *format == "json" {
		return render.JSON(con.Out, answer)
	}
	return render.WhatIf(con.Out, answer)
}

func replayedSettings(flags *settingsFlags, withCurve bool) ([]*api.WhatIfSettings, error) {
	if _, err := flags.policy(); err != nil {
		return nil, err
	}
	settings, given, err := flags.request()
	if err != nil {
		return nil, err
	}
	var all []*api.WhatIfSettings
	if given {
		all = append(all, &settings)
	}
	if withCurve {
		for i := range curveTargets {
			point := settings
			point.RiskTarget = &curveTargets[i]
			all = append(all, &point)
		}
	}
	return all, nil
}

// replay sends a what-if to the server and polls it until the result is there. The server cancels a replay that no caller
// polls.
func replay(ctx context.Context, con cli.Console, server *client.Client, request *api.WhatIfRequest) (*api.WhatIf, error) {
	var answer api.WhatIf
	if err := server.Call(ctx, http.MethodPost, "/whatif", request, &answer); err != nil {
		return nil, err // the server's error already gives advice
	}
	bar := progressbar.NewOptions(100, progressbar.OptionSetDescription("replaying"),
		progressbar.OptionSetWriter(con.Err), progressbar.OptionSetVisibility(cli.IsTerminal(con.Err)), progressbar.OptionClearOnFinish())
	defer func() { _ = bar.Finish() }() // a drawing error does not matter
	for answer.State == api.WhatIfStateRunning {
		_ = bar.Set(int(100 * answer.Progress)) // a drawing error does not matter
		select {
		case <-time.After(pollEvery):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		id := answer.ID
		answer = api.WhatIf{}
		if err := server.Call(ctx, http.MethodGet, "/whatif/"+id, nil, &answer); err != nil {
			return nil, err
		}
	}
	if answer.Error != nil {
		return nil, fmt.Errorf("%s", *answer.Error)
	}
	return &answer, nil
}
