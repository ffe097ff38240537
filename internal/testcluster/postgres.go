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
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/pglocal"
)

// PostgresConfig describes a PostgreSQL server. The zero value is usable.
type PostgresConfig struct {
	Listen   string   // address to listen on; if empty, 127.0.0.1, or the address of the primary for a standby
	Port     string   // a free port if empty
	Settings []string // name=value of PostgreSQL settings; they override those of this package
	Wrap     []string // prefix of the server's command, run as the current user, such as ip netns exec NAME; it must exec its arguments
}

// Postgres is a PostgreSQL server with fsync. After a crash, only the test starts it again. It listens on TCP, so that a
// test can put a proxy in front of it, and trusts every client in the networks of this machine.
type Postgres struct {
	cfg      PostgresConfig
	dataDir  string // folder of pglocal; its subfolder postgres contains the data of the server
	program  string // path of postgres
	uid, gid int    // owner of the data
	port     string
	proc     *process
}

// NewPostgres creates the data of a server in dataDir, or uses existing data. The server does not run afterwards.
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
	// postmaster.opts contains the last command line of the server: the program, then the arguments.
	opts, err := os.ReadFile(filepath.Join(p.serverDir(), "postmaster.opts"))
	if err != nil {
		return nil, err
	}
	p.program, _, _ = strings.Cut(string(opts), ` "-D"`)
	info, err := os.Stat(p.serverDir())
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

// trust lets every client in the networks of this machine connect without a password.
func (p *Postgres) trust() error {
	file, err := os.OpenFile(filepath.Join(p.serverDir(), "pg_hba.conf"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString("host all all samenet trust\nhost replication all samenet trust\n")
	return errors.Join(err, file.Close())
}

func (p *Postgres) serverDir() string { return filepath.Join(p.dataDir, "postgres") }

// DataDir returns the data folder. The server's log is in the parent of that folder.
func (p *Postgres) DataDir() string { return p.dataDir }

// Addr returns host:port.
func (p *Postgres) Addr() string { return net.JoinHostPort(p.cfg.Listen, p.port) }

// DSN returns the URL of the database without a proxy.
func (p *Postgres) DSN() string { return DSN(p.Addr()) }

// DSN returns the URL of the database at host:port, for example at a proxy.
func DSN(addr string) string { return "postgres://postgres@" + addr + "/postgres?sslmode=disable" }

// PID returns the process id of the postmaster, or 0 if it does not run.
func (p *Postgres) PID() int {
	if !p.proc.running() {
		return 0
	}
	return p.proc.cmd.Process.Pid
}

// Start starts the server and returns when it accepts connections. It retries until ctx ends, because a start fails while
// the backends of a killed server still use its shared memory. After an error, the server does not run.
func (p *Postgres) Start(ctx context.Context) error {
	if p.proc.running() {
		return nil
	}
	for {
		err := p.startOnce(ctx)
		if err == nil {
			return nil
		}
		if p.proc.running() { // ctx has ended
			return errors.Join(err, p.Stop())
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

// NewStandby copies the running server to dataDir as a streaming standby, without starting it.
func (p *Postgres) NewStandby(ctx context.Context, dataDir string, cfg PostgresConfig) (*Postgres, error) {
	cfg.Listen = cmp.Or(cfg.Listen, p.cfg.Listen)
	s := &Postgres{cfg: cfg, dataDir: dataDir, program: p.program, uid: p.uid, gid: p.gid}
	var err error
	if s.port = cfg.Port; s.port == "" {
		if s.port, err = FreePort(); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(dataDir, 0o755); err != nil {
		return nil, err
	}
	if err := os.Chown(dataDir, p.uid, p.gid); err != nil {
		return nil, err
	}
	command := append(p.asOwner(), filepath.Join(filepath.Dir(p.program), "pg_basebackup"),
		"--pgdata="+s.serverDir(), "--dbname="+p.DSN(), "--write-recovery-conf", "--checkpoint=fast")
	copied := exec.CommandContext(ctx, command[0], command[1:]...)
	copied.Dir = "/"
	if out, err := copied.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("copy PostgreSQL to a standby: %w: %s", err, out)
	}
	return s, nil
}

// asOwner returns the prefix that makes a command run as the owner of the data; nil if no other user is needed.
func (p *Postgres) asOwner() []string {
	if os.Geteuid() != 0 { // PostgreSQL refuses to run as root
		return nil
	}
	return []string{"setpriv", "--reuid=" + strconv.Itoa(p.uid), "--regid=" + strconv.Itoa(p.gid), "--clear-groups"}
}

func (p *Postgres) startOnce(ctx context.Context) (err error) {
	command := append(append([]string(nil), p.cfg.Wrap...), p.asOwner()...) // Wrap may need root, so it comes before asOwner
	command = append(command, p.program, "-D", p.serverDir())
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
		if p.acceptsConnections(ctx) {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return errors.Join(fmt.Errorf("start PostgreSQL: it accepts no connections; see %s/postgres.log", filepath.Dir(p.dataDir)), ctx.Err())
}

func (p *Postgres) acceptsConnections(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, p.DSN())
	if err != nil {
		return false
	}
	return conn.Close(ctx) == nil
}

// Kill sends SIGKILL to the postmaster. The backends end by themselves.
func (p *Postgres) Kill() {
	_ = p.proc.end(syscall.SIGKILL, time.Minute) // no process survives SIGKILL
}

// Stop performs a fast shutdown of the server.
func (p *Postgres) Stop() error { return p.proc.end(syscall.SIGINT, 30*time.Second) }
