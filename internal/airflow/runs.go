package airflow

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// pageSize is how many rows are asked for at once: what Airflow allows by default.
const pageSize = 100

// Run is one DAG run that has ended.
type Run struct {
	DAG     string         `json:"dag_id"`
	ID      string         `json:"dag_run_id"`
	EndedAt time.Time      `json:"end_date"`
	Conf    map[string]any `json:"conf"` // what it was triggered with
}

// RunPage is some runs, and how many there are from these on.
type RunPage struct {
	Runs []Run
	Left int
}

// Runs yields the runs that ended at since or later, oldest end first; of the named
// DAGs, or of all that may be read. A run that ends while we read comes last, so that
// none is missed, and reading may begin again where it broke off.
//
// Pages are found by the time of the last row, not by its number: a run that is
// cleared meanwhile would move all others to other numbers.
func (c *Client) Runs(ctx context.Context, since time.Time, dags []string) iter.Seq2[RunPage, error] {
	return func(yield func(RunPage, error) bool) {
		from, skip := since, 0
		if from.IsZero() {
			from = time.Unix(0, 0)
		}
		for {
			page, err := c.runPage(ctx, from, skip, dags)
			if err != nil {
				yield(RunPage{}, err)
				return
			}
			if len(page.Runs) == 0 || !yield(page, nil) || len(page.Runs) == page.Left {
				return
			}
			from, skip = behind(page.Runs, from, skip)
		}
	}
}

// behind is where the next page begins: at the end of the last run, past all runs that
// were seen to end then.
func behind(runs []Run, from time.Time, skip int) (time.Time, int) {
	last := runs[len(runs)-1].EndedAt
	if last.Equal(from) {
		return from, skip + len(runs)
	}
	same := 0
	for i := len(runs) - 1; i >= 0 && runs[i].EndedAt.Equal(last); i-- {
		same++
	}
	return last, same
}

func (c *Client) runPage(ctx context.Context, from time.Time, skip int, dags []string) (RunPage, error) {
	const path = "/dags/~/dagRuns/list"
	ask := map[string]any{
		"states": []string{"success", "failed"}, "order_by": "end_date",
		"end_date_gte": from.UTC().Format("2006-01-02T15:04:05.999999-07:00"),
		"page_limit":   pageSize, "page_offset": skip,
	}
	if len(dags) > 0 {
		ask["dag_ids"] = dags
	}
	var told struct {
		Runs  []Run `json:"dag_runs"`
		Total *int  `json:"total_entries"`
	}
	if err := c.read(ctx, http.MethodPost, path, ask, &told); err != nil {
		return RunPage{}, err
	}
	if told.Total == nil {
		return RunPage{}, missing(path, "total_entries")
	}
	for i := range told.Runs {
		switch r := &told.Runs[i]; {
		case r.DAG == "":
			return RunPage{}, missing(path, fmt.Sprintf("dag_runs[%d].dag_id", i))
		case r.ID == "":
			return RunPage{}, missing(path, fmt.Sprintf("dag_runs[%d].dag_run_id", i))
		case r.EndedAt.IsZero():
			return RunPage{}, missing(path, fmt.Sprintf("dag_runs[%d].end_date", i))
		}
	}
	return RunPage{Runs: told.Runs, Left: *told.Total - skip}, nil
}

// Params are what each task of a DAG declares, with its default: by task, then by name.
// What the DAG declares, each of its tasks does. ErrNotFound if the DAG is gone.
func (c *Client) Params(ctx context.Context, dag string) (map[string]map[string]any, error) {
	path := "/dags/" + url.PathEscape(dag) + "/tasks"
	var told struct {
		Tasks []struct {
			ID     string         `json:"task_id"`
			Params map[string]any `json:"params"`
		} `json:"tasks"`
	}
	if err := c.read(ctx, http.MethodGet, path, nil, &told); err != nil {
		return nil, err
	}
	declared := make(map[string]map[string]any, len(told.Tasks))
	for i, task := range told.Tasks {
		if task.ID == "" {
			return nil, missing(path, fmt.Sprintf("tasks[%d].task_id", i))
		}
		for name, param := range task.Params {
			if dumped, ok := param.(map[string]any); ok { // a Param with its schema
				task.Params[name] = dumped["value"]
			}
		}
		declared[task.ID] = task.Params
	}
	return declared, nil
}
