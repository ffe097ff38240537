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
	"github.com/loadaware/loadaware/internal/store"
)

// lostCommit is a store whose connection breaks at the commit of a claim.
type lostCommit struct{ store.Store }

var errLost = errors.New("connection lost")

func (lostCommit) ClaimRuns(context.Context, int64, campaign.Branch, int, time.Duration) (store.ClaimedRuns, error) {
	return store.ClaimedRuns{Runs: []campaign.Run{{Number: 1, Archived: campaign.Archived{Conf: json.RawMessage(`{}`)}}}}, errLost
}

func TestAClaimThatIsNotCommittedReturnsNoRuns(t *testing.T) {
	svc := service.New(lostCommit{}, nil, service.Config{}, slog.New(slog.DiscardHandler))
	claimed, err := svc.ClaimRuns(t.Context(), 1, campaign.TriggerRun, 1, time.Minute)
	require.ErrorIs(t, err, errLost)
	assert.Empty(t, claimed.Runs)
}
