package postgres

import (
	"regexp"

	"github.com/loadaware/loadaware/internal/sizing"
)

var sqlComment = regexp.MustCompile(`(?m)--.*$`)

// stripComments removes the comments of an embedded file, so that logs and traces show only the statement. The files have no
// "--" in literals.
func stripComments(sql string) string { return sqlComment.ReplaceAllString(sql, "") }

// measuredColumns are the measured and the sampled peak of an observation in bytes. Each is 0 if unknown.
const measuredColumns = `CASE WHEN sampled_only THEN 0 ELSE coalesce(memory_max, 0) END, coalesce(memory_sampled, 0)`

// See sizing.IsReproduction. notReproduced continues a WHERE clause.
const (
	isReproduced  = `starts_with(run_id, '` + sizing.ReproductionPrefix + `')`
	notReproduced = ` AND NOT ` + isReproduced
)

// column returns one column of the rows. A statement gets many rows as one array per column, and rebuilds the rows with unnest.
func column[R, T any](rows []*R, get func(*R) T) []T {
	values := make([]T, len(rows))
	for i, r := range rows {
		values[i] = get(r)
	}
	return values
}

// flatten joins the lists of all rows into one array, because PostgreSQL arrays of arrays are
// rectangular. The list of row i is `flat[after[i]:to[i]]`; `to[i]` is nil for a nil list,
// which means unknown and not empty.
func flatten[R any](rows []*R, get func(*R) []float64) (flat []float64, after []int32, to []*int32) {
	flat, after, to = []float64{}, make([]int32, len(rows)), make([]*int32, len(rows))
	for i, r := range rows {
		list := get(r)
		after[i] = int32(len(flat))
		flat = append(flat, list...)
		if end := int32(len(flat)); list != nil {
			to[i] = &end
		}
	}
	return flat, after, to
}

func pointers[R any](rows []R) []*R {
	list := make([]*R, len(rows))
	for i := range rows {
		list[i] = &rows[i]
	}
	return list
}
