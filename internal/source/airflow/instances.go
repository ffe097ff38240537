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

// Instance is one try of a task instance.
type Instance struct {
	DAG       string    `json:"dag_id"`
	Task      string    `json:"task_id"`
	Run       string    `json:"dag_run_id"`
	MapIndex  int       `json:"map_index"` // -1 if the task is not mapped
	Try       int       `json:"try_number"`
	State     string    `json:"state"`
	Operator  string    `json:"operator"` // class name; empty if the task never ran
	Pool      string    `json:"pool"`
	Queue     string    `json:"queue"`
	StartedAt time.Time `json:"start_date"`
	EndedAt   time.Time `json:"end_date"`
	Seconds   float64   `json:"duration"` // duration; 0 if unknown

	// Rendered holds the rendered template fields. By default Airflow keeps them for the
	// last try in each of the newest 30 runs.
	Rendered RenderedFields `json:"rendered_fields"`
}

// RenderedFields holds those template fields of a pod operator that the import uses.
type RenderedFields struct {
	Resources    json.RawMessage `json:"container_resources"`
	Image        renderedText    `json:"image"`
	Namespace    renderedText    `json:"namespace"` // of Kubernetes; empty if the DAG does not set it
	NodeSelector renderedObject  `json:"node_selector"`
}

// renderedText is a string. Any other JSON value is empty: a DAG may put anything into a field.
type renderedText string

// UnmarshalJSON implements json.Unmarshaler.
func (t *renderedText) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, (*string)(t)) != nil {
		*t = ""
	}
	return nil
}

// renderedObject is a JSON object. Any other JSON value is empty.
type renderedObject map[string]any

// UnmarshalJSON implements json.Unmarshaler.
func (o *renderedObject) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, (*map[string]any)(o)) != nil {
		*o = nil
	}
	return nil
}

type instanceKey struct {
	task, run string
	mapIndex  int
}

// Instances yields the last try of each task instance in the given runs of one DAG.
// Airflow 2 does not sort its pages, so one read of all pages may miss instances. While some are missing,
// Instances reads all pages again, up to three times in all. Then it yields ErrUnavailable.
func (c *Client) Instances(ctx context.Context, dag string, runs []string) iter.Seq2[Instance, error] {
	return func(yield func(Instance, error) bool) {
		seen, total := map[instanceKey]bool{}, 0
		for range 3 {
			total = 1 // until the first page says how many there are
			for offset := 0; offset < total; {
				page, all, err := c.instancePage(ctx, dag, runs, offset)
				if err != nil {
					yield(Instance{}, err)
					return
				}
				if total = all; len(page) == 0 {
					break
				}
				offset += len(page)
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
		yield(Instance{}, fmt.Errorf("%w: three passes over the task instances of DAG %s found %d of %d: the list changed meanwhile, or Airflow does not sort its pages; try again later", ErrUnavailable, dag, len(seen), total))
	}
}

func (c *Client) instancePage(ctx context.Context, dag string, runs []string, offset int) ([]Instance, int, error) {
	return c.instances(ctx, http.MethodPost, "/dags/~/dagRuns/~/taskInstances/list", map[string]any{
		"dag_ids": []string{dag}, "dag_run_ids": runs, "page_limit": pageSize, "page_offset": offset,
	})
}

// Tries returns all tries of an instance, including the last. Airflow before 2.10 keeps only the last try; then
// Tries returns ErrNotFound.
func (c *Client) Tries(ctx context.Context, i *Instance) ([]Instance, error) {
	path := fmt.Sprintf("/dags/%s/dagRuns/%s/taskInstances/%s", url.PathEscape(i.DAG), url.PathEscape(i.Run), url.PathEscape(i.Task))
	if i.MapIndex >= 0 {
		path += fmt.Sprintf("/%d", i.MapIndex)
	}
	tries, _, err := c.instances(ctx, http.MethodGet, path+"/tries", nil)
	return tries, err
}

func (c *Client) instances(ctx context.Context, method, path string, query any) ([]Instance, int, error) {
	var decoded struct {
		Instances []Instance `json:"task_instances"`
		Total     *int       `json:"total_entries"`
	}
	if err := c.read(ctx, method, path, query, &decoded); err != nil {
		return nil, 0, err
	}
	if decoded.Total == nil {
		return nil, 0, missing(path, "total_entries")
	}
	for i := range decoded.Instances {
		instance := &decoded.Instances[i]
		for _, field := range []struct{ name, value string }{{"dag_id", instance.DAG}, {"task_id", instance.Task}, {"dag_run_id", instance.Run}} {
			if field.value == "" {
				return nil, 0, missing(path, fmt.Sprintf("task_instances[%d].%s", i, field.name))
			}
		}
	}
	return decoded.Instances, *decoded.Total, nil
}
