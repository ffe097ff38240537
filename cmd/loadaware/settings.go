package main

import (
	"cmp"
	"strings"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/cli"
	"github.com/loadaware/loadaware/internal/sizing"
)

type settingsFlags struct {
	cmd               *cli.Command
	risk              *float64
	lifts             *int
	floor, cap, edges *string
}

func newSettingsFlags(cmd *cli.Command) *settingsFlags {
	f := &settingsFlags{
		cmd:   cmd,
		risk:  cmd.Float64("risk", 0, "accepted probability that a first try is OOM-killed, 0.0001 to 0.5"),
		floor: cmd.String("floor", "", "floor of the grants, such as 2Gi"),
		cap:   cmd.String("cap", "", "maximum grant, such as 64Gi"),
		lifts: cmd.Int("max-lifts", 0, "maximum lifts of one run, 0 to 20"),
		edges: cmd.String("bins", "", "amounts to which grants are rounded up, ascending, such as 10Gi,60Gi,350Gi"),
	}
	cmd.SetHelpDefault("unchanged", "risk", "floor", "cap", "max-lifts", "bins")
	return f
}

// request returns the settings as POST /whatif expects them. `given` reports whether the command line sets one or more.
func (f *settingsFlags) request() (s api.WhatIfSettings, given bool, err error) {
	if f.cmd.Given("risk") {
		s.RiskTarget = f.risk
	}
	if f.cmd.Given("max-lifts") {
		s.MaxLifts = f.lifts
	}
	if s.FloorBytes, err = amountFlag("floor", *f.floor); err != nil {
		return s, false, err
	}
	if s.CapBytes, err = amountFlag("cap", *f.cap); err != nil {
		return s, false, err
	}
	for _, edge := range cli.SplitList(*f.edges) {
		bytes, err := amountFlag("bins", edge)
		if err != nil {
			return s, false, err
		}
		s.Bins = append(s.Bins, *bytes)
	}
	return s, s.RiskTarget != nil || s.MaxLifts != nil || s.FloorBytes != nil || s.CapBytes != nil || len(s.Bins) > 0, nil
}

// policy returns the settings as a policy, in which a zero field means the default.
func (f *settingsFlags) policy() (sizing.Policy, error) {
	s, _, err := f.request()
	if err != nil {
		return sizing.Policy{}, err
	}
	p := sizing.Policy{MaxLifts: s.MaxLifts}
	if s.RiskTarget != nil {
		p.RiskTarget = *s.RiskTarget
	}
	if s.FloorBytes != nil {
		p.Floor = sizing.Bytes(*s.FloorBytes)
	}
	if s.CapBytes != nil {
		p.Cap = sizing.Bytes(*s.CapBytes)
	}
	for _, edge := range s.Bins {
		p.Grid, p.Edges = sizing.OnBins, append(p.Edges, sizing.Bytes(edge))
	}
	if s.RiskTarget != nil && p.RiskTarget == 0 {
		return p, cli.UsageErrorf("--risk must be 0.0001 to 0.5, not 0; omit it for the default")
	}
	if bad := p.Validate(); len(bad) > 0 {
		return p, cli.UsageErrorf("%s; see loadaware %s --help", describeFlags(flagTexts(f.cmd, flagOfSetting), bad), f.cmd.Name())
	}
	return p, nil
}

// flagTexts returns the flag of each field in `flags`, such as "--floor 2Gi", or "--floor" if the command line does not
// set it. `flags` maps fields of a policy to the names of their flags.
func flagTexts(cmd *cli.Command, flags map[string]string) map[string]string {
	texts := map[string]string{}
	for field, name := range flags {
		texts[field] = "--" + name
		if cmd.Given(name) {
			texts[field] += " " + cmd.Lookup(name).Value.String()
		}
	}
	return texts
}

func describeFlags(texts map[string]string, bad []sizing.FieldError) string {
	var all []string
	for _, f := range bad {
		if strings.HasPrefix(f.Detail, "must not be above cap") { // f.Field is floor or floor_bytes, and f.Detail names cap or cap_bytes
			f = sizing.FieldError{Field: "floor_bytes", Detail: "must not be above " + texts["cap_bytes"]}
		}
		all = append(all, cmp.Or(texts[f.Field], f.Field)+" "+f.Detail)
	}
	return strings.Join(all, "; ")
}

var flagOfSetting = map[string]string{
	"risk_target": "risk", "floor_bytes": "floor", "cap_bytes": "cap", "max_lifts": "max-lifts", "bin_edges_bytes": "bins",
}

// amountFlag returns the quantity in the flag `name` in bytes; nil if `value` is empty.
func amountFlag(name, value string) (*int64, error) {
	if value = strings.TrimSpace(value); value == "" {
		return nil, nil
	}
	b, err := sizing.ParseMemory(value)
	if err != nil {
		return nil, cli.UsageErrorf("--%s: %v", name, err)
	}
	n := int64(b)
	return &n, nil
}
