package backtest

import (
	"github.com/loadaware/loadaware/internal/cohort"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/usageprofile"
)

// profileMixture sizes a task without history by usage profiles alone. It weights the peaks of each profile by the
// probability of this profile given the facts of the task. The cohort of loadaware's own policy instead predicts the peak
// directly. The difference between the figures of the two policies shows how much worse a prediction by profiles is.
type profileMixture struct {
	rows     []cohort.Row
	runs     []usageprofile.Run
	set      *usageprofile.Set // nil before the first fit
	profiles *cohort.Profiles  // nil before the first fit
	fittedAt int               // number of rows at the last fit
}

// mixtureGrowth is the factor by which the number of rows grows between two fits, as in a cohort.
const mixtureGrowth = 1 + cohort.RefitGrowth

func (m *profileMixture) allocate(q *Question) float64 {
	facts := factsOf(q)
	mixture, ok := m.profiles.Place(&facts)
	if !ok {
		return 0
	}
	return mixture.Grant(sizing.DefaultRiskTarget)
}

func (m *profileMixture) learn(o *Outcome) {
	stored := contextRow(o)
	stored.Seq = int64(len(m.rows) + 1)
	row, ok := cohort.RowOf(&stored)
	run, isRun := usageprofile.RunOf(&stored)
	if !ok || !isRun {
		return
	}
	m.rows, m.runs = append(m.rows, row), append(m.runs, run)
	if len(m.rows) < usageprofile.MinRuns || float64(len(m.rows)) < mixtureGrowth*float64(m.fittedAt) {
		return
	}
	m.fittedAt = len(m.rows)
	if m.set == nil || m.set.NeedsRefit(m.runs) != "" {
		if set, err := usageprofile.Fit(m.runs, m.set); err == nil && set != nil { // after an error or without profiles, the previous set stays in use
			m.set = set
		}
	}
	if m.set != nil {
		m.profiles = cohort.FitProfiles(m.rows, m.set)
	}
}

// contextRow returns an outcome with its context, except the placement, which a trace does not have.
func contextRow(o *Outcome) sizing.ContextRow {
	return sizing.ContextRow{
		Task: o.Try.TaskKey, Features: o.Features, Metadata: o.Metadata, Usage: o.Usage,
		HistoryRow: sizing.HistoryRow{
			Outcome: sizing.Success, MemoryMax: o.Peak, CPUMax: o.CPUMax, Duration: o.Duration,
			Allocated: sizing.Resources{Memory: o.Allocated}, Requested: o.static(),
		},
	}
}
