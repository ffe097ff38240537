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

// rolling replaces all replicas by those of a next version, one by one, and back,
// while callers go on. The next version is this one with one migration more, which
// its first replica applies to the tables in use.
func rolling(ctx context.Context, s *sheet) error {
	dir, err := os.MkdirTemp("", "loadaware-next-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	next := s.reps(1, 3)
	for n := 1; n <= next; n++ {
		if err := buildNext(ctx, dir, n); err != nil {
			return err
		}
	}
	cluster, tasks, err := s.open(ctx, testcluster.Config{Replicas: s.reps(2, 3)})
	if err != nil {
		return err
	}
	defer cluster.Close()
	balancer := balance(ctx, cluster.Replicas)
	load := s.traffic(cluster, tasks, "roll")
	load.patient, load.pick = false, balancer.pick
	load.start(ctx, 8)
	this, replaced := cluster.Replicas[0].Binary, 0
	for n := 1; n <= next; n++ {
		for _, binary := range []string{nextBinary(dir, n), this} {
			for _, r := range cluster.Replicas {
				if err := replace(ctx, r, binary); err != nil {
					return err
				}
				replaced++
			}
		}
	}
	seen := load.stop()
	applied, err := appliedSteps(ctx, cluster)
	if err != nil {
		return err
	}
	s.tell("%d replicas replaced by SIGTERM, %d live migrations applied, up and down between versions", replaced, applied)
	s.hold(applied == next, "%d of %d live migrations were applied", applied, next)
	s.settle(ctx, "rolling", seen, cluster)
	s.hold(seen.Broken+seen.Refused == 0, "rolling: %d calls broke off, %d were refused: %s", seen.Broken, seen.Refused, seen.First)
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
	time.Sleep(300 * time.Millisecond) // the balancer looks
	return nil
}

// balancer does what one in front of replicas does: it asks each for /readyz every
// 100 ms, and sends calls only to those that said yes.
type balancer struct {
	replicas []*testcluster.Replica
	ready    []atomic.Bool
}

func balance(ctx context.Context, replicas []*testcluster.Replica) *balancer {
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

// pick is the address of the nth replica, or of the next one that is ready.
func (b *balancer) pick(n int) string {
	for i := range b.replicas {
		if at := (n + i) % len(b.replicas); b.ready[at].Load() {
			return b.replicas[at].URL
		}
	}
	return b.replicas[n%len(b.replicas)].URL
}

func nextBinary(dir string, n int) string { return filepath.Join(dir, fmt.Sprintf("loadaware-%d", n)) }

// buildNext builds the nth version after this one from a copy of the sources.
func buildNext(ctx context.Context, dir string, n int) error {
	root, err := testcluster.Root()
	if err != nil {
		return err
	}
	tree := filepath.Join(dir, "tree")
	if n == 1 {
		if err := copySources(root, tree); err != nil {
			return err
		}
	}
	step := fmt.Sprintf(`ALTER TABLE observation ADD COLUMN chaos_%[1]d text;
CREATE INDEX chaos_%[1]d_new ON observation (task, chaos_%[1]d);
CREATE TABLE chaos_%[1]d (task bigint REFERENCES task ON DELETE CASCADE);
`, n)
	undo := fmt.Sprintf("DROP TABLE chaos_%[1]d;\nALTER TABLE observation DROP COLUMN chaos_%[1]d;\n", n)
	for name, sql := range map[string]string{"up": step, "down": undo} {
		if err := os.WriteFile(filepath.Join(tree, "migrations", fmt.Sprintf("9%03d_chaos.%s.sql", n, name)), []byte(sql), 0o644); err != nil {
			return err
		}
	}
	return testcluster.Build(ctx, tree, nextBinary(dir, n))
}

// copySources copies what a build may need.
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

// appliedSteps counts the tables of the next versions.
func appliedSteps(ctx context.Context, cluster *testcluster.Cluster) (n int, err error) {
	conn, err := connect(ctx, cluster)
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	err = conn.QueryRow(ctx, `SELECT count(*) FROM pg_tables WHERE tablename LIKE 'chaos\_%'`).Scan(&n)
	return n, err
}
