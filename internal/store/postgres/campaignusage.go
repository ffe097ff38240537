package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/campaign"
)

// campaignUsages caches the GB·h of campaigns, so that a list of campaigns does not add up all of
// their reports each time.
//
// A fingerprint identifies the set of reports of a DAG. It is a hash of the row versions (xmin) of
// the tallies of its tasks, because every writer of reports updates a tally. Usage with the current
// fingerprint is exact. While reports of the DAG keep arriving, a list reuses a slow sum for reusePerCost times
// as long as adding it up took, at most for maxReuse.
type campaignUsages struct {
	mu     sync.Mutex
	cached map[int64]campaignUsage // by campaign id
}

type campaignUsage struct {
	fingerprint int64
	gbHours     float64
	at          time.Time     // when it was added up
	cost        time.Duration // of adding it up
}

const (
	maxCampaignUsages = 1000                  // a full cache is cleared
	slowUsage         = 50 * time.Millisecond // a faster sum is never reused after a change
	reusePerCost      = 20                    // a list reuses a slow sum for this multiple of the time that adding it up took
	maxReuse          = time.Minute
)

func (u *campaignUsages) find(id, fingerprint int64, isList bool, now time.Time) (gbHours float64, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	known, ok := u.cached[id]
	if !ok || known.fingerprint != fingerprint && (!isList || known.cost < slowUsage || now.Sub(known.at) > min(reusePerCost*known.cost, maxReuse)) {
		return 0, false
	}
	return known.gbHours, true
}

func (u *campaignUsages) add(id int64, usage campaignUsage) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.cached == nil || len(u.cached) >= maxCampaignUsages {
		u.cached = map[int64]campaignUsage{}
	}
	u.cached[id] = usage
}

const campaignFingerprintsSQL = `
	SELECT campaign.id, (sum(hashtextextended(tally.task::text || ' ' || tally.xmin::text, 0)) % 9223372036854775807)::bigint
	FROM campaign
	JOIN task ON task.namespace = campaign.namespace AND task.dag_id = campaign.dag_id
	JOIN tally ON tally.task = task.id
	WHERE campaign.id = ANY ($1)
	GROUP BY campaign.id`

func readFingerprints(ctx context.Context, tx pgx.Tx, ids []int64) (map[int64]int64, error) {
	rows, err := tx.Query(ctx, campaignFingerprintsSQL, ids)
	if err != nil {
		return nil, err
	}
	fingerprints := make(map[int64]int64, len(ids))
	var id, fingerprint int64
	_, err = pgx.ForEachRow(rows, []any{&id, &fingerprint}, func() error {
		fingerprints[id] = fingerprint
		return nil
	})
	return fingerprints, err
}

// campaignCountsSQL counts the runs by state, those that were profiled in the last hour (57 is campaign.Profiled), and
// the started DAG runs.
const campaignCountsSQL = `
	SELECT campaign, state, count(*), count(*) FILTER (WHERE state = 57 AND changed_at > now() - interval '1 hour'), coalesce(sum(started), 0)
	FROM campaign_run WHERE campaign = ANY ($1) GROUP BY campaign, state`

func (s *Store) readStatuses(ctx context.Context, tx pgx.Tx, found []campaign.Campaign, isList bool) ([]campaign.Status, error) {
	all, ids, index := make([]campaign.Status, len(found)), make([]int64, len(found)), make(map[int64]int, len(found))
	for i := range found {
		all[i], ids[i], index[found[i].ID] = campaign.Status{Campaign: found[i], Counts: campaign.Counts{}}, found[i].ID, i
	}
	rows, err := tx.Query(ctx, campaignCountsSQL, ids)
	if err != nil {
		return nil, err
	}
	var id int64
	var state campaign.State
	var runs, hourly, started int
	if _, err = pgx.ForEachRow(rows, []any{&id, &state, &runs, &hourly, &started}, func() error {
		status := &all[index[id]]
		status.Counts[state] = runs
		status.Hourly += hourly
		status.Used.Runs += started
		return nil
	}); err != nil {
		return nil, err
	}
	fingerprints, err := readFingerprints(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].Used.GBHours, err = s.gbHoursOf(ctx, tx, &found[i], fingerprints[found[i].ID], isList); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (s *Store) gbHoursOf(ctx context.Context, tx pgx.Tx, c *campaign.Campaign, fingerprint int64, isList bool) (float64, error) {
	begun := time.Now()
	if gbHours, ok := s.usages.find(c.ID, fingerprint, isList, begun); ok {
		return gbHours, nil
	}
	used, err := readUsage(ctx, tx, c)
	if err != nil {
		return 0, err
	}
	now := time.Now()
	s.usages.add(c.ID, campaignUsage{fingerprint: fingerprint, gbHours: used.GBHours, at: now, cost: now.Sub(begun)})
	return used.GBHours, nil
}
