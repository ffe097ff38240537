// Package usagelog reads files of samples: what one try used, every few seconds.
//
//	# dag_id=pricing, task_id=load
//	# run_id=manual__3
//	# try_number=1
//	timestamp,memory_bytes,cpu_cores
//	2025-03-01T09:01:00Z,104857600,0.2
//	2025-03-01T09:01:05Z,734003200,0.98
//
// Which try it is stands in comments at the top, or in the path, as in Airflow's own
// folders of logs: dag_id=pricing/run_id=manual__3/task_id=load/attempt=1.csv. The
// file may be gzip. It is read in one pass in constant memory.
//
// Of the samples their largest is taken: a peak that is sampled, not measured, since
// what was short between two of them is not in them. The course of them all is kept as
// a series of few points.
package usagelog

import (
	"bufio"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// ErrFile is a file that is no usage log, or cannot be read as one.
var ErrFile = errors.New("is no usage log")

// Log is what a file tells of its try.
type Log struct {
	Try     sizing.TryKey
	Outcome sizing.Outcome // UnknownOutcome where the file does not say
	Memory  sizing.Bytes   // the largest sample
	CPU     sizing.Cores   // the largest sample; 0 where none was taken
	From    time.Time      // of the first sample
	To      time.Time      // of the last one
	Samples int
	Series  *sizing.Series // nil where no sample has memory
}

// maxHeader bounds the comments and the line of column names.
const maxHeader = 64 << 10

// Read reads a file found at path. Errors are ErrFile, or of reading.
func Read(r io.Reader, path string) (Log, error) {
	in := bufio.NewReaderSize(r, maxHeader)
	if magic, _ := in.Peek(2); string(magic) == "\x1f\x8b" {
		plain, err := gzip.NewReader(in)
		if err != nil {
			return Log{}, fmt.Errorf("%w: %w", ErrFile, err)
		}
		in = bufio.NewReaderSize(plain, maxHeader)
	}
	log, err := name(in, path)
	if err != nil {
		return Log{}, err
	}
	rows := csv.NewReader(in)
	rows.ReuseRecord = true
	columns, err := header(rows)
	if err != nil {
		return Log{}, err
	}
	var course points
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil { // a broken row, or a broken gzip: what follows cannot be trusted
			return Log{}, fmt.Errorf("%w: %w", ErrFile, err)
		}
		if err := log.add(row, columns, &course); err != nil {
			line, _ := rows.FieldPos(0)
			return Log{}, fmt.Errorf("%w: line %d behind the comments: %w", ErrFile, line, err)
		}
	}
	if log.Samples == 0 {
		return Log{}, fmt.Errorf("%w: it holds no samples", ErrFile)
	}
	log.Series = course.series()
	return log, nil
}

// places of the columns; cpu is -1 where there is none.
type places struct{ time, memory, cpu int }

func header(rows *csv.Reader) (places, error) {
	names, err := rows.Read()
	if err != nil {
		return places{}, fmt.Errorf("%w: it has no line of column names: timestamp,memory_bytes,cpu_cores", ErrFile)
	}
	at := func(name string) int {
		return slices.IndexFunc(names, func(n string) bool { return strings.TrimSpace(n) == name })
	}
	p := places{at("timestamp"), at("memory_bytes"), at("cpu_cores")}
	if p.time < 0 || p.memory < 0 {
		return p, fmt.Errorf("%w: its columns are %.100q: wanted are timestamp, memory_bytes and, if known, cpu_cores", ErrFile, strings.Join(names, ","))
	}
	return p, nil
}

// add takes one sample in. A blank cell is a sample that was not taken.
func (l *Log) add(row []string, at places, course *points) error {
	when, err := instant(strings.TrimSpace(row[at.time]))
	if err != nil {
		return err
	}
	memory, err := amount("memory_bytes", row[at.memory], sizing.MaxBytes)
	if err != nil {
		return err
	}
	var cpu float64
	if at.cpu >= 0 {
		cpu, err = amount("cpu_cores", row[at.cpu], float64(sizing.MaxCores))
		if err != nil {
			return err
		}
		l.CPU = max(l.CPU, sizing.Cores(cpu))
	}
	l.Memory = max(l.Memory, sizing.Bytes(math.Ceil(memory)))
	course.add(when, memory, cpu)
	if l.Samples == 0 || when.Before(l.From) {
		l.From = when
	}
	if when.After(l.To) {
		l.To = when
	}
	l.Samples++
	return nil
}

func amount(column, cell string, most float64) (float64, error) {
	cell = strings.TrimSpace(cell)
	if cell == "" {
		return 0, nil
	}
	v, err := strconv.ParseFloat(cell, 64)
	if err != nil || !(v >= 0 && v <= most) {
		return 0, fmt.Errorf("%s: %.40q is not a number from 0 to %g", column, cell, most)
	}
	return v, nil
}

// instant reads RFC 3339, what Python's str() makes of a time, and seconds since 1970.
// A time without a zone is UTC.
func instant(cell string) (time.Time, error) {
	if seconds, err := strconv.ParseFloat(cell, 64); err == nil && seconds >= 0 && seconds < 253e9 {
		return time.UnixMicro(int64(math.Round(seconds * 1e6))).UTC(), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05", time.DateTime} {
		if t, err := time.Parse(layout, cell); err == nil {
			return t.UTC().Truncate(time.Microsecond), nil
		}
	}
	return time.Time{}, fmt.Errorf("timestamp: %.40q is no time: write 2025-03-01T09:01:00Z, or seconds since 1970", cell)
}

// Observation is the try as far as its log tells it: assumed to have succeeded where the
// log does not say how it ended.
func (l *Log) Observation() sizing.Observation {
	outcome := l.Outcome
	if outcome == sizing.UnknownOutcome {
		outcome = sizing.Success
	}
	return sizing.Observation{
		Try: l.Try, Outcome: outcome,
		MemorySampled: l.Memory, CPUMax: l.CPU,
		Series:    l.Series,
		StartedAt: l.From, EndedAt: l.To, Duration: l.To.Sub(l.From),
	}
}
