package postgres

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed" // for insertContextFile
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

//go:embed insert_context.sql
var insertContextFile string

var insertContextSQL = stripComments(insertContextFile)

// contextReport is one report with a context (metadata, mean usage or placement), and the result of the report.
type contextReport struct {
	*report
	result          *sizing.RecordResult
	entries, digest []byte // the metadata as JSON, and its hash; nil without metadata
	index           int    // position of the report in its call
}

func (r *contextReport) warn(detail string) {
	r.result.Warnings = append(r.result.Warnings, sizing.FieldError{Field: "metadata", Detail: detail})
}

// insertContext stores the context of tries without a stored context. It does not make the task
// due, because the training of a task does not read the context.
func insertContext(ctx context.Context, tx pgx.Tx, reports []report, recorded []sizing.RecordResult) error {
	type try struct{ task, seq int64 }
	var rows []*contextReport
	byTry := map[try]*contextReport{}
	for i := range reports {
		r, result := &reports[i], &recorded[i]
		if !r.HasContext() || result.Err != nil || result.Seq == 0 || byTry[try{r.task.id, result.Seq}] != nil {
			continue
		}
		row := &contextReport{report: r, result: result, index: i}
		if len(r.Metadata) > 0 {
			entries, err := json.Marshal(r.Metadata) // sorted by name
			if err != nil {
				return fmt.Errorf("encode the metadata of %v: %w", r.Try, err)
			}
			digest := sha256.Sum256(entries)
			row.entries, row.digest = entries, digest[:16]
		}
		byTry[try{r.task.id, result.Seq}] = row
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return nil
	}
	inserted, err := tx.Query(ctx, insertContextSQL, append(contextColumns(rows), store.MaxMetadataSets)...)
	if err != nil {
		return err
	}
	var key try
	var hasNoMetadata, hasReplaced bool // hasReplaced: a new set of metadata replaced an older one
	_, err = pgx.ForEachRow(inserted, []any{&key.task, &key.seq, &hasNoMetadata, &hasReplaced}, func() error {
		row := byTry[key]
		if row.result.Duplicate {
			row.result.Duplicate, row.result.Amended = false, true
		}
		switch {
		case row.digest == nil:
		case hasNoMetadata:
			row.warn("is not stored, because the task has had too many different sets of metadata; send facts that rarely change")
		case hasReplaced:
			row.warn(fmt.Sprintf("differs from the last %d sets of metadata of the task and replaces the oldest; send facts that rarely change", store.MaxMetadataSets))
		}
		return nil
	})
	return err
}

// contextColumns returns the array parameters $1 to $13 of insertContextSQL.
func contextColumns(rows []*contextReport) []any {
	columns := []any{
		column(rows, func(r *contextReport) int64 { return r.task.id }),
		column(rows, func(r *contextReport) int64 { return r.result.Seq }),
		column(rows, func(r *contextReport) []byte { return r.digest }),
		column(rows, func(r *contextReport) string { return string(r.entries) }),
	}
	for i := range sizing.UsageNames {
		columns = append(columns, column(rows, func(r *contextReport) *float64 { return knownNumber(r.Usage.Get(i)) }))
	}
	return append(columns,
		column(rows, func(r *contextReport) *string {
			if r.Placement.NodeType == "" {
				return nil
			}
			return &r.Placement.NodeType
		}),
		column(rows, func(r *contextReport) *float64 { return r.Placement.ClusterLoad }),
		column(rows, func(r *contextReport) int32 { return int32(r.index) }),
	)
}

func knownNumber(v float64) *float64 {
	if math.IsNaN(v) {
		return nil
	}
	return &v
}

// contextSQL reads the newest $2 successes (outcome 1) and OOM kills (2, 3) of every task of a namespace, or of
// task ($4, $5) if $4 is not empty, and returns the newest $3 of these rows. A report without a request gets the
// baseline of its task.
const contextSQL = `
	SELECT task.id, task.dag_id, task.task_id, o.seq, o.at, o.run_id, o.map_index, o.try_number, o.outcome,
		CASE WHEN sampled_only THEN 0 ELSE coalesce(memory_max, 0) END, coalesce(memory_sampled, 0), coalesce(cpu_max, 0), coalesce(duration_us, 0),
		coalesce(allocated_memory, 0), coalesce(allocated_cpu, 0), coalesce(requested_memory, b.memory, 0), coalesce(requested_cpu, b.cpu, 0), o.features,
		c.metadata, c.memory_mean_bytes, c.cpu_mean_cores, c.read_bytes, c.written_bytes, c.gpu_memory_max_bytes, c.gpu_utilisation_mean,
		c.node_type, c.cluster_load
	FROM task
	CROSS JOIN LATERAL (
		SELECT * FROM observation
		WHERE observation.task = task.id AND outcome IN (1, 2, 3)
		ORDER BY at DESC, seq DESC LIMIT $2) AS o
	LEFT JOIN observation_context AS c ON c.task = o.task AND c.seq = o.seq
	LEFT JOIN baseline AS b ON (b.namespace, b.dag_id, b.task_id) = (task.namespace, task.dag_id, task.task_id)
	WHERE task.namespace = $1 AND ($4 = '' OR (task.dag_id, task.task_id) = ($4, $5))
	ORDER BY o.at DESC, o.seq DESC LIMIT $3`

// contextTasksSQL reads the schemas of the tasks $1, and the metadata sets with the task ids $2 and the set ids $3.
// It does not read all sets, because a task may have many that no row refers to.
const contextTasksSQL = `
	SELECT task.id, task.schema, metadata_set.id, metadata_set.entries
	FROM task
	LEFT JOIN unnest($2::bigint[], $3::smallint[]) AS used (task, id) ON used.task = task.id
	LEFT JOIN metadata_set ON (metadata_set.task, metadata_set.id) = (used.task, used.id)
	WHERE task.id = ANY ($1)`

type contextTask struct {
	schema   sizing.Schema
	metadata map[int16]sizing.Metadata
}

// ContextRows reads the newest successes and kills of a namespace, at most perTask of a task, oldest first.
func (s *Store) ContextRows(ctx context.Context, namespace string, perTask, limit int) ([]sizing.ContextRow, error) {
	return s.contextRows(ctx, namespace, perTask, limit, "", "")
}

// RecentContext reads the newest successes and kills of one task, oldest first.
func (s *Store) RecentContext(ctx context.Context, task sizing.TaskKey, limit int) ([]sizing.ContextRow, error) {
	return s.contextRows(ctx, task.Namespace, limit, limit, task.DAG, task.Task)
}

func (s *Store) contextRows(ctx context.Context, namespace string, perTask, limit int, dag, name string) ([]sizing.ContextRow, error) {
	var all []sizing.ContextRow
	err := s.inTx(ctx, "read the runs of a namespace", snapshot, func(tx pgx.Tx) error {
		all = nil
		var ids []int64 // the task of each row
		var sets []*int16
		tasks := map[int64]*contextTask{}
		used := map[usedSet]bool{}
		rows, err := tx.Query(ctx, contextSQL, namespace, perTask, limit, dag, name)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			r, id, set, err := scanContext(rows)
			if err != nil {
				return err
			}
			r.Task.Namespace = namespace
			all, ids, sets = append(all, r), append(ids, id), append(sets, set)
			tasks[id] = nil
			if set != nil {
				used[usedSet{id, *set}] = true
			}
		}
		if err := rows.Err(); err != nil {
			return err
		}
		if err := readContextTasks(ctx, tx, tasks, used); err != nil {
			return err
		}
		for i := range all {
			task, r := tasks[ids[i]], &all[i]
			if r.HistoryRow.Features != nil {
				r.Features, r.HistoryRow.Features = task.schema.Features(r.HistoryRow.Features), nil
			}
			if sets[i] != nil {
				r.Metadata = task.metadata[*sets[i]]
			}
		}
		return nil
	})
	slices.SortFunc(all, func(a, b sizing.ContextRow) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Seq, b.Seq)) })
	return all, err
}

// scanContext reads a row of contextSQL, and leaves the features encoded. `task` and `set` are the ids of the task and of the
// metadata set of the row; `set` is nil without metadata.
func scanContext(row pgx.Rows) (r sizing.ContextRow, task int64, set *int16, err error) {
	var micros int64
	var usage [len(sizing.UsageNames)]*float64
	var node *string
	err = row.Scan(&task, &r.Task.DAG, &r.Task.Task, &r.Seq, &r.At, &r.RunID, &r.MapIndex, &r.Try, &r.Outcome,
		&r.MemoryMax, &r.MemorySampled, &r.CPUMax, &micros,
		&r.Allocated.Memory, &r.Allocated.CPU, &r.Requested.Memory, &r.Requested.CPU, &r.HistoryRow.Features,
		&set, &usage[0], &usage[1], &usage[2], &usage[3], &usage[4], &usage[5], &node, &r.Placement.ClusterLoad)
	for i, v := range usage {
		if v != nil {
			r.Usage = r.Usage.Set(i, *v)
		}
	}
	if node != nil {
		r.Placement.NodeType = *node
	}
	r.At, r.Duration, r.Weight = r.At.UTC(), time.Duration(micros)*time.Microsecond, 1
	return r, task, set, err
}

type usedSet struct {
	task int64
	set  int16
}

// readContextTasks fills the values of `tasks`, whose keys are the ids of tasks.
func readContextTasks(ctx context.Context, tx pgx.Tx, tasks map[int64]*contextTask, used map[usedSet]bool) error {
	owners, sets := make([]int64, 0, len(used)), make([]int16, 0, len(used))
	for u := range used {
		owners, sets = append(owners, u.task), append(sets, u.set)
	}
	rows, err := tx.Query(ctx, contextTasksSQL, slices.Collect(maps.Keys(tasks)), owners, sets)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var schema sizing.Schema
		var set *int16
		var entries sizing.Metadata
		if err := rows.Scan(&id, &schema, &set, &entries); err != nil {
			return err
		}
		if tasks[id] == nil {
			tasks[id] = &contextTask{schema: schema, metadata: map[int16]sizing.Metadata{}}
		}
		if set != nil {
			tasks[id].metadata[*set] = entries
		}
	}
	return rows.Err()
}
