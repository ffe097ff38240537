package taskmodel

import (
	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Ablation describes how a Model differs from the complete model. Replays without a part show the contribution of
// this part. The zero value is the complete model, which the service uses. A nil function changes nothing.
type Ablation struct {
	Config  func(*experts.Config)    // changes constants of the experts
	Exclude func(expert string) bool // reports whether the experts with this name (experts.Name) never answer
	Adjust  func(*experts.Point)     // changes the predictions of the models

	NoColdStart    bool // no Bayesian average, but a quantile of Student's t distribution around one model
	NoNarrow       bool // no narrow prior deviations of the lines in the cold-start average
	NoTrend        bool // no local trend in the cold-start average
	NoScale        bool // one standard deviation for all runs in the cold-start average
	NoShifts       bool // no detection of changes of the task's level (experts.Shift)
	NoPool         bool // no statistics of other tasks of the DAG or the namespace
	NoDAGRuns      bool // the mapped instances of a DAG run count as independent runs, one after another
	NoRunScores    bool // the earlier tasks of a run do not shift the predictions for the later ones
	NoCombinations bool // no effects of combinations of categories
	NoSteps        bool // no search for a number from which on the peaks are different (step)
	NoLevels       bool // no detection of new levels after a single run (levels)
	NoKnownKills   bool // known kills do not raise the amounts of later runs with the same features
}

// NewAblated returns a Model without history, from which the ablation has removed parts of the complete model. The blob of
// this model does not contain the ablation: a decoded model is complete.
func NewAblated(ablation Ablation) *Model {
	config := experts.Default(sizing.DefaultRiskTarget)
	if ablation.Config != nil {
		ablation.Config(&config)
	}
	m := New()
	m.ablated, m.Experts = ablation, experts.New(config)
	if ablation.Exclude != nil {
		m.Experts.Exclude(ablation.Exclude)
	}
	if ablation.NoShifts {
		m.Experts.IgnoreShifts()
	}
	return m
}
