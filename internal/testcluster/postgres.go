package testcluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/pglocal"
)

// PostgresConfig has a usable zero value.
type PostgresConfig struct {
	Listen   string   // address to listen on; 127.0.0.1 if empty
	Port     string   // a free one if empty
	Settings []string // name=value, over ours
	Wrap     []string // command in front, run as we are, such as ip netns exec NAME; it must exec what follows
}

// Postgres is a server that nobody restarts but the trial: fsync is on, it listens
// on TCP, so that a proxy can stand in between, and it trusts who can connect.
type Postgres struct {
	cfg      PostgresConfig
	dataDir  string // of pglocal; the cluster is below it
	program  string // the path of postgres
	uid, gid int    // who owns the cluster
	port     string
	proc     *process
}

// NewPostgres makes a cluster in dataDir, or takes the one that is there. It is not
// started.
func NewPostgres(ctx context.Context, dataDir string, cfg PostgresConfig) (*Postgres, error) {
	private, err := pglocal.Start(ctx, pglocal.Config{DataDir: dataDir})
	if err != nil {
		return nil, err
	}
	if err := private.Stop(); err != nil {
		return nil, err
	}
	cfg.Listen = cmp.Or(cfg.Listen, "127.0.0.1")
	p := &Postgres{cfg: cfg, dataDir: private.DataDir()}
	// PostgreSQL notes there how it was started last: the program, then its arguments.
	opts, err := os.ReadFile(filepath.Join(p.cluster(), "postmaster.opts"))
	if err != nil {
		return nil, err
	}
	p.program, _, _ = strings.Cut(string(opts), ` "-D"`)
	info, err := os.Stat(p.cluster())
	if err != nil {
		return nil, err
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok {
		p.uid, p.gid = int(owner.Uid), int(owner.Gid)
	}
	if p.port = cfg.Port; p.port == "" {
		if p.port, err = FreePort(); err != nil {
			return nil, err
		}
	}
	return p, p.trust()
}

// trust lets in who comes from the networks that the server is in.
func (p *Postgres) trust() error {
	file, err := os.OpenFile(filepath.Join(p.cluster(), "pg_hba.conf"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString("host all all samenet trust\n")
	return errors.Join(err, file.Close())
}

func (p *Postgres) cluster() string { return filepath.Join(p.dataDir, "postgres") }

// DataDir is the folder of the cluster and its log.
func (p *Postgres) DataDir() string { return p.dataDir }

// Addr is host:port.
func (p *Postgres) Addr() string { return net.JoinHostPort(p.cfg.Listen, p.port) }

// DSN is the URL of the database, for whoever goes the direct way.
func (p *Postgres) DSN() string { return DSN(p.Addr()) }

// DSN is the URL of the cluster's database as it is reached by host:port, such as that
// of a proxy.
func DSN(addr string) string { return "postgres://postgres@" + addr + "/postgres?sslmode=disable" }

// PID is the process id of the postmaster; 0 while it does not run.
func (p *Postgres) PID() int {
	if !p.proc.running() {
		return 0
	}
	return p.proc.cmd.Process.Pid
}

// Start starts the server and returns once it takes connections. After a kill it
// waits first for the killed server's backends to end, which hold its memory.
func (p *Postgres) Start(ctx context.Context) error {
	if p.proc.running() {
		return nil
	}
	for {
		err := p.startOnce(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if p.proc.running() {
			return errors.Join(err, p.Stop())
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

func (p *Postgres) startOnce(ctx context.Context) (err error) {
	command := append([]string(nil), p.cfg.Wrap...)
	if os.Geteuid() == 0 { // PostgreSQL refuses to run as root; what wraps it may need to be
		command = append(command, "setpriv", "--reuid="+strconv.Itoa(p.uid), "--regid="+strconv.Itoa(p.gid), "--clear-groups")
	}
	command = append(command, p.program, "-D", p.cluster())
	settings := append([]string{
		"listen_addresses=" + p.cfg.Listen, "port=" + p.port, "unix_socket_directories=", "max_connections=200",
		"shared_buffers=128MB", "jit=off", "timezone=UTC", "log_timezone=UTC", "log_checkpoints=off", "logging_collector=off",
	}, p.cfg.Settings...)
	for _, s := range settings {
		command = append(command, "-c", s)
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	if p.proc, err = launch(command, env, filepath.Join(filepath.Dir(p.dataDir), "postgres.log")); err != nil {
		return err
	}
	for p.proc.running() && ctx.Err() == nil {
		if p.answers(ctx) {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return errors.Join(fmt.Errorf("PostgreSQL does not start: see %s/postgres.log", filepath.Dir(p.dataDir)), ctx.Err())
}

func (p *Postgres) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, p.DSN())
	if err != nil {
		return false
	}
	return conn.Close(ctx) == nil
}

// Kill is kill -9 of the postmaster; its backends end by themselves.
func (p *Postgres) Kill() {
	_ = p.proc.end(syscall.SIGKILL, time.Minute) // nothing outlives it
}

// Stop is the fast shutdown.
func (p *Postgres) Stop() error { return p.proc.end(syscall.SIGINT, 30*time.Second) }
