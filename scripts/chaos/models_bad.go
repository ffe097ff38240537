package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/fitting"
	"github.com/loadaware/loadaware/internal/testcluster"
)

// shrunk is what a bad model grants of what it should.
const shrunk = 0.3

// badModel promotes models whose allocations are three tenths, intact by their
// checksums, one task after the other. Beside them run tasks that nobody did anything
// to, and tasks that need three times as much all of a sudden: in those nothing may be
// rolled back. In every second task the watchdog has its turn after every kill; in the
// others only when all outcomes are in, and most models have learned better long since.
func badModel(ctx context.Context, s *sheet) error {
	cluster, err := testcluster.Open(ctx, testcluster.Config{Binary: s.binary})
	if err != nil {
		return err
	}
	defer cluster.Close()
	conn, err := connect(ctx, cluster)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	each := s.reps(2, 10)
	tasks, err := cluster.Fill(ctx, testcluster.History{Tasks: 3 * each, Runs: 150, Seed: s.seed})
	if err != nil {
		return err
	}
	for i, task := range tasks {
		w := &workday{
			cluster: cluster, task: task, random: rand.New(rand.NewPCG(s.seed, uint64(100+i))), factor: 1,
			watch: func(ctx context.Context, all bool) error { return watch(ctx, conn, task, all) },
		}
		if err := w.work(ctx, 32); err != nil {
			return err
		}
		// Told of the newest runs, a model will not learn better from them when it is
		// opened; and there is an earlier one to go back to, by mistake or not.
		if err := train(ctx, cluster.Replicas[0], task); err != nil {
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
	if code, err := activate(ctx, w.cluster.Replicas[0], w.task, bad); code != http.StatusOK {
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
	s.tell("%s: bad version %d in place of %d: %d outcomes, %d kills, rolled back %v%s; version %d answers", w.task.Task, bad, good, w.ended, w.killed, back, w.looked(), now)
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
	s.tell("%s: %s: %d outcomes, %d kills, rolled back %v%s", w.task.Task, what, w.ended, w.killed, back, w.looked())
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
