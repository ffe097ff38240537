package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadaware/loadaware/internal/dashboard/chart"
	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Forecast is the page of the forecast of a DAG run. Times are seconds from its start.
type Forecast struct {
	Namespace   string              `json:"namespace"`
	DagID       string              `json:"dag_id"`
	Features    string              `json:"features"` // as a person types them
	Errors      []sizing.FieldError `json:"errors,omitempty"`
	Missing     string              `json:"missing,omitempty"`     // why there is no forecast
	Median      float64             `json:"median_seconds"`        // of the end of the run
	P95         float64             `json:"p95_seconds"`           // of the end of the run
	PastRuns    int                 `json:"past_runs"`             // number of past runs that were compared with forecasts; with 19 or more they correct Median and P95
	Peak        sizing.Bytes        `json:"memory_peak_bytes"`     // largest sum of the grants of running tasks: median over the simulated runs
	PeakP95     sizing.Bytes        `json:"memory_peak_p95_bytes"` // 95 % quantile of this sum
	UpdatedAt   *time.Time          `json:"structure_updated_at"`
	Tasks       []ForecastTask      `json:"tasks"`         // by start
	Unknown     []string            `json:"unknown_tasks"` // without a known run time; they count as 0 s
	IsTruncated bool                `json:"-"`             // the HTML table omits later tasks

	Footprint chart.Figure `json:"-"`
	DAGs      []string     `json:"-"` // to choose from
	Base      string       `json:"-"` // URL of the API
}

// ForecastTask is one task of the run. X, Width and Tail place its bar, in percent of the time until the latest EndP95
// or, if that is later, until the median end of the run.
type ForecastTask struct {
	TaskID    string       `json:"task_id"`
	Start     float64      `json:"start_seconds"` // median
	End       float64      `json:"end_seconds"`   // median
	EndP95    float64      `json:"end_p95_seconds"`
	Critical  float64      `json:"critical"`     // probability that it is on the critical path of the run
	Instances int          `json:"instances"`    // median number of mapped instances; 1 if it is not mapped
	Memory    sizing.Bytes `json:"memory_bytes"` // median granted memory of all its instances together
	X         float64      `json:"-"`
	Width     float64      `json:"-"`
	Tail      float64      `json:"-"` // width from End to EndP95
	Colour    string       `json:"-"`
	URL       string       `json:"-"`
}

const shownForecast = 300

func (d *Dashboard) forecast(req *pageRequest) (*view, error) {
	ctx, cancel := req.withDeadline()
	defer cancel()
	f := &Forecast{Namespace: cmp.Or(req.query.Get("namespace"), sizing.DefaultNamespace), DagID: req.query.Get("dag_id"), Features: strings.TrimSpace(req.query.Get("features")),
		Tasks: []ForecastTask{}, Unknown: []string{}, Base: d.newStart(req.Request).Base}
	all := f.Tasks
	page := &view{Title: "Forecast", Nav: "Forecast", Template: "forecast", Page: f, Table: func() ([]string, [][]string) { return forecastTable(all) }}
	list, err := d.taskList(ctx, req.grants)
	if err != nil {
		return nil, err
	}
	f.DAGs = choicesOf(list.rows).DAGs
	f.DAGs = f.DAGs[:min(len(f.DAGs), listedNames)]
	if f.DagID == "" {
		return page, nil
	}
	key := sizing.TaskKey{Namespace: f.Namespace, DAG: f.DagID, Task: "any"}
	if bad := key.Validate(); len(bad) > 0 {
		return nil, &sizing.Error{Kind: sizing.Invalid, Detail: "some fields are not valid", Fields: bad}
	}
	key.Task = ""
	if err := req.grants.CheckTask(key); err != nil {
		return nil, err
	}
	features, bad := featuresOf(f.Features)
	if f.Errors = bad; len(bad) > 0 {
		return page, nil
	}
	result, err := cached(ctx, d.cache, fmt.Sprintf("forecast %q %q", key, f.Features), func(ctx context.Context) (*service.DAGForecast, error) {
		return d.svc.Forecast(ctx, key.Namespace, key.DAG, features, forecastSeed)
	})
	switch {
	case sizing.KindOf(err) == sizing.NotFound:
		f.Missing = err.Error()
		return page, nil
	case err != nil:
		return nil, err
	}
	d.fillForecast(f, result)
	if all = f.Tasks; formatOf(req.query) == asHTML && len(f.Tasks) > shownForecast {
		f.Tasks, f.IsTruncated = f.Tasks[:shownForecast], true
	}
	return page, nil
}

// forecastSeed is fixed, so that the same history gives the same page.
const forecastSeed = 1

func (d *Dashboard) fillForecast(f *Forecast, r *service.DAGForecast) {
	f.Median, f.P95, f.PastRuns, f.UpdatedAt = r.Median, r.P95, r.PastRuns, &r.UpdatedAt
	f.Peak, f.PeakP95 = sizing.Bytes(r.Peak.Median), sizing.Bytes(r.Peak.P95)
	f.Unknown = append(f.Unknown, r.Unknown...)
	end := r.Median
	for i := range r.Tasks {
		end = max(end, r.Tasks[i].EndP95)
	}
	percentOfEnd := func(seconds float64) float64 { return math.Round(1000*seconds/max(end, 1e-9)) / 10 }
	for i := range r.Tasks {
		t := &r.Tasks[i]
		row := ForecastTask{TaskID: t.ID, Start: t.Start, End: t.End, EndP95: t.EndP95, Critical: t.Critical, Instances: t.Instances, Memory: sizing.Bytes(t.Memory),
			X: percentOfEnd(t.Start), Width: max(0.6, percentOfEnd(t.End-t.Start)), Tail: percentOfEnd(t.EndP95 - t.End), Colour: "c1",
			URL: d.taskURL("/runtime", sizing.TaskKey{Namespace: f.Namespace, DAG: f.DagID, Task: t.ID})}
		if t.Critical >= 0.5 {
			row.Colour = "c4"
		}
		f.Tasks = append(f.Tasks, row)
	}
	slices.SortStableFunc(f.Tasks, func(a, b ForecastTask) int { return cmp.Compare(a.Start, b.Start) })
	f.Footprint = footprintFigure(r)
}

func footprintFigure(r *service.DAGForecast) chart.Figure {
	n := len(r.Footprint)
	if n < 2 {
		return chart.Figure{}
	}
	minutes, median, high := make([]float64, n), make([]float64, n), make([]float64, n)
	for i, point := range r.Footprint {
		minutes[i], median[i], high[i] = point.Seconds/60, point.Median, point.P95
	}
	return chart.Spec{
		Title: "Memory of the run", Summary: fmt.Sprintf("Granted memory of the running tasks over %s", duration(time.Duration(r.P95*float64(time.Second)))),
		X: chart.Axis{Label: "minutes from the start"}, Y: chart.Axis{Label: "memory", Unit: chart.Memory},
		Series: []chart.Series{{Name: "median", Colour: 1, X: minutes, Y: median}, {Name: "95 % quantile", Colour: 3, Style: chart.Dashed, X: minutes, Y: high}},
	}.Draw()
}

func forecastTable(tasks []ForecastTask) (header []string, table [][]string) {
	header = []string{"task_id", "start_seconds", "end_seconds", "end_p95_seconds", "critical", "instances", "memory_bytes"}
	for i := range tasks {
		t := &tasks[i]
		table = append(table, []string{t.TaskID, csvNumber(&t.Start), csvNumber(&t.End), csvNumber(&t.EndP95), csvNumber(&t.Critical), strconv.Itoa(t.Instances),
			strconv.FormatInt(int64(t.Memory), 10)})
	}
	return header, table
}
