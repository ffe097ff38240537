package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/loadaware/loadaware/internal/pglocal"
)

// doors are the addresses that a process serves: one for callers, over TLS if
// that is not nil, and one for operators, which may be shut (nil).
type doors struct {
	main, admin net.Listener
	tls         *tls.Config

	asked, askedAdmin string // the addresses as they were configured
}

// url is where callers reach the process.
func (d *doors) url() string {
	if d.tls != nil {
		return "https://" + d.addr()
	}
	return "http://" + d.addr()
}

// addr is the address of callers, with the port that is really served.
func (d *doors) addr() string { return shownAddr(d.main, d.asked) }

// adminAddr is the address of operators; it must not be shut.
func (d *doors) adminAddr() string { return shownAddr(d.admin, d.askedAdmin) }

// shownAddr is the address of a listener as it was configured: one on 0.0.0.0 also takes
// IPv6 connections, and so calls itself [::].
func shownAddr(l net.Listener, configured string) string {
	served := l.Addr().String()
	_, port, err := net.SplitHostPort(served)
	if host, _, wrong := net.SplitHostPort(configured); err == nil && wrong == nil && host == "0.0.0.0" {
		return net.JoinHostPort(host, port)
	}
	return served
}

// openDoors binds the addresses. It comes before all long work: a second server on
// the same address should fail at once, not after a minute. An address that other
// machines can reach needs tokens.
func openDoors(ctx context.Context, cfg *config, tokens bool, log *slog.Logger) (*doors, error) {
	if cfg.MaxConns < 1 {
		return nil, usageErrorf("LOADAWARE_MAX_CONNECTIONS must be 1 or more, not %d", cfg.MaxConns)
	}
	over, err := newTLS(cfg, log)
	if err != nil {
		return nil, err
	}
	main, err := net.Listen("tcp", cfg.Addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, addressInUse(ctx, cfg, log)
	}
	if err != nil {
		return nil, usageErrorf("--addr cannot be served: %v", err)
	}
	main = newBounded(main, cfg.MaxConns)
	admin, err := openAdmin(cfg, log)
	if err != nil {
		return nil, errors.Join(err, main.Close())
	}
	d := &doors{main: main, admin: admin, tls: over, asked: cfg.Addr, askedAdmin: cfg.AdminAddr}
	if public := d.public(); public != "" && !tokens {
		d.close()
		return nil, usageErrorf("%s can be reached from other machines, so callers must show a token: make one with loadaware token "+
			"and put its hashed form into LOADAWARE_TOKENS, name a file by --tokens-file, or serve on 127.0.0.1", public)
	}
	return d, nil
}

// public is an address that other machines can reach; "" if none is.
func (d *doors) public() string {
	if !d.main.Addr().(*net.TCPAddr).IP.IsLoopback() {
		return d.addr()
	}
	if d.admin != nil && !d.admin.Addr().(*net.TCPAddr).IP.IsLoopback() {
		return d.adminAddr()
	}
	return ""
}

// openAdmin does without the default address where another program has it, since
// nobody asked for it; an address that was asked for must be had.
func openAdmin(cfg *config, log *slog.Logger) (net.Listener, error) {
	if cfg.AdminAddr == "" {
		return nil, nil
	}
	admin, err := net.Listen("tcp", cfg.AdminAddr)
	switch {
	case err == nil:
		return admin, nil
	case cfg.AdminAddr == defaults().AdminAddr:
		log.Warn("no metrics are served: choose another --admin-addr", "err", err)
		return nil, nil
	case cfg.AdminAddr == cfg.Addr:
		return nil, usageErrorf("--admin-addr %s is --addr, too: choose another", cfg.AdminAddr)
	case errors.Is(err, syscall.EADDRINUSE): // as addressInUse: the configuration may be right
		return nil, fmt.Errorf("another program serves on %s: stop it, or choose another --admin-addr", cfg.AdminAddr)
	default:
		return nil, usageErrorf("--admin-addr cannot be served: %v", err)
	}
}

// addressInUse says who has the address. Most often it is the first one of
// ourselves, and then our data folder knows.
func addressInUse(ctx context.Context, cfg *config, log *slog.Logger) error {
	if cfg.DatabaseURL == "" && exists(cfg.Data) {
		_, stop, err := findDatabase(ctx, cfg, "", log)
		var held *pglocal.InUseError
		if errors.As(err, &held) {
			return held
		}
		if err == nil {
			stop()
		}
	}
	return fmt.Errorf("another program serves on %s: stop it, or choose another --addr", cfg.Addr)
}

// house is what stands behind the doors.
type house struct {
	main, admin http.Handler
	work        func(context.Context) error // in the background, until its context ends
	welcome     func(context.Context)       // once, when the doors are open
}

// serve answers until ctx ends or a listener breaks, says farewell, then drains: no new
// requests, those under way get drainFor, and the work ends last, since requests
// need it.
func (d *doors) serve(ctx context.Context, h house, log *slog.Logger) error {
	working, endWork := context.WithCancel(context.WithoutCancel(ctx))
	defer endWork()
	var work sync.WaitGroup
	work.Go(func() {
		if err := h.work(working); err != nil && working.Err() == nil {
			log.Error("the background work ended early", "err", err)
		}
	})
	broken := make(chan error, 2)
	leave := &farewell{next: h.main}
	front, back := newServer(leave, log), newServer(h.admin, log)
	go func() { broken <- d.serveMain(front) }()
	if d.admin != nil {
		go func() { broken <- back.Serve(d.admin) }()
	}
	go h.welcome(ctx)

	var failed error
	select {
	case <-ctx.Done():
		log.Info("stopping")
		failed = leave.say(ctx, broken)
	case failed = <-broken:
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainFor)
	defer cancel()
	if err := front.Shutdown(drain); err != nil {
		log.Warn("requests were cut off: they took too long to end", "err", err)
		failed = errors.Join(failed, front.Close())
	}
	endWork()
	work.Wait()
	return errors.Join(failed, back.Close())
}

func (d *doors) serveMain(front *http.Server) error {
	if d.tls == nil {
		return front.Serve(d.main)
	}
	front.TLSConfig = d.tls
	return front.ServeTLS(d.main, "", "") // the files are d.tls's
}

// newServer has bounds against clients that are slow on purpose. A training that
// was asked for may take a minute to answer.
func newServer(handler http.Handler, log *slog.Logger) *http.Server {
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

// close gives the addresses back where serving never began.
func (d *doors) close() {
	_ = d.main.Close() // closed already by a server that ran
	if d.admin != nil {
		_ = d.admin.Close()
	}
}
