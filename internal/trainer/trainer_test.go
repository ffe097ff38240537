package trainer_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/store/postgres"
	"github.com/loadaware/loadaware/internal/taskmodel"
	"github.com/loadaware/loadaware/internal/testwait"
	"github.com/loadaware/loadaware/internal/trainer"
)

// hookedStore is the real store with hooks.
type hookedStore struct {
	*postgres.Store
	dsn    string
	after  func(context.Context) error // called once after the history is read; may be nil
	before func(sizing.TaskKey)        // called before each read; may be nil
	listed func()                      // called after versions are listed; may be nil
	cohort func(namespace string)      // called before the rows of a cohort are read; may be nil
}

func (s *hookedStore) ContextRows(ctx context.Context, namespace string, perTask, limit int) ([]sizing.ContextRow, error) {
	if s.cohort != nil {
		s.cohort(namespace)
	}
	return s.Store.ContextRows(ctx, namespace, perTask, limit)
}

func (s *hookedStore) ModelVersions(ctx context.Context, task sizing.TaskKey) ([]store.Model, error) {
	versions, err := s.Store.ModelVersions(ctx, task)
	if s.listed != nil {
		s.listed()
	}
	return versions, err
}

func (s *hookedStore) History(ctx context.Context, task sizing.TaskKey, keep store.HistoryLimits) (sizing.History, error) {
	if s.before != nil {
		s.before(task)
	}
	h, err := s.Store.History(ctx, task, keep)
	if after := s.after; after != nil {
		s.after = nil
		err = errors.Join(err, after(ctx))
	}
	return h, err
}

func newStore(t *testing.T) *hookedStore {
	t.Helper()
	dsn := pgtest.Migrated(t)
	st, err := postgres.Open(t.Context(), dsn, postgres.Config{Debounce: time.Nanosecond})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	return &hookedStore{Store: st, dsn: dsn}
}

func newTrainer(st store.Store, cfg trainer.Config) *trainer.Trainer {
	return trainer.New(st, cfg, slog.New(slog.DiscardHandler))
}

func (s *hookedStore) sql(t *testing.T, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.dsn)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(t.Context(), statement)
	require.NoError(t, err)
}

func (s *hookedStore) leasedUntil(t *testing.T) (until time.Time) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.dsn)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT until FROM lease`).Scan(&until))
	return until
}

func task(name string) sizing.TaskKey {
	return sizing.TaskKey{Namespace: sizing.DefaultNamespace, DAG: "etl", Task: name}
}

// report stores the runs [`from`, `to`) with peaks of 1 GiB, which makes their task due.
func (s *hookedStore) report(t *testing.T, name string, from, to int) {
	t.Helper()
	var obs []sizing.Observation
	for i := from; i < to; i++ {
		obs = append(obs, sizing.Observation{
			Try:     sizing.TryKey{TaskKey: task(name), RunID: fmt.Sprint(i), MapIndex: sizing.NoMap, Number: 1},
			Outcome: sizing.Success, MemoryMax: sizing.GiB, Features: sizing.Features{"rows": sizing.NumberValue(float64(i))},
		})
	}
	recorded, err := s.Record(t.Context(), obs)
	require.NoError(t, err)
	for i := range recorded {
		require.NoError(t, recorded[i].Err)
	}
}

func (s *hookedStore) active(t *testing.T, name string) int {
	t.Helper()
	versions, err := s.ActiveVersions(t.Context())
	require.NoError(t, err)
	return versions[task(name)]
}

// A row is learned once: if a training reads it before the receipt of its try is stored, neither this training nor a later
// one compares the promise of the try with the outcome.
func TestAPromiseThatIsStoredAfterTheTrainingIsNotCompared(t *testing.T) {
	killed := sizing.TryKey{TaskKey: task("t"), RunID: "killed", MapIndex: sizing.NoMap, Number: 1}
	promised := 0.0135
	receipt := sizing.Receipt{Ask: sizing.Ask{Try: killed}, At: time.Now(), Allocation: sizing.Allocation{
		PredictionID: uuid.Must(uuid.NewV7()).String(), Task: killed.TaskKey, Memory: sizing.Grant{Request: sizing.GiB, Limit: sizing.GiB}, Risk: sizing.Risk{Promised: &promised},
	}}
	kills := func(isLate bool) (sum float64) {
		st := newStore(t)
		tr := newTrainer(st, trainer.Config{})
		st.report(t, "t", 0, 40)
		require.True(t, runOnce(t, tr))
		if !isLate {
			require.NoError(t, st.SaveReceipts(t.Context(), []sizing.Receipt{receipt}))
		}
		_, err := st.Record(t.Context(), []sizing.Observation{{Try: killed, Outcome: sizing.OOMKilled, Allocated: sizing.Resources{Memory: sizing.GiB}}})
		require.NoError(t, err)
		require.True(t, runOnce(t, tr))
		if isLate {
			require.NoError(t, st.SaveReceipts(t.Context(), []sizing.Receipt{receipt}))
		}
		st.report(t, "t", 40, 60)
		require.True(t, runOnce(t, tr))
		stored, err := st.ActiveModel(t.Context(), task("t"))
		require.NoError(t, err)
		share, err := taskmodel.ReadShare(stored.Share, stored.Blob)
		require.NoError(t, err)
		for _, n := range share.Killed {
			sum += n
		}
		return sum
	}
	assert.Positive(t, kills(false))
	assert.Zero(t, kills(true))
}

func runOnce(t *testing.T, tr *trainer.Trainer) bool {
	t.Helper()
	more, err := tr.RunOnce(t.Context())
	require.NoError(t, err)
	return more
}

func TestDueTaskIsTrainedOnceAndPublished(t *testing.T) {
	st := newStore(t)
	tr := newTrainer(st, trainer.Config{})
	assert.False(t, runOnce(t, tr), "nothing is due")
	st.report(t, "load", 0, 10)
	assert.True(t, runOnce(t, tr))
	assert.False(t, runOnce(t, tr), "after its training the task is not due")
	model, err := st.ActiveModel(t.Context(), task("load"))
	require.NoError(t, err)
	assert.Equal(t, []int{1, 10, 3}, []int{model.Version, model.Observations, model.Format})
	opened, err := taskmodel.Open(model.Blob)
	require.NoError(t, err)
	assert.Equal(t, sizing.GiB, opened.LargestPeak())

	st.report(t, "load", 10, 12)
	assert.True(t, runOnce(t, tr), "new reports make the task due again")
	assert.Equal(t, 2, st.active(t, "load"))
}

func TestTooLittleDataIsNotAnError(t *testing.T) {
	st := newStore(t)
	tr := newTrainer(st, trainer.Config{})
	_, err := tr.TrainNow(t.Context(), task("load"))
	assert.Equal(t, sizing.NotFound, sizing.KindOf(err))

	_, err = st.Record(t.Context(), []sizing.Observation{{
		Try:     sizing.TryKey{TaskKey: task("load"), RunID: "r", MapIndex: sizing.NoMap, Number: 1},
		Outcome: sizing.OOMKilled, Allocated: sizing.Resources{Memory: sizing.GiB},
	}})
	require.NoError(t, err)
	report, err := tr.TrainNow(t.Context(), task("load"))
	require.NoError(t, err)
	assert.Equal(t, trainer.Report{Reason: "no run has a measured peak yet: report memory_max_bytes with a success"}, report)
	assert.True(t, runOnce(t, tr), "the kill made the task due")
	assert.False(t, runOnce(t, tr), "after the attempt the task is not due")
	assert.Zero(t, st.active(t, "load"))
}

// A task that is trained twice would have a second version.
func TestConcurrentTrainersTrainEachTaskOnce(t *testing.T) {
	st := newStore(t)
	const tasks = 12
	for i := range tasks {
		st.report(t, fmt.Sprint(i), 0, 3)
	}
	var workers sync.WaitGroup
	for range 2 {
		tr := newTrainer(st.Store, trainer.Config{})
		for range 3 {
			workers.Go(func() {
				for more := true; more; {
					var err error
					more, err = tr.RunOnce(t.Context())
					assert.NoError(t, err)
				}
			})
		}
	}
	workers.Wait()
	for i := range tasks {
		assert.Equal(t, 1, st.active(t, fmt.Sprint(i)))
	}
}

func TestSecondPublisherTrainsFromTheModelOfTheFirst(t *testing.T) {
	st := newStore(t)
	st.report(t, "load", 0, 10)
	first := newTrainer(st.Store, trainer.Config{})
	st.after = func(ctx context.Context) error {
		st.report(t, "load", 10, 15)
		_, err := first.TrainNow(ctx, task("load"))
		return err
	}
	report, err := newTrainer(st, trainer.Config{}).TrainNow(t.Context(), task("load"))
	require.NoError(t, err)
	assert.Equal(t, []any{true, 2}, []any{report.Published, report.Version})
	model, err := st.ActiveModel(t.Context(), task("load"))
	require.NoError(t, err)
	opened, err := taskmodel.Open(model.Blob)
	require.NoError(t, err)
	assert.Equal(t, []int{15, 15}, []int{model.Observations, opened.Tries}, "each run was learned once")
}

func TestATrainingReturnsTheActiveVersionIfOthersAlwaysPublishFirst(t *testing.T) {
	st := newStore(t)
	st.report(t, "load", 0, 10)
	tr := newTrainer(st, trainer.Config{})
	report, err := tr.TrainNow(t.Context(), task("load"))
	require.NoError(t, err)
	require.True(t, report.Published)
	st.before = func(task sizing.TaskKey) { // another replica publishes during each training
		model, err := st.ActiveModel(t.Context(), task)
		require.NoError(t, err)
		_, err = st.Publish(t.Context(), model, model.Version)
		require.NoError(t, err)
	}
	report, err = tr.TrainNow(t.Context(), task("load"))
	require.NoError(t, err)
	assert.Equal(t, trainer.Report{Trained: true, Version: 4, Reason: "other replicas kept publishing first"}, report)
}

func TestFailedTrainingIsRetriedLater(t *testing.T) {
	st := newStore(t)
	st.report(t, "load", 0, 5)
	failure := errors.New("failure")
	st.after = func(context.Context) error { return failure }
	slowRetry := newTrainer(st, trainer.Config{Retry: time.Hour})
	_, err := slowRetry.RunOnce(t.Context())
	assert.ErrorIs(t, err, failure)
	assert.False(t, runOnce(t, slowRetry), "the task is not due within the hour")

	st.report(t, "load", 5, 6)
	st.after = func(context.Context) error { return failure }
	fastRetry := newTrainer(st, trainer.Config{Retry: time.Nanosecond})
	_, err = fastRetry.RunOnce(t.Context())
	assert.ErrorIs(t, err, failure)
	assert.True(t, runOnce(t, fastRetry))
	assert.Equal(t, 1, st.active(t, "load"))
}

func TestLostLeaseCancelsTraining(t *testing.T) {
	st := newStore(t)
	st.report(t, "load", 0, 5)
	st.after = func(ctx context.Context) error {
		// Simulates an expired lease that another replica has taken over.
		st.sql(t, `UPDATE lease SET owner = 'another', token = token + 1, until = now() + interval '1 hour'`)
		<-ctx.Done() // the next heartbeat finds the lease lost and cancels the training
		return ctx.Err()
	}
	tr := newTrainer(st, trainer.Config{Lease: 90 * time.Millisecond})
	assert.True(t, runOnce(t, tr), "there is no error, because the other replica trains the task")
	assert.Zero(t, st.active(t, "load"))
	assert.False(t, runOnce(t, tr), "the other replica still holds the lease")
}

func TestHeartbeatRenewsLease(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	st.report(t, "load", 0, 5)
	const lease = 12 * time.Second // the heartbeat renews it after a third
	st.after = func(ctx context.Context) error {
		claimed := st.leasedUntil(t)
		require.Eventually(t, func() bool { return st.leasedUntil(t).After(claimed) }, testwait.Limit, 10*time.Millisecond)
		_, err := st.Claim(ctx, "another", lease)
		assert.Equal(t, sizing.NotFound, sizing.KindOf(err), "the first owner still holds the lease")
		return nil
	}
	assert.True(t, runOnce(t, newTrainer(st, trainer.Config{Lease: lease})))
	assert.Equal(t, 1, st.active(t, "load"))
}

func TestTaskDeletedDuringTrainingIsNotAnError(t *testing.T) {
	st := newStore(t)
	st.report(t, "load", 0, 5)
	st.after = func(ctx context.Context) error { return st.DeleteTask(ctx, task("load")) }
	tr := newTrainer(st, trainer.Config{})
	assert.True(t, runOnce(t, tr))
	assert.False(t, runOnce(t, tr))
}

func TestInterruptedTrainingIsDueImmediately(t *testing.T) {
	st := newStore(t)
	st.report(t, "load", 0, 5)
	ctx, stop := context.WithCancel(t.Context())
	st.after = func(context.Context) error { stop(); return nil }
	_, err := newTrainer(st, trainer.Config{Retry: time.Hour}).RunOnce(ctx)
	require.Error(t, err)
	assert.Zero(t, st.active(t, "load"))
	assert.True(t, runOnce(t, newTrainer(st, trainer.Config{})), "the next process does not wait")
	assert.Equal(t, 1, st.active(t, "load"))
}

func TestUnreadableModelIsReplaced(t *testing.T) {
	st := newStore(t)
	tr := newTrainer(st, trainer.Config{})
	st.report(t, "load", 0, 5)
	require.True(t, runOnce(t, tr))
	st.sql(t, `UPDATE model SET blob = 'nonsense'`)
	report, err := tr.TrainNow(t.Context(), task("load"))
	require.NoError(t, err)
	assert.Equal(t, 2, report.Version)
	model, err := st.ActiveModel(t.Context(), task("load"))
	require.NoError(t, err)
	_, err = taskmodel.Open(model.Blob)
	assert.NoError(t, err)
}

func TestRunTrainsUntilContextEnds(t *testing.T) {
	st := newStore(t)
	for i := range 3 {
		st.report(t, fmt.Sprint(i), 0, 3)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		newTrainer(st, trainer.Config{Every: time.Millisecond}).Run(ctx)
		close(ended)
	}()
	for i := range 3 {
		require.Eventually(t, func() bool { return st.active(t, fmt.Sprint(i)) == 1 }, testwait.Limit, 5*time.Millisecond)
	}
	stop()
	<-ended
}

func TestTrainingsDoNotWaitForTheCohortOfAnotherNamespace(t *testing.T) {
	st := newStore(t)
	fitting, release := make(chan struct{}, 1), make(chan struct{})
	st.cohort = func(namespace string) {
		if namespace == sizing.DefaultNamespace {
			select {
			case fitting <- struct{}{}:
			default:
			}
			<-release
		}
	}
	st.report(t, "large", 0, 20)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	tr := newTrainer(st, trainer.Config{Every: time.Millisecond})
	go func() {
		tr.Run(ctx)
		close(ended)
	}()
	<-fitting
	reports := func(namespace string) (task sizing.TaskKey) {
		for i := range 20 { // four runs of five tasks are enough for a cohort
			task = sizing.TaskKey{Namespace: namespace, DAG: "etl", Task: fmt.Sprint(i % 5)}
			_, err := st.Record(t.Context(), []sizing.Observation{{
				Try: sizing.TryKey{TaskKey: task, RunID: fmt.Sprint(i), MapIndex: sizing.NoMap, Number: 1}, Outcome: sizing.Success, MemoryMax: sizing.GiB,
				Requested: sizing.Resources{Memory: 4 * sizing.GiB},
			}})
			require.NoError(t, err)
		}
		return task
	}
	background := reports("background")
	require.Eventually(t, func() bool {
		versions, err := st.ActiveVersions(t.Context())
		return err == nil && versions[background] > 0
	}, testwait.Limit, 5*time.Millisecond)
	_, err := tr.TrainNow(t.Context(), reports("requested"))
	require.NoError(t, err)
	_, err = st.Cohort(t.Context(), "requested")
	require.NoError(t, err, "TrainNow trains the cohort of its own namespace before it returns")
	close(release)
	require.Eventually(t, func() bool {
		_, err := st.Cohort(t.Context(), "background")
		return err == nil
	}, testwait.Limit, 5*time.Millisecond)
	stop()
	<-ended
}
