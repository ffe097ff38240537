package growth

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/textfile"
)

// Columns lists the columns of a file of series. They may have any order. cpu_cores may be empty or
// missing.
var Columns = []string{"dag_id", "task_id", "run_id", "seconds", "memory_bytes", "cpu_cores"}

var required = Columns[:5]

// Run is the usage of one run over time.
type Run struct {
	Task    sizing.TaskKey // in the default namespace
	ID      string
	Seconds []float64 // since the first sample, ascending
	Memory  []float64 // bytes
	CPU     []float64 // cores; NaN: unknown
}

// width returns the duration of sample i in seconds: the time until the next sample. The last sample
// has the duration of the sample before it, and a single sample takes one second.
func (r *Run) width(i int) float64 {
	switch n := len(r.Seconds); {
	case n == 1:
		return 1
	case i == n-1:
		return r.Seconds[i] - r.Seconds[i-1]
	}
	return r.Seconds[i+1] - r.Seconds[i]
}

// duration returns the length of the run in seconds.
func (r *Run) duration() float64 {
	n := len(r.Seconds)
	return r.Seconds[n-1] + r.width(n-1)
}

func (r *Run) peak() float64 { return slices.Max(r.Memory) }

// Read reads a CSV file of series, plain or gzip. The runs are in the order of their
// first rows. An unreadable row is an error of kind sizing.Invalid that names the line.
func Read(name string, from io.Reader) ([]*Run, error) {
	plain, err := textfile.Open(from, 1<<16)
	if err != nil {
		return nil, sizing.Errorf(sizing.Invalid, "%s: %v", name, err)
	}
	rows := csv.NewReader(plain)
	rows.ReuseRecord = true
	header, err := rows.Read()
	if err != nil {
		return nil, sizing.Errorf(sizing.Invalid, "%s: read the header: %v; it needs the columns %s", name, err, strings.Join(required, ", "))
	}
	columns, err := columnsOf(header)
	if err != nil {
		return nil, sizing.Errorf(sizing.Invalid, "%s: %v", name, err)
	}
	s := reader{columns: columns, byKey: map[string]*Run{}}
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil { // a csv.ParseError states its line
			return nil, sizing.Errorf(sizing.Invalid, "%s: %v", name, err)
		}
		if err := s.add(row); err != nil {
			line, _ := rows.FieldPos(0)
			return nil, sizing.Errorf(sizing.Invalid, "%s: line %d: %v", name, line, err)
		}
	}
	if len(s.runs) == 0 {
		return nil, sizing.Errorf(sizing.Invalid, "%s: nothing to replay: the file has no rows", name)
	}
	return s.runs, nil
}

func columnsOf(header []string) ([]int, error) {
	at := make([]int, len(Columns))
	for i, name := range Columns {
		at[i] = slices.IndexFunc(header, func(h string) bool { return strings.TrimSpace(h) == name })
		if at[i] < 0 && i < len(required) {
			return nil, fmt.Errorf("column %s is missing; the header needs %s", name, strings.Join(required, ", "))
		}
	}
	return at, nil
}

type reader struct {
	columns  []int           // position of each of Columns; −1: missing
	runs     []*Run          // in order of their first rows
	byKey    map[string]*Run // by DAG, task and run
	previous *Run
	begin    map[*Run]float64 // seconds of the first row of each run
}

func (s *reader) add(row []string) error {
	cell := func(i int) string {
		if s.columns[i] < 0 {
			return ""
		}
		return strings.TrimSpace(row[s.columns[i]])
	}
	run, err := s.runOf(cell(0), cell(1), cell(2))
	if err != nil {
		return err
	}
	var values [3]float64
	for i := range values {
		values[i], err = number(Columns[3+i], cell(3+i))
		if err != nil {
			return err
		}
	}
	if s.begin == nil {
		s.begin = map[*Run]float64{}
	}
	if len(run.Seconds) == 0 {
		s.begin[run] = values[0]
	}
	seconds := values[0] - s.begin[run]
	if n := len(run.Seconds); n > 0 {
		switch before := run.Seconds[n-1]; {
		case seconds < before:
			return fmt.Errorf("seconds %v is less than in the previous row of run %q; sort the rows of each run by seconds", values[0], run.ID)
		case seconds == before: // two samples at the same time count as one with the larger values; the CPU use is NaN if one of the two is unknown
			run.Memory[n-1], run.CPU[n-1] = max(run.Memory[n-1], values[1]), max(run.CPU[n-1], values[2])
			return nil
		}
	}
	run.Seconds, run.Memory, run.CPU = append(run.Seconds, seconds), append(run.Memory, values[1]), append(run.CPU, values[2])
	return nil
}

// number parses the text of a cell. The number of an empty cpu_cores is NaN.
func number(column, text string) (float64, error) {
	if text == "" && column == "cpu_cores" {
		return math.NaN(), nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= 0) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%s %q is not a usable number; give a finite number of at least 0", column, text)
	}
	if column == "memory_bytes" && v > float64(sizing.MaxBytes) {
		return 0, fmt.Errorf("%s %q is too large; give at most %d (8 PiB)", column, text, int64(sizing.MaxBytes))
	}
	return v, nil
}

func (s *reader) runOf(dag, task, id string) (*Run, error) {
	if r := s.previous; r != nil && r.ID == id && r.Task.Task == task && r.Task.DAG == dag {
		return r, nil
	}
	name := dag + "\x00" + task + "\x00" + id
	if s.byKey[name] == nil {
		key := sizing.TaskKey{Namespace: sizing.DefaultNamespace, DAG: dag, Task: task}
		if bad := key.Validate(); len(bad) > 0 {
			return nil, fmt.Errorf("%s: %s", bad[0].Field, bad[0].Detail)
		}
		if detail := sizing.CheckRunID(id); detail != "" {
			return nil, fmt.Errorf("run_id: %s", detail)
		}
		run := &Run{Task: key, ID: strings.Clone(id)}
		run.Task.DAG, run.Task.Task = strings.Clone(dag), strings.Clone(task)
		s.byKey[name], s.runs = run, append(s.runs, run)
	}
	s.previous = s.byKey[name]
	return s.previous, nil
}
