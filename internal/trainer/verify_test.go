package trainer

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store/postgres"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

func newTrainerWithTask(t *testing.T) (*Trainer, *postgres.Store, sizing.TaskKey) {
	t.Helper()
	dsn := pgtest.Migrated(t)
	st, err := postgres.Open(t.Context(), dsn, postgres.Config{Debounce: time.Nanosecond})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	task := sizing.TaskKey{Namespace: sizing.DefaultNamespace, DAG: "etl", Task: "load"}
	var obs []sizing.Observation
	for i := range 20 {
		obs = append(obs, sizing.Observation{
			Try: sizing.TryKey{TaskKey: task, RunID: fmt.Sprint(i), MapIndex: sizing.NoMap, Number: 1}, Outcome: sizing.Success,
			MemoryMax: sizing.GiB.Times(float64(1 + i%4)), Features: sizing.Features{"inputs": sizing.NumberValue(float64(i % 4))},
		})
	}
	recorded, err := st.Record(t.Context(), obs)
	require.NoError(t, err)
	for i := range recorded {
		require.NoError(t, recorded[i].Err)
	}
	return New(st, Config{}, slog.New(slog.DiscardHandler)), st, task
}

// tooLarge returns a model with more elements than a stored model may have.
func tooLarge(h *sizing.History, champion *taskmodel.Model) (*taskmodel.Model, taskmodel.Outcome, error) {
	m, out, err := taskmodel.Fit(h, champion)
	m.Bins = make(sizing.Bins, 1<<20+1)
	return m, out, err
}

// withoutExperts returns a model that cannot answer.
func withoutExperts(h *sizing.History, champion *taskmodel.Model) (*taskmodel.Model, taskmodel.Outcome, error) {
	m, out, err := taskmodel.Fit(h, champion)
	m.Experts = nil
	return m, out, err
}

func TestUnusableModelIsNotPublished(t *testing.T) {
	tr, st, task := newTrainerWithTask(t)
	for name, fit := range map[string]fit{"too large": tooLarge, "without experts": withoutExperts} {
		_, err := tr.trainExclusively(t.Context(), task, fit)
		require.ErrorContains(t, err, "the trained model is not usable, so the task stays without a model", name)
	}
	_, err := st.ActiveModel(t.Context(), task)
	require.Equal(t, sizing.NotFound, sizing.KindOf(err))

	report, err := tr.TrainNow(t.Context(), task)
	require.NoError(t, err)
	require.True(t, report.Published)
	for name, fit := range map[string]fit{"too large": tooLarge, "without experts": withoutExperts} {
		_, err := tr.trainExclusively(t.Context(), task, fit)
		require.ErrorContains(t, err, "version 1 stays active", name)
	}
	active, err := st.ActiveModel(t.Context(), task)
	require.NoError(t, err)
	assert.Equal(t, 1, active.Version)
}

// An earlier release may have published an unreadable model without verification.
func TestTaskWithUnreadableModelIsTrainedFromScratch(t *testing.T) {
	tr, st, task := newTrainerWithTask(t)
	h, err := st.History(t.Context(), task, tr.cfg.Keep)
	require.NoError(t, err)
	m, _, err := tooLarge(&h, nil)
	require.NoError(t, err)
	active, err := tr.active(t.Context(), task)
	require.NoError(t, err)
	active.Blob, err = m.Blob()
	require.NoError(t, err)
	active.Format, active.TrainedAt = taskmodel.FormatVersion, time.Now()
	_, err = st.Publish(t.Context(), active, 0)
	require.NoError(t, err)
	_, err = taskmodel.Open(active.Blob)
	require.ErrorIs(t, err, taskmodel.ErrFormat)

	report, err := tr.TrainNow(t.Context(), task)
	require.NoError(t, err)
	assert.Equal(t, []any{true, 2}, []any{report.Published, report.Version}, report.Reason)
	replaced, err := st.ActiveModel(t.Context(), task)
	require.NoError(t, err)
	_, err = taskmodel.Open(replaced.Blob)
	require.NoError(t, err)

	require.NoError(t, st.Activate(sizing.WithActor(context.WithoutCancel(t.Context()), "ada"), task, 1))
	report, err = tr.TrainNow(t.Context(), task)
	require.NoError(t, err)
	assert.Equal(t, "version 1 is pinned by ada and cannot be opened: unpin it (DELETE /tasks/{dag_id}/{task_id}/pin), then train", report.Reason)
}
