package trainer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/cohort"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

func TestTheAgeOfACohortIsReadWhenTheCohortMayBeDue(t *testing.T) {
	now := time.Unix(1000, 0)
	var c cohortGrowth
	learned := store.CohortAge{Version: 1, Format: cohort.Format, LearnedRuns: 100, LearnedKills: 20, Runs: 5000, Kills: 90, UsedRuns: 105, UsedKills: 20}
	trained := func(runs, kills int) {
		h := sizing.History{Task: sizing.TaskKey{Namespace: "emea"}, Total: 2 + runs, Rows: []sizing.HistoryRow{{Seq: 9, Outcome: sizing.OOMKilled}}}
		for i := range kills {
			h.Rows = append(h.Rows, sizing.HistoryRow{Seq: int64(10 + i), Outcome: sizing.OOMKilled})
		}
		c.add(&h, &store.Model{Observations: 2, LastSeq: 9})
	}
	assert.False(t, c.isTooEarly("emea", now), "the age was not read yet")
	c.set("emea", &learned, now)
	trained(5, 0)
	assert.True(t, c.isTooEarly("emea", now), "110 runs are not more than 10 % above 100")
	trained(1, 0)
	assert.False(t, c.isTooEarly("emea", now))
	c.set("emea", &learned, now)
	trained(0, 2)
	assert.True(t, c.isTooEarly("emea", now), "22 kills are not more than 10 % above 20")
	trained(0, 1)
	assert.False(t, c.isTooEarly("emea", now), "with 23 kills the cohort is due")
	c.set("emea", &learned, now)
	assert.False(t, c.isTooEarly("emea", now.Add(cohortAgeTTL)), "the numbers must be read again after cohortAgeTTL, because other replicas train, too")
	assert.False(t, c.isTooEarly("apac", now), "the age of another namespace was not read yet")
	c.set("emea", &store.CohortAge{UsedRuns: 3}, now)
	trained(cohort.MinSuccesses-4, 0)
	assert.True(t, c.isTooEarly("emea", now))
	trained(1, 0)
	assert.False(t, c.isTooEarly("emea", now))
	c.set("emea", &learned, now)
	c.add(&sizing.History{Task: sizing.TaskKey{Namespace: "emea"}, Total: 900}, &store.Model{Observations: cohort.RowsPerTask})
	assert.True(t, c.isTooEarly("emea", now), "further reports of a task that has RowsPerTask reports must not count")
	learned.UsedRuns = 200
	c.set("emea", &learned, now)
	assert.False(t, c.isTooEarly("emea", now), "a cohort that is due stays due until it is trained")
}
