package trainer

import (
	"math"
	"sync"
	"time"

	"github.com/loadaware/loadaware/internal/cohort"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// cohortGrowth decides when to read the store.CohortAge of a namespace again: its numbers of reports and kills, now and at
// the last training of the cohort. A read sums the counters of all tasks of the namespace, so the trainer does not read
// after every training of a task, but counts here the new reports that this process has read for trainings and that a cohort
// would use.
type cohortGrowth struct {
	mu         sync.Mutex
	namespaces map[string]*growth // without namespaces whose CohortAge was not read, or whose cohort was due at the last read
}

// growth counts the new reports and kills of one namespace.
type growth struct {
	runs, kills       int // numbers of reports, and of kills among them, since readAt
	dueRuns, dueKills int // values of `runs` and `kills` from which the cohort may be due
	readAt            time.Time
}

// cohortAgeTTL is the time for which a CohortAge is used after it was read. It is short because other
// replicas train tasks, too, and this process does not count the reports that those replicas read.
const cohortAgeTTL = time.Minute

// add counts the reports and kills in `h` that the active model had not learned. Of each task, at most cohort.RowsPerTask
// count.
func (c *cohortGrowth) add(h *sizing.History, active *store.Model) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.namespaces[h.Task.Namespace]
	if g == nil {
		return
	}
	used := func(reports int) int { return min(reports, cohort.RowsPerTask) }
	g.runs += max(0, used(h.Total)-used(active.Observations))
	kills, learned := 0, 0
	for i := range h.Rows {
		if r := &h.Rows[i]; r.Outcome.OOM() {
			kills++
			if r.Seq <= active.LastSeq {
				learned++
			}
		}
	}
	g.kills += used(kills) - used(learned)
}

// isTooEarly reports whether the cohort cannot be due, as far as this process knows.
func (c *cohortGrowth) isTooEarly(namespace string, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.namespaces[namespace]
	return g != nil && g.runs < g.dueRuns && g.kills < g.dueKills && now.Sub(g.readAt) < cohortAgeTTL
}

func (c *cohortGrowth) forget(namespace string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.namespaces, namespace)
}

// set starts new counts from a CohortAge. If the cohort is due, it removes the counts instead, so that the CohortAge is read
// again after the next training.
func (c *cohortGrowth) set(namespace string, age *store.CohortAge, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if isCohortDue(age) {
		delete(c.namespaces, namespace)
		return
	}
	if c.namespaces == nil {
		c.namespaces = map[string]*growth{}
	}
	g := &growth{dueRuns: cohort.MinSuccesses - age.UsedRuns, dueKills: math.MaxInt, readAt: now}
	if age.UsedRuns >= cohort.MinSuccesses {
		missing := func(now, learned int) int { return int(float64(learned)*(1+cohort.RefitGrowth)) + 1 - now }
		g.dueRuns, g.dueKills = missing(age.UsedRuns, age.LearnedRuns), missing(age.UsedKills, age.LearnedKills)
	}
	c.namespaces[namespace] = g
}
