package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/loadaware/loadaware/internal/sizing"
)

// server returns the running server that --url, LOADAWARE_URL or LOADAWARE_ADDR names.
func (cmd *command) server() *serverRecorder {
	return newServerRecorder(cmp.Or(cmd.URL, "http://"+cmd.Addr), cmd.Token)
}

// call sends one request with a JSON body, unless body is nil, and decodes the answer.
func (s *serverRecorder) call(ctx context.Context, method, path string, body, answer any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	got, err := s.once(ctx, method, path, text)
	var problem *problemError
	if err != nil && !errors.As(err, &problem) && ctx.Err() == nil {
		return fmt.Errorf("%w; start a server with loadaware serve, or name one with --url", err)
	}
	if err != nil || answer == nil {
		return err
	}
	if err := json.Unmarshal(got, answer); err != nil {
		return fmt.Errorf("%s answered %s %s in other words than this version's: is it a loadaware server? %w", s.url, method, path, err)
	}
	return nil
}

// taskPath is the path of a task's resource; what is empty for the task itself.
func taskPath(key sizing.TaskKey, what string) string {
	path := "/tasks/" + url.PathEscape(key.DAG) + "/" + url.PathEscape(key.Task)
	if what != "" {
		path += "/" + what
	}
	return path + "?" + url.Values{"namespace": {key.Namespace}}.Encode()
}

// taskArgument reads DAG TASK, or DAG/TASK.
func taskArgument(verb, namespace string, args []string) (sizing.TaskKey, []string, error) {
	key := sizing.TaskKey{Namespace: namespace}
	unnamed := usageErrorf("name the task as DAG TASK, or as DAG/TASK; see loadaware %s --help", verb)
	if len(args) == 0 {
		return key, nil, unnamed
	}
	rest := args[1:]
	var joined bool
	if key.DAG, key.Task, joined = strings.Cut(args[0], "/"); !joined { // ids hold no slash
		if len(rest) == 0 {
			return key, nil, unnamed
		}
		key.Task, rest = rest[0], rest[1:]
	}
	if bad := key.Validate(); len(bad) > 0 {
		return key, nil, usageErrorf("%s %s; see loadaware %s --help", bad[0].Field, bad[0].Detail, verb)
	}
	return key, rest, nil
}

// namespaceFlag defines the flag that chooses a namespace.
func (cmd *command) namespaceFlag(otherwise string) *string {
	return cmd.String("namespace", otherwise, "namespace of the task, which tells Airflow deployments apart")
}

// orNotFound explains a 404 of a task.
func orNotFound(err error, key sizing.TaskKey) error {
	if isStatus(err, http.StatusNotFound) {
		return fmt.Errorf("%w; loadaware tasks lists the tasks that are known", err)
	}
	return err
}
