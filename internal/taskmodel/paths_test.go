package taskmodel_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

// The peak follows a number in a path that also contains a date, a time or a version.
func TestNumberInAPathWithADateIsRead(t *testing.T) {
	for _, form := range [][3]string{ // the part before the time, the layout of the time, and the part after the time
		{"b/dt=", "2006-01-02", "/size=%dmb.parquet"}, {"s3://b/dt=", "2006-01-02", "/rows=%d.parquet"}, {"b/", "2006-01-02T15:04:05", "/rows=%d.parquet"},
		{"s3://bucket/v2/dt=", "2006-01-02/hour=15", "/rows=%d/part-00017.parquet"}, {"s3://b/", "year=2006/month=01/day=02", "/rows=%d.parquet"},
	} {
		layout := strings.Join(form[:], "")
		k, rng := newTask(t), newRand(620)
		path := func(run, rows int) sizing.Features {
			at := time.Date(2024, 12, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(run) * 25 * time.Hour)
			return sizing.Features{"path": sizing.TextValue(form[0] + at.Format(form[1]) + fmt.Sprintf(form[2], rows))}
		}
		for run := range 150 {
			rows := 1 + rng.IntN(500)
			k.reportSuccess(path(run, rows), (.2+.01*float64(rows))*noise(rng, .03))
		}
		k.fit()
		small, large := k.model.Size(question(path(150, 10))), k.model.Size(question(path(150, 400)))
		require.Less(t, small.Limit, bytes(.9), "%s: %s", layout, small.Reason)
		require.Greater(t, large.Limit, bytes(4.2), "%s: %s", layout, large.Reason)
		require.Less(t, large.Limit, bytes(5.2), "%s: %s", layout, large.Reason)
	}
}
