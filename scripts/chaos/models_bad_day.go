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

// workday has the runs of one task, as Airflow would: asked about, killed where they
// were granted too little, lifted, and reported.
type workday struct {
	cluster       *testcluster.Cluster
	task          testcluster.Task
	random        *rand.Rand
	factor        float64                                   // of what the runs need
	watch         func(ctx context.Context, all bool) error // waits for the watchdog to have seen the kills, or all
	reveal        func(context.Context) error               // ends a blindfold; nil without one
	started       int
	ended, killed int
}

// looked says when the watchdog did, where that is not all the time.
func (w *workday) looked() string {
	if w.reveal == nil {
		return ""
	}
	return ", looked at in the end only"
}

const side = 16 // runs that are asked about before any of them ends

// work has n runs.
func (w *workday) work(ctx context.Context, n int) error {
	for ; n > 0; n -= side {
		if err := w.sideBySide(ctx, min(n, side)); err != nil {
			return err
		}
		if err := w.turn(ctx, false); err != nil {
			return err
		}
	}
	return nil
}

func (w *workday) sideBySide(ctx context.Context, n int) error {
	runs, granted := make([]testcluster.Observation, n), make([]int64, n)
	for i := range runs {
		w.started++
		runs[i] = testcluster.DrawRun(w.random, w.task, fmt.Sprintf("day-%05d", w.started))
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

// end reports one run, through its kills and lifts to its success.
func (w *workday) end(ctx context.Context, o testcluster.Observation, granted int64) error {
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
			break // Airflow would give up; what it needed is told all the same
		}
		granted = a.Memory.Limit
	}
	_, err := post(ctx, to, "/observe", o)
	return err
}

// rolledBack reports whether the watchdog went back, by the audit trail.
func (w *workday) rolledBack(ctx context.Context) (bool, error) {
	code, says, err := w.cluster.Replicas[0].Call(ctx, http.MethodGet, "/audit?limit=1000&dag_id="+w.task.DAG+"&task_id="+w.task.Task, nil)
	if code != http.StatusOK || err != nil {
		return false, fmt.Errorf("audit: %d %s: %w", code, says, err)
	}
	var page struct {
		Entries []struct{ Who, Action string }
	}
	if err := json.Unmarshal(says, &page); err != nil {
		return false, err
	}
	for _, e := range page.Entries {
		if e.Who == "watchdog" && e.Action == "model rolled back" {
			return true, nil
		}
	}
	return false, nil
}

// follows is the version that answers once another than bad does, or in the end: a
// replica hears of a rollback a moment after it is in the database.
func (w *workday) follows(ctx context.Context, bad int) (now int, err error) {
	for range 100 {
		if now, err = answering(ctx, w.cluster.Replicas[0], w.task); now != bad || err != nil {
			return now, err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return now, nil
}

// turn waits for the watchdog: for all that it has to look at in the end, and for the
// kills, which bring it at once, before.
func (w *workday) turn(ctx context.Context, last bool) error {
	if w.reveal != nil {
		if !last {
			return nil
		}
		if err := w.reveal(ctx); err != nil {
			return err
		}
	}
	return w.watch(ctx, last)
}

const blindfoldSQL = `
	UPDATE lease SET token = token + 1, owner = 'the trial', until = now() + interval '1 hour'
	FROM task WHERE lease.task = task.id AND dag_id = $1 AND task_id = $2`

const revealSQL = `
	UPDATE lease SET owner = NULL, until = NULL
	FROM task WHERE lease.task = task.id AND dag_id = $1 AND task_id = $2`

// blindfold takes the lease of the task, as a replica that is busy with it would: until
// it is given back nobody trains the task, and the watchdog has no turn.
func (w *workday) blindfold(ctx context.Context, conn *pgx.Conn) error {
	w.reveal = func(ctx context.Context) error {
		_, err := conn.Exec(ctx, revealSQL, w.task.DAG, w.task.Task)
		return err
	}
	tag, err := conn.Exec(ctx, blindfoldSQL, w.task.DAG, w.task.Task)
	if err == nil && tag.RowsAffected() != 1 {
		err = fmt.Errorf("the lease of %s was not there to be taken", w.task.Task)
	}
	return err
}

// newsSQL is whether a training of the task runs, or is due now or, for all news, later.
const newsSQL = `
	SELECT lease.until IS NOT NULL OR (tally.due_at IS NOT NULL AND (tally.due_at <= now() OR $3))
	FROM task JOIN tally ON tally.task = task.id LEFT JOIN lease ON lease.task = task.id
	WHERE dag_id = $1 AND task_id = $2`

const turnAtMost = 30 * time.Second

// watch waits until what was reported of a task has been trained on, or would have
// been but for a pin: the watchdog stands before every training.
func watch(ctx context.Context, conn *pgx.Conn, task testcluster.Task, all bool) error {
	for begun := time.Now(); time.Since(begun) < turnAtMost; time.Sleep(20 * time.Millisecond) {
		var news bool
		if err := conn.QueryRow(ctx, newsSQL, task.DAG, task.Task, all).Scan(&news); err != nil || !news {
			return err
		}
	}
	return fmt.Errorf("the watchdog had no turn at %s within %v", task.Task, turnAtMost)
}
