package tracking

import (
	"context"
	"math"

	"github.com/loadaware/loadaware/internal/experiment"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// HistoryReader reads tasks and their histories from a store.
type HistoryReader interface {
	Tasks(ctx context.Context, namespace string, after sizing.TaskKey, limit int) ([]sizing.Profile, error)
	History(ctx context.Context, task sizing.TaskKey, limits store.HistoryLimits) (sizing.History, error)
}

// ReadHistory reads the histories of all tasks, without sampling of old rows. location becomes the name of
// the data.
func ReadHistory(ctx context.Context, from HistoryReader, location string) (*experiment.Data, error) {
	const page = 500
	whole := store.HistoryLimits{Total: math.MaxInt32}
	var histories []*sizing.History
	after := sizing.TaskKey{}
	for {
		profiles, err := from.Tasks(ctx, "", after, page)
		if err != nil {
			return nil, err
		}
		for i := range profiles {
			h, err := from.History(ctx, profiles[i].Task, whole)
			if err != nil {
				return nil, err
			}
			histories, after = append(histories, &h), h.Task
		}
		if len(profiles) < page {
			return experiment.NewData(location, histories)
		}
	}
}
