package taskmodel_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

func TestAblatedModelsLackTheirPart(t *testing.T) {
	sizeAfterKill := func(a taskmodel.Ablation) taskmodel.Answer {
		k := newTask(t)
		k.model = taskmodel.NewAblated(a)
		for i := range 40 {
			k.reportSuccess(withRows(float64(1000+i)), 1+float64(i%7)/100)
		}
		k.fit()
		k.report(withRows(1010), killed(4))
		return k.model.Size(question(withRows(1010)))
	}
	complete := sizeAfterKill(taskmodel.Ablation{})
	assert.Greater(t, complete.Limit, bytes(4), "a complete model must grant more than the killed amount")
	assert.Less(t, sizeAfterKill(taskmodel.Ablation{NoKnownKills: true}).Limit, bytes(2), "without known kills, the kill must not raise the amount")
	assert.NotEqual(t, complete.Reason, sizeAfterKill(taskmodel.Ablation{NoColdStart: true}).Reason, "without the Bayesian average, another rule must decide the amount")
	unadjusted := sizeAfterKill(taskmodel.Ablation{NoKnownKills: true, NoColdStart: true})
	raised := sizeAfterKill(taskmodel.Ablation{NoKnownKills: true, NoColdStart: true, Adjust: func(p *experts.Point) {
		for i := range p.Level {
			p.Level[i]++
		}
	}})
	assert.NotEqual(t, raised.Limit, unadjusted.Limit, "raised levels must change the grant, because the residuals do not fully compensate for them")
}
