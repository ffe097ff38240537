package main

import "fmt"

// zonelessTimes counts the rows of a file whose times name no zone.
type zonelessTimes struct {
	rows, line int // line is that of the first
	column     string
}

func (z *zonelessTimes) add(column string, line int) {
	if column == "" {
		return
	}
	if z.rows++; z.rows == 1 {
		z.line, z.column = line, column
	}
}

// warning says how the times were read; empty if all of them name a zone.
func (z *zonelessTimes) warning() string {
	if z.rows == 0 {
		return ""
	}
	return fmt.Sprintf("warning: %s of line %d has no zone or no time of day, and is read as UTC; so are %d rows in all", z.column, z.line, z.rows)
}
