package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/testcluster"
)

// workload simulates the runs of one task in Airflow: a prediction before each run, OOM kills of tries with less memory than
// the peak, lifts, and a report at the end.
type workload struct {
	cluster       *testcluster.Cluster
	task          testcluster.Task
	random        *rand.Rand
	factor        float64                                   // multiplies the peaks of the runs
	awaitWatchdog func(ctx context.Context, all bool) error // waits until the watchdog has checked the kills or, if `all` is true, every run
	releaseLease  func(context.Context) error               // set by takeLease
	started       int                                       // runs since the beginning
	ended, killed int                                       // runs, and those whose first try was killed, since the last reset by a check
}

// watchdogNote returns a note for the figures, which is empty unless the lease was taken.
func (w *workload) watchdogNote() string {
	if w.releaseLease == nil {
		return ""
	}
	return ", watchdog ran only at the end"
}

// batchSize is the number of runs that start before the first of them ends.
const batchSize = 16

func (w *workload) simulate(ctx context.Context, n int) error {
	for ; n > 0; n -= batchSize {
		if err := w.simulateBatch(ctx, min(n, batchSize)); err != nil {
			return err
		}
		if err := w.waitForWatchdog(ctx, false); err != nil {
			return err
		}
	}
	return nil
}

func (w *workload) simulateBatch(ctx context.Context, n int) error {
	runs, granted := make([]testcluster.Observation, n), make([]int64, n)
	for i := range runs {
		w.started++
		runs[i] = testcluster.DrawRun(w.random, w.task, fmt.Sprintf("workload-%05d", w.started))
		runs[i].Peak = int64(float64(runs[i].Peak) * w.factor)
		a, err := post(ctx, w.cluster.Replicas[0], "/predict", map[string]any{
			"dag_id": w.task.DAG, "task_id": w.task.Task, "run_id": runs[i].RunID, "features": runs[i].Features, "requested": runs[i].Requested,
		})
		if err != nil {
			return err
		}
		granted[i] = a.Memory.Limit
	}
	for i := range runs {
		if err := w.end(ctx, runs[i], granted[i]); err != nil {
			return err
		}
	}
	return nil
}

func (w *workload) end(ctx context.Context, o testcluster.Observation, granted int64) error {
	to := w.cluster.Replicas[0]
	w.ended++
	if granted < o.Peak {
		w.killed++
	}
	for granted < o.Peak {
		lift := map[string]any{
			"dag_id": o.DAG, "task_id": o.Task.Task, "run_id": o.RunID, "try_number": o.TryNumber, "reason": "oom_killed",
			"failed": map[string]any{"memory_bytes": granted}, "features": o.Features, "requested": o.Requested,
		}
		a, err := post(ctx, to, "/retry-lift", lift)
		if err != nil {
			return err
		}
		if o.TryNumber++; !a.Retry {
			break // Airflow would give up; the report still contains the peak
		}
		granted = a.Memory.Limit
	}
	_, err := post(ctx, to, "/observe", o)
	return err
}

func (w *workload) isRolledBack(ctx context.Context) (bool, error) {
	code, text, err := w.cluster.Replicas[0].Call(ctx, http.MethodGet, "/audit?limit=1000&dag_id="+w.task.DAG+"&task_id="+w.task.Task, nil)
	if err := callError("audit", code, text, err); err != nil {
		return false, err
	}
	var page struct {
		Entries []struct{ Who, Action string }
	}
	if err := json.Unmarshal(text, &page); err != nil {
		return false, err
	}
	for _, e := range page.Entries {
		if e.Who == "watchdog" && e.Action == "model rolled back" {
			return true, nil
		}
	}
	return false, nil
}

// waitPropagated waits at most about one second until the version `bad` no longer answers, because a replica learns of a
// rollback a moment after the commit. It returns the version that answers.
func (w *workload) waitPropagated(ctx context.Context, bad int) (answering int, err error) {
	for range 100 {
		if answering, err = answeringVersion(ctx, w.cluster.Replicas[0], w.task); answering != bad || err != nil {
			return answering, err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return answering, nil
}

// waitForWatchdog waits until the watchdog has checked the kills, which trigger it at once; if `last` is true, all runs.
// After takeLease, it waits only if `last` is true, and releases the lease before.
func (w *workload) waitForWatchdog(ctx context.Context, last bool) error {
	if w.releaseLease != nil {
		if !last {
			return nil
		}
		if err := w.releaseLease(ctx); err != nil {
			return err
		}
	}
	return w.awaitWatchdog(ctx, last)
}

const takeLeaseSQL = `
	UPDATE lease SET token = token + 1, owner = 'the trial', until = now() + interval '1 hour'
	FROM task WHERE lease.task = task.id AND dag_id = $1 AND task_id = $2`

const releaseLeaseSQL = `
	UPDATE lease SET owner = NULL, until = NULL
	FROM task WHERE lease.task = task.id AND dag_id = $1 AND task_id = $2`

// takeLease takes the lease of the task, as a busy replica would. Until releaseLease no replica trains the task and the
// watchdog does not check it.
func (w *workload) takeLease(ctx context.Context, conn *pgx.Conn) error {
	w.releaseLease = func(ctx context.Context) error {
		_, err := conn.Exec(ctx, releaseLeaseSQL, w.task.DAG, w.task.Task)
		return err
	}
	tag, err := conn.Exec(ctx, takeLeaseSQL, w.task.DAG, w.task.Task)
	if err == nil && tag.RowsAffected() != 1 {
		err = fmt.Errorf("take the lease of %s: the task has no row in the table lease", w.task.Task)
	}
	return err
}

// trainingPendingSQL selects whether a training of the task runs or is due; if $3 is true, also one that is scheduled for
// later.
const trainingPendingSQL = `
	SELECT lease.until IS NOT NULL OR (tally.due_at IS NOT NULL AND (tally.due_at <= now() OR $3))
	FROM task JOIN tally ON tally.task = task.id LEFT JOIN lease ON lease.task = task.id
	WHERE dag_id = $1 AND task_id = $2`

const watchdogTimeout = 30 * time.Second

// awaitWatchdog waits until no training of the task is pending. The watchdog runs before every training, even if a pin then
// prevents the training.
func awaitWatchdog(ctx context.Context, conn *pgx.Conn, task testcluster.Task, all bool) error {
	for start := time.Now(); time.Since(start) < watchdogTimeout; time.Sleep(20 * time.Millisecond) {
		var pending bool
		if err := conn.QueryRow(ctx, trainingPendingSQL, task.DAG, task.Task, all).Scan(&pending); err != nil || !pending {
			return err
		}
	}
	return fmt.Errorf("wait for the watchdog: it did not check %s within %v", task.Task, watchdogTimeout)
}
