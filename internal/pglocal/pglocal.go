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

// Config configures a private server. DataDir is required.
type Config struct {
	DataDir string       // created if missing
	Unsafe  bool         // faster, but a crash may destroy the data (fsync is off); for tests only
	Log     *slog.Logger // logs restarts; slog.Default() if nil
	Addr    string       // address at which this process serves; other processes get it in InUseError
}

// Server is a private PostgreSQL that this process started and supervises.
type Server struct {
	cfg      Config // DataDir is absolute, Log is set
	bin      binaries
	identity identity
	lock     *lock  // of the data folder
	socket   string // folder of the socket

	stopping chan struct{} // closed by Stop
	ended    chan struct{} // closed when the server has ended and will not be restarted
	ready    chan struct{} // closed when the server first accepts connections
	failure  error         // why the server ended before it was ready; valid after ended is closed
	stop     func() error  // shutDown, at most once
}

// startTimeout bounds a start. Recovery after a crash replays about a gigabyte of WAL at most, which
// takes seconds.
const startTimeout = 2 * time.Minute

// Start opens or creates the cluster of cfg.DataDir and returns when the server accepts
// connections: on an idle machine after about 0.7 s for a new cluster and 50 ms for an existing one. The context
// bounds only the start; the server runs until Stop.
//
// The error wraps an *InUseError if a running process uses the folder, and ErrNotInstalled if there is no
// PostgreSQL of a supported version. If the server ends before it is ready, the error contains the end of its
// log. Start also fails if it cannot create or write the folder, if the cluster has a version that is not
// installed, if no user can run the server there, if initdb fails, and if ctx or startTimeout ends. A failed
// start keeps the data of an existing cluster.
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
	l, err := acquire(dir, cfg.Addr)
	if err != nil {
		return nil, err
	}
	s := newServer(dir, cfg, l)
	if err := s.choose(); err != nil {
		return nil, errors.Join(err, s.release())
	}
	if err := s.launch(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

func newServer(dir string, cfg Config, l *lock) *Server {
	cfg.DataDir = dir
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	s := &Server{
		cfg: cfg, lock: l,
		stopping: make(chan struct{}), ended: make(chan struct{}), ready: make(chan struct{}),
	}
	s.stop = sync.OnceValue(s.shutDown)
	return s
}

// choose finds the programs and the user that run the server.
func (s *Server) choose() (err error) {
	if s.bin, err = findFor(s.cluster()); err != nil {
		return err
	}
	s.identity, err = chooseIdentity(s.bin, s.cfg.DataDir)
	return err
}

// launch starts the server and waits until it is ready. If this fails, launch releases the data folder.
func (s *Server) launch(ctx context.Context) error {
	if err := s.prepare(ctx); err != nil {
		return errors.Join(err, s.release())
	}
	go s.supervise()
	select {
	case <-s.ready:
		return nil
	case <-s.ended:
		return errors.Join(s.failure, s.release())
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("server is not ready: %w; see %s", ctx.Err(), s.logPath()), s.Stop())
	}
}

func (s *Server) prepare(ctx context.Context) (err error) {
	if err := s.makeCluster(ctx); err != nil {
		return err
	}
	if s.socket, err = makeSocketDir(s.cfg.DataDir, s.identity); err != nil {
		return err
	}
	return s.lock.record(s.socket)
}

// makeDataDir creates the data folder and returns its canonical path. The mode is 0711, because the
// server may run as another user, who must be able to enter the folder but not to list it.
func makeDataDir(dir string) (string, error) {
	if dir == "" {
		return "", errors.New("no data folder is configured; set one")
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

// DSN returns the URL of the database for pgx, psql and libpq. The user in it is the superuser of the
// cluster. A restart does not change the URL.
func (s *Server) DSN() string { return dsnOf(s.socket) }

func dsnOf(socket string) string {
	query := url.Values{"host": {socket}, "port": {port}, "sslmode": {"disable"}}.Encode()
	dsn := url.URL{
		Scheme: "postgres", User: url.User(superuser), Path: "/postgres",
		RawQuery: strings.ReplaceAll(query, "+", "%20"), // libpq does not decode "+" as a space
	}
	return dsn.String()
}

// DataDir returns the absolute path of the data folder.
func (s *Server) DataDir() string { return s.cfg.DataDir }

// Stop shuts the server down, which rolls back open transactions, and releases the data folder.
// Later calls return the same result.
func (s *Server) Stop() error { return s.stop() }

func (s *Server) shutDown() error {
	close(s.stopping)
	<-s.ended
	return s.release()
}

func (s *Server) release() error {
	if s.socket != "" {
		removeSocketDir(s.socket)
	}
	return s.lock.release()
}

func (s *Server) cluster() string { return filepath.Join(s.cfg.DataDir, "postgres") }
func (s *Server) logPath() string { return filepath.Join(s.cfg.DataDir, "postgres.log") }

// Remove stops a server that still runs in a data folder and deletes the folder. It is meant for tests
// and benchmarks. It returns *InUseError if a process uses the folder.
func Remove(ctx context.Context, dataDir string) error {
	l, err := acquire(dataDir, "")
	if err != nil {
		return err
	}
	if err := stopOrphan(ctx, filepath.Join(dataDir, "postgres")); err != nil {
		return errors.Join(err, l.release())
	}
	return errors.Join(os.RemoveAll(dataDir), l.release())
}
