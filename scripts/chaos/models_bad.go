package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/fitting"
	"github.com/loadaware/loadaware/internal/rig"
)

// shrunk is what a bad model grants of what it should.
const shrunk = 0.3

// badModel promotes models whose allocations are three tenths, intact by their
// checksums, one task after the other. Beside them run tasks that nobody did anything
// to, and tasks that need three times as much all of a sudden: in those nothing may be
// rolled back. In every second task the watchdog has its turn after every kill; in the
// others only when all outcomes are in, and most models have learned better long since.
func badModel(ctx context.Context, s *sheet) error {
	room, err := rig.Open(ctx, rig.Config{Binary: s.binary})
	if err != nil {
		return err
	}
	defer room.Close()
	conn, err := connect(ctx, room)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	each := s.reps(2, 10)
	tasks, err := room.Fill(ctx, rig.History{Tasks: 3 * each, Runs: 150, Seed: s.seed})
	if err != nil {
		return err
	}
	for i, task := range tasks {
		w := &workday{
			room: room, task: task, random: rand.New(rand.NewPCG(s.seed, uint64(100+i))), factor: 1,
			watch: func(ctx context.Context, all bool) error { return watch(ctx, conn, task, all) },
		}
		if err := w.work(ctx, 32); err != nil {
			return err
		}
		// Told of the newest runs, a model will not learn better from them when it is
		// opened; and there is an earlier one to go back to, by mistake or not.
		if err := train(ctx, room.Replicas[0], task); err != nil {
			return err
		}
		if i%2 == 1 {
			if err := w.blindfold(ctx, conn); err != nil {
				return err
			}
		}
		switch i / each {
		case 0:
			err = s.promoteBad(ctx, conn, w)
		case 1:
			w.factor = 3
			err = s.unharmed(ctx, w, "a task that needs three times as much")
		default:
			err = s.unharmed(ctx, w, "a task as it was")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

const outcomesAtMost = 200

func (s *sheet) promoteBad(ctx context.Context, conn *pgx.Conn, w *workday) error {
	good, blob, err := activeBlob(ctx, conn, w.task)
	if err != nil {
		return err
	}
	if blob, err = shrink(blob); err != nil {
		return err
	}
	bad, err := plant(ctx, conn, w.task, blob)
	if err != nil {
		return err
	}
	if code, err := activate(ctx, w.room.Replicas[0], w.task, bad); code != http.StatusOK {
		return fmt.Errorf("activate a bad model: %d %w", code, err)
	}
	return s.freed(ctx, w, bad, good)
}

// freed claims that the watchdog frees a task of a bad version by itself.
func (s *sheet) freed(ctx context.Context, w *workday, bad, good int) error {
	w.ended, w.killed = 0, 0
	back := false
	for w.ended < outcomesAtMost && !back {
		if err := w.work(ctx, min(side, outcomesAtMost-w.ended)); err != nil {
			return err
		}
		if err := w.turn(ctx, w.ended == outcomesAtMost); err != nil {
			return err
		}
		var err error
		if back, err = w.rolledBack(ctx); err != nil {
			return err
		}
	}
	now, err := w.follows(ctx, bad)
	if err != nil {
		return err
	}
	s.tell("%s: bad version %d in place of %d: %d outcomes, %d kills, rolled back %v%s; version %d answers", w.task.Task, bad, good, w.ended, w.killed, back, w.pace(), now)
	s.hold(back, "%s: no rollback within %d outcomes", w.task.Task, outcomesAtMost)
	s.hold(now != bad, "%s: the bad version answers still", w.task.Task)
	w.ended, w.killed = 0, 0
	if err := w.work(ctx, 64); err != nil {
		return err
	}
	s.tell("%s: after it: %d outcomes, %d kills", w.task.Task, w.ended, w.killed)
	s.hold(w.killed <= 12, "%s: after the rollback %d of %d were killed", w.task.Task, w.killed, w.ended)
	return nil
}

// unharmed is the test of the test, and a count of false alarms.
func (s *sheet) unharmed(ctx context.Context, w *workday, what string) error {
	w.ended, w.killed = 0, 0
	if err := w.work(ctx, outcomesAtMost); err != nil {
		return err
	}
	if err := w.turn(ctx, true); err != nil {
		return err
	}
	back, err := w.rolledBack(ctx)
	if err != nil {
		return err
	}
	s.tell("%s: %s: %d outcomes, %d kills, rolled back %v%s", w.task.Task, what, w.ended, w.killed, back, w.pace())
	s.hold(!back, "%s: a model was rolled back that did no harm", w.task.Task)
	return nil
}

// shrink has a model believe of every row it remembers that it needed three tenths.
func shrink(blob []byte) ([]byte, error) {
	model, err := fitting.Open(blob)
	if err != nil {
		return nil, err
	}
	for i := range model.Experts.Ledger {
		model.Experts.Ledger[i].Log += math.Log(shrunk)
	}
	model.Experts.MaxPeak *= shrunk
	return model.Blob()
}

// workday has the runs of one task, as Airflow would: asked about, killed where they
// were granted too little, lifted, and reported.
type workday struct {
	room          *rig.Room
	task          rig.Task
	random        *rand.Rand
	factor        float64 // of what the runs need
	watch         func(ctx context.Context, all bool) error
	reveal        func(context.Context) error // nil: the watchdog sees what happens
	started       int
	ended, killed int
}

func (w *workday) pace() string {
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
	runs, granted := make([]rig.Observation, n), make([]int64, n)
	for i := range runs {
		w.started++
		runs[i] = rig.Run(w.random, w.task, fmt.Sprintf("day-%05d", w.started))
		runs[i].Peak = int64(float64(runs[i].Peak) * w.factor)
		a, err := post(ctx, w.room.Replicas[0], "/predict", map[string]any{
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
func (w *workday) end(ctx context.Context, o rig.Observation, granted int64) error {
	to := w.room.Replicas[0]
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
	code, says, err := w.room.Replicas[0].Call(ctx, http.MethodGet, "/audit?limit=1000&dag_id="+w.task.DAG+"&task_id="+w.task.Task, nil)
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
		if now, err = answering(ctx, w.room.Replicas[0], w.task); now != bad || err != nil {
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
func watch(ctx context.Context, conn *pgx.Conn, task rig.Task, all bool) error {
	for begun := time.Now(); time.Since(begun) < turnAtMost; time.Sleep(20 * time.Millisecond) {
		var news bool
		if err := conn.QueryRow(ctx, newsSQL, task.DAG, task.Task, all).Scan(&news); err != nil || !news {
			return err
		}
	}
	return fmt.Errorf("the watchdog had no turn at %s within %v", task.Task, turnAtMost)
}
