package main

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/loadaware/loadaware/internal/testcluster"
)

// trialRolling upgrades all replicas to a newer version under load, one by one, and downgrades them again. The newer version
// has one migration more, which its first replica applies to the tables in use. The long form uses three newer versions,
// each with one migration more than the one before.
func trialRolling(ctx context.Context, tr *trialRun) error {
	dir, err := os.MkdirTemp("", "loadaware-next-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	versions := tr.repetitions(1, 3)
	for n := 1; n <= versions; n++ {
		if err := buildNext(ctx, dir, n); err != nil {
			return err
		}
	}
	cluster, tasks, err := tr.openCluster(ctx, testcluster.Config{Replicas: tr.repetitions(2, 3)})
	if err != nil {
		return err
	}
	defer cluster.Close()
	balancer := newBalancer(ctx, cluster.Replicas)
	load := tr.newTraffic(cluster, tasks, "roll")
	load.expectsNoAnswer, load.pick = false, balancer.pick
	load.start(ctx, 8)
	oldBinary, replaced := cluster.Replicas[0].Binary, 0
	for n := 1; n <= versions; n++ {
		for _, binary := range []string{nextBinary(dir, n), oldBinary} {
			for _, r := range cluster.Replicas {
				if err := replace(ctx, r, binary); err != nil {
					return err
				}
				replaced++
			}
		}
	}
	counts := load.stop()
	applied, err := countAppliedMigrations(ctx, cluster)
	if err != nil {
		return err
	}
	tr.printf("%d replicas replaced with SIGTERM in upgrades and downgrades; the upgrades applied %d migrations while clients sent requests", replaced, applied)
	tr.check(applied == versions, "%d of %d migrations were applied", applied, versions)
	tr.checkTraffic(ctx, "rolling", counts, cluster)
	tr.check(counts.NoAnswer+counts.Rejected == 0, "rolling: %d calls got no answer, %d were rejected: %s", counts.NoAnswer, counts.Rejected, counts.FirstFailure)
	return nil
}

func replace(ctx context.Context, r *testcluster.Replica, binary string) error {
	if err := r.Terminate(); err != nil {
		return err
	}
	r.Binary = binary
	if err := r.Start(ctx); err != nil {
		return err
	}
	time.Sleep(300 * time.Millisecond) // the balancer polls /readyz meanwhile
	return nil
}

// balancer polls /readyz of each replica every 100 ms and prefers ready replicas.
type balancer struct {
	replicas []*testcluster.Replica
	ready    []atomic.Bool
}

func newBalancer(ctx context.Context, replicas []*testcluster.Replica) *balancer {
	b := &balancer{replicas: replicas, ready: make([]atomic.Bool, len(replicas))}
	for i, r := range replicas {
		b.ready[i].Store(true)
		go func() {
			for ctx.Err() == nil {
				code, _, _ := r.Call(ctx, http.MethodGet, "/readyz", nil)
				b.ready[i].Store(code == http.StatusOK)
				time.Sleep(100 * time.Millisecond)
			}
		}()
	}
	return b
}

// pick returns the address of the nth replica if it is ready or none is; otherwise that of the next ready one.
func (b *balancer) pick(n int) string {
	for i := range b.replicas {
		if at := (n + i) % len(b.replicas); b.ready[at].Load() {
			return b.replicas[at].URL
		}
	}
	return b.replicas[n%len(b.replicas)].URL
}

func nextBinary(dir string, n int) string { return filepath.Join(dir, fmt.Sprintf("loadaware-%d", n)) }

// buildNext builds the nth newer version, which has n additional migrations.
func buildNext(ctx context.Context, dir string, n int) error {
	root, err := testcluster.Root()
	if err != nil {
		return err
	}
	tree := filepath.Join(dir, "tree") // shared by all newer versions
	if n == 1 {
		if err := copySources(root, tree); err != nil {
			return err
		}
	}
	up := fmt.Sprintf(`ALTER TABLE observation ADD COLUMN chaos_%[1]d text;
CREATE INDEX chaos_%[1]d_new ON observation (task, chaos_%[1]d);
CREATE TABLE chaos_%[1]d (task bigint REFERENCES task ON DELETE CASCADE);
`, n)
	down := fmt.Sprintf("DROP TABLE chaos_%[1]d;\nALTER TABLE observation DROP COLUMN chaos_%[1]d;\n", n)
	for name, sql := range map[string]string{"up": up, "down": down} {
		if err := os.WriteFile(filepath.Join(tree, "migrations", fmt.Sprintf("9%03d_chaos.%s.sql", n, name)), []byte(sql), 0o644); err != nil {
			return err
		}
	}
	return testcluster.Build(ctx, tree, nextBinary(dir, n))
}

// copySources copies the sources of the repository. It omits hidden files and folders, and the folders bin, data and
// api/python.
func copySources(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		switch {
		case rel == ".":
			return os.MkdirAll(to, 0o755)
		case strings.HasPrefix(d.Name(), "."), rel == "bin", rel == "data", rel == filepath.Join("api", "python"):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), content, 0o644)
	})
}

func countAppliedMigrations(ctx context.Context, cluster *testcluster.Cluster) (n int, err error) {
	conn, err := connect(ctx, cluster)
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	err = conn.QueryRow(ctx, `SELECT count(*) FROM pg_tables WHERE tablename LIKE 'chaos\_%'`).Scan(&n)
	return n, err
}
