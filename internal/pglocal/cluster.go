package pglocal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

const (
	superuser = "postgres"
	port      = "5432" // a part of the socket's name; the server does not listen on TCP
)

// clusterVersion returns the major version of the PostgreSQL that created a cluster; 0 if the folder has no cluster.
func clusterVersion(cluster string) (int, error) {
	path := filepath.Join(cluster, "PG_VERSION")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("%s is corrupt (%w); restore the data folder from a backup, or choose another", path, err)
	}
	return major, nil
}

// makeCluster creates the cluster if it does not exist, and makes the server's user the owner of the cluster.
// It creates a new cluster under a temporary name and then renames it, so that a crash leaves no partial
// cluster.
func (s *Server) makeCluster(ctx context.Context) error {
	if version, err := clusterVersion(s.cluster()); err != nil || version != 0 {
		return errors.Join(err, s.identity.chown(s.cluster()))
	}
	fresh := s.cluster() + ".new" // may exist after a crash
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	if err := os.Mkdir(fresh, 0o700); err != nil {
		return err
	}
	if err := s.identity.chown(fresh); err != nil {
		return err
	}
	if err := s.initdb(ctx, fresh); err != nil {
		return err
	}
	return os.Rename(fresh, s.cluster())
}

// initdb initialises a cluster in an empty folder. The C locale exists on every machine and sorts by
// bytes. Trust authentication is safe, because only the owner of the socket's folder and root can connect.
func (s *Server) initdb(ctx context.Context, dir string) error {
	args := []string{"-D", dir, "-U", superuser, "--encoding=UTF8", "--locale=C", "--auth=trust"}
	if s.cfg.Unsafe {
		args = append(args, "--no-sync")
	}
	cmd := s.identity.command(exec.CommandContext(ctx, s.bin.path("initdb"), args...))
	dieWithParent(cmd.SysProcAttr, syscall.SIGKILL)
	runtime.LockOSThread() // initdb is killed when this thread ends; see dieWithParent
	defer runtime.UnlockOSThread()
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, strings.TrimSpace(string(output)))
	}
	return nil
}

// settings returns the arguments of the server. Every start passes the settings as arguments, and the cluster
// does not store them, so that a new version of this program can change them.
func (s *Server) settings() []string {
	values := []string{
		"listen_addresses=",
		"unix_socket_directories=" + quoted(s.socket),
		"unix_socket_permissions=0700",
		"port=" + port,
		"max_connections=200", // the default of 100 may be too few when parallel tests share the server
		"shared_buffers=128MB",
		"jit=off", // compiling takes longer than a typical statement of the service
		"timezone=UTC",
		"log_timezone=UTC",
		"log_checkpoints=off",
		"logging_collector=off",
	}
	if s.cfg.Unsafe {
		values = append(values, "fsync=off", "synchronous_commit=off", "full_page_writes=off", "autovacuum=off")
	}
	args := []string{"-D", s.cluster()}
	for _, v := range values {
		args = append(args, "-c", v)
	}
	return args
}

// quoted quotes a path, which may contain spaces or quotes, as one item of a PostgreSQL list of folders.
func quoted(path string) string { return `"` + strings.ReplaceAll(path, `"`, `""`) + `"` }
