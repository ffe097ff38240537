// Package savings turns the ledger of savings (sums per task and UTC day) into numbers for the API, the
// command line and the dashboard: the memory that tries requested, were granted, used and lost to kills,
// and the savings.
//
// It takes all sums from the store and computes only the saved money, so that the API, the command line and
// the dashboard show the same numbers. A nil number is unknown.
package savings

import (
	"context"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// Source reads the ledger of savings.
type Source interface {
	SavingsSums(ctx context.Context, f store.SavingsFilter, by store.SavingsKey) ([]store.SavingsSum, error)
	Baselines(ctx context.Context, f store.SavingsFilter) ([]store.Baseline, error)
}

// Prices are the prices of saved resources. A price of zero counts as not set.
type Prices struct {
	GBHour   float64 // of 1e9 bytes for an hour
	CoreHour float64
	Currency string // label, such as EUR
}

// Set reports whether a price is set.
func (p Prices) Set() bool { return p.GBHour > 0 || p.CoreHour > 0 }

// Row is the sum of one key, such as a day or a task. GB is 1e9 bytes, and store.SavingsSum
// defines the amounts.
type Row struct {
	Day       *Day    `json:"day,omitempty"`
	Namespace *string `json:"namespace,omitempty"`
	DagID     *string `json:"dag_id,omitempty"`
	TaskID    *string `json:"task_id,omitempty"`
	Owner     *string `json:"owner,omitempty"` // nil in a row by owner: tasks without an owner

	Tries            int `json:"tries"`
	Successes        int `json:"successes"`
	Kills            int `json:"kills"`
	UnaccountedTries int `json:"unaccounted_tries"` // successes and kills without a duration or an allocation; of the GB·h only used_gbh may include them
	UnmeasuredTries  int `json:"unmeasured_tries"`  // successes without a duration or a peak; not in used_gbh

	SuccessHours *float64 `json:"success_hours"` // duration of the successes that have an allocation
	RequestedGBH *float64 `json:"requested_gbh"`
	GrantedGBH   *float64 `json:"granted_gbh"`
	UsedGBH      *float64 `json:"used_gbh"`
	UsedHours    *float64 `json:"used_hours"` // duration of the successes in used_gbh
	KilledGBH    *float64 `json:"killed_gbh"`
	WastedGBH    *float64 `json:"wasted_gbh"`
	SavedGBH     *float64 `json:"saved_gbh"`
	NoRequestGBH float64  `json:"no_request_gbh"` // part of granted_gbh and killed_gbh: tasks without a known static request
	SavedCoreH   *float64 `json:"saved_core_h"`
	SavedMoney   *float64 `json:"saved_money"` // in Prices.Currency
}

// Day is a UTC day.
type Day struct{ time.Time }

// MarshalText formats the day as 2006-01-02.
func (d Day) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText parses a day.
func (d *Day) UnmarshalText(text []byte) (err error) {
	d.Time, err = time.Parse(time.DateOnly, string(text))
	return err
}

// String formats the day as 2006-01-02.
func (d Day) String() string { return d.Format(time.DateOnly) }

// MarshalJSON encodes the day as "2006-01-02". It overrides the method of time.Time.
func (d Day) MarshalJSON() ([]byte, error) { return []byte(`"` + d.String() + `"`), nil }

// UnmarshalJSON decodes the output of MarshalJSON. It overrides the method of time.Time.
func (d *Day) UnmarshalJSON(text []byte) error {
	if len(text) < 2 {
		return d.UnmarshalText(text)
	}
	return d.UnmarshalText(text[1 : len(text)-1])
}

// Request is a static request. Nil amounts are unknown.
type Request struct {
	MemoryBytes *int64   `json:"memory_bytes"`
	CPUCores    *float64 `json:"cpu_cores"`
}

// Change is a later static request of a task.
type Change struct {
	At time.Time `json:"at"`
	Request
}

// Baseline is the first static request of a task, against which its savings are counted.
type Baseline struct {
	Namespace string     `json:"namespace"`
	DagID     string     `json:"dag_id"`
	TaskID    string     `json:"task_id"`
	Request              // later requests do not change it
	MemoryAt  *time.Time `json:"memory_at"` // time of the first memory request
	CPUAt     *time.Time `json:"cpu_at"`    // time of the first CPU request
	Changes   []Change   `json:"changes"`
}

// Answer contains the savings of a window.
type Answer struct {
	From      *Day       `json:"from"`      // first day of the window; nil: from the first day on
	To        *Day       `json:"to"`        // day after the last day of the window; nil: up to the last day
	FirstDay  *Day       `json:"first_day"` // first day with a report
	LastDay   *Day       `json:"last_day"`  // last day with a report
	By        string     `json:"by"`        // key of the rows
	Rows      []Row      `json:"rows"`
	Total     Row        `json:"total"`
	Baselines []Baseline `json:"baselines,omitempty"` // only in an answer by task
	Currency  *string    `json:"currency"`
	PriceGBH  *float64   `json:"price_gb_hour"`
	PriceCore *float64   `json:"price_core_hour"`
}

// Read returns the savings of the tries that f selects, grouped by a key.
func Read(ctx context.Context, source Source, f store.SavingsFilter, by store.SavingsKey, prices Prices) (*Answer, error) {
	sums, err := source.SavingsSums(ctx, f, by)
	if err != nil {
		return nil, err
	}
	total, err := source.SavingsSums(ctx, f, store.ByAll)
	if err != nil {
		return nil, err
	}
	answer := &Answer{By: string(by), From: dayOrNil(f.From), To: dayOrNil(f.To), Rows: make([]Row, len(sums)),
		Currency: nilIfZero(prices.Currency), PriceGBH: nilIfZero(prices.GBHour), PriceCore: nilIfZero(prices.CoreHour)}
	for i := range sums {
		answer.Rows[i] = NewRow(&sums[i], by, prices)
	}
	if len(total) > 0 {
		answer.Total = NewRow(&total[0], store.ByAll, prices)
		answer.FirstDay, answer.LastDay = dayOrNil(total[0].First), dayOrNil(total[0].Last)
	}
	if by == store.ByTask {
		baselines, err := source.Baselines(ctx, f)
		if err != nil {
			return nil, err
		}
		answer.Baselines = NewBaselines(baselines)
	}
	return answer, nil
}

// NewRow converts a sum.
func NewRow(s *store.SavingsSum, by store.SavingsKey, prices Prices) Row {
	row := Row{
		Tries: s.Tries, Successes: s.Successes, Kills: s.Kills, UnaccountedTries: s.Unaccounted, UnmeasuredTries: s.Unmeasured,
		SuccessHours: s.Hours, RequestedGBH: s.Requested, GrantedGBH: s.Granted, UsedGBH: s.Used, UsedHours: s.UsedHours, KilledGBH: s.Killed, WastedGBH: s.Wasted, SavedGBH: s.Saved,
		NoRequestGBH: s.NoRequest, SavedCoreH: s.SavedCPU, SavedMoney: prices.valueOf(s),
	}
	switch by {
	case store.ByDay:
		row.Day = &Day{s.Day}
	case store.ByDAG:
		row.Namespace, row.DagID = &s.Task.Namespace, &s.Task.DAG
	case store.ByTask:
		row.Namespace, row.DagID, row.TaskID = &s.Task.Namespace, &s.Task.DAG, &s.Task.Task
	case store.ByOwner:
		row.Owner = nilIfZero(s.Owner)
	case store.ByDAGOwner:
		row.Namespace, row.DagID, row.Owner = &s.Task.Namespace, &s.Task.DAG, nilIfZero(s.Owner)
	}
	return row
}

func (p Prices) valueOf(s *store.SavingsSum) *float64 {
	money, isKnown := 0.0, false
	if p.GBHour > 0 && s.Saved != nil {
		money, isKnown = money+p.GBHour**s.Saved, true
	}
	if p.CoreHour > 0 && s.SavedCPU != nil {
		money, isKnown = money+p.CoreHour**s.SavedCPU, true
	}
	if !isKnown {
		return nil
	}
	return &money
}

// NewBaselines converts stored baselines.
func NewBaselines(stored []store.Baseline) []Baseline {
	baselines := make([]Baseline, len(stored))
	for i, b := range stored {
		baselines[i] = Baseline{Namespace: b.Task.Namespace, DagID: b.Task.DAG, TaskID: b.Task.Task, Request: newRequest(b.Request),
			MemoryAt: nilIfZero(b.MemoryAt), CPUAt: nilIfZero(b.CPUAt), Changes: []Change{}}
		for _, c := range b.Changes {
			baselines[i].Changes = append(baselines[i].Changes, Change{At: c.At, Request: newRequest(c.Request)})
		}
	}
	return baselines
}

func newRequest(r sizing.Resources) Request {
	return Request{MemoryBytes: nilIfZero(int64(r.Memory)), CPUCores: nilIfZero(float64(r.CPU))}
}

func dayOrNil(t time.Time) *Day {
	if t.IsZero() {
		return nil
	}
	return &Day{t}
}

func nilIfZero[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
