package postgres

// measuredColumns are the peak that was measured and the one that was sampled, 0
// where they are not known.
const measuredColumns = `CASE WHEN sampled_only THEN 0 ELSE coalesce(memory_max, 0) END, coalesce(memory_sampled, 0)`

// Many rows travel in one statement as one array for each column, which the
// statement puts together again with unnest.

// column is one value of every row.
func column[R, T any](rows []*R, get func(*R) T) []T {
	values := make([]T, len(rows))
	for i, r := range rows {
		values[i] = get(r)
	}
	return values
}

// flatten joins a list of every row into one array, since an array of arrays
// would have to be rectangular. The list of row i stands after after[i] up to
// to[i], which is null where the list is nil: unknown is not empty.
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

// pointers points to every row.
func pointers[R any](rows []R) []*R {
	at := make([]*R, len(rows))
	for i := range rows {
		at[i] = &rows[i]
	}
	return at
}
