// Package httpserver serves HTTP on two addresses, one for callers and one for operators.
//
// It opens the listeners, limits the number of connections of callers, reloads TLS certificates, and finishes current
// requests during a shutdown. The only route that it knows is /readyz.
package httpserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/net/netutil"
)

// Config configures the listeners.
type Config struct {
	Addr      string // for callers
	AdminAddr string // for operators; no listener if empty
	// AdminOptional means that a failure to listen on AdminAddr is only logged, as a warning.
	AdminOptional bool
	MaxConns      int  // maximum number of open connections to Addr; 1 or more
	HasTokens     bool // tokens are configured; must be true if other machines can reach an address

	TLSCert, TLSKey string // names of PEM files for Addr; plain HTTP if empty
	TLSClientCA     string // name of a PEM file with the authorities that sign client certificates; if empty, callers need no certificate
}

// ConfigError reports a Config with which the server cannot listen.
type ConfigError struct{ message string }

// Error implements error.
func (e *ConfigError) Error() string { return e.message }

func configErrorf(format string, args ...any) error {
	return &ConfigError{fmt.Sprintf(format, args...)}
}

// ErrAddressInUse means that another process listens on Config.Addr.
var ErrAddressInUse = errors.New("address in use")

// Server has the open listeners.
type Server struct {
	cfg         Config
	main, admin net.Listener // for callers; for operators, nil without AdminAddr
	tls         *tls.Config  // nil for plain HTTP
	log         *slog.Logger
}

// Listen opens the listeners. Its error wraps ErrAddressInUse if another process listens on cfg.Addr, and
// wraps a *ConfigError if cfg is invalid. The error wraps neither if another process listens on cfg.AdminAddr. Call Listen
// before any long start-up work, so that a second server on the same address fails at once.
func Listen(cfg Config, log *slog.Logger) (*Server, error) {
	if cfg.MaxConns < 1 {
		return nil, configErrorf("LOADAWARE_MAX_CONNECTIONS must be 1 or more, not %d", cfg.MaxConns)
	}
	tlsConfig, err := newTLS(cfg, log)
	if err != nil {
		return nil, err
	}
	main, err := net.Listen("tcp", cfg.Addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%w: %s", ErrAddressInUse, cfg.Addr)
	}
	if err != nil {
		return nil, configErrorf("listen on --addr: %v; use host:port with an address of this machine, such as 127.0.0.1:8080", err)
	}
	s := &Server{cfg: cfg, main: netutil.LimitListener(main, cfg.MaxConns), tls: tlsConfig, log: log}
	if s.admin, err = listenAdmin(cfg, log); err != nil {
		return nil, errors.Join(err, s.main.Close())
	}
	if public := s.publicAddr(); public != "" && !cfg.HasTokens {
		s.Close()
		return nil, configErrorf("other machines can reach %s, so tokens are required; create one with loadaware token "+
			"and put its hashed form into LOADAWARE_TOKENS, name a file with --tokens-file, or serve on 127.0.0.1", public)
	}
	return s, nil
}

func listenAdmin(cfg Config, log *slog.Logger) (net.Listener, error) {
	if cfg.AdminAddr == "" {
		return nil, nil
	}
	admin, err := net.Listen("tcp", cfg.AdminAddr)
	switch {
	case err == nil:
		return admin, nil
	case cfg.AdminOptional:
		log.Warn("metrics are not served; choose another --admin-addr", "err", err)
		return nil, nil
	case cfg.AdminAddr == cfg.Addr:
		return nil, configErrorf("--admin-addr %s equals --addr; choose another", cfg.AdminAddr)
	case errors.Is(err, syscall.EADDRINUSE): // not a ConfigError: the configuration may be right
		return nil, fmt.Errorf("another program serves on %s: stop it, or choose another --admin-addr", cfg.AdminAddr)
	default:
		return nil, configErrorf("listen on --admin-addr: %v; use host:port with an address of this machine, such as 127.0.0.1:9090", err)
	}
}

// URL returns the URL for callers, without a path.
func (s *Server) URL() string {
	if s.tls != nil {
		return "https://" + s.Addr()
	}
	return "http://" + s.Addr()
}

// Addr returns the address for callers with the actual port.
func (s *Server) Addr() string { return displayAddr(s.main, s.cfg.Addr) }

// AdminAddr returns the address for operators, or "" if there is no listener.
func (s *Server) AdminAddr() string {
	if s.admin == nil {
		return ""
	}
	return displayAddr(s.admin, s.cfg.AdminAddr)
}

// displayAddr returns the address of a listener with the actual port. If the configured host is 0.0.0.0, it
// keeps that host: the listener also accepts IPv6 and reports its host as [::].
func displayAddr(l net.Listener, configured string) string {
	actual := l.Addr().String()
	_, port, err := net.SplitHostPort(actual)
	if host, _, configuredErr := net.SplitHostPort(configured); err == nil && configuredErr == nil && host == "0.0.0.0" {
		return net.JoinHostPort(host, port)
	}
	return actual
}

func (s *Server) publicAddr() string {
	if !s.main.Addr().(*net.TCPAddr).IP.IsLoopback() {
		return s.Addr()
	}
	if s.admin != nil && !s.admin.Addr().(*net.TCPAddr).IP.IsLoopback() {
		return s.AdminAddr()
	}
	return ""
}

// Close closes the listeners. It has no effect after Serve.
func (s *Server) Close() {
	_ = s.main.Close() // already closed if Serve ran
	if s.admin != nil {
		_ = s.admin.Close()
	}
}

// App has the handlers and the background work of a Server.
type App struct {
	Main, Admin http.Handler                // for callers; for operators
	Background  func(context.Context) error // must return when its context ends
	OnListening func(context.Context)       // called once, in a goroutine, when the server accepts requests
}

const (
	// requestTimeout is the time for which a shutdown waits for requests in flight. Together with drainPeriod it is
	// less than the 30 seconds after which Kubernetes kills a pod by default.
	requestTimeout = 10 * time.Second

	// drainPeriod is how long the server still accepts requests after SIGTERM. Kubernetes and load
	// balancers stop sending requests only a little later: their notification takes time, or they detect the
	// shutdown only by their next probe of /readyz.
	drainPeriod = 3 * time.Second
)

// ErrTerminated is the cause of a context that SIGTERM ended. Serve accepts requests for another drainPeriod only
// after SIGTERM, because after Ctrl-C there is no load balancer to wait for.
var ErrTerminated = errors.New("SIGTERM")

// Serve accepts requests until ctx ends or a listener fails. If SIGTERM ended ctx, it accepts requests for
// another drainPeriod. Then it waits up to requestTimeout for the requests in flight, and only then stops the
// background work, because requests need that work. The listener for operators closes last. Serve returns the
// error of a listener that failed, and errors of closing the servers.
func (s *Server) Serve(ctx context.Context, app App) error {
	backgroundCtx, stopBackground := context.WithCancel(context.WithoutCancel(ctx))
	defer stopBackground()
	var background sync.WaitGroup
	background.Go(func() {
		if err := app.Background(backgroundCtx); err != nil && backgroundCtx.Err() == nil {
			s.log.Error("the background work stopped", "err", err)
		}
	})
	failures := make(chan error, 2)
	drain := &drainHandler{next: app.Main}
	main, admin := newHTTPServer(drain, s.log), newHTTPServer(app.Admin, s.log)
	go func() { failures <- s.serveMain(main) }()
	if s.admin != nil {
		go func() { failures <- admin.Serve(s.admin) }()
	}
	go app.OnListening(ctx)

	var failure error
	select {
	case <-ctx.Done():
		drain.isDraining.Store(isTerminated(ctx)) // before the log line, which tests wait for
		s.log.Info("stopping")
		failure = drain.wait(ctx, failures)
	case failure = <-failures:
	}
	shutdownCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	if err := main.Shutdown(shutdownCtx); err != nil {
		s.log.Warn("requests were cancelled: they took too long", "err", err)
		failure = errors.Join(failure, main.Close())
	}
	stopBackground()
	background.Wait()
	return errors.Join(failure, admin.Close())
}

func (s *Server) serveMain(main *http.Server) error {
	if s.tls == nil {
		return main.Serve(s.main)
	}
	main.TLSConfig = s.tls
	return main.ServeTLS(s.main, "", "") // the certificates come from TLSConfig
}

// newHTTPServer creates a server with timeouts against slow clients. With larger timeouts a slow client would occupy one of
// the MaxConns connections for longer. Package httpapi extends the write timeout of operations that take longer, such as
// a training that a caller requests.
func newHTTPServer(handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       time.Minute,
		WriteTimeout:      3 * time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// drainHandler forwards requests to next. While isDraining is set, /readyz returns 503, and every
// response closes its connection, so that clients do not reuse a connection that Shutdown closes.
type drainHandler struct {
	next       http.Handler
	isDraining atomic.Bool
}

// ServeHTTP implements http.Handler.
func (d *drainHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !d.isDraining.Load() {
		d.next.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Connection", "close")
	if r.URL.Path != "/readyz" {
		d.next.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = w.Write([]byte(`{"status":"stopping","observe":"ok","models":0}`)) // the prober may be gone
}

func isTerminated(ctx context.Context) bool { return errors.Is(context.Cause(ctx), ErrTerminated) }

func (d *drainHandler) wait(ctx context.Context, failures <-chan error) error {
	if !isTerminated(ctx) {
		return nil
	}
	select {
	case <-time.After(drainPeriod):
		return nil
	case err := <-failures:
		return err
	}
}
