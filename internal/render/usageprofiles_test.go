package render_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/render"
)

func TestUsageProfiles(t *testing.T) {
	before := 0.25
	profile := api.UsageProfile{ID: 3, Runs: 80, Tasks: 4, Share: 0.5, PreviousShare: &before, Spreads: []api.UsageSpread{
		{Quantity: "memory_peak_bytes", Runs: 80, P10: 1 << 30, P50: 2 << 30, P90: 3 << 30}, {Quantity: "duration_seconds", Runs: 80, P10: 1.25, P50: 30, P90: 4000},
	}}
	set := &api.UsageProfileSet{Runs: 160, Tasks: 8, Version: 2, LearnedAt: time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC), Quantities: []string{"memory_peak_bytes", "duration_seconds"},
		Coverage: 0.5, Profiles: []api.UsageProfile{profile}, Outliers: api.UsageProfile{Runs: 80, Tasks: 4, Share: 0.5}}
	var out bytes.Buffer
	require.NoError(t, render.UsageProfiles(&out, "table", set))
	assert.Contains(t, out.String(), "1 profile of 160 runs of 8 tasks, version 2 of 2026-01-02 03:04; compared by memory_peak_bytes, duration_seconds\n")
	assert.Regexp(t, `(?m)^ +3 +80 +0.500 +0.250 +4 +0 +1Gi +2Gi +3Gi +1.25 +30 +4000$`, out.String())
	assert.Regexp(t, `(?m)^ +0 +80 +0.500 +4 +0$`, out.String(), "no quantity of the outliers is known")

	out.Reset()
	require.NoError(t, render.UsageProfiles(&out, "csv", set))
	assert.Contains(t, out.String(), "\n3,80,0.5,0.25,4,0,1073741824,2147483648,3221225472,1.25,30,4000,,\n")

	out.Reset()
	detail := &api.UsageProfileDetail{Namespace: "blue", Profile: profile, Members: []api.UsageProfileMember{{DagID: "etl", TaskID: "load", Runs: 20, Share: 1}}}
	require.NoError(t, render.UsageProfile(&out, "table", detail))
	assert.Contains(t, out.String(), "profile 3 of namespace blue: 80 runs of 4 tasks, 50.0 % of all runs, 0 killed\n")
	assert.Regexp(t, `(?m)^memory_peak_bytes +80 +1Gi +2Gi +3Gi$`, out.String())
	assert.Regexp(t, `(?m)^etl +load +20 +1.00$`, out.String())

	out.Reset()
	require.NoError(t, render.ProfileMetadata(&out, "table", set))
	assert.Contains(t, out.String(), "too few tasks")
	out.Reset()
	set.Metadata = &api.UsageProfileMetadata{Tasks: 200, Majority: 0.25, Accuracy: 0.9, Fields: []api.UsageProfileField{{Name: "metadata.owner", Tasks: 150, Alone: 0.85, Without: 0.5}}}
	require.NoError(t, render.ProfileMetadata(&out, "table", set))
	assert.Contains(t, out.String(), "200 tasks, each predicted from the others: 90.0 % right with all fields, 25.0 % with none\n")
	assert.Regexp(t, `(?m)^metadata.owner +150 +0.850 +0.500 +0.400$`, out.String())
}
