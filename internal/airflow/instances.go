package airflow

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Instance is a task of a run as one try left it.
type Instance struct {
	DAG       string    `json:"dag_id"`
	Task      string    `json:"task_id"`
	Run       string    `json:"dag_run_id"`
	MapIndex  int       `json:"map_index"` // -1 where the task is not mapped
	Try       int       `json:"try_number"`
	State     string    `json:"state"`
	Operator  string    `json:"operator"` // name of its class; empty where it never ran
	StartedAt time.Time `json:"start_date"`
	EndedAt   time.Time `json:"end_date"`
	Seconds   float64   `json:"duration"`

	// Rendered is what Airflow shows of its fields. It keeps those of the last try, and
	// of the last 30 runs by default.
	Rendered struct {
		Resources json.RawMessage `json:"container_resources"`
	} `json:"rendered_fields"`
}

type instanceKey struct {
	task, run string
	mapIndex  int
}

// Instances yields the task instances of the runs of one DAG as their last tries left
// them, each once. Airflow 2 pages through them in no order: where some are missing at
// the end, all pages are read again.
func (c *Client) Instances(ctx context.Context, dag string, runs []string) iter.Seq2[Instance, error] {
	return func(yield func(Instance, error) bool) {
		seen := map[instanceKey]bool{}
		for range 3 {
			total := 1
			for at := 0; at < total; {
				page, all, err := c.instancePage(ctx, dag, runs, at)
				if err != nil {
					yield(Instance{}, err)
					return
				}
				if total = all; len(page) == 0 {
					break
				}
				at += len(page)
				for _, i := range page {
					key := instanceKey{i.Task, i.Run, i.MapIndex}
					if seen[key] {
						continue
					}
					if seen[key] = true; !yield(i, nil) {
						return
					}
				}
			}
			if len(seen) >= total {
				return
			}
		}
		yield(Instance{}, fmt.Errorf("%w: the tasks of %s change faster than they can be read: try again later", ErrUnavailable, dag))
	}
}

func (c *Client) instancePage(ctx context.Context, dag string, runs []string, at int) ([]Instance, int, error) {
	return c.instances(ctx, http.MethodPost, "/dags/~/dagRuns/~/taskInstances/list", map[string]any{
		"dag_ids": []string{dag}, "dag_run_ids": runs, "page_limit": pageSize, "page_offset": at,
	})
}

// Tries are all tries of an instance that Airflow keeps, the last one too. ErrNotFound
// before Airflow 2.10, which keeps the last one only.
func (c *Client) Tries(ctx context.Context, of *Instance) ([]Instance, error) {
	path := fmt.Sprintf("/dags/%s/dagRuns/%s/taskInstances/%s", url.PathEscape(of.DAG), url.PathEscape(of.Run), url.PathEscape(of.Task))
	if of.MapIndex >= 0 {
		path += fmt.Sprintf("/%d", of.MapIndex)
	}
	tries, _, err := c.instances(ctx, http.MethodGet, path+"/tries", nil)
	return tries, err
}

func (c *Client) instances(ctx context.Context, method, path string, ask any) ([]Instance, int, error) {
	var told struct {
		Instances []Instance `json:"task_instances"`
		Total     *int       `json:"total_entries"`
	}
	if err := c.read(ctx, method, path, ask, &told); err != nil {
		return nil, 0, err
	}
	if told.Total == nil {
		return nil, 0, missing(path, "total_entries")
	}
	for i := range told.Instances {
		at := &told.Instances[i]
		for _, field := range []struct{ name, value string }{{"dag_id", at.DAG}, {"task_id", at.Task}, {"dag_run_id", at.Run}} {
			if field.value == "" {
				return nil, 0, missing(path, fmt.Sprintf("task_instances[%d].%s", i, field.name))
			}
		}
	}
	return told.Instances, *told.Total, nil
}
