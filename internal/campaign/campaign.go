package campaign

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/loadaware/loadaware/internal/sizing"
)

// The largest sizes of texts, confs and requests.
const (
	MaxText  = 250       // characters of a name, a pool, a version or a scenario (the name of a run in the archive)
	MaxNotes = 2_000     // characters of notes; longer notes are shortened if a worker (a client that claims runs, such as the scheduler DAG) reports a new state of a run, and rejected if a person resets a run to an earlier state
	MaxConf  = 64 * 1024 // bytes of a conf
	MaxBatch = 10_000    // runs of one registration
	MaxClaim = 1_000     // runs that a worker claims at once
)

// Campaign is a set of archived runs of one DAG to reproduce.
type Campaign struct {
	ID        int64
	Name      string
	Namespace string
	DAG       string
	Pool      string          // Airflow pool of the reproduced tasks; empty: the pool of the DAG
	Conf      json.RawMessage // sandbox settings that override the archived conf; nil: none
	Version   string          // version of the DAG that must be deployed; empty: any
	Budget    Budget
	Paused    bool
	Stopped   string // the reason why the budget stopped the campaign; empty if the budget did not stop it
	CreatedAt time.Time
	CreatedBy string
}

// Key returns the DAG as a key without a task id, for scopes and the audit trail.
func (c *Campaign) Key() sizing.TaskKey { return sizing.TaskKey{Namespace: c.Namespace, DAG: c.DAG} }

// Validate returns an error for each invalid field; none if all are valid. A campaign needs a sandbox conf
// or a pool of its own. A pool only limits how many tasks run at once; only the conf can change where a run writes.
func (c *Campaign) Validate() []sizing.FieldError {
	var bad []sizing.FieldError
	add := func(field, detail string) {
		if detail != "" {
			bad = append(bad, sizing.FieldError{Field: field, Detail: detail})
		}
	}
	add("namespace", sizing.CheckID(c.Namespace))
	add("dag_id", sizing.CheckID(c.DAG))
	add("name", checkText(c.Name, true))
	add("pool", checkText(c.Pool, false))
	add("version", checkText(c.Version, false))
	add("conf", checkConf(c.Conf))
	if c.Pool == "" && isEmptyConf(c.Conf) {
		add("conf", "a campaign needs a sandbox conf or a pool of its own; without a sandbox conf, its runs can write to production even if they have a pool; send settings that make a run harmless, such as {\"output\": \"s3://sandbox/\"}")
	}
	return append(bad, c.Budget.Validate()...)
}

const (
	maxBudgetRuns    = 1_000_000
	maxBudgetGBHours = 1e9
)

// Budget limits a campaign. A zero field is no limit. The audit trail stores a Budget as JSON with the field names
// of the API.
type Budget struct {
	Runs    int       `json:"runs,omitempty"` // number of DAG runs, including repeated attempts
	GBHours float64   `json:"gbh,omitempty"`  // allocated or, if unknown, requested memory times duration of the reproduced tries
	Until   time.Time `json:"until,omitzero"` // time after which no run starts
}

// Validate returns an error for each invalid field.
func (b Budget) Validate() (bad []sizing.FieldError) {
	if b.Runs < 0 || b.Runs > maxBudgetRuns {
		bad = append(bad, sizing.FieldError{Field: "budget.runs", Detail: fmt.Sprintf("must be 0 to %d", maxBudgetRuns)})
	}
	if !(b.GBHours >= 0 && b.GBHours <= maxBudgetGBHours) {
		bad = append(bad, sizing.FieldError{Field: "budget.gbh", Detail: fmt.Sprintf("must be 0 to %.0f", maxBudgetGBHours)})
	}
	return bad
}

// Usage is the part of the budget that a campaign has used.
type Usage struct {
	Runs    int     // number of DAG runs, including repeated attempts
	GBHours float64 // as in Budget
}

// Exhausted returns the reason why no further run may start; "" if a run may start.
func (b Budget) Exhausted(used Usage, now time.Time) string {
	switch {
	case b.Runs > 0 && used.Runs >= b.Runs:
		return fmt.Sprintf("budget of %d runs is used up", b.Runs)
	case b.GBHours > 0 && used.GBHours >= b.GBHours:
		return fmt.Sprintf("budget of %.4g GB·h is used up: %.4g", b.GBHours, used.GBHours)
	case !b.Until.IsZero() && !now.Before(b.Until):
		return "end date " + b.Until.UTC().Format(time.RFC3339) + " is over"
	}
	return ""
}

// ArchivedRun is an archived run to register.
type ArchivedRun struct {
	Scenario      string // name of the run in the archive
	ExecutionDate time.Time
	Conf          json.RawMessage // conf of the archived DAG run; nil: none
}

// Validate returns an error for each invalid field.
func (a *ArchivedRun) Validate() []sizing.FieldError {
	var bad []sizing.FieldError
	if detail := checkText(a.Scenario, true); detail != "" {
		bad = append(bad, sizing.FieldError{Field: "scenario", Detail: detail})
	}
	if year := a.ExecutionDate.UTC().Year(); year < 1970 || year >= 2200 {
		bad = append(bad, sizing.FieldError{Field: "execution_date", Detail: "must be in the years 1970 to 2199 in UTC"})
	}
	if detail := checkConf(a.Conf); detail != "" {
		bad = append(bad, sizing.FieldError{Field: "conf", Detail: detail})
	}
	return bad
}

// Hash returns the SHA-256 hash of the scenario and the conf in hexadecimal digits. The hash does not
// depend on the order of the keys in the conf.
func (a *ArchivedRun) Hash() string {
	var conf any
	decoder := json.NewDecoder(bytes.NewReader(a.Conf))
	decoder.UseNumber()       // different long ids would be equal as float64
	_ = decoder.Decode(&conf) // conf stays nil if there is none; Validate rejects invalid JSON
	canonical, _ := json.Marshal([]any{a.Scenario, conf})
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:])
}

// RunID returns the run id of an attempt. It depends only on the arguments, so that a repeated
// trigger finds the DAG run that the first trigger has started.
func RunID(campaign int64, hash string, executionDate time.Time, attempt int) string {
	return fmt.Sprintf("%s%d__%s__%s__%d", sizing.ReproductionPrefix, campaign, executionDate.UTC().Format(sizing.ReproductionDate), hash[:12], attempt)
}

// RunIDRange returns the half-open range of the run ids of a campaign, in byte order.
func RunIDRange(campaign int64) (from, to string) {
	prefix := fmt.Sprintf("%s%d_", sizing.ReproductionPrefix, campaign)
	return prefix + "_", prefix + "`" // ` is the byte after _
}

// Run is a registered run.
type Run struct {
	Number   int // consecutive number in the campaign, from 1
	Archived ArchivedRun
	State    State
	Attempt  int // number of the attempt, from 1
	RunID    string
	Leased   time.Time // end of the lease of a worker; zero without a lease
	Notes    string    // notes of the newest report of a state, or of the newest reset
	Changed  time.Time // time of the last change of State
}

// TaskReport summarises the reports of one task and map index of a reproduced run.
type TaskReport struct {
	Task      string // task id
	MapIndex  int    // sizing.NoMap if the task is not mapped
	Tries     int
	Succeeded bool
	Peak      sizing.Bytes // measured or else sampled peak of the successful try; 0 if unknown
}

// MergedConf returns the conf of the DAG run: the archived conf, overridden by the sandbox conf.
func MergedConf(archived, sandbox json.RawMessage) (json.RawMessage, error) {
	merged := map[string]json.RawMessage{}
	for _, conf := range []json.RawMessage{archived, sandbox} {
		if len(conf) == 0 {
			continue
		}
		if err := json.Unmarshal(conf, &merged); err != nil {
			return nil, fmt.Errorf("merge conf: %w", err)
		}
	}
	return json.Marshal(merged)
}

// Counts are the numbers of runs by state.
type Counts map[State]int

// Total returns the number of runs.
func (c Counts) Total() (n int) {
	for _, runs := range c {
		n += runs
	}
	return n
}

// Progress returns the share of runs that are profiled; 0 without runs.
func (c Counts) Progress() float64 {
	if total := c.Total(); total > 0 {
		return float64(c[Profiled]) / float64(total)
	}
	return 0
}

// Status is a campaign with its progress.
type Status struct {
	Campaign
	Used     Usage
	Counts   Counts
	Failures []Run // newest failed runs
	Hourly   int   // number of runs that were profiled within the last hour
}

// checkText returns "" if the text is valid.
func checkText(s string, required bool) string {
	switch {
	case s == "" && !required:
		return ""
	case s == "" || utf8.RuneCountInString(s) > MaxText:
		return fmt.Sprintf("must have 1 to %d characters", MaxText)
	case !utf8.ValidString(s):
		return "must be valid UTF-8"
	case strings.TrimSpace(s) == "":
		return "must not be blank"
	}
	for _, r := range s {
		if unicode.IsControl(r) {
			return "must not contain control characters"
		}
	}
	return ""
}

// checkConf returns "" if the conf is valid.
func checkConf(conf json.RawMessage) string {
	var object map[string]json.RawMessage
	switch {
	case len(conf) == 0:
		return ""
	case len(conf) > MaxConf:
		return fmt.Sprintf("must have at most %d bytes", MaxConf)
	case json.Unmarshal(conf, &object) != nil:
		return "must be a JSON object"
	case bytes.Contains(conf, []byte(`\u0000`)):
		return "must not contain NUL"
	}
	return ""
}

func isEmptyConf(conf json.RawMessage) bool {
	var object map[string]json.RawMessage
	return len(conf) == 0 || json.Unmarshal(conf, &object) == nil && len(object) == 0
}
