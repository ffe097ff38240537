package postgres

import (
	"context"
	_ "embed" // for profilesFile
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/sizing"
)

//go:embed profiles.sql
var profilesFile string

// profilesSQL reads the profiles (summaries) of the tasks in `page`, a common table expression that tasksSQL and
// taskSQL put before it.
var profilesSQL = stripComments(profilesFile)

var tasksSQL = `
	WITH page AS (
		SELECT id, namespace, dag_id, task_id, schema, policy, active_version
		FROM task
		WHERE (namespace = $1 OR $1 = '') AND (namespace, dag_id, task_id) > ($2, $3, $4)
		ORDER BY namespace, dag_id, task_id LIMIT $5)
` + profilesSQL

// Tasks lists at most `limit` profiles of tasks after the key `after`.
func (s *Store) Tasks(ctx context.Context, namespace string, after sizing.TaskKey, limit int) ([]sizing.Profile, error) {
	return s.profiles(ctx, tasksSQL, namespace, after.Namespace, after.DAG, after.Task, max(limit, 0))
}

// tasksBriefSQL has the columns of profilesSQL. Outcome 1 is a success.
const tasksBriefSQL = `
	WITH page AS (
		SELECT id, namespace, dag_id, task_id, policy, active_version
		FROM task
		WHERE (namespace = $1 OR $1 = '') AND (namespace, dag_id, task_id) > ($2, $3, $4)
		ORDER BY namespace, dag_id, task_id LIMIT $5)
	SELECT page.namespace, page.dag_id, page.task_id, '{}'::jsonb, page.policy,
		tally.observations, tally.kills, newest.at, 0::bigint, 0::float8, '{0,0,0}'::float8[], '{0,0,0,0,0}'::float8[],
		0::bigint, coalesce(highest.peak, 0),
		coalesce(model.version, 0), coalesce(model.family, ''), coalesce(model.observations, 0), model.trained_at, model.exam
	FROM page
	JOIN tally ON tally.task = page.id
	LEFT JOIN model ON model.task = page.id AND model.version = page.active_version
	LEFT JOIN LATERAL (
		SELECT at FROM observation WHERE task = page.id ORDER BY at DESC, seq DESC LIMIT 1) AS newest ON true
	LEFT JOIN LATERAL (
		SELECT peak FROM observation
		WHERE task = page.id AND peak IS NOT NULL AND outcome = 1 ORDER BY peak DESC, seq DESC LIMIT 1) AS highest ON true
	ORDER BY page.namespace, page.dag_id, page.task_id`

// TasksBrief lists profiles like Tasks, without schemas, requests and quantiles except the largest peak.
func (s *Store) TasksBrief(ctx context.Context, namespace string, after sizing.TaskKey, limit int) ([]sizing.Profile, error) {
	return s.profiles(ctx, tasksBriefSQL, namespace, after.Namespace, after.DAG, after.Task, max(limit, 0))
}

var taskSQL = `
	WITH page AS (
		SELECT id, namespace, dag_id, task_id, schema, policy, active_version
		FROM task
		WHERE namespace = $1 AND dag_id = $2 AND task_id = $3)
` + profilesSQL

// Task returns the profile of a task.
func (s *Store) Task(ctx context.Context, task sizing.TaskKey) (sizing.Profile, error) {
	profiles, err := s.profiles(ctx, taskSQL, task.Namespace, task.DAG, task.Task)
	if err != nil {
		return sizing.Profile{}, err
	}
	if len(profiles) == 0 {
		return sizing.Profile{}, unknownTask(task)
	}
	return profiles[0], nil
}

func (s *Store) profiles(ctx context.Context, sql string, args ...any) (profiles []sizing.Profile, err error) {
	err = s.inTx(ctx, "read profiles", snapshot, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, preferIndexesSQL); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		profiles, err = pgx.CollectRows(rows, scanProfile)
		return err
	})
	return profiles, err
}

func scanProfile(row pgx.CollectableRow) (p sizing.Profile, err error) {
	var policy *sizing.Policy
	var seen, trained *time.Time
	var memory, seconds []float64 // quantiles
	var lowest, largest int64     // peaks
	var model sizing.ModelRef
	err = row.Scan(&p.Task.Namespace, &p.Task.DAG, &p.Task.Task, &p.Schema, &policy,
		&p.Observations, &p.Kills, &seen,
		&p.Requested.Memory, &p.Requested.CPU,
		&memory, &seconds, &lowest, &largest,
		&model.Version, &model.Family, &model.Observations, &trained, &p.Evaluation)
	if err != nil {
		return p, err
	}
	if policy != nil {
		p.Policy = *policy
	}
	if seen != nil {
		p.LastSeen = seen.UTC()
	}
	if trained != nil {
		model.TrainedAt = trained.UTC()
		p.Champion = &model
	}
	p.LargestPeak = sizing.Bytes(largest)
	p.Memory = sizing.Quantiles{Min: float64(lowest), P50: memory[0], P90: memory[1], P99: memory[2], Max: float64(largest)}
	p.Seconds = sizing.Quantiles{Min: seconds[0], P50: seconds[1], P90: seconds[2], P99: seconds[3], Max: seconds[4]}
	return p, nil
}
