package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/cli"
	"github.com/loadaware/loadaware/internal/client"
	"github.com/loadaware/loadaware/internal/render"
	"github.com/loadaware/loadaware/internal/sizing"
)

const policyUsage = `get DAG TASK [flags]
       loadaware policy set DAG TASK --mode shadow --cap 384Gi … [flags]
       loadaware policy reset DAG TASK [flags]

Prints, changes or resets the policy of a task on a running server. set changes only the
fields of its flags. The task is DAG TASK, or DAG/TASK; for set and reset it may be unknown
to the server. If the server uses tokens, set and reset need one with the role admin.`

type policyFlags struct {
	*cli.Command
	mode, floor, cap, grid, edges *string
	phases                        *string
	risk, ratio                   *float64
	lifts                         *int
	neverAbove, cpuUnmanaged      *bool
}

func newPolicyFlags(cmd *cli.Command) *policyFlags {
	f := &policyFlags{
		Command:      cmd,
		mode:         cmd.String("mode", "", "enforce, shadow (only report what would be granted) or off"),
		floor:        cmd.String("floor", "", "smallest grant of the task, such as 1Gi; none removes it"),
		cap:          cmd.String("cap", "", "largest grant of the task, such as 384Gi; none removes it"),
		risk:         cmd.Float64("risk-target", 0, "accepted probability that a first try is OOM-killed, 0.0001 to 0.5"),
		lifts:        cmd.Int("max-lifts", 0, "maximum lifts of one run, 0 to 20"),
		ratio:        cmd.Float64("limit-ratio", 0, "ratio of limit to request, 1 to 10"),
		neverAbove:   cmd.Bool("never-above-requested", false, "never grant a first try more than the static request"),
		cpuUnmanaged: cmd.Bool("cpu-unmanaged", false, "return the requested CPU unchanged"),
		grid:         cmd.String("grid", "", "amounts that are granted: fine (whole MiB) or bins"),
		edges:        cmd.String("bin-edges", "", "upper edges of the bins, ascending, such as 10Gi,60Gi,350Gi; \"\" for automatic edges"),
		phases:       cmd.String("phases", "", "amounts that change during a run: off, observe, cpu or memory"),
	}
	cmd.SetHelpDefault("unchanged", render.PolicyFields()...)
	return f
}

func runPolicy(ctx context.Context, con cli.Console, args []string) error {
	cmd := cli.New("policy", policyUsage, "url", "token")
	namespace := cmd.NamespaceFlag()
	fields := newPolicyFlags(cmd)
	format := cmd.String("o", "text", "output: text or json")
	rest, err := cmd.ParseArgs(con, args)
	if err != nil {
		return err
	}
	if len(rest) == 0 || !slices.Contains([]string{"get", "set", "reset"}, rest[0]) {
		return cli.UsageErrorf("use get, set or reset; see loadaware policy --help")
	}
	if *format != "text" && *format != "json" {
		return cli.UsageErrorf("-o must be text or json, not %q", *format)
	}
	key, more, err := cli.TaskArgument("policy", *namespace, rest[1:])
	if err != nil {
		return err
	}
	changes := slices.ContainsFunc(render.PolicyFields(), cmd.Given)
	switch {
	case len(more) > 0:
		return cli.UsageErrorf("unexpected argument %q; see loadaware policy --help", more[0])
	case rest[0] == "set" && !changes:
		return cli.UsageErrorf("name what to change, such as --mode shadow; see loadaware policy --help")
	case rest[0] != "set" && changes:
		return cli.UsageErrorf("policy %s takes no field flags; use loadaware policy set", rest[0])
	}
	if err := fields.apply(&api.PolicyRequest{}); err != nil {
		return err // an invalid flag, before the first request to the server
	}
	server, path := cmd.Server(), client.TaskPath(key, "policy")
	var p api.Policy
	switch rest[0] {
	case "get":
		err = cli.ExplainNotFound(server.Call(ctx, http.MethodGet, path, nil, &p))
	case "reset":
		err = server.Call(ctx, http.MethodPut, path, api.PolicyRequest{}, &p)
	case "set":
		err = fields.change(ctx, server, path, &p)
	}
	if err != nil {
		return err
	}
	if rest[0] != "get" {
		noteUnreported(ctx, con, server, key)
	}
	if *format == "json" {
		return render.JSON(con.Out, p)
	}
	render.Policy(con.Out, key, &p)
	return nil
}

const maxNamedTasks = 5

// noteUnreported prints a note if the server has no report of the task, because the caller may have misspelt the ids of
// the task. This is not an error, because a policy can be set before the first run. noteUnreported prints nothing if a
// request fails; status 404 for the task is not a failure.
func noteUnreported(ctx context.Context, con cli.Console, server *client.Client, key sizing.TaskKey) {
	var profile api.TaskProfile
	err := server.Call(ctx, http.MethodGet, client.TaskPath(key, ""), nil, &profile)
	if err != nil && !client.IsStatus(err, http.StatusNotFound) || profile.Observations > 0 {
		return
	}
	tasks, err := readTasks(ctx, server, key.Namespace)
	if err != nil {
		return
	}
	var reported []string
	for i := range tasks {
		if t := &tasks[i]; t.DagID == key.DAG && t.Observations > 0 {
			reported = append(reported, t.TaskID)
		}
	}
	others := "; no task of this DAG has a report"
	if len(reported) > 0 {
		others = "; reported tasks of " + key.DAG + ": " + strings.Join(reported[:min(len(reported), maxNamedTasks)], ", ")
	}
	if len(reported) > maxNamedTasks {
		others += ", …"
	}
	fmt.Fprintf(con.Err, "note: the server has no report of task %s yet%s\n", key, others)
}

// change reads the policy, applies the flags, writes it back and stores the new policy in `p`. An unknown task has the
// default policy.
func (f *policyFlags) change(ctx context.Context, server *client.Client, path string, p *api.Policy) error {
	var request api.PolicyRequest
	err := server.Call(ctx, http.MethodGet, path, nil, p)
	switch {
	case err == nil:
		request = client.NewPolicyRequest(p)
	case !client.IsStatus(err, http.StatusNotFound):
		return err
	}
	if err := f.apply(&request); err != nil {
		return err
	}
	before := *p
	return f.nameFlags(server.Call(ctx, http.MethodPut, path, request, p), &before)
}

// flagOfField maps fields of a policy to the flags that set them. Errors name a field that is not in the map by its own name.
var flagOfField = map[string]string{
	"mode": "mode", "floor_bytes": "floor", "cap_bytes": "cap", "risk_target": "risk-target", "max_lifts": "max-lifts",
	"limit_ratio": "limit-ratio", "grid": "grid", "bin_edges_bytes": "bin-edges", "phases": "phases",
}

// nameFlags names the flags instead of the fields in the error of a rejected policy. `before` is the policy before
// the request.
func (f *policyFlags) nameFlags(err error, before *api.Policy) error {
	var problem *client.ProblemError
	if !errors.As(err, &problem) || len(problem.Fields) == 0 {
		return err
	}
	texts := flagTexts(f.Command, flagOfField)
	if before.Cap != nil && !f.Given("cap") {
		texts["cap_bytes"] = "the cap of the policy, " + *before.Cap
	}
	if before.Floor != nil && !f.Given("floor") {
		texts["floor_bytes"] = "the floor of the policy, " + *before.Floor + ","
	}
	return &client.ProblemError{Server: problem.Server, Status: problem.Status, Detail: describeFlags(texts, problem.Fields) + "; see loadaware policy --help"}
}

// apply sets the fields of the given flags. It parses only --bin-edges; the server validates the other values.
func (f *policyFlags) apply(r *api.PolicyRequest) error {
	for name, set := range map[string]func() error{
		"mode":                  func() error { mode := api.Mode(*f.mode); r.Mode = &mode; return nil },
		"floor":                 func() error { r.FloorBytes, r.Floor = nil, boundOrNil(*f.floor); return nil },
		"cap":                   func() error { r.CapBytes, r.Cap = nil, boundOrNil(*f.cap); return nil },
		"risk-target":           func() error { r.RiskTarget = f.risk; return nil },
		"max-lifts":             func() error { r.MaxLifts = f.lifts; return nil },
		"limit-ratio":           func() error { r.LimitRatio = f.ratio; return nil },
		"never-above-requested": func() error { r.NeverAboveRequested = f.neverAbove; return nil },
		"cpu-unmanaged":         func() error { r.CPUUnmanaged = f.cpuUnmanaged; return nil },
		"grid":                  func() error { grid := api.Grid(*f.grid); r.Grid = &grid; return nil },
		"phases":                func() error { phases := api.PhasesMode(*f.phases); r.Phases = &phases; return nil },
		"bin-edges":             func() (err error) { r.BinEdgesBytes, err = f.binEdges(); return err },
	} {
		if !f.Given(name) {
			continue
		}
		if err := set(); err != nil {
			return err
		}
	}
	return nil
}

// boundOrNil returns a pointer to a bound. It returns nil for "", and for "none", which `policy get` prints if there is no
// bound.
func boundOrNil(text string) *string {
	if text == "none" {
		return nil
	}
	return cli.TextOrNil(text)
}

func (f *policyFlags) binEdges() (*[]int64, error) {
	var edges []int64
	for _, text := range cli.SplitList(*f.edges) {
		b, err := sizing.ParseMemory(text)
		if err != nil {
			return nil, cli.UsageErrorf("--bin-edges: %v", err)
		}
		edges = append(edges, int64(b))
	}
	return &edges, nil
}
