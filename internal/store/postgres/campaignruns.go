package postgres

import (
	"context"
	_ "embed" // for claimFile
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/campaign"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

const runColumns = `n, scenario, execution_date, conf, state, attempt, dag_run_id, leased_until, coalesce(notes, ''), changed_at`

func scanCampaignRun(row pgx.Row) (r campaign.Run, err error) {
	var conf []byte
	var leased *time.Time
	err = row.Scan(&r.Number, &r.Archived.Scenario, &r.Archived.ExecutionDate, &conf, &r.State, &r.Attempt, &r.RunID, &leased, &r.Notes, &r.Changed)
	r.Archived.Conf, r.Archived.ExecutionDate = conf, r.Archived.ExecutionDate.UTC()
	r.Leased, r.Changed = timeOrZero(leased), r.Changed.UTC()
	return r, err
}

func scanRunRow(row pgx.CollectableRow) (campaign.Run, error) { return scanCampaignRun(row) }

const registerRunsSQL = `
	INSERT INTO campaign_run (campaign, n, scenario, scenario_hash, execution_date, conf, dag_run_id)
	SELECT $1, (SELECT coalesce(max(n), 0) FROM campaign_run WHERE campaign = $1) + row_number() OVER (ORDER BY i),
		scenario, hash, date, conf::json, dag_run_id
	FROM (
		SELECT DISTINCT ON (hash, date) *
		FROM unnest($2::text[], $3::text[], $4::timestamptz[], $5::text[], $6::text[]) WITH ORDINALITY
			AS new (scenario, hash, date, conf, dag_run_id, i)
		WHERE NOT EXISTS (
			SELECT FROM campaign_run AS r
			WHERE r.campaign = $1 AND r.scenario_hash = new.hash AND r.execution_date = new.date)
		ORDER BY hash, date, i) AS new`

// RegisterRuns adds the runs that are not registered yet.
func (s *Store) RegisterRuns(ctx context.Context, id int64, runs []campaign.ArchivedRun) (registered, already int, err error) {
	rows := pointers(runs)
	hashes := column(rows, func(a *campaign.ArchivedRun) string { return a.Hash() })
	ids := make([]string, len(runs))
	for i := range runs {
		ids[i] = campaign.RunID(id, hashes[i], runs[i].ExecutionDate, 1)
	}
	err = s.inTx(ctx, "register runs", readWrite, func(tx pgx.Tx) error {
		c, err := lockCampaign(ctx, tx, id)
		if err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, registerRunsSQL, id,
			column(rows, func(a *campaign.ArchivedRun) string { return a.Scenario }), hashes,
			column(rows, func(a *campaign.ArchivedRun) time.Time { return a.ExecutionDate.UTC().Truncate(time.Second) }),
			column(rows, func(a *campaign.ArchivedRun) *string { return jsonOrNull(a.Conf) }), ids)
		if err != nil {
			return err
		}
		registered = int(tag.RowsAffected())
		already = len(runs) - registered
		if registered == 0 {
			return nil
		}
		return auditCampaign(ctx, tx, &c, store.RunsRegistered, nil, store.CampaignAudit{Campaign: id, Runs: registered}, "")
	})
	return registered, already, err
}

const campaignRunsSQL = `
	SELECT ` + runColumns + `
	FROM campaign_run
	WHERE campaign = $1 AND n > $2 AND (cardinality($3::smallint[]) = 0 OR state = ANY ($3))
	ORDER BY n LIMIT $4`

// CampaignRuns lists runs by number.
func (s *Store) CampaignRuns(ctx context.Context, id int64, states []campaign.State, after, limit int) ([]campaign.Run, error) {
	rows, err := s.pool.Query(ctx, campaignRunsSQL, id, after, smallints(states), max(limit, 0))
	if err != nil {
		return nil, wrapError("list the runs of a campaign", err)
	}
	runs, err := pgx.CollectRows(rows, scanRunRow)
	return runs, wrapError("list the runs of a campaign", err)
}

func smallints(states []campaign.State) []int16 {
	numbers := make([]int16, len(states))
	for i, s := range states {
		numbers[i] = int16(s)
	}
	return numbers
}

// campaignRunTasksSQL groups the reports of a run by task and map index. Outcome 1 is a success.
const campaignRunTasksSQL = `
	SELECT task.task_id, map_index, count(*), bool_or(outcome = 1), coalesce(max(memory_max) FILTER (WHERE outcome = 1), 0)
	FROM campaign
	JOIN task ON task.namespace = campaign.namespace AND task.dag_id = campaign.dag_id
	JOIN observation ON observation.task = task.id
	WHERE campaign.id = $1 AND run_id = $2
	GROUP BY task.task_id, map_index
	ORDER BY task.task_id, map_index`

// CampaignRunTasks lists what the tasks of a run reported.
func (s *Store) CampaignRunTasks(ctx context.Context, id int64, number int) ([]campaign.TaskReport, error) {
	var runID string
	err := s.pool.QueryRow(ctx, `SELECT dag_run_id FROM campaign_run WHERE campaign = $1 AND n = $2`, id, number).Scan(&runID)
	if err != nil {
		return nil, orNotFound("read a run", err, "campaign %d has no run %d", id, number)
	}
	rows, err := s.pool.Query(ctx, campaignRunTasksSQL, id, runID)
	if err != nil {
		return nil, wrapError("list the tasks of a run", err)
	}
	tasks, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r campaign.TaskReport, err error) {
		err = row.Scan(&r.Task, &r.MapIndex, &r.Tries, &r.Succeeded, &r.Peak)
		return r, err
	})
	return tasks, wrapError("list the tasks of a run", err)
}

//go:embed claim_campaign_runs.sql
var claimFile string

var claimRunsSQL = stripComments(claimFile)

// ClaimRuns leases runs of a branch. Claims of one campaign run one after the other, because each locks the row
// of the campaign. Therefore concurrent triggers together never exceed the limit.
func (s *Store) ClaimRuns(ctx context.Context, id int64, branch campaign.Branch, limit int, lease time.Duration) (claimed store.ClaimedRuns, err error) {
	rule, err := campaign.RuleOf(branch)
	if err != nil {
		return claimed, err
	}
	err = s.inTx(ctx, "claim runs", readWrite, func(tx pgx.Tx) error {
		claimed = store.ClaimedRuns{}
		c, err := lockCampaign(ctx, tx, id)
		if err != nil {
			return err
		}
		newRuns, mayClaimGivenBack := -1, true // any number
		switch {
		case rule.IsTrigger() && c.Paused:
			// With newRuns = 0 the query would still claim runs with an expired lease, and the trigger would start those
			// that their dead workers had not started.
			claimed.Campaign = c
			return nil
		case rule.IsTrigger():
			if newRuns, mayClaimGivenBack, err = startableRuns(ctx, tx, &c, &rule); err != nil {
				return err
			}
		}
		claimed.Campaign = c
		rows, err := tx.Query(ctx, claimRunsSQL, id, int16(rule.From), int16(rule.Claimed), int16(rule.Started), limit, newRuns, lease, rule.From == campaign.Deployed, mayClaimGivenBack)
		if err != nil {
			return err
		}
		claimed.Runs, err = pgx.CollectRows(rows, scanRunRow)
		return err
	})
	return claimed, err
}

// startableRuns returns how many new runs in state rule.From a trigger may claim (newRuns; -1: any number), and whether it may
// claim runs that were given back (mayClaimGivenBack): an earlier trigger claimed them, but returned them to this state
// without starting their DAG runs. The budget already counts the attempts of these runs, so its bound on runs does not stop
// them, but its other bounds do. Neither result limits runs with an expired lease, which are in a later state. If the budget
// limits the trigger and is used up, startableRuns stops the campaign.
func startableRuns(ctx context.Context, tx pgx.Tx, c *campaign.Campaign, rule *campaign.Rule) (newRuns int, mayClaimGivenBack bool, err error) {
	if !rule.Spends() || c.Stopped == "" && c.Budget == (campaign.Budget{}) {
		return -1, true, nil
	}
	used, err := readUsage(ctx, tx, c)
	if err != nil {
		return 0, false, err
	}
	others := c.Budget
	others.Runs = 0
	mayClaimGivenBack = others.Exhausted(used, time.Now()) == ""
	if c.Stopped != "" {
		return 0, mayClaimGivenBack, nil
	}
	if c.Stopped = c.Budget.Exhausted(used, time.Now()); c.Stopped != "" {
		if _, err := tx.Exec(ctx, `UPDATE campaign SET stopped = $2 WHERE id = $1`, c.ID, c.Stopped); err != nil {
			return 0, false, err
		}
		return 0, mayClaimGivenBack, auditCampaign(ctx, tx, c, store.CampaignStopped, nil, store.CampaignAudit{Campaign: c.ID, Name: c.Name}, c.Stopped)
	}
	if c.Budget.Runs == 0 {
		return -1, true, nil
	}
	return c.Budget.Runs - used.Runs, true, nil
}

const reportRunSQL = `
	UPDATE campaign_run
	SET state = $3::smallint, leased_until = NULL, notes = coalesce(nullif($4, ''), notes),
		changed_at = CASE WHEN state = $3::smallint THEN changed_at ELSE now() END
	WHERE campaign = $1 AND n = $2
	RETURNING ` + runColumns

// ReportRun moves a run from state r.From to state r.To.
func (s *Store) ReportRun(ctx context.Context, id int64, r store.RunReport) (run campaign.Run, err error) {
	if err := campaign.CheckReport(r.From, r.To); err != nil {
		return run, err
	}
	err = s.inTx(ctx, "report a run", readWrite, func(tx pgx.Tx) error {
		run, err = lockRun(ctx, tx, id, r.Number)
		if err != nil {
			return err
		}
		if run.State != r.From || r.Attempt > 0 && r.Attempt != run.Attempt {
			return sizing.Errorf(sizing.Conflict, "run %d is in state %q (%d) and attempt %d: another worker or a person changed it; claim again", r.Number, run.State, run.State, run.Attempt)
		}
		run, err = scanCampaignRun(tx.QueryRow(ctx, reportRunSQL, id, r.Number, int16(r.To), r.Notes))
		return err
	})
	return run, err
}

func lockRun(ctx context.Context, tx pgx.Tx, id int64, number int) (campaign.Run, error) {
	run, err := scanCampaignRun(tx.QueryRow(ctx, `SELECT `+runColumns+` FROM campaign_run WHERE campaign = $1 AND n = $2 FOR UPDATE`, id, number))
	return run, orNotFound("read a run", err, "campaign %d has no run %d", id, number)
}

const resetRunSQL = `
	UPDATE campaign_run
	SET state = $3::smallint, leased_until = NULL, notes = nullif($4, ''), attempt = $5, dag_run_id = $6, changed_at = now()
	WHERE campaign = $1 AND n = $2
	RETURNING ` + runColumns

// ResetRun moves a run back to an earlier state.
func (s *Store) ResetRun(ctx context.Context, id int64, number int, to campaign.State, notes string) (run campaign.Run, err error) {
	err = s.inTx(ctx, "reset a run", readWrite, func(tx pgx.Tx) error {
		c, err := lockCampaign(ctx, tx, id)
		if err != nil {
			return err
		}
		run, err = lockRun(ctx, tx, id, number)
		if err != nil {
			return err
		}
		from := run.State
		if err := campaign.CheckReset(from, to); err != nil || from == to {
			return err
		}
		if campaign.RestartsRun(from, to) {
			run.Attempt++
			run.RunID = campaign.RunID(id, run.Archived.Hash(), run.Archived.ExecutionDate, run.Attempt)
		}
		run, err = scanCampaignRun(tx.QueryRow(ctx, resetRunSQL, id, number, int16(to), notes, run.Attempt, run.RunID))
		if err != nil {
			return err
		}
		before, after := int(from), int(to)
		return auditCampaign(ctx, tx, &c, store.RunReset, store.CampaignAudit{Campaign: id, Run: number, State: &before},
			store.CampaignAudit{Campaign: id, Run: number, State: &after}, notes)
	})
	return run, err
}

const releaseRunsSQL = `
	UPDATE campaign_run SET leased_until = NULL WHERE campaign = $1 AND leased_until < now()`

// stuckRunsSQL selects the active runs whose state has not changed for the time $2. A run is active from its claim by a
// trigger until a check reports the result of the step, or the trigger reports that it could not start the step. The numbers
// are the states of active runs (campaign.State).
const stuckRunsSQL = `
	SELECT ` + runColumns + `
	FROM campaign_run
	WHERE campaign = $1 AND state IN (10, 11, 30, 31, 50, 51) AND changed_at < now() - $2::interval
	ORDER BY changed_at, n LIMIT $3`

// ReleaseRuns ends expired leases and lists stuck runs.
func (s *Store) ReleaseRuns(ctx context.Context, id int64, stuckAfter time.Duration, limit int) (released int, stuck []campaign.Run, err error) {
	err = s.inTx(ctx, "release runs", readWrite, func(tx pgx.Tx) error {
		if _, err := lockCampaign(ctx, tx, id); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, releaseRunsSQL, id)
		if err != nil {
			return err
		}
		released = int(tag.RowsAffected())
		rows, err := tx.Query(ctx, stuckRunsSQL, id, stuckAfter, max(limit, 0))
		if err != nil {
			return err
		}
		stuck, err = pgx.CollectRows(rows, scanRunRow)
		return err
	})
	return released, stuck, err
}
