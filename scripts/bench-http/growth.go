package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

type size struct {
	tasks, observations, replicas int
	predictedTasks                int // number of tasks for which predictions are requested, in turn
}

// receipts returns the number of receipts: one per ten observations.
func (s size) receipts() int { return s.observations / 10 }

type sizeResult struct {
	size
	ready, p50, p99 time.Duration // time from start to readiness; latencies of predictions; each the maximum over the replicas
	first           time.Duration // median latency of the first prediction of each task, which decodes its model; the maximum over the replicas
	resident        int64         // resident memory of the first replica after its predictions
	perModel        float64       // (resident − resident memory of bench.server) per task, in bytes; 0 if some tasks are not predicted
}

func (g sizeResult) perModelText() string {
	if g.perModel == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f MB", g.perModel/1e6)
}

// sizes returns the sizes to measure, which depend on the flag -form. The amount of data never decreases, because addData can
// only add data.
func (b *bench) sizes() []size {
	switch b.form {
	case "short": // a smoke test, which measures row 4 only if -rows selects it
		return []size{{10, 1_000, 1, 10}, {100, 1_000, 1, 100}, {1_000, 1_000, 1, 1_000}, {2_000, 1_000, 1, 200}, {2_000, 100_000, 1, 200}}
	case "long":
		return []size{{100, 1_000, 1, 100}, {1_000, 1_000, 1, 200}, {1_000, 1_000_000, 1, 200}, {10_000, 10_000_000, 1, 200}, {10_000, 10_000_000, 2, 200}, {10_000, 10_000_000, 3, 200}, {10_000, 10_000_000, 1, 2_000}}
	}
	return []size{{10, 1_000, 1, 10}, {100, 1_000, 1, 100}, {1_000, 1_000, 1, 1_000}, {1_000, 10_000, 1, 200}, {1_000, 100_000, 1, 200}, {1_000, 1_000_000, 1, 200}, {1_000, 1_000_000, 2, 200}, {1_000, 1_000_000, 3, 200}}
}

// benchGrowth measures row 4 of bench.table: the cost of a prediction, a model and a start as the numbers of tasks,
// observations and replicas grow. The tasks are copies of predictedTask under other names. It also draws docs/growth.svg.
func (b *bench) benchGrowth(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, b.env.db.DSN())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	serverResident, err := b.server.residentMemory()
	if err != nil {
		return err
	}
	if err := b.storeReceipt(ctx, conn); err != nil {
		return err
	}
	b.printf("| tasks with models | tasks predicted | observations | replicas | ready after | first prediction | p50 | p99 | resident | per model |\n|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
	var all []sizeResult
	statementRows := []string{statementsHeader()}
	for _, s := range b.sizes() {
		if err := addData(ctx, conn, s); err != nil {
			return err
		}
		result, err := b.measureSize(ctx, s, serverResident)
		if err != nil {
			return err
		}
		b.printf("| %d | %d | %d | %d | %.1f s | %.1f ms | %.2f ms | %.2f ms | %.0f MB | %s |", result.tasks, result.predictedTasks, result.observations, result.replicas, result.ready.Seconds(),
			millis(result.first), millis(result.p50), millis(result.p99), float64(result.resident)/1e6, result.perModelText())
		all = append(all, result)
		if s.replicas > 1 {
			continue
		}
		line, err := b.timeStatements(ctx, conn, s)
		if err != nil {
			return err
		}
		statementRows = append(statementRows, line)
	}
	b.printf("%s", strings.Join(statementRows, "\n"))
	return os.WriteFile("docs/growth.svg", []byte(plot(all)), 0o644) //nolint:gosec // the picture is public
}

// addData adds data with SQL up to the given size. Every statement uses $1, because pgx rejects an unused argument.
func addData(ctx context.Context, conn *pgx.Conn, s size) error {
	for _, sql := range []string{
		`INSERT INTO task (namespace, dag_id, task_id, schema, active_version)
			SELECT namespace, 'grown', 'task-' || i, schema, active_version FROM task, generate_series(1, $1::int) i WHERE task_id = '` + predictedTask + `' ON CONFLICT DO NOTHING`,
		`INSERT INTO tally (task) SELECT id FROM task WHERE dag_id = 'grown' AND id NOT IN (SELECT task FROM tally) AND $1::int > 0`,
		`INSERT INTO lease (task) SELECT id FROM task WHERE dag_id = 'grown' AND id NOT IN (SELECT task FROM lease) AND $1::int > 0`,
		`INSERT INTO model (task, version, family, format, observations, last_seq, trained_at, exam, blob)
			SELECT grown.id, version, family, format, observations, last_seq, trained_at, exam, blob
			FROM model JOIN task ON task.id = model.task AND task.active_version = model.version AND task.task_id = '` + predictedTask + `' CROSS JOIN task AS grown
			WHERE grown.dag_id = 'grown' AND $1::int > 0 ON CONFLICT DO NOTHING`,
	} {
		if _, err := conn.Exec(ctx, sql, s.tasks); err != nil {
			return err
		}
	}
	for _, sql := range []string{
		`INSERT INTO observation (task, run_id, map_index, try_number, outcome, provisional, at, memory_max, duration_us, lot, features)
			SELECT grown.id, 'grown-' || i, -1, 1, 1, false, now() - interval '300 days' + i * interval '1 second', 1000000000 + i, 60000000, hashint8(i), '{1,2,3,4,5,6,7,8,9,10,11,18262}'
			FROM generate_series((SELECT count(*) + 1 FROM observation JOIN task ON task.id = task AND dag_id = 'grown'), $1::bigint) i
			JOIN task AS grown ON dag_id = 'grown' AND task_id = 'task-' || (1 + i % 10) ON CONFLICT DO NOTHING`,
		// Mark all rows as learned, so that loading a model does not learn from newer rows.
		`UPDATE model SET last_seq = (SELECT max(seq) FROM observation) FROM task WHERE task.id = model.task AND dag_id = 'grown' AND $1::bigint > 0`,
		`UPDATE tally SET observations = $1::bigint / 10 FROM task WHERE task.id = tally.task AND dag_id = 'grown' AND task_id IN (SELECT 'task-' || i FROM generate_series(1, 10) i) AND observations < $1::bigint / 10`,
		`INSERT INTO receipt_name (namespace, dag_id, task_id) SELECT namespace, 'grown', 'task-' || i FROM receipt_name, generate_series(1, 10) i
			WHERE task_id = '` + predictedTask + `' AND $1::bigint > 0 ON CONFLICT DO NOTHING`,
		`INSERT INTO receipt_compact (prediction_id, at, promised, task_limit, told, name, map_index, model_version, try_number, run_id, content)
			SELECT (left(lpad(to_hex(ms), 12, '0'), 8) || '-' || right(to_hex(ms), 4) || '-7000-8000-' || lpad(to_hex(i), 12, '0'))::uuid,
				to_timestamp(ms / 1000.0), promised, task_limit, told, receipt_name.id, -1, model_version, 1, 'grown-' || i, content
			FROM (SELECT receipt_compact.* FROM receipt_compact JOIN receipt_name ON receipt_name.id = name WHERE task_id = '` + predictedTask + `' LIMIT 1) AS one, generate_series((SELECT count(*) + 1 FROM receipt_compact WHERE run_id LIKE 'grown-%'), $1::bigint / 10) i,
				LATERAL (SELECT (extract(epoch FROM now()) * 1000)::bigint + i % 2000000 * 1000 AS ms) AS given, -- the id begins with the time, as in the service
				receipt_name WHERE receipt_name.dag_id = 'grown' AND receipt_name.task_id = 'task-' || (1 + i % 10)`,
	} {
		if _, err := conn.Exec(ctx, sql, s.observations); err != nil {
			return err
		}
	}
	_, err := conn.Exec(ctx, "ANALYZE")
	return err
}

// storeReceipt waits until a receipt is stored, which addData copies.
func (b *bench) storeReceipt(ctx context.Context, conn *pgx.Conn) error {
	if err := b.env.call(ctx, b.server.url+"/predict", predictRequest(newRandom(b.seed), predictedTask, "receipt-to-copy"), nil); err != nil {
		return err
	}
	for range 100 {
		var stored bool
		if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM receipt_compact)").Scan(&stored); err != nil || stored {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
	return errors.New("wait for the receipt of a prediction: not stored within 10 s")
}

// measureSize measures one size: it starts the replicas and requests predictions for the tasks in turn. serverResident is the
// resident memory of b.server in bytes.
func (b *bench) measureSize(ctx context.Context, s size, serverResident int64) (result sizeResult, err error) {
	result.size = s
	var replicas []*server
	defer func() {
		for _, r := range replicas {
			end(r.cmd)
		}
	}()
	for range s.replicas {
		r, err := b.env.serve(ctx, "", b.env.db.DSN())
		if err != nil {
			return result, err
		}
		replicas = append(replicas, r)
		result.ready = max(result.ready, r.ready)
	}
	r := newRandom(b.seed + 9)
	var bodies []string
	for i := range s.predictedTasks + timedPredictions { // each with its own random features
		request := predictRequest(r, fmt.Sprint("task-", 1+i%s.predictedTasks), "grown__"+counterPlaceholder)
		request["dag_id"] = "grown"
		bodies = append(bodies, text(request))
	}
	for _, replica := range replicas {
		result.first = max(result.first, b.measureFirstPredictions(ctx, replica, bodies[:s.predictedTasks]))
		predictions := openLoop{url: replica.url + "/predict", token: b.env.token, bodies: bodies[s.predictedTasks:], rate: 200, length: timedPredictions * time.Second / 200}.run(ctx)
		if predictions.errors > 0 {
			return result, fmt.Errorf("%d of %d requests failed", predictions.errors, len(predictions.latencies))
		}
		result.p50, result.p99 = max(result.p50, predictions.quantile(0.5)), max(result.p99, predictions.quantile(0.99))
	}
	if result.resident, err = replicas[0].residentMemory(); s.tasks == s.predictedTasks {
		result.perModel = float64(max(0, result.resident-serverResident)) / float64(s.tasks)
	}
	return result, err
}

// timedPredictions is the number of predictions per replica for p50 and p99. Six of 600 latencies are at or above the p99.
const timedPredictions = 600

// measureFirstPredictions requests one prediction per task and returns the median latency.
func (b *bench) measureFirstPredictions(ctx context.Context, r *server, bodies []string) time.Duration {
	return openLoop{url: r.url + "/predict", token: b.env.token, bodies: bodies, rate: 20, length: time.Duration(len(bodies)) * time.Second / 20}.run(ctx).quantile(0.5)
}

func plot(all []sizeResult) string {
	const width, left, line = 790, 400, 26 // width of the picture, start of the bars and height of a row, in px
	longest := time.Millisecond
	for _, g := range all {
		longest = max(longest, g.p50)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="13">`+"\n", width, line*(len(all)+2))
	fmt.Fprintf(&b, `<text x="10" y="%d" font-weight="bold">median latency of a prediction, by the amount of data</text>`+"\n", line-6)
	for i, g := range all {
		y := line * (i + 1)
		bar := float64(width-left-90) * float64(g.p50) / float64(longest)
		fmt.Fprintf(&b, `<text x="10" y="%d">%d tasks (%d predicted), %d observations, %d replicas</text><rect x="%d" y="%d" width="%.0f" height="%d" fill="#4477aa"/><text x="%.0f" y="%d">%.2f ms</text>`+"\n",
			y+17, g.tasks, g.predictedTasks, g.observations, g.replicas, left, y+4, bar, line-8, float64(left)+bar+6, y+17, millis(g.p50))
	}
	b.WriteString("</svg>\n")
	return b.String()
}
