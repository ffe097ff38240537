package taskmodel

import (
	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Ablation describes how a Model differs from the complete model. Replays without a part show the contribution of
// this part. The zero value is the complete model, which the service uses. A nil function changes nothing.
type Ablation struct {
	Config  func(*experts.Config)    // changes constants of the experts
	Exclude func(expert string) bool // reports whether an expert, by its experts.Name, never answers
	Adjust  func(*experts.Point)     // changes the predictions of the models

	NoColdStart  bool // no Bayesian average, but a quantile of Student's t distribution around one model
	NoScale      bool // one standard deviation for all runs in the cold-start average
	NoShifts     bool // no detection of changes of the task's level (experts.Shift)
	NoPool       bool // no statistics of the DAG's other tasks
	NoDAGRuns    bool // the mapped instances of a DAG run count as independent runs, one after another
	NoKnownKills bool // known kills do not raise the amounts of later runs with the same features
}

// NewAblated returns a Model without history that lacks the parts of a. Its blob does not contain the
// ablation: a decoded model is complete.
func NewAblated(a Ablation) *Model {
	config := experts.Default(sizing.DefaultRiskTarget)
	if a.Config != nil {
		a.Config(&config)
	}
	m := New()
	m.ablated, m.Experts = a, experts.New(config)
	if a.Exclude != nil {
		m.Experts.Exclude(a.Exclude)
	}
	if a.NoShifts {
		m.Experts.IgnoreShifts()
	}
	return m
}
