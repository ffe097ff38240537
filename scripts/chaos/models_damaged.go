package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/testcluster"
)

// trialDamagedModel flips single bytes of a small and of a large blob, and truncates the blobs: in the long form at every
// byte of the small blob, otherwise at random bytes. The service must reject the activation of such a version and answer from
// the last good one.
func trialDamagedModel(ctx context.Context, tr *trialRun) error {
	cluster, err := testcluster.Open(ctx, testcluster.Config{Binary: tr.binary, Postgres: testcluster.PostgresConfig{Settings: []string{"fsync=off"}}}) // this trial is not about durability
	if err != nil {
		return err
	}
	defer cluster.Close()
	small, err := cluster.Fill(ctx, testcluster.History{Runs: 1, Seed: tr.seed})
	if err != nil {
		return err
	}
	large, err := cluster.Fill(ctx, testcluster.History{First: 1, Runs: 400, Seed: tr.seed})
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(tr.seed, 13))
	if err := tr.damageModel(ctx, cluster, small[0], random, tr.repetitions(300, 0)); err != nil {
		return err
	}
	return tr.damageModel(ctx, cluster, large[0], random, tr.repetitions(100, 1000))
}

// damagedVersion stores damaged blobs as version `bad` of a task. Version `good` must answer.
type damagedVersion struct {
	cluster   *testcluster.Cluster
	conn      *pgx.Conn
	task      testcluster.Task
	good, bad int
	blob      []byte // of the good version
}

// damageModel damages the task's model at `sample` random bytes; at every byte if `sample` is 0.
func (tr *trialRun) damageModel(ctx context.Context, cluster *testcluster.Cluster, task testcluster.Task, random *rand.Rand, sample int) error {
	conn, err := connect(ctx, cluster)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	v := &damagedVersion{cluster: cluster, conn: conn, task: task}
	if v.good, v.blob, err = readActiveBlob(ctx, conn, task); err != nil {
		return err
	}
	// The activation pins the version, so that no training replaces it.
	code, err := activate(ctx, cluster.Replicas[0], task, v.good)
	if err := callError("pin a good version", code, nil, err); err != nil {
		return err
	}
	if v.bad, err = insertModel(ctx, conn, task, v.blob); err != nil {
		return err
	}
	offsets := random.Perm(len(v.blob))
	if sample > 0 {
		offsets = offsets[:min(sample, len(offsets))]
	}
	accepted, firstFailure := 0, ""
	for _, at := range offsets {
		flipped := append([]byte(nil), v.blob...)
		flipped[at] ^= byte(1 + random.IntN(255))
		for damage, blob := range map[string][]byte{"a flipped byte": flipped, "a truncation": v.blob[:at]} {
			rejected, err := v.rejects(ctx, blob)
			if err != nil {
				return err
			}
			if !rejected {
				accepted++
				firstFailure = cmp.Or(firstFailure, fmt.Sprintf("%s at %d of %d", damage, at, len(v.blob)))
			}
		}
	}
	notGood, err := v.announceDamaged(ctx, random)
	if err != nil {
		return err
	}
	answering, err := answeringVersion(ctx, cluster.Replicas[0], task)
	if err != nil {
		return err
	}
	tr.printf("a model of %d bytes: %d bytes flipped, %d truncations, %d accepted; version %d answers at the end; %d times a damaged version was made active, and then %d predictions were not answered by the good version",
		len(v.blob), len(offsets), len(offsets), accepted, answering, announcements, notGood)
	tr.check(accepted == 0, "%d damaged models were not rejected; the first had %s", accepted, firstFailure)
	tr.check(answering == v.good, "version %d answers, not %d", answering, v.good)
	tr.check(notGood == 0, "%d answers were not from the good version while a damaged version was active", notGood)
	// Control: the service must accept the intact blob.
	rejected, err := v.rejects(ctx, v.blob)
	tr.check(err == nil && !rejected, "an intact version was rejected: %v", err)
	return err
}

const damageSQL = `
	UPDATE model SET blob = $4
	FROM task WHERE task.id = model.task AND task.dag_id = $1 AND task.task_id = $2 AND version = $3`

func (v *damagedVersion) store(ctx context.Context, blob []byte) error {
	_, err := v.conn.Exec(ctx, damageSQL, v.task.DAG, v.task.Task, v.bad, blob)
	return err
}

// rejects stores `blob` as the version `bad`, and reports whether the service rejects its activation and still answers from
// the good version.
func (v *damagedVersion) rejects(ctx context.Context, blob []byte) (bool, error) {
	if err := v.store(ctx, blob); err != nil {
		return false, err
	}
	code, err := activate(ctx, v.cluster.Replicas[0], v.task, v.bad)
	if err != nil {
		return false, err
	}
	answering, err := answeringVersion(ctx, v.cluster.Replicas[0], v.task)
	return code == http.StatusConflict && answering == v.good, err
}

// announcements is the number of damaged blobs in announceDamaged.
const announcements = 20

// promoteSQL makes a version active without the checks of the service.
const promoteSQL = `
	UPDATE task SET active_version = $3 WHERE dag_id = $1 AND task_id = $2`

// announceSQL notifies the replicas of a change of a task, as the service does.
const announceSQL = `
	SELECT pg_notify('loadaware_changes', json_build_object('Namespace', 'default', 'DAG', $1::text, 'Task', $2::text)::text)`

// announceDamaged makes damaged versions active with SQL and announces them, as after the restore of a damaged backup. It
// returns the number of answers that were not from the good version.
func (v *damagedVersion) announceDamaged(ctx context.Context, random *rand.Rand) (notGood int, err error) {
	promote := func(version int) error {
		if _, err := v.conn.Exec(ctx, promoteSQL, v.task.DAG, v.task.Task, version); err != nil {
			return err
		}
		_, err := v.conn.Exec(ctx, announceSQL, v.task.DAG, v.task.Task)
		return err
	}
	for range announcements {
		flipped := append([]byte(nil), v.blob...)
		flipped[random.IntN(len(flipped))] ^= 1
		if err := v.store(ctx, flipped); err != nil {
			return notGood, err
		}
		if err := promote(v.bad); err != nil {
			return notGood, err
		}
		for range 10 {
			answering, err := answeringVersion(ctx, v.cluster.Replicas[0], v.task)
			if err != nil {
				return notGood, fmt.Errorf("predict with a damaged active version: %w", err)
			}
			if answering != v.good {
				notGood++
			}
		}
	}
	return notGood, promote(v.good)
}
