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

// shortage is a resource that a trial withholds from the running PostgreSQL.
type shortage struct {
	name  string
	begin func(context.Context, *testcluster.Cluster) error
	end   func(context.Context, *testcluster.Cluster) error
}

var shortages = []shortage{
	{"a standby that accepts no writes", setReadOnlyTransactions("on"), setReadOnlyTransactions("off")},
	{"disk full", fillDisk, freeDisk},
	{"read-only data folder", makeReadOnly, makeWritable},
	{"no memory", limitSessionMemory, unlimitSessionMemory},
}

// trialScarcity withholds one resource after the other. The data is on a small tmpfs.
func trialScarcity(ctx context.Context, tr *trialRun) error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w: mounting a small disk needs root", errSkip)
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
	if err := runCommand(ctx, "mount", "-t", "tmpfs", "-o", "size=160m,mode=0711", "loadaware-chaos", data); err != nil {
		return fmt.Errorf("%w: this machine allows no tmpfs mount: %w", errSkip, err)
	}
	defer func() { _ = exec.Command("umount", "-l", data).Run() }()
	cluster, tasks, err := tr.openCluster(ctx, testcluster.Config{Dir: dir, Postgres: testcluster.PostgresConfig{Settings: []string{"max_wal_size=64MB", "min_wal_size=32MB"}}})
	if err != nil {
		return err
	}
	defer cluster.Close()
	for _, sh := range shortages {
		if err := tr.runShortage(ctx, cluster, tasks, &sh); err != nil {
			return fmt.Errorf("%s: %w", sh.name, err)
		}
	}
	tr.checkReports(ctx, "scarcity", cluster)
	return nil
}

// runShortage checks the answers and /readyz during a shortage and after it.
func (tr *trialRun) runShortage(ctx context.Context, cluster *testcluster.Cluster, tasks []testcluster.Task, sh *shortage) error {
	load, prober := tr.newTraffic(cluster, tasks, sh.name), tr.newProber(cluster, tasks)
	load.start(ctx, 6)
	time.Sleep(300 * time.Millisecond)
	if err := sh.begin(ctx, cluster); err != nil {
		return err
	}
	replica := cluster.Replicas[0]
	last, unhealthy := readyAnswer{}, 0
	for until := time.Now().Add(time.Duration(tr.repetitions(2, 8)) * time.Second); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		prober.probe(ctx)
		last = readiness(ctx, replica)
		alive, _, _ := replica.Call(ctx, http.MethodGet, "/healthz", nil)
		if last.code != http.StatusOK || alive != http.StatusOK {
			unhealthy++
		}
	}
	sinceAck := time.Since(load.counts().lastAck)
	if err := sh.end(ctx, cluster); err != nil {
		return err
	}
	if err := cluster.Postgres.Start(ctx); err != nil { // PostgreSQL may have ended during the shortage
		return err
	}
	recovered, err := waitRecovered(ctx, cluster, prober)
	if err != nil {
		return err
	}
	counts := load.stop()
	tr.printf("%s: %d calls rejected, %d reports acked; /readyz at the end of the shortage: %d, observe %s; recovered within %v; last ack %v before the end of the shortage",
		sh.name, counts.Rejected, counts.Observed, last.code, last.Observe, recovered.Round(time.Millisecond), sinceAck.Round(time.Second))
	prober.check(tr, "during the shortage "+sh.name)
	tr.check(counts.Rejected > 0, "%s: no call was rejected: there was no shortage", sh.name)
	tr.check(last.Observe == "unavailable", "%s: /readyz reports observe: %s", sh.name, last.Observe)
	tr.check(unhealthy == 0, "%s: /readyz or /healthz was not 200, %d times", sh.name, unhealthy)
	tr.check(recovered <= 10*time.Second, "%s: recovered only after %v", sh.name, recovered)
	tr.checkTraffic(ctx, sh.name, counts, cluster)
	tr.check(counts.PredictRejected+counts.NoAnswer == 0, "%s: %d predictions rejected, %d calls got no answer", sh.name, counts.PredictRejected, counts.NoAnswer)
	return nil
}

// setReadOnlyTransactions makes every transaction read-only, as on a standby ("on"), or writable again ("off").
func setReadOnlyTransactions(readOnly string) func(context.Context, *testcluster.Cluster) error {
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

// withNewSessions calls `change` and then ends the other client sessions, because a session keeps its open files and limits.
// Its own session also runs endSessionsSQL before `change`, because after `change` PostgreSQL may be unable to load the code
// and the catalog rows for this statement.
func withNewSessions(ctx context.Context, cluster *testcluster.Cluster, change func() error) error {
	conn, err := connect(ctx, cluster)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, endSessionsSQL); err != nil {
		return err
	}
	if err := change(); err != nil {
		return err
	}
	// A session that was forked before `change` may appear only now.
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

// makeReadOnly removes the write permission from all data files.
func makeReadOnly(ctx context.Context, cluster *testcluster.Cluster) error {
	return withNewSessions(ctx, cluster, func() error { return runCommand(ctx, "chmod", "-R", "a-w", databaseDir(cluster)) })
}

func makeWritable(ctx context.Context, cluster *testcluster.Cluster) error {
	return runCommand(ctx, "chmod", "-R", "u+w", databaseDir(cluster))
}

// databaseDir returns the folder of the PostgreSQL cluster.
func databaseDir(cluster *testcluster.Cluster) string {
	return filepath.Join(cluster.Postgres.DataDir(), "postgres")
}

func limitSessionMemory(ctx context.Context, cluster *testcluster.Cluster) error {
	return withNewSessions(ctx, cluster, func() error { return limitMemory(ctx, cluster, "1") })
}

func unlimitSessionMemory(ctx context.Context, cluster *testcluster.Cluster) error {
	if cluster.Postgres.PID() == 0 {
		return nil // PostgreSQL has ended and will start without a limit
	}
	return limitMemory(ctx, cluster, "unlimited")
}

// limitMemory sets the soft limit of the postmaster's address space, which new sessions inherit and which the user of
// PostgreSQL may raise again.
func limitMemory(ctx context.Context, cluster *testcluster.Cluster, limit string) error {
	info, err := os.Stat(databaseDir(cluster))
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("%w: this machine does not report the owner of a file", errSkip)
	}
	return runCommand(ctx, "setpriv", fmt.Sprintf("--reuid=%d", owner.Uid), fmt.Sprintf("--regid=%d", owner.Gid), "--clear-groups",
		"prlimit", "--pid", strconv.Itoa(cluster.Postgres.PID()), "--as="+limit+":")
}

// runCommand runs a command. Its error contains the output.
func runCommand(ctx context.Context, name string, args ...string) error {
	if output, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %s: %w", name, output, err)
	}
	return nil
}
