package render

import (
	"fmt"
	"io"
	"strconv"

	"github.com/loadaware/loadaware/internal/insight/savings"
)

// Savings prints savings in one of ReportFormats.
func Savings(w io.Writer, format string, a *savings.Answer) error {
	switch format {
	case "json":
		return JSON(w, a)
	case "yaml":
		return YAML(w, a)
	}
	if len(a.Rows) == 0 && format == "table" {
		_, err := fmt.Fprintln(w, "no try is reported in this window; report runs to POST /observe, or import a history with loadaware import")
		return err
	}
	s := reportTable{
		header: []string{a.By, "tries", "kills", "requested GB·h", "granted GB·h", "used GB·h", "killed GB·h", "saved GB·h", "saved core·h"}, textColumns: 1,
		csvHeader: []string{"day", "namespace", "dag_id", "task_id", "owner", "tries", "successes", "kills", "unaccounted_tries", "unmeasured_tries",
			"success_hours", "requested_gbh", "granted_gbh", "used_gbh", "used_hours", "killed_gbh", "wasted_gbh", "saved_gbh", "no_request_gbh", "saved_core_h", "saved_money"},
		caption: "Window: " + window(a.From, a.To, a.FirstDay, a.LastDay) + ". GB = 1e9 bytes. " + formula(&a.Total) + "." + gaps(&a.Total),
	}
	money := a.Total.SavedMoney != nil
	if money {
		s.header = append(s.header, "saved "+orElse(a.Currency, "money"))
	}
	for i := range a.Rows {
		r := &a.Rows[i]
		s.rows = append(s.rows, savingsCells(rowName(r), r, money))
		s.csvRows = append(s.csvRows, savingsCSV(r))
	}
	s.footer = savingsCells("total", &a.Total, money)
	return s.write(w, format, false)
}

func savingsCells(name string, r *savings.Row, money bool) []string {
	row := []string{name, strconv.Itoa(r.Tries), strconv.Itoa(r.Kills), figure(r.RequestedGBH), figure(r.GrantedGBH), figure(r.UsedGBH),
		figure(r.KilledGBH), figure(r.SavedGBH), figure(r.SavedCoreH)}
	if money {
		row = append(row, figure(r.SavedMoney))
	}
	return row
}

func savingsCSV(r *savings.Row) []string {
	return []string{exact(r.Day), exact(r.Namespace), exact(r.DagID), exact(r.TaskID), exact(r.Owner),
		strconv.Itoa(r.Tries), strconv.Itoa(r.Successes), strconv.Itoa(r.Kills), strconv.Itoa(r.UnaccountedTries), strconv.Itoa(r.UnmeasuredTries),
		exact(r.SuccessHours), exact(r.RequestedGBH), exact(r.GrantedGBH), exact(r.UsedGBH), exact(r.UsedHours), exact(r.KilledGBH), exact(r.WastedGBH),
		exact(r.SavedGBH), exact(&r.NoRequestGBH), exact(r.SavedCoreH), exact(r.SavedMoney)}
}

func formula(total *savings.Row) string {
	text := "saved = requested − granted − killed"
	if total.NoRequestGBH > 0 {
		text += fmt.Sprintf(" + %s GB·h of tasks without a known request", figure(&total.NoRequestGBH))
	}
	return text
}

func gaps(total *savings.Row) string {
	if total.UnaccountedTries == 0 {
		return ""
	}
	return fmt.Sprintf(" The GB·h omit %d successes and kills without a known duration or allocation; only the used GB·h may include some of them.", total.UnaccountedTries)
}

func rowName(r *savings.Row) string {
	switch {
	case r.Day != nil:
		return r.Day.String()
	case r.DagID != nil:
		return taskName(orElse(r.Namespace, ""), *r.DagID, orElse(r.TaskID, ""))
	}
	return orElse(r.Owner, notKnown)
}

func orElse(text *string, other string) string {
	if text == nil {
		return other
	}
	return *text
}
