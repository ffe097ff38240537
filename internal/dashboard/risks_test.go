package dashboard

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/insight/report"
	"github.com/loadaware/loadaware/internal/sizing"
)

// countingSource returns a realised risk of one try for every task, and records the tasks whose risk is read.
type countingSource struct {
	report.Source
	read []string
}

func (s *countingSource) Realised(_ context.Context, task sizing.TaskKey, _ int) (sizing.RealisedRisk, error) {
	s.read = append(s.read, task.Task)
	return sizing.RealisedRisk{Tries: 1}, nil
}

// Tasks that report all the time do not keep a list from reading the risks of the other tasks.
func TestRisksOfAllTasksAreReadInTurn(t *testing.T) {
	c, source := newRiskCache(), &countingSource{}
	profiles, rows := make([]sizing.Profile, 5), make([]TaskRow, 5)
	for i, id := range []string{"a", "b", "c", "d", "e"} {
		profiles[i] = sizing.Profile{Task: sizing.TaskKey{Task: id}, Observations: 1}
		rows[i].TaskID, rows[i].Tries = id, 1
	}
	profiles[4].Observations, rows[4].Tries = 0, 0
	for _, want := range []struct {
		read   []string
		unread int
	}{
		{[]string{"a", "b"}, 2}, {[]string{"c", "d"}, 0}, {[]string{"a", "b"}, 0}, {[]string{"c", "d"}, 0},
	} {
		source.read = nil
		require.NoError(t, c.read(t.Context(), source, profiles, 2))
		sum, unread := c.sum(rows)
		assert.Equal(t, want.read, source.read)
		assert.Equal(t, want.unread, unread)
		assert.Equal(t, 4-unread, sum.Tries)
		for i := range 4 {
			profiles[i].Observations++
		}
	}
}
