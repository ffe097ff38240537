package file

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// parseNumber parses a decimal number. It accepts "4.0" and "8e9", which tools with
// floating-point columns write for whole numbers, and rejects "0x1p4", which
// strconv.ParseFloat alone would accept.
func parseNumber(cell string) (float64, bool) {
	cell = strings.TrimSpace(cell)
	for i := range len(cell) {
		if c := cell[i]; (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			return 0, false
		}
	}
	v, err := strconv.ParseFloat(cell, 64)
	return v, err == nil
}

func notNumber(cell, what string) error {
	if _, ok := parseNumber(strings.Replace(cell, ",", ".", 1)); ok && strings.Contains(cell, ",") {
		return fmt.Errorf("%.40q is not %s; write the decimal comma as a point, and no separator of thousands", cell, what)
	}
	return fmt.Errorf("%.40q is not %s", cell, what)
}

func parseBytes(cell string, b *sizing.Bytes) error {
	v, ok := parseNumber(cell)
	if !ok {
		return notNumber(cell, "a number of bytes, such as 3560151999")
	}
	if !(v > 0 && v <= sizing.MaxBytes) {
		return fmt.Errorf("%.40q must be 1 to %d bytes; leave the cell empty if unknown", cell, int64(sizing.MaxBytes))
	}
	*b = sizing.Bytes(math.Ceil(v))
	return nil
}

// parseCores sets a number of cores from a cell. It also accepts 0, which means "unknown", because monitoring systems round the
// usage of an idle container to 0.
func parseCores(cell string, c *sizing.Cores) error {
	v, ok := parseNumber(cell)
	if !ok || v < 0 || v > float64(sizing.MaxCores) {
		return notNumber(cell, fmt.Sprintf("a number of cores from 0 to %.0f, such as 0.76", float64(sizing.MaxCores)))
	}
	*c = sizing.Cores(v)
	return nil
}

func parseSeconds(cell string, d *time.Duration) error {
	v, ok := parseNumber(cell)
	if !ok || v < 0 || v > sizing.MaxDuration.Seconds() {
		return notNumber(cell, fmt.Sprintf("a number of seconds from 0 to %.0f", sizing.MaxDuration.Seconds()))
	}
	*d = sizing.DurationOf(v)
	return nil
}

func parseInt(cell string, i *int) error {
	v, ok := parseNumber(cell)
	if !ok || v != math.Trunc(v) {
		return fmt.Errorf("%.40q is not a whole number", cell)
	}
	if math.Abs(v) > math.MaxInt32 {
		return fmt.Errorf("%.40q is not between %d and %d", cell, -math.MaxInt32, math.MaxInt32)
	}
	*i = int(v)
	return nil
}

func parseOutcome(cell string, o *sizing.Outcome) error {
	outcome, ok := sizing.ParseOutcome(strings.TrimSpace(cell))
	if _, isLower := sizing.ParseOutcome(strings.ToLower(strings.TrimSpace(cell))); !ok && isLower {
		return fmt.Errorf("%.40q is not an outcome; write it in lower case", cell)
	}
	if !ok {
		return fmt.Errorf("%.40q must be one of success, oom_killed, app_oom, failed, killed, evicted, unschedulable", cell)
	}
	*o = outcome
	return nil
}

// parseTime parses RFC 3339 and the formats that Python and PostgreSQL write. A time
// without a zone is UTC.
func parseTime(cell string, t *time.Time) error {
	for _, layout := range []string{
		time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05Z07", "2006-01-02T15:04:05", time.DateTime, time.DateOnly,
	} {
		if parsed, err := time.Parse(layout, strings.TrimSpace(cell)); err == nil {
			if !isPlausibleYear(parsed) {
				return fmt.Errorf("%.40q must be in the years 1970 to 2199 in UTC", cell)
			}
			*t = parsed.UTC().Truncate(time.Microsecond)
			return nil
		}
	}
	return errors.New(strconv.Quote(cell[:min(len(cell), 40)]) + " is not a time, such as 2020-01-03T02:00:00Z")
}

// isPlausibleYear reports whether the year is from 1970 to 2199. Other years usually come from a wrong unit. POST /observe
// rejects the same years.
func isPlausibleYear(t time.Time) bool {
	year := t.UTC().Year()
	return year >= 1970 && year < 2200
}

// parseLoad sets the load of the cluster from a cell. It does not check the range, because sizing.Placement.Bounded drops a value
// outside 0 to 1.
func parseLoad(cell string, o *sizing.Observation) error {
	v, ok := parseNumber(cell)
	if !ok {
		return notNumber(cell, "a number from 0 to 1")
	}
	o.Placement.ClusterLoad = &v
	return nil
}

func parseValues(cell string) []string {
	if strings.HasPrefix(cell, "[") {
		var values []string
		if json.Unmarshal([]byte(cell), &values) == nil && len(values) > 0 {
			return values
		}
	}
	return []string{cell}
}

// parseUpstream parses the ids of upstream tasks, separated by semicolons or as a JSON list. An empty cell
// gives an empty list and not nil: the task has no upstream task.
func parseUpstream(cell string) ([]string, error) {
	ids := []string{}
	if cell = strings.TrimSpace(cell); strings.HasPrefix(cell, "[") {
		if err := json.Unmarshal([]byte(cell), &ids); err != nil {
			return nil, fmt.Errorf("%.40q is not a JSON list of task ids", cell)
		}
	} else if cell != "" {
		for id := range strings.SplitSeq(cell, ";") {
			ids = append(ids, strings.TrimSpace(id))
		}
	}
	for _, id := range ids {
		if detail := sizing.CheckID(id); detail != "" {
			return nil, fmt.Errorf("the task id %.40q %s; write ids such as extract;transform, or leave the cell empty", id, detail)
		}
	}
	return ids, nil
}

// formatValues is the inverse of parseValues. It formats a blank value as a list, because a blank cell means that there is no
// entry.
func formatValues(values []string) string {
	if len(values) == 0 {
		return ""
	}
	if len(values) == 1 && !strings.HasPrefix(values[0], "[") && strings.TrimSpace(values[0]) != "" {
		return values[0]
	}
	text, _ := json.Marshal(values) // strings never fail
	return string(text)
}

// parseFeature reads a feature like a parameter of GET /predict. The cells nan, NaN, inf and -inf, which tools write for
// an absent number, count as missing.
func parseFeature(cell string) sizing.Value {
	switch cell {
	case "nan", "NaN", "inf", "-inf":
		return sizing.Value{}
	}
	return sizing.UntypedValue(cell)
}

func formatFeature(v sizing.Value) string {
	switch value := v.JSON().(type) {
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(value)
	case string:
		return value
	}
	return ""
}

// formatNumber returns the cell for a number. The cell for 0 is empty, because 0 means "unknown".
func formatNumber(v float64) string {
	if v == 0 {
		return ""
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

func formatInt(i, defaultValue int) string {
	if i == defaultValue {
		return ""
	}
	return strconv.Itoa(i)
}

func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
