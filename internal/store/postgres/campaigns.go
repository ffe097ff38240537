package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loadaware/loadaware/internal/campaign"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

const campaignColumns = `id, name, namespace, dag_id, coalesce(pool, ''), conf, coalesce(version, ''),
		coalesce(budget_runs, 0), coalesce(budget_gbh, 0), budget_until, paused, coalesce(stopped, ''), created_at, created_by`

func scanCampaign(row pgx.Row) (c campaign.Campaign, err error) {
	var conf []byte
	var until *time.Time
	err = row.Scan(&c.ID, &c.Name, &c.Namespace, &c.DAG, &c.Pool, &conf, &c.Version,
		&c.Budget.Runs, &c.Budget.GBHours, &until, &c.Paused, &c.Stopped, &c.CreatedAt, &c.CreatedBy)
	c.Conf, c.Budget.Until, c.CreatedAt = conf, timeOrZero(until), c.CreatedAt.UTC()
	return c, err
}

const createCampaignSQL = `
	INSERT INTO campaign (namespace, dag_id, name, pool, conf, version, budget_runs, budget_gbh, budget_until, created_by)
	VALUES ($1, $2, $3, nullif($4, ''), $5, nullif($6, ''), nullif($7, 0), nullif($8::float8, 0), $9, $10)
	RETURNING ` + campaignColumns

// CreateCampaign stores a campaign.
func (s *Store) CreateCampaign(ctx context.Context, c campaign.Campaign) (created campaign.Campaign, err error) {
	err = s.inTx(ctx, "create a campaign", readWrite, func(tx pgx.Tx) error {
		created, err = scanCampaign(tx.QueryRow(ctx, createCampaignSQL, c.Namespace, c.DAG, c.Name, c.Pool, jsonOrNull(c.Conf), c.Version,
			c.Budget.Runs, c.Budget.GBHours, knownTime(&c.Budget.Until), actor(ctx)))
		if pgErr := (*pgconn.PgError)(nil); errors.As(err, &pgErr) && pgErr.Code == "23505" { // unique_violation
			return sizing.Errorf(sizing.Conflict, "create a campaign: DAG %s already has a campaign %q; choose another name", c.DAG, c.Name)
		}
		if err != nil {
			return err
		}
		after := store.CampaignAudit{Campaign: created.ID, Name: created.Name, Pool: created.Pool, Conf: created.Conf}
		if created.Budget != (campaign.Budget{}) {
			after.Budget = &created.Budget
		}
		return auditCampaign(ctx, tx, &created, store.CampaignCreated, nil, after, "")
	})
	return created, err
}

func jsonOrNull(document json.RawMessage) *string {
	if len(document) == 0 {
		return nil
	}
	text := string(document)
	return &text
}

func auditCampaign(ctx context.Context, tx pgx.Tx, c *campaign.Campaign, action store.Action, before, after any, reason string) error {
	return audit(ctx, tx, change{task: c.Key(), action: action, before: before, after: after, reason: reason})
}

func campaignError(err error, id int64) error {
	return orNotFound("read a campaign", err, "no campaign has the id %d; GET /campaigns lists them", id)
}

// Campaign returns a campaign.
func (s *Store) Campaign(ctx context.Context, id int64) (campaign.Campaign, error) {
	c, err := scanCampaign(s.pool.QueryRow(ctx, `SELECT `+campaignColumns+` FROM campaign WHERE id = $1`, id))
	return c, campaignError(err, id)
}

func lockCampaign(ctx context.Context, tx pgx.Tx, id int64) (campaign.Campaign, error) {
	c, err := scanCampaign(tx.QueryRow(ctx, `SELECT `+campaignColumns+` FROM campaign WHERE id = $1 FOR NO KEY UPDATE`, id))
	return c, campaignError(err, id)
}

const campaignsSQL = `
	SELECT ` + campaignColumns + `
	FROM campaign
	WHERE ($3::bigint = 0 OR id < $3) AND EXISTS (
		SELECT FROM unnest($1::text[], $2::text[]) AS scope (namespace, prefix)
		WHERE (scope.namespace = '' OR scope.namespace = campaign.namespace) AND starts_with(campaign.dag_id, scope.prefix))
	ORDER BY id DESC LIMIT $4`

// Campaigns lists campaigns with their progress, newest first. Their GB·h may be up to a minute old (maxReuse).
func (s *Store) Campaigns(ctx context.Context, scopes []store.Scope, before int64, limit int) ([]campaign.Status, error) {
	f := store.SavingsFilter{Scopes: scopes}
	args := filterArgs(&f)[:2]
	var all []campaign.Status
	err := s.inTx(ctx, "list campaigns", snapshot, func(tx pgx.Tx) error {
		all = nil
		rows, err := tx.Query(ctx, campaignsSQL, append(args, before, max(limit, 0))...)
		if err != nil {
			return err
		}
		found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (campaign.Campaign, error) { return scanCampaign(row) })
		if err != nil {
			return err
		}
		all, err = s.readStatuses(ctx, tx, found, true)
		return err
	})
	return all, err
}

// CampaignStatus returns a campaign with its progress, its exact usage and its newest failed runs. A run has failed
// in the states 15, 35 and 55 (campaign.State.IsFailure).
func (s *Store) CampaignStatus(ctx context.Context, id int64, failures int) (status campaign.Status, err error) {
	err = s.inTx(ctx, "read a campaign", snapshot, func(tx pgx.Tx) error {
		c, err := scanCampaign(tx.QueryRow(ctx, `SELECT `+campaignColumns+` FROM campaign WHERE id = $1`, id))
		if err != nil {
			return campaignError(err, id)
		}
		all, err := s.readStatuses(ctx, tx, []campaign.Campaign{c}, false)
		if err != nil {
			return err
		}
		status = all[0]
		rows, err := tx.Query(ctx, `SELECT `+runColumns+` FROM campaign_run
			WHERE campaign = $1 AND state IN (15, 35, 55) ORDER BY changed_at DESC, n LIMIT $2`, id, max(failures, 0))
		if err != nil {
			return err
		}
		status.Failures, err = pgx.CollectRows(rows, scanRunRow)
		return err
	})
	return status, err
}

// campaignUsageSQL returns the number of DAG runs that were started, and the GB·h of their tries. A run may be started
// several times, each time with another run id; all these ids are in [$4, $5). One GB·h is 3.6e18 byte microseconds.
const campaignUsageSQL = `
	SELECT
		(SELECT coalesce(sum(started), 0) FROM campaign_run WHERE campaign = $1),
		(SELECT coalesce(sum(coalesce(allocated_memory, requested_memory)::float8 * duration_us), 0) / 3.6e18
		FROM task JOIN observation ON observation.task = task.id
		WHERE task.namespace = $2 AND task.dag_id = $3 AND run_id >= $4 AND run_id < $5)`

func readUsage(ctx context.Context, tx pgx.Tx, c *campaign.Campaign) (used campaign.Usage, err error) {
	from, to := campaign.RunIDRange(c.ID)
	err = tx.QueryRow(ctx, campaignUsageSQL, c.ID, c.Namespace, c.DAG, from, to).Scan(&used.Runs, &used.GBHours)
	return used, err
}

const pauseCampaignSQL = `
	UPDATE campaign
	SET paused = $2, stopped = CASE WHEN $2 THEN stopped END,
		budget_runs = CASE WHEN $3 THEN nullif($4::int, 0) ELSE budget_runs END,
		budget_gbh = CASE WHEN $3 THEN nullif($5::float8, 0) ELSE budget_gbh END,
		budget_until = CASE WHEN $3 THEN $6::timestamptz ELSE budget_until END
	WHERE id = $1
	RETURNING ` + campaignColumns

// PauseCampaign pauses or resumes a campaign. A budget that is not nil replaces the stored one.
func (s *Store) PauseCampaign(ctx context.Context, id int64, paused bool, budget *campaign.Budget) (c campaign.Campaign, err error) {
	var b campaign.Budget
	if budget != nil {
		b = *budget
	}
	action := store.CampaignResumed
	if paused {
		action = store.CampaignPaused
	}
	err = s.inTx(ctx, "pause or resume a campaign", readWrite, func(tx pgx.Tx) error {
		before, err := lockCampaign(ctx, tx, id)
		if err != nil {
			return err
		}
		c, err = scanCampaign(tx.QueryRow(ctx, pauseCampaignSQL, id, paused, budget != nil, b.Runs, b.GBHours, knownTime(&b.Until)))
		if err != nil || before.Paused == paused && before.Stopped == c.Stopped && budget == nil {
			return err
		}
		after := store.CampaignAudit{Campaign: id, Name: c.Name}
		if budget == nil {
			return auditCampaign(ctx, tx, &c, action, nil, after, "")
		}
		after.Budget = &c.Budget
		return auditCampaign(ctx, tx, &c, action, store.CampaignAudit{Campaign: id, Name: c.Name, Budget: &before.Budget}, after, "")
	})
	return c, err
}
