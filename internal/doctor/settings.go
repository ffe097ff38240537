package doctor

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/loadaware/loadaware/internal/source/airflow"
	"github.com/loadaware/loadaware/internal/source/prometheus"
)

func (r *Report) tokens(_ context.Context, c *Config) {
	r.Ran("tokens")
	if c.TokensErr != nil {
		r.Errorf("tokens", "create a new one with loadaware token", "the tokens are invalid: %v", c.TokensErr)
		return
	}
	r.Ran("address")
	host, _, err := net.SplitHostPort(c.Addr)
	if err != nil {
		r.Errorf("address", "use host:port, such as 127.0.0.1:8080", "LOADAWARE_ADDR is not an address: %q", c.Addr)
		return
	}
	ip := net.ParseIP(host)
	if isLocal := host == "localhost" || ip != nil && ip.IsLoopback(); !isLocal && c.Tokens == 0 {
		r.Errorf("tokens", "put what loadaware token prints after \"granted:\" into LOADAWARE_TOKENS, name a file with --tokens-file, or serve on 127.0.0.1",
			"other machines can reach %s, and no token is required: serve does not start with this configuration", c.Addr)
	}
}

func (r *Report) certificate(_ context.Context, c *Config) {
	if c.TLSCert == "" && c.TLSKey == "" {
		return
	}
	r.Ran("certificate")
	pair, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
	if err != nil {
		r.Errorf("certificate", "check LOADAWARE_TLS_CERT and LOADAWARE_TLS_KEY", "the certificate is unusable: %v", err)
		return
	}
	r.expiry(pair.Leaf.NotAfter)
}

// ExpiresSoon is the remaining validity below which a renewal is overdue, because the usual tools renew a certificate a
// month before it expires.
const ExpiresSoon = 14 * 24 * time.Hour

func (r *Report) expiry(at time.Time) {
	switch left := at.Sub(r.now()); {
	case left <= 0:
		r.Errorf("certificate", "renew it; the server reloads the file by itself", "the certificate expired on %s", at.Format(time.DateTime))
	case left < ExpiresSoon:
		r.Warnf("certificate", "renew it; the server reloads the file by itself", "the certificate expires on %s", at.Format(time.DateTime))
	}
}

func (r *Report) retention(_ context.Context, c *Config) {
	r.Ran("retention")
	for _, table := range []struct {
		name  string
		limit time.Duration
	}{{"OBSERVATIONS", c.KeepObservations}, {"RECEIPTS", c.KeepReceipts}} {
		if name := table.name; table.limit == 0 {
			r.Warnf("retention", "set LOADAWARE_KEEP_"+name+", for example to 2160h", "no maximum age is set, so the table of %s grows without limit", strings.ToLower(name))
		}
	}
}

func (r *Report) prometheus(ctx context.Context, c *Config) {
	if c.Prometheus.URL == "" {
		return
	}
	r.Ran("prometheus")
	if _, err := prometheus.New(c.Prometheus); err != nil {
		r.Errorf("prometheus", "correct LOADAWARE_PROMETHEUS_URL", "%v", err)
		return
	}
	status, _, _, err := fetch(ctx, strings.TrimRight(c.Prometheus.URL, "/")+"/api/v1/query?query=1", c.Prometheus.Token)
	switch {
	case err != nil:
		r.Errorf("prometheus", "check LOADAWARE_PROMETHEUS_URL and the network policy", "Prometheus is unavailable: %v", rootCause(err))
	case status != http.StatusOK:
		r.Errorf("prometheus", "check the path of LOADAWARE_PROMETHEUS_URL, and LOADAWARE_PROMETHEUS_TOKEN", "Prometheus answers a simple query with status %d", status)
	}
}

func (r *Report) airflow(ctx context.Context, c *Config) {
	if c.Airflow.URL == "" {
		return
	}
	r.Ran("airflow")
	cfg := c.Airflow
	cfg.RetryFor = time.Second
	_, err := airflow.Open(ctx, cfg)
	switch {
	case errors.Is(err, airflow.ErrDenied):
		r.Errorf("airflow", "check LOADAWARE_AIRFLOW_USER and _PASSWORD, or _TOKEN", "%v", err)
	case err != nil:
		r.Errorf("airflow", "check LOADAWARE_AIRFLOW_URL and the network policy", "%v", err)
	}
}

// maxStaleness is larger than the staleness of any replica whose subscription to model updates works.
const maxStaleness = time.Minute

func (r *Report) server(ctx context.Context, c *Config) {
	if c.ServerURL == "" {
		return
	}
	r.Ran("server")
	base := strings.TrimRight(c.ServerURL, "/")
	status, body, state, err := fetch(ctx, base+"/readyz", "")
	if state != nil && len(state.PeerCertificates) > 0 {
		r.Ran("certificate")
		r.expiry(state.PeerCertificates[0].NotAfter)
	}
	var ready struct {
		Status, Observe string
		StaleSeconds    float64 `json:"stale_seconds"`
	}
	switch {
	case err != nil:
		r.Errorf("server", "check that the server runs; check the network policy", "%s does not answer: %v", base, rootCause(err))
		return
	case json.Unmarshal(body, &ready) != nil || ready.Status == "":
		r.Errorf("server", "check the URL", "%s/readyz returns status %d, and not the response of loadaware", base, status)
		return
	case ready.Status != "ready":
		r.Errorf("server", "see its log for the reason", "the server is not ready: %s", ready.Status)
	case ready.Observe != "ok":
		r.Errorf("server", "check the database", "the server answers predictions, but accepts no reports: %s", ready.Observe)
	case ready.StaleSeconds > maxStaleness.Seconds():
		r.Errorf("server", "point DATABASE_URL directly at PostgreSQL: poolers in transaction mode do not support LISTEN",
			"the server may have missed model updates for %.0f s", ready.StaleSeconds)
	}
	if status, _, _, err := fetch(ctx, base+"/tasks?limit=1", ""); err == nil && status == http.StatusOK && !isLoopback(base) {
		r.Errorf("tokens", "set LOADAWARE_TOKENS for the server", "%s requires no token", base)
	}
}

func isLoopback(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback())
}

func fetch(ctx context.Context, url, token string) (status int, body []byte, state *tls.ConnectionState, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, nil, nil, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, nil, err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(io.LimitReader(response.Body, 1<<20))
	return response.StatusCode, body, response.TLS, err
}

// rootCause returns the network error in err or, without one, the innermost error. Unlike err, it does not
// contain the URL or the DSN, which may contain a password.
func rootCause(err error) error {
	if op := (*net.OpError)(nil); errors.As(err, &op) {
		return op
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err
}

// disk checks the share of the disk that processes without privileges can still use, like the command df.
func (r *Report) disk(dir string) {
	r.Ran("disk")
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil || fs.Blocks == 0 {
		return
	}
	if free := freeShare(&fs); free < r.minFreeDisk {
		r.Errorf("disk", "free space or move the data folder: the server accepts no reports if the disk is full", "the disk of %s is %.0f %% full", dir, 100*(1-free))
	}
}

func freeShare(fs *syscall.Statfs_t) float64 {
	available := float64(fs.Bavail)
	return available / max(1, float64(fs.Blocks-fs.Bfree)+available)
}
