package trainer

import (
	"math"
	"sync"
	"time"

	"github.com/loadaware/loadaware/internal/cohort"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// cohortGrowth counts the reports that trainings of this process have read since the age of a
// cohort was read, as far as a training of the cohort uses them. It avoids reading the age after every training, which adds up the tallies of
// all tasks of the namespace.
type cohortGrowth struct {
	mu         sync.Mutex
	namespaces map[string]*growth // by namespace
}

type growth struct {
	runs, kills       int // new ones since readAt
	dueRuns, dueKills int // the numbers of new ones from which the cohort may be due
	readAt            time.Time
}

// cohortAgeTTL is the time for which an age is used. It is limited because other replicas train,
// too.
const cohortAgeTTL = time.Minute

// add counts the reports and kills that a training of a task read and its champion had not learned.
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

// isTooEarly reports whether the cohort of a namespace cannot be due, as far as this process knows.
func (c *cohortGrowth) isTooEarly(namespace string, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.namespaces[namespace]
	return g != nil && g.runs < g.dueRuns && g.kills < g.dueKills && now.Sub(g.readAt) < cohortAgeTTL
}

// set stores an age that was read. The age of a cohort that is due is not stored, so that it is
// read again next time.
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
	g := &growth{dueRuns: cohort.MinTasks - age.UsedRuns, dueKills: math.MaxInt, readAt: now}
	if age.UsedRuns >= cohort.MinTasks {
		missing := func(now, learned int) int { return int(float64(learned)*(1+cohort.RefitGrowth)) + 1 - now }
		g.dueRuns, g.dueKills = missing(age.UsedRuns, age.LearnedRuns), missing(age.UsedKills, age.LearnedKills)
	}
	c.namespaces[namespace] = g
}
