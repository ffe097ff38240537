package service_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store/postgres"
	"github.com/loadaware/loadaware/internal/trainer"
)

// manyTasks lists the statements that read rows of many tasks, by a part of their text. None of them runs for a
// prediction by a decoded model, for a lift or for a report.
var manyTasks = map[string]string{
	"SELECT lease.task, lease.until IS NOT NULL":      "finds a due task by an index; every database server can have trainers of its own",
	"SELECT count(*), coalesce(now() - min(due_at)":   "counts the due tasks by an index, for a metric",
	"FROM task WHERE active_version IS NOT NULL":      "lists the models when a replica starts",
	"WHERE active_version IS NULL AND tally":          "lists the tasks without a model when a replica starts",
	"FROM task WHERE policy IS NOT NULL":              "lists the policies when a replica starts",
	"ORDER BY max(prediction_id) DESC":                "lists the newest receipts when a replica starts, to load their models first",
	"SELECT task.task_id, model.version, model.share": "reads what the models of a DAG share, when one of them was trained",
	"SELECT task.dag_id, task.task_id, model.version": "reads what the DAGs of a namespace share, at intervals",
	"coalesce(sum(observations), 0)::bigint AS runs":  "counts the runs of a namespace, at intervals",
}

// replicated lists small tables whose rows belong to no task. Every database server can have a copy of these tables.
var replicated = []string{"cohort", "usage_profiles", "runtime_shapes", "receipt_format"}

type statements struct {
	mu   sync.Mutex
	seen []string
}

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	s.add(data.SQL)
	return ctx
}

func (s *statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (s *statements) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

func (s *statements) TraceBatchQuery(_ context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	s.add(data.SQL)
}

func (s *statements) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

func (s *statements) add(sql string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	verbs := []string{"SELECT", "WITH", "INSERT", "UPDATE", "DELETE"}
	if !slices.Contains(s.seen, sql) && slices.Contains(verbs, strings.ToUpper(strings.Fields(sql)[0])) {
		s.seen = append(s.seen, sql)
	}
}

// A statement of a prediction, a lift, a report or a training reads only rows of the tasks that the statement names. This
// holds for each table that is not in `replicated`, and for all statements but those in manyTasks. Therefore the rows of these
// tables can be distributed by their task over several database servers.
func TestStatementsAboutATaskFilterEachTableByItsTask(t *testing.T) {
	recorded := &statements{}
	dsn := pgtest.Migrated(t)
	st, err := postgres.Open(t.Context(), dsn, postgres.Config{Debounce: time.Hour, Tracer: recorded})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	runEverything(t, dsn, st)

	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(t.Context(), `SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off`)
	require.NoError(t, err)
	keys := taskColumns(t, conn)
	recorded.mu.Lock()
	defer recorded.mu.Unlock()
	require.Greater(t, len(recorded.seen), 25)
	for _, sql := range recorded.seen {
		if isAboutManyTasks(sql) {
			continue
		}
		assert.Empty(t, unfilteredTables(explain(t, conn, sql), keys), "the statement must not read these tables without a condition on the task: %s", sql)
	}
}

func isAboutManyTasks(sql string) bool {
	for part := range manyTasks {
		if strings.Contains(strings.Join(strings.Fields(sql), " "), part) {
			return true
		}
	}
	return false
}

func runEverything(t *testing.T, dsn string, st *postgres.Store) {
	t.Helper()
	r := joinStore(t, dsn, st, service.Config{}).start()
	r.trainTask("load", 60)
	for i := range 3 {
		request := ask("load", fmt.Sprint("request-", i))
		r.predict(request)
		r.lift(request, gib)
		r.predict(nthTry(request, 2))
		r.report(succeeded(nthTry(request, 2), 2*gib))
		o := succeeded(request, 0)
		o.Outcome, o.Allocated.Memory = sizing.OOMKilled, gib
		r.report(o)
	}
	r.predict(ask("unknown", "request"))
	r.waitFor(func() bool { return r.Counts().Queued == 0 }, "the receipts must be stored")
	require.NoError(t, st.MarkDue(t.Context(), task("load"), time.Now()))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go trainer.New(st, trainer.Config{Every: 10 * time.Millisecond}, slog.New(slog.DiscardHandler)).Run(ctx)
	r.waitFor(func() bool {
		versions, err := st.ModelVersions(t.Context(), task("load"))
		return err == nil && len(versions) == 2
	}, "the due task must be trained again")
	other := joinStore(t, dsn, st, service.Config{}).start()
	other.predict(ask("load", ""))
}

// taskColumns returns the keys of each table by which a statement may select a task. A key is a column with
// the id of the task, or the three columns of its name.
func taskColumns(t *testing.T, conn *pgx.Conn) map[string][][]string {
	t.Helper()
	rows, err := conn.Query(t.Context(), `SELECT relname, array_agg(attname::text) FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
		WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace AND attnum > 0 GROUP BY relname`)
	require.NoError(t, err)
	keys := map[string][][]string{}
	var table string
	var columns []string
	_, err = pgx.ForEachRow(rows, []any{&table, &columns}, func() error {
		byName := []string{"namespace", "dag_id", "task_id"}
		switch {
		case table == "task" || table == "receipt_name":
			keys[table] = [][]string{{"id"}, byName}
		case strings.HasPrefix(table, "receipt_") && slices.Contains(columns, "name"):
			keys[table] = [][]string{{"name"}} // id in receipt_name
		case slices.Contains(columns, "task"):
			keys[table] = [][]string{{"task"}}
		case slices.Contains(columns, "task_id"):
			keys[table] = [][]string{byName}
		}
		return nil
	})
	require.NoError(t, err)
	return keys
}

var comparison = regexp.MustCompile(`(\w+)\.(\w+) = (?:ANY )?\(*([^ )]+)`)

// unfilteredTables returns the tables that a plan reads without a condition on their keys. The condition must
// compare the key with a parameter, or with a column of a table that has such a condition.
func unfilteredTables(plan *planNode, keys map[string][][]string) []string {
	values := map[string][]string{} // by alias.column: the values that the column is compared with
	tables := map[string]string{}   // by alias: the tables that are not known to be filtered yet
	plan.visit(func(n *planNode) {
		if n.Relation != "" && n.Type != "ModifyTable" && !slices.Contains(replicated, n.Relation) {
			tables[n.Alias] = n.Relation
		}
		for _, condition := range []string{n.IndexCond, n.Recheck, n.Filter, n.JoinFilter} {
			for _, c := range comparison.FindAllStringSubmatch(condition, -1) {
				column, value := c[1]+"."+c[2], c[3]
				values[column] = append(values[column], value)
				values[value] = append(values[value], column)
			}
		}
	})
	for again := true; again; {
		again = false
		for alias, table := range tables {
			isKnown := func(value string) bool {
				of, _, _ := strings.Cut(value, ".")
				_, isUnfiltered := tables[of]
				return !isUnfiltered
			}
			isMissing := func(column string) bool { return !slices.ContainsFunc(values[alias+"."+column], isKnown) }
			if slices.ContainsFunc(keys[table], func(key []string) bool { return !slices.ContainsFunc(key, isMissing) }) {
				delete(tables, alias)
				again = true
			}
		}
	}
	return slices.Sorted(maps.Values(tables))
}

type planNode struct {
	Type       string     `json:"Node Type"`
	Relation   string     `json:"Relation Name"`
	Alias      string     `json:"Alias"`
	IndexCond  string     `json:"Index Cond"`
	Recheck    string     `json:"Recheck Cond"`
	Filter     string     `json:"Filter"`
	JoinFilter string     `json:"Join Filter"`
	Plans      []planNode `json:"Plans"`
}

func (n *planNode) visit(each func(*planNode)) {
	each(n)
	for i := range n.Plans {
		n.Plans[i].visit(each)
	}
}

func explain(t *testing.T, conn *pgx.Conn, sql string) *planNode {
	t.Helper()
	_, err := conn.Exec(t.Context(), "PREPARE recorded AS "+sql)
	require.NoError(t, err, sql)
	var parameters int
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT cardinality(parameter_types) FROM pg_prepared_statements WHERE name = 'recorded'`).Scan(&parameters))
	execute := "EXPLAIN (VERBOSE, FORMAT JSON) EXECUTE recorded"
	if parameters > 0 {
		execute += "(NULL" + strings.Repeat(", NULL", parameters-1) + ")"
	}
	var output []byte
	require.NoError(t, conn.QueryRow(t.Context(), execute).Scan(&output), sql)
	_, err = conn.Exec(t.Context(), "DEALLOCATE recorded")
	require.NoError(t, err)
	var plans []struct{ Plan planNode }
	require.NoError(t, json.Unmarshal(output, &plans))
	return &plans[0].Plan
}
