package sizing_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/sizing"
)

func TestAReportCountsAtAPlausibleTime(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	hour := func(h int) time.Time { return now.Add(time.Duration(h) * time.Hour) }
	for name, c := range map[string]struct{ started, ended, want time.Time }{
		"the end":                       {hour(-2), hour(-1), hour(-1)},
		"the start without an end":      {hour(-2), time.Time{}, hour(-2)},
		"a clock up to six hours ahead": {time.Time{}, hour(6), hour(6)},
		"a later time":                  {time.Time{}, hour(7), now},
		"a time before the year 2000":   {hour(-2), time.Unix(0, 0), now},
		"no time":                       {time.Time{}, time.Time{}, now},
	} {
		o := sizing.Observation{StartedAt: c.started, EndedAt: c.ended}
		assert.Equal(t, c.want, o.At(now), name)
	}
}

func TestASampleAboveTheMeasuredPeakIsAWarning(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		outcome       sizing.Outcome
		peak, sampled sizing.Bytes
		warns         bool
	}{
		"twice the peak": {sizing.Success, 6 * sizing.GiB, 12 * sizing.GiB, true},
		"up to 1 % above: the kernel charges memory in batches of pages": {sizing.Success, 1000 * sizing.MiB, 1010 * sizing.MiB, false},
		"below the peak": {sizing.Success, 6 * sizing.GiB, 5 * sizing.GiB, false},
		"no peak":        {sizing.Success, 0, 12 * sizing.GiB, false},
		"an OOM kill: the largest of its amounts is its bound": {sizing.OOMKilled, 40 * sizing.GiB, 50 * sizing.GiB, false},
	} {
		o := sizing.Observation{Outcome: c.outcome, MemoryMax: c.peak, MemorySampled: c.sampled, Allocated: sizing.Resources{Memory: 64 * sizing.GiB}, Duration: time.Minute}
		var fields []string
		for _, w := range o.Warnings(now) {
			fields = append(fields, w.Field)
		}
		if c.warns {
			assert.Equal(t, []string{"memory_sampled_bytes"}, fields, name)
		} else {
			assert.Empty(t, fields, name)
		}
	}
}
