package report

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/insight/savings"
)

// One kill in ten tries happens to 14 % of the tasks whose risk is the target of 1.5 %.
func TestATaskIsCriticalOnlyIfItsKillsAreImprobableAtTheTarget(t *testing.T) {
	for _, c := range []struct {
		kills, tries int
		isCritical   bool
	}{{0, 10, false}, {1, 10, false}, {2, 10, true}, {2, 40, false}, {3, 40, true}, {15, 1000, false}, {22, 1000, false}, {24, 1000, true}, {10, 10, true}} {
		task := &Task{RiskTarget: 0.015}
		severity := severityOf(task, &savings.Row{Kills: c.kills, Successes: c.tries - c.kills}, nil)
		assert.Equal(t, c.isCritical, severity == Critical, "%d kills in %d tries", c.kills, c.tries)
	}
}
