package service_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/campaign"
	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// lostCommit is a store whose connection breaks at the commit of a claim.
type lostCommit struct{ store.Store }

var errLost = errors.New("connection lost")

func (lostCommit) ClaimRuns(context.Context, int64, campaign.Branch, int, time.Duration) (store.ClaimedRuns, error) {
	return store.ClaimedRuns{Runs: []campaign.Run{{Number: 1, Archived: campaign.ArchivedRun{Conf: json.RawMessage(`{}`)}}}}, errLost
}

func TestAClaimThatIsNotCommittedReturnsNoRuns(t *testing.T) {
	svc := service.New(lostCommit{}, nil, service.Config{}, slog.New(slog.DiscardHandler))
	claimed, err := svc.ClaimRuns(t.Context(), 1, campaign.TriggerRun, 1, time.Minute)
	require.ErrorIs(t, err, errLost)
	assert.Empty(t, claimed.Runs)
}

func (r *replica) killAndLift(run string) {
	r.t.Helper()
	request := ask("load", run)
	granted := r.predict(request).Memory.Limit
	killed := success("load", 0, 1)
	killed.Try, killed.Features, killed.Outcome, killed.MemoryMax, killed.Allocated.Memory = request.Try, request.Features, sizing.OOMKilled, 0, granted
	r.report(killed)
	lift := r.lift(request, granted)
	require.True(r.t, lift.Retry, lift.Reason)
	require.Greater(r.t, lift.Memory.Limit, granted, "a kill must get a lift, also that of a reproduced run")
	done := success("load", 0, 1)
	done.Try, done.Features, done.MemoryMax, done.Allocated.Memory = nthTry(request, 2).Try, request.Features, granted+granted/8, lift.Memory.Limit
	r.report(done)
}

func TestReproducedRunsTrainAndCountInNoStatistic(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 60)
	before := r.predict(ask("load", "next"))
	counted := r.Counts()
	for i := range 12 {
		r.killAndLift(campaign.RunID(7, "0123456789abcdef", time.Date(2026, 1, i+1, 0, 0, 0, 0, time.UTC), 1))
	}
	after := r.predict(ask("load", "next"))
	assert.Equal(t, []any{before.Guard, before.Memory.Limit, before.Risk.Promised}, []any{after.Guard, after.Memory.Limit, after.Risk.Promised}, "reproduced runs must not change the guard, the limit or the promised risk")
	assert.Equal(t, []any{counted.Kills, counted.Promises, counted.Usage}, []any{r.Counts().Kills, r.Counts().Promises, r.Counts().Usage})

	_, err := r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	learned := r.predict(ask("load", "next"))
	require.NotNil(t, learned.Model)
	assert.Equal(t, 60+24, learned.Model.Observations, "a training learns the kills and peaks of reproduced runs")
	assert.Greater(t, learned.Memory.Limit, before.Memory.Limit)

	r.killAndLift("production")
	assert.NotEqual(t, learned.Guard, r.predict(ask("load", "next")).Guard, "a run that is not reproduced must change the guard")
	assert.Equal(t, 1, r.Counts().Kills[sizing.OOMKilled])
}
