package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// certificates serve an address over TLS from files, which are read again once
// they change: what renews them need not know of this process. What cannot be used
// while serving is told in the log, and the last good ones stay.
//
//	a handshake ─▶ changed since? ── no ──▶ the last good ones
//	                    └─ yes ─▶ read and check ─▶ good: from now on these
type certificates struct {
	cert, key, clientCA string // files; without a clientCA callers show no certificate
	log                 *slog.Logger

	mu    sync.Mutex
	good  *tls.Config
	stamp stamp // of the files when they were last read
}

// stamp tells a file from what it was.
type stamp [3]struct {
	size     int64
	modified time.Time
}

// expiresSoon is when a renewal is late: the usual tools renew a month ahead.
const expiresSoon = 14 * 24 * time.Hour

// newTLS is how the address of cfg is served: nil without a certificate.
func newTLS(cfg *config, log *slog.Logger) (*tls.Config, error) {
	switch {
	case cfg.TLSCert == "" && cfg.TLSKey == "" && cfg.TLSClientCA == "":
		return nil, nil
	case cfg.TLSCert == "" || cfg.TLSKey == "":
		return nil, usageErrorf("TLS needs both a certificate and its key: give --tls-cert and --tls-key, or none of --tls-cert, --tls-key and --tls-client-ca")
	}
	c := &certificates{cert: cfg.TLSCert, key: cfg.TLSKey, clientCA: cfg.TLSClientCA, log: log}
	if err := c.refresh(); err != nil {
		return nil, usageErrorf("TLS cannot be served: %v", err)
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return c.current(), nil
		},
	}, nil
}

// current is the last good configuration, after a look at the files.
func (c *certificates) current() *tls.Config {
	if err := c.refresh(); err != nil {
		c.log.Error("the new certificates are not used: the last good ones stay", "err", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.good
}

// refresh reads the files if they have changed. An error is told once for each
// change.
func (c *certificates) refresh() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := c.look()
	if seen == c.stamp && c.good != nil {
		return nil
	}
	c.stamp = seen
	read, err := c.read()
	if err != nil {
		return err
	}
	if c.good != nil {
		c.log.Info("certificates were read again", "expires", read.Certificates[0].Leaf.NotAfter)
	}
	c.good = read
	return nil
}

// look is the files' stamp; that of a file that is away is zero.
func (c *certificates) look() (seen stamp) {
	for i, name := range []string{c.cert, c.key, c.clientCA} {
		if info, err := os.Stat(name); err == nil {
			seen[i].size, seen[i].modified = info.Size(), info.ModTime()
		}
	}
	return seen
}

// read makes a configuration of the files.
func (c *certificates) read() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return nil, fmt.Errorf("%s with %s: %w", c.cert, c.key, err)
	}
	now, leaf := time.Now(), pair.Leaf
	switch {
	case now.After(leaf.NotAfter):
		return nil, fmt.Errorf("%s expired on %s: renew it", c.cert, leaf.NotAfter.Format(time.DateTime))
	case now.Before(leaf.NotBefore):
		return nil, fmt.Errorf("%s is good from %s on only: is the clock right?", c.cert, leaf.NotBefore.Format(time.DateTime))
	case leaf.NotAfter.Sub(now) < expiresSoon:
		c.log.Warn("the certificate expires soon: renew it", "file", c.cert, "expires", leaf.NotAfter)
	}
	// HTTP/1.1 alone: its slow clients are bounded by timeouts, those of HTTP/2 are
	// not one by one, and nobody here asks many things over one connection at once.
	read := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, NextProtos: []string{"http/1.1"}}
	if c.clientCA == "" {
		return read, nil
	}
	read.ClientAuth = tls.RequireAndVerifyClientCert
	read.ClientCAs, err = authorities(c.clientCA)
	return read, err
}

// authorities reads who may vouch for callers.
func authorities(name string) (*x509.CertPool, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, errors.New(name + " holds no certificate in PEM")
	}
	return pool, nil
}
