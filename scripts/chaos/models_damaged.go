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

// damaged flips every byte of a small model's row and cuts it at every length, and does
// the same to samples of a large one. Whoever is asked to activate such a row must
// refuse it, and go on by the last good one.
func damaged(ctx context.Context, s *sheet) error {
	cluster, err := testcluster.Open(ctx, testcluster.Config{Binary: s.binary, Postgres: testcluster.PostgresConfig{Settings: []string{"fsync=off"}}}) // what is on trial is bytes, not disks
	if err != nil {
		return err
	}
	defer cluster.Close()
	small, err := cluster.Fill(ctx, testcluster.History{Runs: 1, Seed: s.seed})
	if err != nil {
		return err
	}
	large, err := cluster.Fill(ctx, testcluster.History{First: 1, Runs: 400, Seed: s.seed})
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(s.seed, 13))
	if err := s.damage(ctx, cluster, small[0], random, s.reps(300, 0)); err != nil {
		return err
	}
	return s.damage(ctx, cluster, large[0], random, s.reps(100, 1000))
}

// victim is a version whose row is damaged, beside the good one that answers.
type victim struct {
	cluster   *testcluster.Cluster
	conn      *pgx.Conn
	task      testcluster.Task
	good, bad int
	blob      []byte
}

// damage tries sample flips and sample lengths drawn at random; all there are if zero.
func (s *sheet) damage(ctx context.Context, cluster *testcluster.Cluster, task testcluster.Task, random *rand.Rand, sample int) error {
	conn, err := connect(ctx, cluster)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	v := &victim{cluster: cluster, conn: conn, task: task}
	if v.good, v.blob, err = activeBlob(ctx, conn, task); err != nil {
		return err
	}
	// Pinned, no training takes its place meanwhile.
	if code, err := activate(ctx, cluster.Replicas[0], task, v.good); code != http.StatusOK {
		return fmt.Errorf("pin a good version: %d %w", code, err)
	}
	if v.bad, err = plant(ctx, conn, task, v.blob); err != nil {
		return err
	}
	places := random.Perm(len(v.blob))
	if sample > 0 {
		places = places[:min(sample, len(places))]
	}
	accepted, first := 0, ""
	for _, at := range places {
		flipped := append([]byte(nil), v.blob...)
		flipped[at] ^= byte(1 + random.IntN(255))
		for what, blob := range map[string][]byte{"a flipped byte": flipped, "a cut": v.blob[:at]} {
			refused, err := v.refuses(ctx, blob)
			if err != nil {
				return err
			}
			if !refused {
				accepted++
				first = cmp.Or(first, fmt.Sprintf("%s at %d of %d", what, at, len(v.blob)))
			}
		}
	}
	overheard, err := v.overheard(ctx, random)
	if err != nil {
		return err
	}
	now, err := answering(ctx, cluster.Replicas[0], task)
	if err != nil {
		return err
	}
	s.tell("a model of %d bytes: %d bytes flipped, %d lengths cut, %d accepted; version %d answers throughout; announced damaged by the database: %d, of which %d answered",
		len(v.blob), len(places), len(places), accepted, now, overheardTries, overheard)
	s.hold(accepted == 0, "%d damaged models were not refused, the first for %s", accepted, first)
	s.hold(now == v.good, "version %d answers, not %d", now, v.good)
	s.hold(overheard == 0, "a damaged version that was announced answered %d times", overheard)
	// The test of the test: the same row, whole, is taken.
	refused, err := v.refuses(ctx, v.blob)
	s.hold(err == nil && !refused, "an intact version was refused: %v", err)
	return err
}

const damageSQL = `
	UPDATE model SET blob = $4
	FROM task WHERE task.id = model.task AND task.dag_id = $1 AND task.task_id = $2 AND version = $3`

func (v *victim) store(ctx context.Context, blob []byte) error {
	_, err := v.conn.Exec(ctx, damageSQL, v.task.DAG, v.task.Task, v.bad, blob)
	return err
}

// refuses stores blob and asks for it to be activated.
func (v *victim) refuses(ctx context.Context, blob []byte) (bool, error) {
	if err := v.store(ctx, blob); err != nil {
		return false, err
	}
	code, err := activate(ctx, v.cluster.Replicas[0], v.task, v.bad)
	if err != nil {
		return false, err
	}
	now, err := answering(ctx, v.cluster.Replicas[0], v.task)
	return code == http.StatusConflict && now == v.good, err
}

const overheardTries = 20

const crownSQL = `
	UPDATE task SET active_version = $3 WHERE dag_id = $1 AND task_id = $2`

const announceSQL = `
	SELECT pg_notify('loadaware_changes', json_build_object('Namespace', 'default', 'DAG', $1::text, 'Task', $2::text)::text)`

// overheard makes damaged rows active behind the service's back and announces them, as
// a restored backup might, and counts how often one answered.
func (v *victim) overheard(ctx context.Context, random *rand.Rand) (answered int, err error) {
	crown := func(version int) error {
		if _, err := v.conn.Exec(ctx, crownSQL, v.task.DAG, v.task.Task, version); err != nil {
			return err
		}
		_, err := v.conn.Exec(ctx, announceSQL, v.task.DAG, v.task.Task)
		return err
	}
	for range overheardTries {
		flipped := append([]byte(nil), v.blob...)
		flipped[random.IntN(len(flipped))] ^= 1
		if err := v.store(ctx, flipped); err != nil {
			return answered, err
		}
		if err := crown(v.bad); err != nil {
			return answered, err
		}
		for range 10 {
			now, err := answering(ctx, v.cluster.Replicas[0], v.task)
			if err != nil {
				return answered, fmt.Errorf("with a damaged model active: %w", err)
			}
			if now != v.good {
				answered++
			}
		}
	}
	return answered, crown(v.good)
}
