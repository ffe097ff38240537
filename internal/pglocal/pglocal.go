package pglocal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Config says where and how to run a private server. DataDir must be given.
type Config struct {
	DataDir string       // made if missing
	Unsafe  bool         // give up crash safety for speed (fsync off): for tests only
	Log     *slog.Logger // told of restarts; slog.Default() if nil
	Holder  string       // the address that this process serves, told to a second process that wants DataDir
}

// Server is a private PostgreSQL that this process started and keeps alive.
type Server struct {
	cfg     Config // DataDir is absolute, Log is set
	bin     binaries
	footing footing
	lock    *lock
	socket  string // the folder of the socket

	stopping chan struct{} // closed by Stop
	ended    chan struct{} // closed when the server ended for good
	ready    chan struct{} // closed when the server first took connections
	failure  error         // why it ended before it was ready; read after ended
	stop     func() error
}

// startTimeout bounds a start whose context has no deadline. Recovery after a
// crash replays at most a gigabyte of log, which takes seconds.
const startTimeout = 2 * time.Minute

// Start opens the cluster of cfg.DataDir, making it if new, and returns once the
// server takes connections: 0.7 s for a new cluster, 50 ms for an old one. The
// context bounds the start only; the server lives until Stop.
//
// Errors: *HeldError when another process uses the folder; ErrNotInstalled when
// there are no programs to run; else what the server said. An existing cluster is
// left as it was whatever fails.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	s, err := open(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("private PostgreSQL in %s: %w", cfg.DataDir, err)
	}
	return s, nil
}

func open(ctx context.Context, cfg Config) (*Server, error) {
	dir, err := makeDataDir(cfg.DataDir)
	if err != nil {
		return nil, err
	}
	held, err := acquire(dir, cfg.Holder)
	if err != nil {
		return nil, err
	}
	s := newServer(dir, cfg, held)
	if err := s.choose(); err != nil {
		return nil, errors.Join(err, s.letGo())
	}
	if err := s.launch(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

func newServer(dir string, cfg Config, held *lock) *Server {
	cfg.DataDir = dir
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	s := &Server{
		cfg: cfg, lock: held,
		stopping: make(chan struct{}), ended: make(chan struct{}), ready: make(chan struct{}),
	}
	s.stop = sync.OnceValue(s.shutDown)
	return s
}

// choose settles which programs run, and as whom.
func (s *Server) choose() (err error) {
	if s.bin, err = findFor(s.cluster()); err != nil {
		return err
	}
	s.footing, err = firmFooting(s.bin, s.cfg.DataDir)
	return err
}

// launch makes what is missing and starts the server; when it cannot, it lets go
// of the folder.
func (s *Server) launch(ctx context.Context) error {
	if err := s.prepare(ctx); err != nil {
		return errors.Join(err, s.letGo())
	}
	go s.keep()
	select {
	case <-s.ready:
		return nil
	case <-s.ended:
		return errors.Join(s.failure, s.letGo())
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("not ready: %w; see %s", ctx.Err(), s.logPath()), s.Stop())
	}
}

func (s *Server) prepare(ctx context.Context) (err error) {
	if err := s.makeCluster(ctx); err != nil {
		return err
	}
	if s.socket, err = makeSocketDir(s.cfg.DataDir, s.footing); err != nil {
		return err
	}
	return s.lock.record(s.socket)
}

// makeDataDir makes the folder and returns its one true name. Others may pass
// through it (0711), because the server may run as another user than we do; what
// it holds is closed to them.
func makeDataDir(dir string) (string, error) {
	if dir == "" {
		return "", errors.New("no data folder was given")
	}
	if err := os.MkdirAll(dir, 0o711); err != nil {
		return "", fmt.Errorf("%w; choose a data folder that can be written", err)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

// DSN is the URL of the database, for pgx, psql and libpq. It stays the same
// through restarts. The user is the superuser of this cluster.
func (s *Server) DSN() string { return dsnOf(s.socket) }

func dsnOf(socket string) string {
	query := url.Values{"host": {socket}, "port": {port}, "sslmode": {"disable"}}.Encode()
	dsn := url.URL{
		Scheme: "postgres", User: url.User(superuser), Path: "/postgres",
		RawQuery: strings.ReplaceAll(query, "+", "%20"), // libpq takes "+" for itself
	}
	return dsn.String()
}

// DataDir is the absolute path of the data folder.
func (s *Server) DataDir() string { return s.cfg.DataDir }

// Stop shuts the server down: open transactions are rolled back, what was
// committed is on disk. Then the data folder is free. It may be called again.
func (s *Server) Stop() error { return s.stop() }

func (s *Server) shutDown() error {
	close(s.stopping)
	<-s.ended
	return s.letGo()
}

// letGo leaves the folder to the next.
func (s *Server) letGo() error {
	if s.socket != "" {
		removeSocketDir(s.socket)
	}
	return s.lock.release()
}

func (s *Server) cluster() string { return filepath.Join(s.cfg.DataDir, "postgres") }
func (s *Server) logPath() string { return filepath.Join(s.cfg.DataDir, "postgres.log") }

// Remove deletes a data folder that no process holds, and first stops a server
// that was left running in it. It is for folders of tests. *HeldError if in use.
func Remove(ctx context.Context, dataDir string) error {
	held, err := acquire(dataDir, "")
	if err != nil {
		return err
	}
	if err := stopOrphan(ctx, filepath.Join(dataDir, "postgres")); err != nil {
		return errors.Join(err, held.release())
	}
	return errors.Join(os.RemoveAll(dataDir), held.release())
}
