package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/loadaware/loadaware/internal/source/airflow"
)

// tokens are needed where other machines can connect.
func (d *diagnosis) tokens(_ context.Context, c *config) {
	d.looked("tokens")
	tokens, _, err := c.grants()
	if err != nil {
		d.wrong("tokens", "make a new one with loadaware token", "the tokens are not understood: %v", err)
		return
	}
	host, _, err := net.SplitHostPort(c.Addr)
	if err != nil {
		d.wrong("address", "write host:port, as 127.0.0.1:8080", "LOADAWARE_ADDR is no address: %q", c.Addr)
		return
	}
	ip := net.ParseIP(host)
	if own := host == "localhost" || ip != nil && ip.IsLoopback(); !own && len(tokens) == 0 {
		d.wrong("tokens", "put what loadaware token grants into LOADAWARE_TOKENS, name a file by --tokens-file, or serve on 127.0.0.1",
			"%s can be reached from other machines, and nobody has to show a token: serve does not start so", c.Addr)
	}
}

// certificate is that of the files.
func (d *diagnosis) certificate(_ context.Context, c *config) {
	if c.TLSCert == "" && c.TLSKey == "" {
		return
	}
	d.looked("certificate")
	pair, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
	if err != nil {
		d.wrong("certificate", "check LOADAWARE_TLS_CERT and LOADAWARE_TLS_KEY", "the certificate cannot be served: %v", err)
		return
	}
	d.expiry(pair.Leaf.NotAfter)
}

func (d *diagnosis) expiry(at time.Time) {
	switch left := at.Sub(d.now()); {
	case left <= 0:
		d.wrong("certificate", "renew it: the server takes up a new file by itself", "the certificate expired on %s", at.Format(time.DateTime))
	case left < expiresSoon:
		d.mind("certificate", "renew it: the server takes up a new file by itself", "the certificate expires on %s", at.Format(time.DateTime))
	}
}

func (d *diagnosis) kept(_ context.Context, c *config) {
	d.looked("retention")
	for name, age := range map[string]time.Duration{"OBSERVATIONS": c.Keep.Observations, "RECEIPTS": c.Keep.Receipts} {
		if age == 0 {
			d.mind("retention", "set LOADAWARE_KEEP_"+name+", for example to 2160h", "nothing is removed for its age, so the table of %s grows for ever", strings.ToLower(name))
		}
	}
}

func (d *diagnosis) prometheus(ctx context.Context, c *config) {
	if c.PrometheusURL == "" {
		return
	}
	d.looked("prometheus")
	if _, err := c.prometheusClient(0); err != nil {
		d.wrong("prometheus", "mend LOADAWARE_PROMETHEUS_URL", "%v", err)
		return
	}
	status, _, _, err := fetch(ctx, strings.TrimRight(c.PrometheusURL, "/")+"/api/v1/query?query=1", c.PrometheusToken)
	switch {
	case err != nil:
		d.wrong("prometheus", "check LOADAWARE_PROMETHEUS_URL, and that the network lets us out", "Prometheus does not answer: %v", cause(err))
	case status != http.StatusOK:
		d.wrong("prometheus", "check the path of LOADAWARE_PROMETHEUS_URL, and LOADAWARE_PROMETHEUS_TOKEN", "Prometheus answers a plain query by status %d", status)
	}
}

func (d *diagnosis) airflow(ctx context.Context, c *config) {
	if c.AirflowURL == "" {
		return
	}
	d.looked("airflow")
	_, err := airflow.Open(ctx, airflow.Config{
		URL: c.AirflowURL, User: c.AirflowUser, Password: c.AirflowPassword, Token: c.AirflowToken, RetryFor: time.Second,
	})
	switch {
	case errors.Is(err, airflow.ErrDenied):
		d.wrong("airflow", "check LOADAWARE_AIRFLOW_USER and _PASSWORD, or _TOKEN", "%v", err)
	case err != nil:
		d.wrong("airflow", "check LOADAWARE_AIRFLOW_URL, and that the network lets us out", "%v", err)
	}
}

// staleFor is longer than any replica that hears of changes is without news.
const staleFor = time.Minute

// server looks at the one that LOADAWARE_URL or --url names.
func (d *diagnosis) server(ctx context.Context, c *config) {
	if c.URL == "" {
		return
	}
	d.looked("server")
	base := strings.TrimRight(c.URL, "/")
	status, body, over, err := fetch(ctx, base+"/readyz", "")
	if over != nil && len(over.PeerCertificates) > 0 {
		d.expiry(over.PeerCertificates[0].NotAfter)
	}
	var ready struct {
		Status, Observe string
		StaleSeconds    float64 `json:"stale_seconds"`
	}
	switch {
	case err != nil:
		d.wrong("server", "check that it runs, and that the network lets us in", "%s does not answer: %v", base, cause(err))
		return
	case json.Unmarshal(body, &ready) != nil || ready.Status == "":
		d.wrong("server", "check the URL", "%s/readyz answers by status %d, and not as loadaware does", base, status)
		return
	case ready.Status != "ready":
		d.wrong("server", "its log says what it waits for", "the server is not ready: %s", ready.Status)
	case ready.Observe != "ok":
		d.wrong("server", "look at the database", "the server answers predictions, and takes no reports: %s", ready.Observe)
	case ready.StaleSeconds > staleFor.Seconds():
		d.wrong("server", "point DATABASE_URL at PostgreSQL itself: poolers in transaction mode swallow LISTEN",
			"the server has not heard of new models for %.0f s", ready.StaleSeconds)
	}
	if status, _, _, err := fetch(ctx, base+"/tasks?limit=1", ""); err == nil && status == http.StatusOK && !loopback(base) {
		d.wrong("tokens", "set LOADAWARE_TOKENS for the server", "%s answers anybody without a token", base)
	}
}

func loopback(url string) bool {
	_, rest, _ := strings.Cut(url, "://")
	host, _, err := net.SplitHostPort(rest)
	host = cmp.Or(host, rest)
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// fetch reads at most a megabyte of an answer.
func fetch(ctx context.Context, url, token string) (status int, body []byte, over *tls.ConnectionState, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, nil, nil, err
	}
	if token != "" {
		ask.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(ask)
	if err != nil {
		return 0, nil, nil, err
	}
	defer answer.Body.Close()
	body, err = io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	return answer.StatusCode, body, answer.TLS, err
}

// cause is what lies behind an error, without the URL or the settings of a connection,
// which may hold a password.
func cause(err error) error {
	if op := (*net.OpError)(nil); errors.As(err, &op) {
		return op
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err
}

// disk is that of the private database; those of others cannot be seen from here.
func (d *diagnosis) disk(dir string) {
	d.looked("disk")
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil || fs.Blocks == 0 {
		return
	}
	if free := float64(fs.Bavail) / float64(fs.Blocks); free < d.free {
		d.wrong("disk", "free space, or move the data folder: a full disk takes no reports", "the disk of %s is %.0f %% full", dir, 100*(1-free))
	}
}
