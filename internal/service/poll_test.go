package service_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
)

// atMostListings is the largest number of listings at a start: one when the replica subscribes, and one if it polls before the
// subscription's listing has ended.
const atMostListings int64 = 2

// A replica without notifications finds every change by polling, and lists all tasks only at its start. Each of the five
// changes belongs to a separate poll.
func TestPollsReplaceLostNotificationsWithoutListingAllTasks(t *testing.T) {
	writer := newReplica(t)
	writer.trainTask("load", 30)
	reader := joinReplica(t, writer.dsn, service.Config{PollInterval: 20 * time.Millisecond})
	reader.store.losesNotifications.Store(true)
	reader.start()
	require.Equal(t, 1, reader.modelVersion("load"))

	_, err := writer.Train(t.Context(), task("load"))
	require.NoError(t, err)
	reader.waitFor(func() bool { return reader.modelVersion("load") == 2 }, "a poll must find a new version")
	require.NoError(t, writer.SetPolicy(t.Context(), task("load"), sizing.Policy{Floor: 7 * gib}))
	reader.waitFor(func() bool { return reader.predict(ask("load", "")).Memory.Limit == 7*gib }, "a poll must find a changed policy")
	writer.trainTask("new", 30)
	reader.waitFor(func() bool { return reader.modelVersion("new") == 1 }, "a poll must find a new task")
	require.NoError(t, writer.Rename(t.Context(), task("load"), task("renamed")))
	reader.waitFor(func() bool { return reader.modelVersion("renamed") == 2 && reader.modelVersion("load") == 0 }, "a poll must find a renamed task")
	require.NoError(t, writer.DeleteTask(t.Context(), task("new")))
	reader.waitFor(func() bool { return reader.modelVersion("new") == 0 }, "a poll must find a deleted task")
	require.LessOrEqual(t, reader.store.listings.Load(), atMostListings, "later polls list no tasks")
}
