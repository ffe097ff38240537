package modelcache

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/service/inflight"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

func TestAStoredReportWhoseLearningPanicsDoesNotPreventLoading(t *testing.T) {
	c := New(nil, &inflight.Tries{}, Config{}, slog.New(slog.DiscardHandler))
	row := taskmodel.TrainingRow{Seq: 1, Outcome: sizing.Success, Peak: sizing.GiB, Censoring: sizing.Exact, FirstTry: true}
	intact := c.learnStored("task", nil, row)
	assert.Equal(t, sizing.GiB, intact.LargestPeak())
	broken := taskmodel.New()
	broken.Experts = nil // learning a row panics
	assert.Same(t, broken, c.learnStored("task", broken, row))
}
