package airflow

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// pageSize is the number of rows per request, the default maximum of Airflow.
const pageSize = 100

// Run is one DAG run that has ended.
type Run struct {
	DAG         string         `json:"dag_id"`
	ID          string         `json:"dag_run_id"`
	LogicalDate time.Time      `json:"logical_date"` // zero for a run of Airflow 3 without one
	StartedAt   time.Time      `json:"start_date"`
	EndedAt     time.Time      `json:"end_date"`
	Conf        map[string]any `json:"conf"` // the configuration of the trigger
}

// ExecutionDate returns the logical date, or the start of a run without one.
func (r *Run) ExecutionDate() time.Time {
	if r.LogicalDate.IsZero() {
		return r.StartedAt
	}
	return r.LogicalDate
}

// RunPage is one page of runs.
type RunPage struct {
	Runs      []Run
	Remaining int // number of runs of this page and of all later pages
}

// Runs yields pages of the runs that ended at the time `since` or later, by ascending end date, of the
// given DAGs or, if dags is empty, of all readable DAGs. A run that ends during the iteration
// comes last, so no run is missed, and a caller can resume at the end date of the last run.
//
// Each page starts at the end date of the last run of the previous page (keyset pagination), because
// clearing a run shifts the offsets of all runs after it.
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
			if len(page.Runs) == 0 || !yield(page, nil) || len(page.Runs) == page.Remaining {
				return
			}
			from, skip = nextPage(page.Runs, from, skip)
		}
	}
}

// nextPage returns the start of the next page: the end date of the last run, and the
// number of runs with that end date that were returned already.
func nextPage(runs []Run, from time.Time, skip int) (time.Time, int) {
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
	query := map[string]any{
		"states": []string{"success", "failed"}, "order_by": "end_date",
		"end_date_gte": from.UTC().Format("2006-01-02T15:04:05.999999-07:00"),
		"page_limit":   pageSize, "page_offset": skip,
	}
	if len(dags) > 0 {
		query["dag_ids"] = dags
	}
	var decoded struct {
		Runs  []Run `json:"dag_runs"`
		Total *int  `json:"total_entries"`
	}
	if err := c.read(ctx, http.MethodPost, path, query, &decoded); err != nil {
		return RunPage{}, err
	}
	if decoded.Total == nil {
		return RunPage{}, missing(path, "total_entries")
	}
	for i := range decoded.Runs {
		switch r := &decoded.Runs[i]; {
		case r.DAG == "":
			return RunPage{}, missing(path, fmt.Sprintf("dag_runs[%d].dag_id", i))
		case r.ID == "":
			return RunPage{}, missing(path, fmt.Sprintf("dag_runs[%d].dag_run_id", i))
		case r.EndedAt.IsZero():
			return RunPage{}, missing(path, fmt.Sprintf("dag_runs[%d].end_date", i))
		}
	}
	return RunPage{Runs: decoded.Runs, Remaining: *decoded.Total - skip}, nil
}

// Task is the current definition of a task.
type Task struct {
	Params map[string]any `json:"params"` // default values by name, including the params of the DAG
	Owner  string         `json:"owner"`
	Pool   string         `json:"pool"`
	Queue  string         `json:"queue"`

	Downstream []string `json:"downstream_task_ids"` // tasks that start after this one
}

// Tasks returns the tasks of a DAG by id. It returns ErrNotFound if the DAG is gone.
func (c *Client) Tasks(ctx context.Context, dag string) (map[string]Task, error) {
	path := "/dags/" + url.PathEscape(dag) + "/tasks"
	var decoded struct {
		Tasks []struct {
			ID string `json:"task_id"`
			Task
		} `json:"tasks"`
	}
	if err := c.read(ctx, http.MethodGet, path, nil, &decoded); err != nil {
		return nil, err
	}
	tasks := make(map[string]Task, len(decoded.Tasks))
	for i, task := range decoded.Tasks {
		if task.ID == "" {
			return nil, missing(path, fmt.Sprintf("tasks[%d].task_id", i))
		}
		for name, param := range task.Params {
			if serialised, ok := param.(map[string]any); ok { // a Param with its schema
				task.Params[name] = serialised["value"]
			}
		}
		tasks[task.ID] = task.Task
	}
	return tasks, nil
}

// Tags returns the tags of a DAG. It returns ErrNotFound if the DAG is gone.
func (c *Client) Tags(ctx context.Context, dag string) ([]string, error) {
	var decoded struct {
		Tags []struct {
			Name string `json:"name"`
		} `json:"tags"`
	}
	err := c.read(ctx, http.MethodGet, "/dags/"+url.PathEscape(dag), nil, &decoded)
	tags := make([]string, len(decoded.Tags))
	for i, tag := range decoded.Tags {
		tags[i] = tag.Name
	}
	return tags, err
}
