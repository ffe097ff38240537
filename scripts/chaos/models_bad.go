package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"

	"github.com/loadaware/loadaware/internal/fitting"
	"github.com/loadaware/loadaware/internal/rig"
)

// shrunk is what a bad model grants of what it should.
const shrunk = 0.3

// badModel promotes models whose allocations are three tenths, intact by their
// checksums, one task after the other. Beside them run tasks that nobody did anything
// to, and tasks that need three times as much all of a sudden: in those nothing may be
// rolled back.
func badModel(ctx context.Context, s *sheet) error {
	room, err := rig.Open(ctx, rig.Config{Binary: s.binary})
	if err != nil {
		return err
	}
	defer room.Close()
	each := s.reps(2, 10)
	tasks, err := room.Fill(ctx, rig.History{Tasks: 3 * each, Runs: 150, Seed: s.seed})
	if err != nil {
		return err
	}
	for i, task := range tasks {
		w := &workday{room: room, task: task, random: rand.New(rand.NewPCG(s.seed, uint64(100+i))), factor: 1}
		if err := w.work(ctx, 32); err != nil {
			return err
		}
		switch i / each {
		case 0:
			err = s.promoteBad(ctx, w)
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

func (s *sheet) promoteBad(ctx context.Context, w *workday) error {
	conn, err := connect(ctx, w.room)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	// Told of the newest runs, it will not learn better from them when it is opened.
	if err := train(ctx, w.room.Replicas[0], w.task); err != nil {
		return err
	}
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
	w.ended, w.killed = 0, 0
	back := false
	for w.ended < outcomesAtMost && !back {
		if err := w.work(ctx, 16); err != nil {
			return err
		}
		if back, err = w.rolledBack(ctx); err != nil {
			return err
		}
	}
	now, err := answering(ctx, w.room.Replicas[0], w.task)
	if err != nil {
		return err
	}
	s.tell("%s: bad version %d in place of %d: rolled back %v after %d outcomes, %d kills; version %d answers", w.task.Task, bad, good, back, w.ended, w.killed, now)
	healed := !back && w.killed <= w.ended/8 // it learned from its kills before there was evidence enough
	s.hold(back && w.ended <= outcomesAtMost || healed && !s.long, "%s: no rollback within %d outcomes", w.task.Task, outcomesAtMost)
	s.hold(now != bad || healed && !s.long, "%s: the bad version answers still", w.task.Task)
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
	back, err := w.rolledBack(ctx)
	if err != nil {
		return err
	}
	s.tell("%s: %s: %d outcomes, %d kills, rolled back %v", w.task.Task, what, w.ended, w.killed, back)
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
	started       int
	ended, killed int
}

// work has n runs, 16 of which are asked about before any of them ends.
func (w *workday) work(ctx context.Context, n int) error {
	for n > 0 {
		side := min(n, 16)
		n -= side
		runs, granted := make([]rig.Observation, side), make([]int64, side)
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
