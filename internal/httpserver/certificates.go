package httpserver

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// certificates holds a TLS configuration that it loads from files. At each handshake it reloads the files
// if one of them has changed, so that a renewal needs no restart. If a reload fails, it logs the error and
// keeps the last valid configuration.
//
//	handshake ─▶ files changed? ── no ──▶ current configuration
//	                  └─ yes ─▶ load and check ─▶ valid: replaces the current one
type certificates struct {
	cert, key, clientCA string // names of files; an empty clientCA means that clients need no certificate
	log                 *slog.Logger

	mu      sync.Mutex
	current *tls.Config
	version fileVersion // of the files at the last load
}

// fileVersion identifies the contents of cert, key and clientCA by their sizes and modification times.
type fileVersion [3]struct {
	size     int64
	modified time.Time
}

// expiresSoon is the remaining validity below which load logs a warning. The usual tools renew a
// certificate a month before it expires, so its renewal has then failed or was forgotten.
const expiresSoon = 14 * 24 * time.Hour

func newTLS(cfg Config, log *slog.Logger) (*tls.Config, error) {
	switch {
	case cfg.TLSCert == "" && cfg.TLSKey == "" && cfg.TLSClientCA == "":
		return nil, nil
	case cfg.TLSCert == "" || cfg.TLSKey == "":
		return nil, configErrorf("TLS needs both a certificate and its key: set --tls-cert and --tls-key, or none of --tls-cert, --tls-key and --tls-client-ca")
	}
	c := &certificates{cert: cfg.TLSCert, key: cfg.TLSKey, clientCA: cfg.TLSClientCA, log: log}
	if err := c.reload(); err != nil {
		return nil, configErrorf("load the TLS certificate: %v", err)
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return c.latest(), nil
		},
	}, nil
}

func (c *certificates) latest() *tls.Config {
	if err := c.reload(); err != nil {
		c.log.Error("the new certificates are invalid; the previous ones stay in use", "err", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current
}

// reload loads the files if they have changed since the last load. If the changed files are invalid, only
// the first call after the change returns the error.
func (c *certificates) reload() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	version := c.fileVersion()
	if version == c.version && c.current != nil {
		return nil
	}
	c.version = version
	loaded, err := c.load()
	if err != nil {
		return err
	}
	if c.current != nil {
		c.log.Info("certificates were reloaded", "expires", loaded.Certificates[0].Leaf.NotAfter)
	}
	c.current = loaded
	return nil
}

func (c *certificates) fileVersion() (v fileVersion) {
	for i, name := range []string{c.cert, c.key, c.clientCA} {
		if info, err := os.Stat(name); err == nil {
			v[i].size, v[i].modified = info.Size(), info.ModTime()
		}
	}
	return v
}

func (c *certificates) load() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return nil, fmt.Errorf("%s with %s: %w; check --tls-cert and --tls-key", c.cert, c.key, err)
	}
	now, leaf := time.Now(), pair.Leaf
	switch {
	case now.After(leaf.NotAfter):
		return nil, fmt.Errorf("%s expired on %s: renew it", c.cert, leaf.NotAfter.Format(time.DateTime))
	case now.Before(leaf.NotBefore):
		return nil, fmt.Errorf("%s is not valid before %s; check the clock", c.cert, leaf.NotBefore.Format(time.DateTime))
	case leaf.NotAfter.Sub(now) < expiresSoon:
		c.log.Warn("the certificate expires soon: renew it", "file", c.cert, "expires", leaf.NotAfter)
	}
	// The server offers HTTP/1.1 only. The timeouts of net/http end the connections of slow clients, but
	// not single streams of HTTP/2. Callers need no HTTP/2, because they send one request at a time over a connection.
	loaded := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, NextProtos: []string{"http/1.1"}}
	if c.clientCA == "" {
		return loaded, nil
	}
	loaded.ClientAuth = tls.RequireAndVerifyClientCert
	loaded.ClientCAs, err = loadAuthorities(c.clientCA)
	return loaded, err
}

func loadAuthorities(name string) (*x509.CertPool, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s contains no certificate in PEM; check --tls-client-ca", name)
	}
	return pool, nil
}
