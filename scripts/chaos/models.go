package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/testcluster"
)

// The trials with bad models (valid, but with far too small grants) and with damaged models (blobs with changed or missing
// bytes) change models with SQL, because the API does not allow such changes.

const blobSQL = `
	SELECT model.version, model.blob
	FROM task JOIN model ON model.task = task.id AND model.version = task.active_version
	WHERE task.dag_id = $1 AND task.task_id = $2`

func readActiveBlob(ctx context.Context, conn *pgx.Conn, task testcluster.Task) (version int, blob []byte, err error) {
	err = conn.QueryRow(ctx, blobSQL, task.DAG, task.Task).Scan(&version, &blob)
	return version, blob, err
}

// insertModelSQL copies the active version of a task as the next version, with another blob.
const insertModelSQL = `
	INSERT INTO model (task, version, family, format, observations, last_seq, trained_at, blob)
	SELECT model.task, (SELECT max(version) + 1 FROM model AS stored WHERE stored.task = task.id),
		family, format, observations, last_seq, now(), $3
	FROM task JOIN model ON model.task = task.id AND model.version = task.active_version
	WHERE task.dag_id = $1 AND task.task_id = $2
	RETURNING version`

// insertModel stores a blob as the next version of a task, and returns the number of this version. It does not activate the
// version.
func insertModel(ctx context.Context, conn *pgx.Conn, task testcluster.Task, blob []byte) (version int, err error) {
	err = conn.QueryRow(ctx, insertModelSQL, task.DAG, task.Task, blob).Scan(&version)
	return version, err
}

func activate(ctx context.Context, r *testcluster.Replica, task testcluster.Task, version int) (int, error) {
	code, _, err := r.Call(ctx, http.MethodPost, fmt.Sprintf("/tasks/%s/%s/models/%d/activate", task.DAG, task.Task, version), nil)
	return code, err
}

func train(ctx context.Context, r *testcluster.Replica, task testcluster.Task) error {
	code, text, err := r.Call(ctx, http.MethodPost, "/tasks/"+task.DAG+"/"+task.Task+"/train", nil)
	return callError("train "+task.Task, code, text, err)
}

// callError returns the error of a call; nil for the status 200. The argument `text` is the body of the answer.
func callError(call string, status int, text []byte, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", call, err)
	case status != http.StatusOK:
		return fmt.Errorf("%s: status %d %s", call, status, text)
	}
	return nil
}

// answer has the fields of a prediction or a lift that the trials use.
type answer struct {
	PredictionID string `json:"prediction_id"`
	Source       string `json:"source"`
	Retry        bool   `json:"retry"`
	Memory       *struct {
		Limit int64 `json:"limit_bytes"`
	} `json:"memory"`
	Model *struct {
		Version int `json:"version"`
	} `json:"model"`
}

func (a *answer) version() int {
	if a.Model == nil {
		return 0
	}
	return a.Model.Version
}

// post calls a replica and decodes the answer. Any status but 200 is an error.
func post(ctx context.Context, r *testcluster.Replica, path string, body any) (a answer, err error) {
	code, text, err := r.Call(ctx, http.MethodPost, path, body)
	if err := callError(path, code, text, err); err != nil {
		return a, err
	}
	err = json.Unmarshal(text, &a)
	return a, err
}

// answeringVersion returns the version of the model that answers for a task, or 0 if no model answers.
func answeringVersion(ctx context.Context, r *testcluster.Replica, task testcluster.Task) (int, error) {
	a, err := post(ctx, r, "/predict", map[string]any{"dag_id": task.DAG, "task_id": task.Task, "requested": map[string]any{"memory": "64Gi"}})
	return a.version(), err
}
