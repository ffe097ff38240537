package cohort

import "math"

// firstRunKills compares the risks that the models would have promised for the newest first successes, before the models learned
// these successes, with the kills that would have followed. The weight of a task halves with every firstRunsHalfLife newer tasks.
type firstRunKills struct {
	Kills    float64 // number of answers below the peak
	Promised float64 // sum of the promised risks
}

const (
	firstRunsHalfLife = 20  // in tasks
	priorKills        = 1.0 // number of promised kills, and of kills, before the first task
)

var firstRunsDecay = math.Exp2(-1.0 / firstRunsHalfLife)

func (f *firstRunKills) add(a *hypotheticalAnswer, peak float64) {
	if a.limit == 0 {
		return
	}
	f.Kills = f.Kills*firstRunsDecay + indicator(peak > a.limit)
	f.Promised = f.Promised*firstRunsDecay + a.risk
}

func (f *firstRunKills) isValid() bool {
	return f.Kills >= 0 && f.Promised >= 0 && f.Kills+f.Promised <= math.MaxFloat64
}

// killRatio returns the factor on the risk of an answer: the ratio of the kills to the promises, but at least 1, because a low
// number of kills may be luck.
func (m *Model) killRatio() float64 {
	return max(1, (m.firstRuns.Kills+priorKills)/(m.firstRuns.Promised+priorKills))
}

// promise applies killRatio to the risk of an answer. The amount does not depend on killRatio: a few kills of unlike tasks
// would make all margins wider.
func (m *Model) promise(risk float64) float64 { return 1 - math.Pow(1-risk, m.killRatio()) }
