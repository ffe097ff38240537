// Package dataframe replaces github.com/rocketlaunchr/dataframe-go, which golearn's package base imports and whose
// licence restricts the use of programs that contain it. It was written from golearn's calls: it has what
// base.ConvertDataFrameToInstances needs to compile, which loadaware does not call, and no code of the original.
package dataframe

// Series is a named column.
type Series interface {
	Name() string
	NRows() int
	Value(row int) any
}

// DataFrame is a table whose columns have the same number of rows.
type DataFrame struct{ Series []Series }

// Names returns the names of the columns.
func (d *DataFrame) Names() []string {
	names := make([]string, len(d.Series))
	for i, s := range d.Series {
		names[i] = s.Name()
	}
	return names
}

// NRows returns the number of rows.
func (d *DataFrame) NRows() int {
	if len(d.Series) == 0 {
		return 0
	}
	return d.Series[0].NRows()
}
