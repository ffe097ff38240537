package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadaware/loadaware/internal/dashboard/chart"
	"github.com/loadaware/loadaware/internal/insight/savings"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// Savings is the page of the savings ledger by month.
type Savings struct {
	By          string             `json:"by"` // dag, task, owner or dag_owner
	From        string             `json:"from"`
	To          string             `json:"to"`
	Namespace   string             `json:"namespace,omitempty"`
	DagID       string             `json:"dag_id,omitempty"`
	Currency    string             `json:"currency,omitempty"`
	Months      []MonthRow         `json:"rows"` // newest month first
	Total       savings.Row        `json:"total"`
	Baselines   []savings.Baseline `json:"baselines,omitempty"` // only in JSON, grouped by task
	IsTruncated bool               `json:"is_cut"`              // rows are left out: months before the newest maxMonths, or in HTML rows after shownMonthRows

	Chart     chart.Figure `json:"-"`
	HasMoney  bool         `json:"-"` // a price is configured
	CSV, JSON string       `json:"-"` // addresses
}

// MonthRow is the sum for one value of the key, such as one DAG, in one month.
type MonthRow struct {
	Month string `json:"month"`
	savings.Row
}

// IsUngranted reports whether the savings are known to be zero and no try was OOM-killed. Then the page says that each
// try ran with its request.
func (s *Savings) IsUngranted() bool {
	t := &s.Total
	return t.SavedGBH != nil && *t.SavedGBH == 0 && t.Kills == 0
}

// IsByDAGAndOwner reports whether the rows have both a DAG and an owner.
func (s *Savings) IsByDAGAndOwner() bool { return s.By == string(store.ByDAGOwner) }

// OwnerName returns the owner of the row.
func (m *MonthRow) OwnerName() string {
	if m.Owner == nil {
		return "owner not known"
	}
	return *m.Owner
}

// Name returns the task of the row, or its DAG, or its owner.
func (m *MonthRow) Name() string {
	switch {
	case m.TaskID != nil:
		return sizing.TaskKey{Namespace: *m.Namespace, DAG: *m.DagID, Task: *m.TaskID}.String()
	case m.DagID != nil && *m.Namespace != sizing.DefaultNamespace:
		return *m.Namespace + "/" + *m.DagID
	case m.DagID != nil:
		return *m.DagID
	}
	return m.OwnerName()
}

var savingsKeys = []store.SavingsKey{store.ByDAG, store.ByTask, store.ByOwner, store.ByDAGOwner}

const (
	maxMonths      = 36  // in every format the page shows at most this many months: the newest ones that have a try
	shownMonthRows = 500 // the HTML table has at most this many rows, one for each month and value of the key
)

func (d *Dashboard) savings(req *pageRequest) (*view, error) {
	filter, page, err := d.readSavings(req)
	if err != nil {
		return nil, err
	}
	ctx, cancel := req.withDeadline()
	defer cancel()
	isHTML := formatOf(req.query) == asHTML
	if err := d.fillMonths(ctx, page, filter, isHTML); err != nil {
		return nil, err
	}
	all := page.Months
	if isHTML && len(page.Months) > shownMonthRows {
		page.Months, page.IsTruncated = page.Months[:shownMonthRows], true
	}
	if page.By == string(store.ByTask) && formatOf(req.query) == asJSON {
		read, err := d.svc.Baselines(ctx, filter)
		if err != nil {
			return nil, err
		}
		page.Baselines = savings.NewBaselines(read)
	}
	content := &view{Title: "Savings", Nav: "Savings", Template: "savings", Page: page, Table: func() ([]string, [][]string) { return savingsTable(all) }}
	if page.IsTruncated {
		content.Part = fmt.Sprintf("newest-%d-months", maxMonths)
	}
	return content, nil
}

func (d *Dashboard) readSavings(req *pageRequest) (f store.SavingsFilter, page *Savings, err error) {
	page = &Savings{By: cmp.Or(req.query.Get("by"), string(store.ByDAG)), From: req.query.Get("from"), To: req.query.Get("to"), Namespace: req.query.Get("namespace"), DagID: req.query.Get("dag_id"),
		Currency: d.cfg.Prices.Currency, HasMoney: d.cfg.Prices.Set(), CSV: d.addressWith(req.query, "/savings", "format", asCSV), JSON: d.addressWith(req.query, "/savings", "format", asJSON)}
	if !slices.Contains(savingsKeys, store.SavingsKey(page.By)) {
		return f, page, sizing.InvalidField("by", "must be dag, task, owner or dag_owner, not %.50q", page.By)
	}
	f = store.SavingsFilter{DAG: page.DagID, Scopes: req.grants.Scopes()}
	if f.Namespace, err = req.grants.ListNamespace(page.Namespace); err != nil {
		return f, page, err
	}
	if f.From, err = dayParam(req.query, "from"); err == nil {
		f.To, err = dayParam(req.query, "to")
	}
	if err == nil && !f.From.IsZero() && !f.To.IsZero() && !f.From.Before(f.To) {
		err = sizing.InvalidField("to", "must be after from: the window %s to %s has no day", page.From, page.To)
	}
	return f, page, err
}

func dayParam(q url.Values, name string) (time.Time, error) {
	text := q.Get(name)
	if text == "" {
		return time.Time{}, nil
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil || day.Year() < 1970 || day.Year() > 2200 {
		return time.Time{}, sizing.InvalidField(name, "must be a date such as 2020-01-31, not %.50q", text)
	}
	return day, nil
}

// fillMonths reads the total of all months, and the sums of the newest maxMonths months with a try, the newest first. For
// HTML it reads only as many of the newest months as fill the table, because the months of all tasks are thousands of rows.
func (d *Dashboard) fillMonths(ctx context.Context, page *Savings, f store.SavingsFilter, isHTML bool) error {
	page.Months = []MonthRow{}
	total, err := d.months(ctx, f, store.ByAll)
	if err != nil || len(total.rows) == 0 {
		return err
	}
	page.Total = total.sum
	shown := total.rows[:min(len(total.rows), maxMonths)]
	page.Chart = monthsFigure(shown)
	for count := 1; ; count *= 2 {
		part := f
		isPart := count < len(shown) && isHTML
		if !isPart {
			count = len(shown)
		}
		if count < len(total.rows) { // with all months, part.From stays f.From, because the oldest month may begin before it
			if part.From, err = time.Parse(monthLayout, shown[count-1].Month); err != nil {
				return err
			}
		}
		months, err := d.months(ctx, part, store.SavingsKey(page.By))
		if err != nil {
			return err
		}
		page.Months = months.rows
		if !isPart || len(page.Months) >= shownMonthRows {
			page.IsTruncated = count < len(total.rows)
			return nil
		}
	}
}

type monthSums struct {
	rows []MonthRow // the newest month first; only months with a try
	sum  savings.Row
}

func (d *Dashboard) months(ctx context.Context, f store.SavingsFilter, by store.SavingsKey) (*monthSums, error) {
	f.Monthly = true
	return cached(ctx, d.cache, "months "+sumsKey(&f, by), func(ctx context.Context) (*monthSums, error) {
		sums, err := d.svc.SavingsSums(ctx, f, by)
		if err != nil {
			return nil, err
		}
		months := &monthSums{rows: make([]MonthRow, len(sums))}
		for i := range sums {
			months.rows[i] = MonthRow{sums[i].Day.Format(monthLayout), savings.NewRow(&sums[i], by, d.cfg.Prices)}
		}
		slices.SortStableFunc(months.rows, func(a, b MonthRow) int { return strings.Compare(b.Month, a.Month) })
		for _, total := range totalOf(sums) {
			months.sum = savings.NewRow(&total, store.ByAll, d.cfg.Prices)
		}
		return months, nil
	})
}

const monthLayout = "2006-01"

// monthsFigure returns the chart of the savings by month. The rows must begin with the newest month.
func monthsFigure(rows []MonthRow) chart.Figure {
	saved := chart.Series{Name: "saved", Colour: 2, Style: chart.Bars}
	lost := chart.Series{Name: "lost to OOM kills", Colour: 4, Style: chart.Crosses}
	var months []string
	hasAmount := false
	for i := len(rows) - 1; i >= 0; i-- {
		r := &rows[i]
		if r.SavedGBH == nil {
			continue
		}
		at := float64(len(months))
		months = append(months, r.Month)
		saved.X, saved.Y = append(saved.X, at-0.5), append(saved.Y, *r.SavedGBH)
		saved.Titles = append(saved.Titles, fmt.Sprintf("%s: %s GB·h saved", r.Month, amount(*r.SavedGBH)))
		if r.KilledGBH != nil && *r.KilledGBH > 0 {
			lost.X, lost.Y = append(lost.X, at), append(lost.Y, *r.KilledGBH)
			lost.Titles = append(lost.Titles, fmt.Sprintf("%s: %s GB·h lost to %s", r.Month, amount(*r.KilledGBH), plural(r.Kills, "kill")))
		}
		hasAmount = hasAmount || *r.SavedGBH != 0 || nonzero(r.KilledGBH)
	}
	if len(months) < 2 || !hasAmount {
		return chart.Figure{}
	}
	saved.X = append(saved.X, float64(len(months))-0.5)
	series := []chart.Series{saved}
	if len(lost.X) > 0 {
		series = append(series, lost)
	}
	return chart.Spec{Title: "Saved by month", Summary: "Saved memory time of each month in GB·h", X: chart.Axis{Names: months}, Y: chart.Axis{Label: "GB·h"}, Series: series}.Draw()
}

func savingsTable(rows []MonthRow) (header []string, table [][]string) {
	header = []string{"month", "namespace", "dag_id", "task_id", "owner", "tries", "kills", "requested_gbh", "granted_gbh", "used_gbh", "killed_gbh", "wasted_gbh",
		"saved_gbh", "saved_core_h", "saved_money"}
	for i := range rows {
		r := &rows[i]
		table = append(table, []string{r.Month, orEmpty(r.Namespace), orEmpty(r.DagID), orEmpty(r.TaskID), orEmpty(r.Owner), strconv.Itoa(r.Tries), strconv.Itoa(r.Kills),
			csvNumber(r.RequestedGBH), csvNumber(r.GrantedGBH), csvNumber(r.UsedGBH), csvNumber(r.KilledGBH), csvNumber(r.WastedGBH), csvNumber(r.SavedGBH),
			csvNumber(r.SavedCoreH), csvNumber(r.SavedMoney)})
	}
	return header, table
}
