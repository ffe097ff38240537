// Package dataframe replaces the module github.com/rocketlaunchr/dataframe-go, whose licence restricts the use of
// programs that contain it. golearn's package base imports that module for its function ConvertDataFrameToInstances,
// which loadaware does not call. Package dataframe declares only the types and methods that this function needs to compile.
// It was written from golearn's calls and contains no code of the original.
package dataframe

// Series is a named column.
type Series interface {
	Name() string
	NRows() int
	Value(row int) any // row counts from 0
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
