package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
)

const policyUsage = `get DAG TASK [flags]
       loadaware policy set DAG TASK --mode shadow --cap 384Gi … [flags]
       loadaware policy reset DAG TASK [flags]

Prints what people decided for a task of a running server, changes it, or goes back to
the defaults. set changes what its flags name and leaves the rest. The task is DAG
TASK, or DAG/TASK, and need not be known yet. set and reset need a token of role admin.`

// policyFlags are the fields of a policy on the command line.
type policyFlags struct {
	*command
	mode, floor, top, grid, edges *string
	risk, ratio                   *float64
	lifts                         *int
	never, unmanaged              *bool
}

func newPolicyFlags(cmd *command) *policyFlags {
	return &policyFlags{
		command:   cmd,
		mode:      cmd.String("mode", "", "enforce, shadow (only say what would be granted) or off"),
		floor:     cmd.String("floor", "", "grant at least this, such as 1Gi; \"\" for none"),
		top:       cmd.String("cap", "", "grant at most this, such as 384Gi; \"\" for none"),
		risk:      cmd.Float64("risk-target", 0, "accepted probability that a first try is OOM-killed, 0.0001 to 0.5"),
		lifts:     cmd.Int("max-lifts", 0, "how often one run is lifted, 0 to 20"),
		ratio:     cmd.Float64("limit-ratio", 0, "limit over request, 1 to 10"),
		never:     cmd.Bool("never-above-requested", false, "never grant a first try more than the static request"),
		unmanaged: cmd.Bool("cpu-unmanaged", false, "answer the requested CPU unchanged"),
		grid:      cmd.String("grid", "", "what amounts are granted on: fine or bins"),
		edges:     cmd.String("bin-edges", "", "upper edges of the bins, ascending, such as 10Gi,60Gi,350Gi; \"\" for those that are searched"),
	}
}

// policyFields are the names of the flags that set a field.
var policyFields = []string{"mode", "floor", "cap", "risk-target", "max-lifts", "limit-ratio", "never-above-requested", "cpu-unmanaged", "grid", "bin-edges"}

func policyVerb(ctx context.Context, con console, args []string) error {
	cmd := newCommand("policy", policyUsage, "url", "token")
	namespace := cmd.namespaceFlag(sizing.DefaultNamespace)
	fields := newPolicyFlags(cmd)
	format := cmd.String("o", "text", "output: text or json")
	rest, err := cmd.parse(con, args)
	if err != nil {
		return err
	}
	if len(rest) == 0 || !slices.Contains([]string{"get", "set", "reset"}, rest[0]) {
		return usageErrorf("say get, set or reset; see loadaware policy --help")
	}
	if *format != "text" && *format != "json" {
		return usageErrorf("-o must be text or json, not %q", *format)
	}
	key, more, err := taskArgument("policy", *namespace, rest[1:])
	if err != nil {
		return err
	}
	changes := slices.ContainsFunc(policyFields, cmd.given)
	switch {
	case len(more) > 0:
		return usageErrorf("%q is not understood; see loadaware policy --help", more[0])
	case rest[0] == "set" && !changes:
		return usageErrorf("name what to change, such as --mode shadow; see loadaware policy --help")
	case rest[0] != "set" && changes:
		return usageErrorf("policy %s changes no single field: use loadaware policy set", rest[0])
	}
	if err := fields.apply(&api.PolicyRequest{}); err != nil {
		return err // before the server is asked
	}
	server, path := cmd.server(), taskPath(key, "policy")
	var p api.Policy
	switch rest[0] {
	case "get":
		err = orNotFound(server.call(ctx, http.MethodGet, path, nil, &p), key)
	case "reset":
		err = server.call(ctx, http.MethodPut, path, api.PolicyRequest{}, &p)
	case "set":
		err = fields.change(ctx, server, path, &p)
	}
	if err != nil {
		return err
	}
	if *format == "json" {
		return writeJSON(con.out, p)
	}
	writePolicy(con, key, &p)
	return nil
}

// change replaces the policy by itself with the changes of the flags. A task that is not
// known has the defaults.
func (f *policyFlags) change(ctx context.Context, server *serverRecorder, path string, p *api.Policy) error {
	var request api.PolicyRequest
	err := server.call(ctx, http.MethodGet, path, nil, p)
	switch {
	case err == nil:
		request = policyRequest(p)
	case !isStatus(err, http.StatusNotFound):
		return err
	}
	if err := f.apply(&request); err != nil {
		return err
	}
	return server.call(ctx, http.MethodPut, path, request, p)
}

// policyRequest is a policy as it is sent. Defaults are left out, so that they follow
// those of the server.
func policyRequest(p *api.Policy) api.PolicyRequest {
	usual := sizing.Policy{}.WithDefaults()
	r := api.PolicyRequest{FloorBytes: p.FloorBytes, CapBytes: p.CapBytes}
	if p.Mode != api.Mode(usual.Mode) {
		r.Mode = &p.Mode
	}
	if p.RiskTarget != usual.RiskTarget {
		r.RiskTarget = &p.RiskTarget
	}
	if p.MaxLifts != *usual.MaxLifts {
		r.MaxLifts = &p.MaxLifts
	}
	if p.LimitRatio != usual.LimitRatio {
		r.LimitRatio = &p.LimitRatio
	}
	if p.Grid != api.Grid(usual.Grid) {
		r.Grid = &p.Grid
	}
	if p.NeverAboveRequested {
		r.NeverAboveRequested = &p.NeverAboveRequested
	}
	if p.CPUUnmanaged {
		r.CPUUnmanaged = &p.CPUUnmanaged
	}
	if len(p.BinEdgesBytes) > 0 {
		r.BinEdgesBytes = &p.BinEdgesBytes
	}
	return r
}

// apply sets the fields whose flags were given. The server judges the values.
func (f *policyFlags) apply(r *api.PolicyRequest) error {
	for name, set := range map[string]func() error{
		"mode":                  func() error { mode := api.Mode(*f.mode); r.Mode = &mode; return nil },
		"floor":                 func() error { r.FloorBytes, r.Floor = nil, textOrNil(*f.floor); return nil },
		"cap":                   func() error { r.CapBytes, r.Cap = nil, textOrNil(*f.top); return nil },
		"risk-target":           func() error { r.RiskTarget = f.risk; return nil },
		"max-lifts":             func() error { r.MaxLifts = f.lifts; return nil },
		"limit-ratio":           func() error { r.LimitRatio = f.ratio; return nil },
		"never-above-requested": func() error { r.NeverAboveRequested = f.never; return nil },
		"cpu-unmanaged":         func() error { r.CPUUnmanaged = f.unmanaged; return nil },
		"grid":                  func() error { grid := api.Grid(*f.grid); r.Grid = &grid; return nil },
		"bin-edges":             func() (err error) { r.BinEdgesBytes, err = f.binEdges(); return err },
	} {
		if !f.given(name) {
			continue
		}
		if err := set(); err != nil {
			return err
		}
	}
	return nil
}

func (f *policyFlags) binEdges() (*[]int64, error) {
	var edges []int64
	for _, text := range list(*f.edges) {
		b, err := sizing.ParseMemory(text)
		if err != nil {
			return nil, usageErrorf("--bin-edges: %v", err)
		}
		edges = append(edges, int64(b))
	}
	return &edges, nil
}

// writePolicy writes a policy for a person, by the names of the flags.
func writePolicy(con console, key sizing.TaskKey, p *api.Policy) {
	none := func(text *string) string {
		if text == nil {
			return "none"
		}
		return *text
	}
	edges := "searched"
	if len(p.BinEdgesBytes) > 0 {
		var all []string
		for _, b := range p.BinEdgesBytes {
			all = append(all, sizing.Bytes(b).String())
		}
		edges = strings.Join(all, ",")
	}
	fmt.Fprintf(con.out, "%s\n", key)
	for i, value := range []string{
		string(p.Mode), none(p.Floor), none(p.Cap), strconv.FormatFloat(p.RiskTarget, 'f', -1, 64), strconv.Itoa(p.MaxLifts),
		strconv.FormatFloat(p.LimitRatio, 'f', -1, 64), strconv.FormatBool(p.NeverAboveRequested), strconv.FormatBool(p.CPUUnmanaged), string(p.Grid), edges,
	} {
		fmt.Fprintf(con.out, "  %-21s  %s\n", policyFields[i], value)
	}
}
