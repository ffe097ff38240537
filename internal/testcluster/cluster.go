// Package testcluster is a cluster for trials from outside: a PostgreSQL of its own, replicas
// of the built binary in front of it, a history to learn from, and a ledger of what
// was acknowledged.
//
//	cluster, err := testcluster.Open(ctx, testcluster.Config{Replicas: 2})
//	defer cluster.Close()
//	tasks, err := cluster.Fill(ctx, testcluster.History{Tasks: 4, Seed: 1})  // models exist
//	cluster.Postgres.Kill(); cluster.Postgres.Start(ctx)                // and cluster.Replicas[i]
//	cluster.Ledger.Check(ctx, cluster.Postgres.DSN())                   // lost, doubled, invented
//
// It sees of the product what an operator sees: a binary, its addresses, its tables.
// It decides nothing of its own, listens on loopback only unless told otherwise, and
// ends whatever it started. It is for trials; nothing of the product imports it.
package testcluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Config says what to set up. The zero value is one replica of the binary that
// `make build` leaves.
type Config struct {
	Binary   string   // the built loadaware; bin/loadaware of the module if empty, built when missing
	Replicas int      // 1 if zero
	Dir      string   // for data and logs, made if missing and kept; a temporary one, removed by Close, if empty
	Database string   // DATABASE_URL of the replicas: another way to the same PostgreSQL; direct if empty
	Args     []string // behind `serve`, for every replica
	Env      []string // KEY=value, for every replica
	Wrap     []string // command in front of each replica, such as taskset -c 0; it must exec what follows
	Postgres PostgresConfig
}

// Cluster is what Open set up.
type Cluster struct {
	Dir      string
	Postgres *Postgres
	Replicas []*Replica
	Ledger   *Ledger

	cfg  Config
	temp bool
}

// Open starts a PostgreSQL and the replicas, and returns once all are ready. What was
// started is ended when it fails.
func Open(ctx context.Context, cfg Config) (*Cluster, error) {
	cluster := &Cluster{Dir: cfg.Dir, cfg: cfg, Ledger: NewLedger()}
	if err := cluster.open(ctx); err != nil {
		return nil, errors.Join(err, cluster.Close())
	}
	return cluster, nil
}

func (r *Cluster) open(ctx context.Context) (err error) {
	if r.Dir == "" {
		if r.Dir, err = os.MkdirTemp("", "loadaware-testcluster-"); err != nil {
			return err
		}
		r.temp = true
	}
	// Root's PostgreSQL runs as another user, who must be able to pass.
	if err := errors.Join(os.MkdirAll(r.Dir, 0o755), os.Chmod(r.Dir, 0o755)); err != nil {
		return err
	}
	if r.cfg.Binary, err = binary(ctx, r.cfg.Binary); err != nil {
		return err
	}
	if r.Postgres, err = NewPostgres(ctx, filepath.Join(r.Dir, "data"), r.cfg.Postgres); err != nil {
		return err
	}
	if err := r.Postgres.Start(ctx); err != nil {
		return err
	}
	for range max(1, r.cfg.Replicas) {
		if _, err := r.Add(ctx, r.cfg.Binary); err != nil {
			return err
		}
	}
	return nil
}

// Add starts one more replica, of any binary, and returns once it is ready.
func (r *Cluster) Add(ctx context.Context, binary string) (*Replica, error) {
	replica, err := newReplica(r, binary)
	if err != nil {
		return nil, err
	}
	r.Replicas = append(r.Replicas, replica)
	return replica, replica.Start(ctx)
}

// Close ends the replicas, then PostgreSQL, and removes a folder that is ours.
func (r *Cluster) Close() error {
	var failed []error
	for _, replica := range r.Replicas {
		replica.Kill()
	}
	if r.Postgres != nil {
		failed = append(failed, r.Postgres.Stop())
	}
	if r.temp {
		failed = append(failed, os.RemoveAll(r.Dir))
	}
	return errors.Join(failed...)
}

// Build builds loadaware from the module in tree to the file out.
func Build(ctx context.Context, tree, out string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", out, "./cmd/loadaware")
	cmd.Dir, cmd.Env = tree, append(os.Environ(), "CGO_ENABLED=0")
	if says, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build loadaware in %s: %w: %s", tree, err, says)
	}
	return nil
}

// Root is the folder of the module that this process was started in.
func Root() (string, error) {
	says, err := exec.Command("go", "env", "GOMOD").Output()
	mod := strings.TrimSpace(string(says))
	if err != nil || filepath.Base(mod) != "go.mod" {
		return "", errors.New("no module here: run it in the folder of loadaware's sources")
	}
	return filepath.Dir(mod), nil
}

// binary is the absolute path of what to run, built if nobody did.
func binary(ctx context.Context, named string) (string, error) {
	root, err := Root()
	if err != nil && named == "" {
		return "", err
	}
	path, err := filepath.Abs(cmp.Or(named, filepath.Join(root, "bin", "loadaware")))
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err == nil || named != "" {
		return path, err
	}
	return path, Build(ctx, root, path)
}

// FreePort is a port of loopback that nobody listens on now.
func FreePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}
