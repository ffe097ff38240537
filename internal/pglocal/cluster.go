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
	port      = "5432" // part of the name of the socket; nothing listens on a network
)

// clusterVersion is the major version that made the cluster; 0 if there is none.
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
		return 0, fmt.Errorf("%s is damaged (%w); restore the data folder from a backup, or choose another", path, err)
	}
	return major, nil
}

// makeCluster makes the cluster unless it exists, and gives it to the user that
// the server runs as. A new one appears in its place only when it is complete, so
// that being killed half-way leaves nothing that looks like data.
func (s *Server) makeCluster(ctx context.Context) error {
	if made, err := clusterVersion(s.cluster()); err != nil || made != 0 {
		return errors.Join(err, s.footing.give(s.cluster()))
	}
	fresh := s.cluster() + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	if err := os.Mkdir(fresh, 0o700); err != nil {
		return err
	}
	if err := s.footing.give(fresh); err != nil {
		return err
	}
	if err := s.initdb(ctx, fresh); err != nil {
		return err
	}
	return os.Rename(fresh, s.cluster())
}

// initdb fills an empty folder. The C locale exists everywhere and sorts by bytes
// on every machine; the encoding is UTF-8 whatever the environment says. Trust is
// safe: only those who may enter the socket's folder can connect at all.
func (s *Server) initdb(ctx context.Context, dir string) error {
	args := []string{"-D", dir, "-U", superuser, "--encoding=UTF8", "--locale=C", "--auth=trust"}
	if s.cfg.Unsafe {
		args = append(args, "--no-sync")
	}
	cmd := s.footing.command(exec.CommandContext(ctx, s.bin.path("initdb"), args...))
	dieWithParent(cmd.SysProcAttr, syscall.SIGKILL)
	runtime.LockOSThread() // see keep
	defer runtime.UnlockOSThread()
	if says, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, strings.TrimSpace(string(says)))
	}
	return nil
}

// settings are the server's arguments. They are given at every start rather than
// written into the cluster, so that they are those of the program that runs.
func (s *Server) settings() []string {
	values := []string{
		"listen_addresses=",
		"unix_socket_directories=" + quoted(s.socket),
		"unix_socket_permissions=0700",
		"port=" + port,
		"max_connections=200",
		"shared_buffers=128MB",
		"jit=off", // its compile time exceeds the run time of every query here
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

// quoted makes one item of a list of folders of a path with spaces or commas.
func quoted(path string) string { return `"` + strings.ReplaceAll(path, `"`, `""`) + `"` }
