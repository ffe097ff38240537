package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/loadaware/loadaware/internal/source/file"
)

// LayoutFlags defines the flags --map and --unit of a CSV and returns the layout that they set.
func (cmd *Command) LayoutFlags() *file.Layout {
	var layout file.Layout
	cmd.StringVar(&layout.Unit, "unit", "", "`unit` of the memory columns of a CSV: B, kB, MB, GB, TB, KiB, MiB, GiB or TiB; bytes if empty")
	cmd.Func("map", "`COLUMN=FIELD`: field of a column of a CSV, such as peak=memory_max_bytes or rows=feature.rows; peak= ignores the column; may be repeated",
		func(s string) error { return mapColumn(&layout, s) })
	return &layout
}

// CheckLayout checks the values of the flags that LayoutFlags defines.
func CheckLayout(layout *file.Layout) error {
	if err := layout.Check(); err != nil {
		return UsageErrorf("--map or --unit: %v", err)
	}
	return nil
}

func mapColumn(layout *file.Layout, s string) error {
	column, field, ok := strings.Cut(s, "=")
	if column = strings.TrimSpace(column); !ok || column == "" {
		return errors.New("write COLUMN=FIELD, such as peak=memory_max_bytes")
	}
	if layout.Fields == nil {
		layout.Fields = map[string]string{}
	}
	if _, exists := layout.Fields[column]; exists {
		return fmt.Errorf("column %q is mapped twice", column)
	}
	layout.Fields[column] = strings.TrimSpace(field)
	return nil
}
