package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/testcluster"
)

// want is one thing that PostgreSQL is made to lack while it runs.
type want struct {
	name string
	take func(context.Context, *testcluster.Cluster) error
	give func(context.Context, *testcluster.Cluster) error
}

var wants = []want{
	{"a standby that takes no writes", standby("on"), standby("off")},
	{"disk full", fillDisk, freeDisk},
	{"read-only data folder", sealData, unsealData},
	{"no memory", takeMemory, giveMemory},
}

// scarcity takes from PostgreSQL, one after the other, its writes, its disk, its
// folder and its memory. Its data lie on a small file system in memory.
func scarcity(ctx context.Context, s *sheet) error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w: only root may mount a small disk", errSkip)
	}
	dir, err := os.MkdirTemp("", "loadaware-chaos-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o711); err != nil {
		return err
	}
	if err := command(ctx, "mount", "-t", "tmpfs", "-o", "size=160m,mode=0711", "loadaware-chaos", data); err != nil {
		return fmt.Errorf("%w: no small disk can be mounted here: %w", errSkip, err)
	}
	defer func() { _ = exec.Command("umount", "-l", data).Run() }()
	cluster, tasks, err := s.open(ctx, testcluster.Config{Dir: dir, Postgres: testcluster.PostgresConfig{Settings: []string{"max_wal_size=64MB", "min_wal_size=32MB"}}})
	if err != nil {
		return err
	}
	defer cluster.Close()
	for _, w := range wants {
		if err := s.scarce(ctx, cluster, tasks, &w); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	s.balance(ctx, "scarcity", cluster)
	return nil
}

// scarce takes one thing under load, looks at what an operator sees, and gives it back.
func (s *sheet) scarce(ctx context.Context, cluster *testcluster.Cluster, tasks []testcluster.Task, w *want) error {
	load, asker := s.traffic(cluster, tasks, w.name), s.asker(cluster, tasks)
	load.start(ctx, 6)
	time.Sleep(300 * time.Millisecond)
	if err := w.take(ctx, cluster); err != nil {
		return err
	}
	replica := cluster.Replicas[0]
	last, sick := readyAnswer{}, 0
	for until := time.Now().Add(time.Duration(s.reps(2, 8)) * time.Second); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		asker.ask(ctx)
		last = readiness(ctx, replica)
		alive, _, _ := replica.Call(ctx, http.MethodGet, "/healthz", nil)
		if last.code != http.StatusOK || alive != http.StatusOK {
			sick++
		}
	}
	before := load.seen().lastAck
	if err := w.give(ctx, cluster); err != nil {
		return err
	}
	if err := cluster.Postgres.Start(ctx); err != nil { // it may have given up
		return err
	}
	healed, err := whole(ctx, cluster, asker)
	if err != nil {
		return err
	}
	seen := load.stop()
	s.tell("%s: %d reports told 503, %d acked; /readyz at the end of it: %d, observe %s; healed within %v; last ack %v before the end",
		w.name, seen.Refused, seen.Observed, last.code, last.Observe, healed.Round(time.Millisecond), time.Since(before).Round(time.Second))
	asker.judge(s, "with "+w.name)
	s.hold(seen.Refused > 0, "%s: no report was refused: nothing was scarce", w.name)
	s.hold(last.Observe == "unavailable", "%s: /readyz says observe: %s", w.name, last.Observe)
	s.hold(sick == 0, "%s: /readyz or /healthz was not 200, %d times", w.name, sick)
	s.hold(healed <= 10*time.Second, "%s: healed only after %v", w.name, healed)
	s.settle(ctx, w.name, seen, cluster)
	s.hold(seen.PredictRefused+seen.Broken == 0, "%s: %d asks refused, %d calls broke off", w.name, seen.PredictRefused, seen.Broken)
	return nil
}

// standby makes every transaction read-only, as a standby does.
func standby(readOnly string) func(context.Context, *testcluster.Cluster) error {
	return func(ctx context.Context, cluster *testcluster.Cluster) error {
		return execute(ctx, cluster, "ALTER SYSTEM SET default_transaction_read_only = "+readOnly, "SELECT pg_reload_conf()")
	}
}

func connect(ctx context.Context, cluster *testcluster.Cluster) (*pgx.Conn, error) {
	return pgx.Connect(ctx, cluster.Postgres.DSN())
}

func execute(ctx context.Context, cluster *testcluster.Cluster, statements ...string) error {
	conn, err := connect(ctx, cluster)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, sql := range statements {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

// freshly has every client's session begin anew after do: what an old one has open, it
// keeps. The statement is run before, too, since afterwards it may find nothing to load.
func freshly(ctx context.Context, cluster *testcluster.Cluster, do func() error) error {
	conn, err := connect(ctx, cluster)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, endSessionsSQL); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	// A session that was forked before do may show itself only now.
	for range 20 {
		if _, err := conn.Exec(ctx, endSessionsSQL); err != nil {
			return err
		}
		time.Sleep(25 * time.Millisecond)
	}
	return nil
}

const endSessionsSQL = `
	SELECT pg_terminate_backend(pid) FROM pg_stat_activity
	WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`

func filler(cluster *testcluster.Cluster) string {
	return filepath.Join(cluster.Postgres.DataDir(), "filler")
}

// fillDisk writes until nothing more fits.
func fillDisk(ctx context.Context, cluster *testcluster.Cluster) error {
	file, err := os.Create(filler(cluster))
	if err != nil {
		return err
	}
	defer file.Close()
	for chunk := make([]byte, 1<<20); len(chunk) > 0; {
		if _, err := file.Write(chunk); err != nil {
			chunk = chunk[:len(chunk)/2]
		}
	}
	return ctx.Err()
}

func freeDisk(_ context.Context, cluster *testcluster.Cluster) error {
	return os.Remove(filler(cluster))
}

// sealData takes the permission to write from everything in the cluster.
func sealData(ctx context.Context, cluster *testcluster.Cluster) error {
	return freshly(ctx, cluster, func() error { return command(ctx, "chmod", "-R", "a-w", databaseDir(cluster)) })
}

func unsealData(ctx context.Context, cluster *testcluster.Cluster) error {
	return command(ctx, "chmod", "-R", "u+w", databaseDir(cluster))
}

func databaseDir(cluster *testcluster.Cluster) string {
	return filepath.Join(cluster.Postgres.DataDir(), "postgres")
}

// takeMemory bounds the address space of every session that begins from now on.
func takeMemory(ctx context.Context, cluster *testcluster.Cluster) error {
	return freshly(ctx, cluster, func() error { return limitMemory(ctx, cluster, "1") })
}

func giveMemory(ctx context.Context, cluster *testcluster.Cluster) error {
	if cluster.Postgres.PID() == 0 {
		return nil // it gave up, and will be started with all it wants
	}
	return limitMemory(ctx, cluster, "unlimited")
}

// limitMemory sets the soft limit, which the server's own user may raise again.
func limitMemory(ctx context.Context, cluster *testcluster.Cluster, limit string) error {
	info, err := os.Stat(databaseDir(cluster))
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("%w: whose the server is cannot be told here", errSkip)
	}
	return command(ctx, "setpriv", fmt.Sprintf("--reuid=%d", owner.Uid), fmt.Sprintf("--regid=%d", owner.Gid), "--clear-groups",
		"prlimit", "--pid", strconv.Itoa(cluster.Postgres.PID()), "--as="+limit+":")
}

func command(ctx context.Context, name string, args ...string) error {
	if says, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %s: %w", name, says, err)
	}
	return nil
}
