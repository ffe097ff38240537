package importer

import (
	"fmt"

	"github.com/loadaware/loadaware/internal/render"
)

// zonelessTimes counts the rows of a file that contain a time without a zone or without a time of day.
type zonelessTimes struct {
	rows   int
	line   int    // line of the first such row
	column string // column of its time
}

func (z *zonelessTimes) add(column string, line int) {
	if column == "" {
		return
	}
	if z.rows++; z.rows == 1 {
		z.line, z.column = line, column
	}
}

func (z *zonelessTimes) warning() string {
	if z.rows == 0 {
		return ""
	}
	return fmt.Sprintf("warning: %s of line %d has no zone or no time of day, and is read as UTC; %s in all", z.column, z.line, render.Count(z.rows, "row"))
}
