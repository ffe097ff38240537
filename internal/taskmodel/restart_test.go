package taskmodel_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

func numbersOfDate(day time.Time) sizing.Features {
	return sizing.Features{
		"year": sizing.NumberValue(float64(day.Year())), "month": sizing.NumberValue(float64(day.Month())),
		"day": sizing.NumberValue(float64(day.Day())),
	}
}

// dayOf returns the day of the i-th run of a task with daily runs. The tasks of the tests begin on 2 January 1970.
func dayOf(i int) time.Time { return time.Date(1970, 1, 2+i, 0, 0, 0, 0, time.UTC) }

const runsIn1970 = 364

// learnYear reports daily runs until 31 December. Their peaks and run times double. It returns the task, and a function that
// returns a further run for a size, which is its peak in GiB and its run time in hours, both with noise.
func learnYear(t *testing.T, features func(time.Time) sizing.Features, seed uint64) (*task, func(size float64) sizing.HistoryRow) {
	k, rng := newTask(t), newRand(seed)
	k.between = 24 * time.Hour
	run := func(size float64) sizing.HistoryRow {
		r := measuredRun(size * noise(rng, .04))
		r.Duration = time.Duration(size * noise(rng, .04) * float64(time.Hour))
		return r
	}
	for i := range runsIn1970 {
		k.report(features(dayOf(i)), run(math.Exp(.002*float64(i))))
		k.train()
	}
	return k, run
}

// On 1 January the month and the day are those of the smallest peaks.
func TestAGrowingTaskKeepsItsLevelWhenTheMonthRestarts(t *testing.T) {
	for name, features := range map[string]func(time.Time) sizing.Features{
		"year, month and day": numbersOfDate,
		"month":               func(day time.Time) sizing.Features { return sizing.Features{"month": numbersOfDate(day)["month"]} },
		"name of the month": func(day time.Time) sizing.Features {
			return sizing.Features{"month": sizing.TextValue(day.Month().String())}
		},
		"path": func(day time.Time) sizing.Features {
			return sizing.Features{"path": sizing.TextValue("s3://b/" + day.Format("year=2006/month=01/day=02/"))}
		},
		"day of the year": func(day time.Time) sizing.Features {
			return sizing.Features{"day": sizing.NumberValue(float64(day.YearDay()))}
		},
	} {
		k, run := learnYear(t, features, 141)
		for i := range 6 {
			size := math.Exp(.002 * float64(runsIn1970+i))
			f := features(dayOf(runsIn1970 + i))
			s := k.model.Size(question(f))
			line := fmt.Sprint(name, ", day ", 1+i, ": ", s.Reason)
			assert.Greater(t, s.Limit, bytes(.97*size), line)
			assert.Less(t, s.Limit, bytes(1.5*size), line)
			assert.InEpsilon(t, 3600*size, s.Duration.Median.Seconds(), .3, line)
			if i == 0 {
				assert.Contains(t, s.Reason, "raised by the growth since the runs with such features", line)
				assert.Contains(t, fmt.Sprint(k.model.Explain(question(f))), "the growth since the runs with such features")
			}
			k.report(f, run(size))
			k.train()
		}
	}
}

// If the peaks depend on the month, the first run in January shows it.
func TestAPeakLikeThoseOfTheLastJanuaryEndsTheRaise(t *testing.T) {
	k, run := learnYear(t, numbersOfDate, 142)
	for i := range 5 {
		f := numbersOfDate(dayOf(runsIn1970 + i))
		s := k.model.Size(question(f))
		assert.Equal(t, i == 0, s.Limit > bytes(1.8), "day %d: %s", 1+i, s.Reason)
		k.report(f, run(1))
		if i == 2 {
			k.fit()
		}
		blob, err := k.model.Blob()
		assert.NoError(t, err)
		k.model, err = taskmodel.Open(blob)
		assert.NoError(t, err)
	}
}

// The number of rows grows for a year, too, but it is not a number of the calendar.
func TestASmallInputAfterGrowingOnesIsNotRaised(t *testing.T) {
	withRows := func(day time.Time, rows float64) sizing.Features {
		f := numbersOfDate(day)
		f["rows"] = sizing.NumberValue(math.Round(rows))
		return f
	}
	k, _ := learnYear(t, func(day time.Time) sizing.Features {
		return withRows(day, 100*math.Exp(.002*float64(day.YearDay())))
	}, 143)
	assert.NotContains(t, k.model.Size(question(withRows(dayOf(runsIn1970-1), 100))).Reason, "the growth since")
}
