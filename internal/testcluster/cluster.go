// Package testcluster runs a cluster for black-box tests: a private PostgreSQL, replicas of
// the built binary, a synthetic history, and a log of the sent and the acknowledged reports.
//
//	cluster, err := testcluster.Open(ctx, testcluster.Config{Replicas: 2})
//	defer cluster.Close()
//	tasks, err := cluster.Fill(ctx, testcluster.History{Tasks: 4, Seed: 1}) // also trains models
//	cluster.Postgres.Kill(); cluster.Postgres.Start(ctx) // cluster.Replicas[i] has the same methods
//	cluster.Reports.Check(ctx, cluster.Postgres.DSN())   // finds lost, duplicate, changed and spurious reports and wrong counts
//
// The package uses only what an operator sees: a binary, its addresses, its tables. All servers listen on loopback by
// default. Close ends the replicas and PostgreSQL, but no standby. Only tests and scripts import it.
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
	"strconv"
	"strings"
	"sync/atomic"
)

// Config describes a cluster. The zero value is one replica of the binary that
// `make build` writes.
type Config struct {
	Binary   string   // path of the loadaware binary; if empty, bin/loadaware of the module, which Open builds when it is missing
	Replicas int      // 1 if zero
	Dir      string   // folder for data and logs, created if missing and kept; if empty, a temporary folder that Close removes
	Database string   // DATABASE_URL of the replicas, for example of a proxy; the DSN of Postgres if empty
	Args     []string // arguments of `serve`, for every replica
	Env      []string // environment variables KEY=value of every replica
	Wrap     []string // prefix of the command of each replica, such as taskset -c 0; it must exec its arguments
	Postgres PostgresConfig
}

// Cluster is a PostgreSQL with its replicas.
type Cluster struct {
	Dir      string // folder for data and logs
	Postgres *Postgres
	Replicas []*Replica
	Reports  *ReportLog

	cfg            Config
	isTemporaryDir bool // Close removes Dir
}

// Open starts a PostgreSQL and the replicas, and returns when all of them are ready. If Open fails, it
// ends what it has started.
func Open(ctx context.Context, cfg Config) (*Cluster, error) {
	cluster := &Cluster{Dir: cfg.Dir, cfg: cfg, Reports: NewReportLog()}
	if err := cluster.open(ctx); err != nil {
		return nil, errors.Join(err, cluster.Close())
	}
	return cluster, nil
}

func (c *Cluster) open(ctx context.Context) (err error) {
	if c.Dir == "" {
		if c.Dir, err = os.MkdirTemp("", "loadaware-testcluster-"); err != nil {
			return err
		}
		c.isTemporaryDir = true
	}
	// If this process is root, PostgreSQL runs as another user, who must be able to enter the folder.
	if err := errors.Join(os.MkdirAll(c.Dir, 0o755), os.Chmod(c.Dir, 0o755)); err != nil {
		return err
	}
	if c.cfg.Binary, err = findBinary(ctx, c.cfg.Binary); err != nil {
		return err
	}
	if c.Postgres, err = NewPostgres(ctx, filepath.Join(c.Dir, "data"), c.cfg.Postgres); err != nil {
		return err
	}
	if err := c.Postgres.Start(ctx); err != nil {
		return err
	}
	for range max(1, c.cfg.Replicas) {
		if _, err := c.Add(ctx, c.cfg.Binary); err != nil {
			return err
		}
	}
	return nil
}

// Add starts one more replica with the given binary and returns when the replica is ready.
func (c *Cluster) Add(ctx context.Context, binary string) (*Replica, error) {
	replica, err := newReplica(c, binary)
	if err != nil {
		return nil, err
	}
	c.Replicas = append(c.Replicas, replica)
	return replica, replica.Start(ctx)
}

// Close kills the replicas, stops PostgreSQL, and removes the folder if it is temporary.
func (c *Cluster) Close() error {
	var errs []error
	for _, replica := range c.Replicas {
		replica.Kill()
	}
	if c.Postgres != nil {
		errs = append(errs, c.Postgres.Stop())
	}
	if c.isTemporaryDir {
		errs = append(errs, os.RemoveAll(c.Dir))
	}
	return errors.Join(errs...)
}

// Build builds loadaware from the module in the folder `tree` into the file `out`.
func Build(ctx context.Context, tree, out string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", out, "./cmd/loadaware")
	cmd.Dir, cmd.Env = tree, append(os.Environ(), "CGO_ENABLED=0")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build loadaware in %s: %w: %s", tree, err, output)
	}
	return nil
}

// Root returns the root folder of the module that contains the working directory.
func Root() (string, error) {
	output, err := exec.Command("go", "env", "GOMOD").Output()
	mod := strings.TrimSpace(string(output))
	if err != nil || filepath.Base(mod) != "go.mod" {
		return "", errors.New("find go.mod: the working directory is in no module; run this in the source tree of loadaware")
	}
	return filepath.Dir(mod), nil
}

// findBinary returns an absolute path: of `named` or, if that is empty, of bin/loadaware, which it builds when missing.
func findBinary(ctx context.Context, named string) (string, error) {
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

var portsTried atomic.Uint32

// FreePort returns a free port of loopback. The port is below the range from which Linux and macOS take the local ports of
// outgoing connections, so that no connection can take the port of a replica while the replica restarts.
func FreePort() (string, error) {
	const first, count = 15_000, 16_000
	var failure error
	for range 1000 {
		n := uint32(os.Getpid())*64 + portsTried.Add(1) // concurrent processes seldom start at the same port
		port := strconv.Itoa(int(first + n%count))
		var l net.Listener
		if l, failure = net.Listen("tcp", net.JoinHostPort("127.0.0.1", port)); failure == nil {
			return port, l.Close()
		}
	}
	return "", fmt.Errorf("find a free port: %w", failure)
}
