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

// size is how much there is to serve.
type size struct {
	tasks, observations, replicas int
	asked                         int // of the tasks, in turn
}

// receipts are there of every tenth observation.
func (s size) receipts() int { return s.observations / 10 }

// grown is what serving it cost.
type grown struct {
	size
	ready, p50, p99 time.Duration
	first           time.Duration // median of the first question of a task, which opens its model
	held            int64         // resident memory after all that
	perModel        float64       // bytes of it for each model that was opened; 0: nobody knows how many were
}

// ofModel is empty where nobody knows.
func (g grown) ofModel() string {
	if g.perModel == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f MB", g.perModel/1e6)
}

// sizes grow one thing at a time.
func (b *bench) sizes() []size {
	switch b.form {
	case "short": // not measured unless it is asked for: a look
		return []size{{10, 1_000, 1, 10}, {100, 1_000, 1, 100}, {1_000, 1_000, 1, 1_000}, {2_000, 1_000, 1, 200}, {2_000, 100_000, 1, 200}}
	case "long":
		return []size{{100, 1_000, 1, 100}, {1_000, 1_000, 1, 200}, {1_000, 1_000_000, 1, 200}, {10_000, 10_000_000, 1, 200}, {10_000, 10_000_000, 2, 200}, {10_000, 10_000_000, 3, 200}, {10_000, 10_000_000, 1, 2_000}}
	}
	return []size{{10, 1_000, 1, 10}, {100, 1_000, 1, 100}, {1_000, 1_000, 1, 1_000}, {1_000, 10_000, 1, 200}, {1_000, 100_000, 1, 200}, {1_000, 1_000_000, 1, 200}, {1_000, 1_000_000, 2, 200}, {1_000, 1_000_000, 3, 200}}
}

// growth is row 4: what a question, a model and a start cost as tasks, observations
// and replicas grow. Tasks are copies of the trained one under other names.
func (b *bench) growth(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, b.place.db.DSN())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	empty, err := b.server.resident()
	if err != nil {
		return err
	}
	if err := b.askedOnce(ctx, conn); err != nil {
		return err
	}
	b.say("| tasks with models | of them asked about | observations | replicas | ready after | first question | p50 | p99 | resident | a model |\n|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
	var all []grown
	times := []string{timedHead()}
	for _, s := range b.sizes() {
		if err := grow(ctx, conn, s); err != nil {
			return err
		}
		g, err := b.served(ctx, s, empty)
		if err != nil {
			return err
		}
		b.say("| %d | %d | %d | %d | %.1f s | %.1f ms | %.2f ms | %.2f ms | %.0f MB | %s |", g.tasks, g.asked, g.observations, g.replicas, g.ready.Seconds(),
			millis(g.first), millis(g.p50), millis(g.p99), float64(g.held)/1e6, g.ofModel())
		all = append(all, g)
		if s.replicas > 1 {
			continue
		}
		line, err := b.timed(ctx, conn, s)
		if err != nil {
			return err
		}
		times = append(times, line)
	}
	b.say("%s", strings.Join(times, "\n"))
	return os.WriteFile("docs/growth.svg", []byte(plot(all)), 0o644) //nolint:gosec // a picture for everybody
}

// grow adds tasks and observations up to a size, by SQL.
func grow(ctx context.Context, conn *pgx.Conn, s size) error {
	for _, sql := range []string{
		`INSERT INTO task (namespace, dag_id, task_id, schema, active_version)
			SELECT namespace, 'grown', 'task-' || i, schema, active_version FROM task, generate_series(1, $1::int) i WHERE task_id = '` + name + `' ON CONFLICT DO NOTHING`,
		`INSERT INTO tally (task) SELECT id FROM task WHERE dag_id = 'grown' AND id NOT IN (SELECT task FROM tally) AND $1::int > 0`,
		`INSERT INTO lease (task) SELECT id FROM task WHERE dag_id = 'grown' AND id NOT IN (SELECT task FROM lease) AND $1::int > 0`,
		`INSERT INTO model (task, version, family, format, observations, last_seq, trained_at, exam, blob)
			SELECT grown.id, version, family, format, observations, last_seq, trained_at, exam, blob
			FROM model JOIN task ON task.id = model.task AND task.active_version = model.version AND task.task_id = '` + name + `' CROSS JOIN task AS grown
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
		// All of it was learned, as it were: there is no tail to learn when a model is opened.
		`UPDATE model SET last_seq = (SELECT max(seq) FROM observation) FROM task WHERE task.id = model.task AND dag_id = 'grown' AND $1::bigint > 0`,
		`UPDATE tally SET observations = $1::bigint / 10 FROM task WHERE task.id = tally.task AND dag_id = 'grown' AND task_id IN (SELECT 'task-' || i FROM generate_series(1, 10) i) AND observations < $1::bigint / 10`,
		`INSERT INTO receipt (prediction_id, namespace, dag_id, task_id, run_id, map_index, try_number, at, promised, task_limit, guard, body, model_version, told)
			SELECT left(lpad(to_hex(ms), 12, '0'), 8) || '-' || right(to_hex(ms), 4) || '-7000-8000-' || lpad(to_hex(i), 12, '0'), namespace, 'grown', 'task-' || (1 + i % 10), 'grown-' || i, -1, 1,
				to_timestamp(ms / 1000.0), promised, task_limit, guard, body, model_version, told
			FROM (SELECT * FROM receipt WHERE task_id = '` + name + `' LIMIT 1) AS one, generate_series((SELECT count(*) + 1 FROM receipt WHERE run_id LIKE 'grown-%'), $1::bigint / 10) i,
				LATERAL (SELECT (extract(epoch FROM now()) * 1000)::bigint + i % 2000000 * 1000 AS ms) AS given`, // ids of the time to come, as they will be given out
	} {
		if _, err := conn.Exec(ctx, sql, s.observations); err != nil {
			return err
		}
	}
	_, err := conn.Exec(ctx, "ANALYZE")
	return err
}

// askedOnce waits for a receipt, of which there will be copies.
func (b *bench) askedOnce(ctx context.Context, conn *pgx.Conn) error {
	if err := b.place.call(ctx, b.server.url+"/predict", question(dice(b.seed), name, "asked-once"), nil); err != nil {
		return err
	}
	for range 100 {
		var there bool
		if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM receipt)").Scan(&there); err != nil || there {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
	return errors.New("the answer's receipt was not stored within 10 s")
}

// served starts replicas, asks them about tasks in turn, and ends them.
func (b *bench) served(ctx context.Context, s size, empty int64) (g grown, err error) {
	g.size = s
	var replicas []*server
	defer func() {
		for _, r := range replicas {
			end(r.cmd)
		}
	}()
	for range s.replicas {
		r, err := b.place.serve(ctx, "", b.place.db.DSN())
		if err != nil {
			return g, err
		}
		replicas = append(replicas, r)
		g.ready = max(g.ready, r.ready)
	}
	r := dice(b.seed + 9)
	var bodies []string
	for i := range s.asked + newOnes { // all of features that were never seen
		q := question(r, fmt.Sprint("task-", 1+i%s.asked), "grown__"+counterMark)
		q["dag_id"] = "grown"
		bodies = append(bodies, text(q))
	}
	for _, replica := range replicas {
		g.first = max(g.first, b.firsts(ctx, replica, bodies[:s.asked]))
		asked := pace{url: replica.url + "/predict", token: b.place.token, bodies: bodies[s.asked:], rate: 200, span: newOnes * time.Second / 200}.run(ctx)
		if asked.errors > 0 {
			return g, fmt.Errorf("%d of %d questions were not answered", asked.errors, len(asked.took))
		}
		g.p50, g.p99 = max(g.p50, asked.at(0.5)), max(g.p99, asked.at(0.99))
	}
	if g.held, err = replicas[0].resident(); s.tasks == s.asked {
		g.perModel = float64(max(0, g.held-empty)) / float64(s.tasks)
	}
	return g, err
}

// newOnes is how many questions are timed after the first ones.
const newOnes = 600

// firsts asks about each task once, one after the other: the median.
func (b *bench) firsts(ctx context.Context, r *server, bodies []string) time.Duration {
	return pace{url: r.url + "/predict", token: b.place.token, bodies: bodies, rate: 20, span: time.Duration(len(bodies)) * time.Second / 20}.run(ctx).at(0.5)
}

// plot draws the median latency of each size as a bar, all from zero.
func plot(all []grown) string {
	const width, left, line = 790, 400, 26
	most := time.Millisecond
	for _, g := range all {
		most = max(most, g.p50)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="13">`+"\n", width, line*(len(all)+2))
	fmt.Fprintf(&b, `<text x="10" y="%d" font-weight="bold">median time of a question, by what there is to serve</text>`+"\n", line-6)
	for i, g := range all {
		y := line * (i + 1)
		bar := float64(width-left-90) * float64(g.p50) / float64(most)
		fmt.Fprintf(&b, `<text x="10" y="%d">%d tasks (%d asked), %d observations, %d replicas</text><rect x="%d" y="%d" width="%.0f" height="%d" fill="#4477aa"/><text x="%.0f" y="%d">%.2f ms</text>`+"\n",
			y+17, g.tasks, g.asked, g.observations, g.replicas, left, y+4, bar, line-8, float64(left)+bar+6, y+17, millis(g.p50))
	}
	b.WriteString("</svg>\n")
	return b.String()
}
