package main

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/ml/bayes"
	"github.com/loadaware/loadaware/internal/taskmodel"
	"github.com/loadaware/loadaware/internal/testcluster"
)

// shrinkFactor is the fraction of the right allocation that a bad model allocates.
const shrinkFactor = 0.3

// trialBadModel promotes models with valid checksums that allocate 30 % of the right amount, one task after the other. The
// controls are unchanged tasks and tasks that suddenly need three times as much memory, whose models must stay.
func trialBadModel(ctx context.Context, tr *trialRun) error {
	cluster, err := testcluster.Open(ctx, testcluster.Config{Binary: tr.binary})
	if err != nil {
		return err
	}
	defer cluster.Close()
	conn, err := connect(ctx, cluster)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	tasksPerCase := tr.repetitions(2, 10)
	tasks, err := cluster.Fill(ctx, testcluster.History{Tasks: 3 * tasksPerCase, Runs: 150, Seed: tr.seed})
	if err != nil {
		return err
	}
	for i, task := range tasks {
		w := &workload{
			cluster: cluster, task: task, random: rand.New(rand.NewPCG(tr.seed, uint64(100+i))), factor: 1,
			awaitWatchdog: func(ctx context.Context, all bool) error { return awaitWatchdog(ctx, conn, task, all) },
		}
		if err := w.simulate(ctx, 32); err != nil {
			return err
		}
		// This training includes the newest runs, so that a replica does not have to learn them when it loads the model. It
		// also leaves an earlier version for a rollback.
		if err := train(ctx, cluster.Replicas[0], task); err != nil {
			return err
		}
		// For every second task the trial holds the training lease, so that the watchdog runs only after all outcomes,
		// when most models have already learned from the kills. For the other tasks every kill triggers the watchdog.
		if i%2 == 1 {
			if err := w.takeLease(ctx, conn); err != nil {
				return err
			}
		}
		switch i / tasksPerCase {
		case 0:
			err = tr.promoteBadModel(ctx, conn, w)
		case 1:
			w.factor = 3
			err = tr.checkNoRollback(ctx, w, "a task that needs three times as much")
		default:
			err = tr.checkNoRollback(ctx, w, "an unchanged task")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// maxOutcomes is the number of ended runs within which the watchdog must roll back a bad model.
const maxOutcomes = 200

func (tr *trialRun) promoteBadModel(ctx context.Context, conn *pgx.Conn, w *workload) error {
	good, blob, err := readActiveBlob(ctx, conn, w.task)
	if err != nil {
		return err
	}
	if blob, err = shrinkModel(blob); err != nil {
		return err
	}
	bad, err := insertModel(ctx, conn, w.task, blob)
	if err != nil {
		return err
	}
	code, err := activate(ctx, w.cluster.Replicas[0], w.task, bad)
	if err := callError("activate a bad model", code, nil, err); err != nil {
		return err
	}
	return tr.checkRollback(ctx, w, bad, good)
}

// checkRollback checks that the watchdog rolls back a bad version within maxOutcomes, that this version then no longer
// answers, and that at most 12 of the next 64 runs are killed. With a larger bound, the check could accept a rollback to
// another bad version.
func (tr *trialRun) checkRollback(ctx context.Context, w *workload, bad, good int) error {
	w.ended, w.killed = 0, 0
	rolledBack := false
	for w.ended < maxOutcomes && !rolledBack {
		if err := w.simulate(ctx, min(batchSize, maxOutcomes-w.ended)); err != nil {
			return err
		}
		if err := w.waitForWatchdog(ctx, w.ended == maxOutcomes); err != nil {
			return err
		}
		var err error
		if rolledBack, err = w.isRolledBack(ctx); err != nil {
			return err
		}
	}
	answering, err := w.waitPropagated(ctx, bad)
	if err != nil {
		return err
	}
	tr.printf("%s: bad version %d in place of %d: %d outcomes, %d kills, rolled back %v%s; version %d answers", w.task.Task, bad, good, w.ended, w.killed, rolledBack, w.watchdogNote(), answering)
	tr.check(rolledBack, "%s: no rollback within %d outcomes", w.task.Task, maxOutcomes)
	tr.check(answering != bad, "%s: the bad version still answers", w.task.Task)
	w.ended, w.killed = 0, 0
	if err := w.simulate(ctx, 64); err != nil {
		return err
	}
	tr.printf("%s: after the rollback: %d outcomes, %d kills", w.task.Task, w.ended, w.killed)
	tr.check(w.killed <= 12, "%s: after the rollback %d of %d were killed", w.task.Task, w.killed, w.ended)
	return nil
}

// checkNoRollback checks that the watchdog does not roll back a good version. It is the control of checkRollback.
func (tr *trialRun) checkNoRollback(ctx context.Context, w *workload, description string) error {
	w.ended, w.killed = 0, 0
	if err := w.simulate(ctx, maxOutcomes); err != nil {
		return err
	}
	if err := w.waitForWatchdog(ctx, true); err != nil {
		return err
	}
	rolledBack, err := w.isRolledBack(ctx)
	if err != nil {
		return err
	}
	tr.printf("%s: %s: %d outcomes, %d kills, rolled back %v%s", w.task.Task, description, w.ended, w.killed, rolledBack, w.watchdogNote())
	tr.check(!rolledBack, "%s: the watchdog rolled back a good model", w.task.Task)
	return nil
}

// shrinkModel changes the residual store as if every run had needed 30 % of its memory, and removes the cold-start rule,
// which would answer well.
func shrinkModel(blob []byte) ([]byte, error) {
	model, err := taskmodel.Open(blob)
	if err != nil {
		return nil, err
	}
	for i := range model.Experts.Rows {
		model.Experts.Rows[i].Log += math.Log(shrinkFactor)
	}
	model.Experts.MaxPeak *= shrinkFactor
	model.ColdStart = bayes.Average{}
	return model.Blob()
}
