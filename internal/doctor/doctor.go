// Package doctor checks a deployment: its settings, database, server, Prometheus and
// Airflow. It reports each problem with advice, and changes no setting and no stored row.
package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/loadaware/loadaware/internal/render"
	"github.com/loadaware/loadaware/internal/source/airflow"
	"github.com/loadaware/loadaware/internal/source/prometheus"
)

// Finding is a problem that a check found, with advice.
type Finding struct {
	Check   string `json:"check"`
	IsError bool   `json:"wrong"` // false for a warning
	Message string `json:"says"`
	Advice  string `json:"do"`
}

// Report has the checks that ran and their findings.
type Report struct {
	Checks   []string  `json:"looked"` // names of the checks that ran
	Findings []Finding `json:"findings"`

	now         func() time.Time
	minFreeDisk float64 // free share of a disk, 0 to 1, below which the disk counts as nearly full
}

// NewReport returns an empty report.
func NewReport() *Report {
	return &Report{Checks: []string{}, Findings: []Finding{}, now: time.Now, minFreeDisk: 0.1}
}

// Ran records that a check ran.
func (r *Report) Ran(check string) {
	if !slices.Contains(r.Checks, check) {
		r.Checks = append(r.Checks, check)
	}
}

// Errorf adds an error.
func (r *Report) Errorf(check, advice, format string, args ...any) {
	r.Findings = append(r.Findings, Finding{check, true, fmt.Sprintf(format, args...), advice})
}

// Warnf adds a warning.
func (r *Report) Warnf(check, advice, format string, args ...any) {
	r.Findings = append(r.Findings, Finding{check, false, fmt.Sprintf(format, args...), advice})
}

// Config is the deployment to check. Checks of a URL, a file or a database without a value are skipped.
type Config struct {
	Addr             string // address on which serve listens, as host:port
	Tokens           int
	TokensErr        error
	TLSCert, TLSKey  string        // files
	KeepObservations time.Duration // 0: no limit
	KeepReceipts     time.Duration // 0: no limit
	Prometheus       prometheus.Config
	Airflow          airflow.Config
	ServerURL        string
	DSN              string
	DataDir          string // data folder of the private database
}

// checkTimeout limits each check, except those of the database, which together may take five times as long, and that of
// the disk, which has no limit.
const checkTimeout = time.Minute

// Run runs all checks.
func (r *Report) Run(ctx context.Context, cfg *Config) {
	for _, check := range []func(context.Context, *Config){r.tokens, r.certificate, r.retention, r.prometheus, r.airflow, r.server} {
		checkCtx, cancel := context.WithTimeout(ctx, checkTimeout)
		check(checkCtx, cfg)
		cancel()
	}
	if cfg.DSN == "" {
		return
	}
	databaseCtx, cancel := context.WithTimeout(ctx, 5*checkTimeout)
	defer cancel()
	r.database(databaseCtx, cfg.DSN)
	if cfg.DataDir != "" {
		r.disk(cfg.DataDir)
	}
}

// Write writes the report as text or JSON. It returns an error if the report has errors.
func (r *Report) Write(w io.Writer, format string) error {
	errorCount := 0
	for _, f := range r.Findings {
		if f.IsError {
			errorCount++
		}
	}
	if format == "json" {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(r); err != nil {
			return err
		}
	} else {
		for _, f := range r.Findings {
			mark := "warning"
			if f.IsError {
				mark = "ERROR  "
			}
			fmt.Fprintf(w, "%s  %s: %s\n         do: %s\n", mark, f.Check, f.Message, f.Advice)
		}
		fmt.Fprintf(w, "%s: %s, %s\n", render.Count(len(r.Checks), "check"), render.Count(errorCount, "error"), render.Count(len(r.Findings)-errorCount, "warning"))
	}
	if errorCount > 0 {
		return errors.New("the doctor found " + render.Count(errorCount, "error"))
	}
	return nil
}
