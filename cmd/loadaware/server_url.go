package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"time"
)

// checkServerURL refuses what is no address of a server, and says how to write it.
func checkServerURL(server string) error {
	u, err := url.Parse(server)
	switch {
	case err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "":
		return nil
	case err == nil && (u.Scheme == "http" || u.Scheme == "https"):
		return usageErrorf("--url %q: the host is missing; write %s://localhost:8080", server, u.Scheme)
	}
	return usageErrorf("--url %q: the scheme is missing or not known; write http://%s", server, afterScheme(server))
}

// afterScheme is a server address without what stands before "://".
func afterScheme(server string) string {
	if u, err := url.Parse(server); err == nil && u.Host != "" {
		return u.Host
	}
	return server
}

// notReached is why a server did not answer. A certificate that is not trusted stays so:
// only other causes are worth another attempt.
func notReached(server string, cause error) error {
	var untrusted *tls.CertificateVerificationError
	if errors.As(cause, &untrusted) {
		return fmt.Errorf("connect to %s: %w; name the file of its authority in SSL_CERT_FILE", server, cause)
	}
	return &awayError{fmt.Errorf("no answer from %s: %w", server, cause)}
}

// notNegative refuses a negative duration of a setting.
func notNegative(setting string, d time.Duration) error {
	if d < 0 {
		return usageErrorf("%s must not be negative: %s", setting, d)
	}
	return nil
}

// checkDurations refuses settings that no worker can follow.
func (c *config) checkDurations() error {
	return errors.Join(
		notNegative("--search-every", c.SearchEvery), notNegative("LOADAWARE_PROMETHEUS_DELAY", c.PrometheusDelay),
		notNegative("LOADAWARE_PROMETHEUS_WITHIN", c.PrometheusWithin), notNegative("LOADAWARE_PROMETHEUS_EVERY", c.PrometheusEvery))
}
