package dashboard

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/loadaware/loadaware/internal/httpapi/auth"
	"github.com/loadaware/loadaware/internal/insight/report"
	"github.com/loadaware/loadaware/internal/sizing"
)

// riskCache has the realised risks of tasks (sizing.RealisedRisk), because a list cannot run one query for each
// task. A risk is valid until the number of reports of its task changes.
type riskCache struct {
	mu    sync.Mutex
	tasks map[sizing.TaskKey]cachedRisk
	reads int // number of risks that were read
}

type cachedRisk struct {
	observations int
	realised     sizing.RealisedRisk
	order        int // riskCache.reads after the read
}

func newRiskCache() *riskCache { return &riskCache{tasks: map[sizing.TaskKey]cachedRisk{}} }

// maxRisks bounds the risks that one list reads, because a load waits for one query for each risk. Later lists and the overview
// (readAllRisks) read the others.
const maxRisks = 200

// read reads the risks of at most `limit` tasks whose risk is unknown or not valid: first those that are unknown, then those
// whose last read is the oldest.
func (c *riskCache) read(ctx context.Context, source report.Source, profiles []sizing.Profile, limit int) error {
	due := c.due(profiles)
	for _, p := range due[:min(limit, len(due))] {
		realised, err := source.Realised(ctx, p.Task, report.RealisedReceipts)
		if err != nil {
			return err
		}
		c.mu.Lock()
		c.reads++
		c.tasks[p.Task] = cachedRisk{p.Observations, realised, c.reads}
		c.mu.Unlock()
	}
	return nil
}

// readAllRisks starts to read the risks of all tasks of a list in the background, unless it has just done so.
func (d *Dashboard) readAllRisks(ctx context.Context, grants auth.Grants, list *taskList) error {
	_, _, err := cachedIfRead(ctx, d.cache, "risks "+scopeKey(grants), func(ctx context.Context) (time.Time, error) {
		return d.cfg.Now(), d.risks.read(ctx, d.svc, list.profiles, len(list.profiles))
	})
	return err
}

func (c *riskCache) due(profiles []sizing.Profile) (due []*sizing.Profile) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range profiles {
		p := &profiles[i]
		if last, isCached := c.tasks[p.Task]; p.Observations > 0 && (!isCached || last.observations != p.Observations) {
			due = append(due, p)
		}
	}
	slices.SortStableFunc(due, func(a, b *sizing.Profile) int { return cmp.Compare(c.tasks[a.Task].order, c.tasks[b.Task].order) })
	return due
}

// sum adds up the cached risks of tasks. It also returns the number of tasks that have tries but no cached risk.
func (c *riskCache) sum(rows []TaskRow) (sum sizing.RealisedRisk, unread int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range rows {
		last, isCached := c.tasks[rows[i].Key()]
		if !isCached && rows[i].Tries > 0 {
			unread++
		}
		r := last.realised
		sum.Tries, sum.Killed, sum.Promised = sum.Tries+r.Tries, sum.Killed+r.Killed, sum.Promised+r.Promised
	}
	sum.Low, sum.High = sizing.WilsonInterval(sum.Killed, sum.Tries)
	return sum, unread
}

type riskSource struct {
	report.Source
	cache *riskCache
}

// Realised returns the cached risk of a task, even if it is not valid; without a cached risk, the zero value.
func (s *riskSource) Realised(_ context.Context, task sizing.TaskKey, _ int) (sizing.RealisedRisk, error) {
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	return s.cache.tasks[task].realised, nil
}
