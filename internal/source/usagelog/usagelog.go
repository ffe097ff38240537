// Package usagelog reads usage logs: CSV files with samples of the memory and CPU usage of
// one try, taken every few seconds.
//
//	# dag_id=pricing, task_id=load
//	# run_id=manual__3
//	# try_number=1
//	timestamp,memory_bytes,cpu_cores
//	2025-03-01T09:01:00Z,104857600,0.2
//	2025-03-01T09:01:05Z,734003200,0.98
//
// Comments at the top name the try. The path can name it instead, in the form of Airflow's log
// folders: dag_id=pricing/run_id=manual__3/task_id=load/attempt=1.csv. Files may be gzipped.
// Reading makes one pass in constant memory.
//
// The largest sample becomes a sampled peak, not a measured one, because samples miss
// short spikes. All samples are reduced to a usage series of at most sizing.MaxPoints points.
package usagelog

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/textfile"
)

// ErrInvalidFile means that a file is not a valid usage log.
var ErrInvalidFile = errors.New("invalid usage log")

// Log is the content of a usage log.
type Log struct {
	Try     sizing.TryKey
	Outcome sizing.Outcome // UnknownOutcome if the file does not state it
	Memory  sizing.Bytes   // the largest sample; 0 if none has memory
	CPU     sizing.Cores   // the largest sample; 0 if none has CPU
	From    time.Time      // time of the earliest sample
	To      time.Time      // time of the latest sample
	Samples int
	Series  *sizing.Series // nil if no sample has memory
}

// maxComment is the maximum length of a comment line in bytes: the size of the read buffer.
const maxComment = 64 << 10

// Read reads the usage log r, whose path may name the try. For invalid content its error wraps
// ErrInvalidFile.
func Read(r io.Reader, path string) (Log, error) {
	in, err := textfile.Open(r, maxComment)
	if err != nil {
		return Log{}, fmt.Errorf("%w: %w", ErrInvalidFile, err)
	}
	log, err := readHeader(in, path)
	if err != nil {
		return Log{}, err
	}
	rows := csv.NewReader(in)
	rows.ReuseRecord = true
	columns, err := header(rows)
	if err != nil {
		return Log{}, err
	}
	var samples downsampler
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil { // malformed CSV or gzip: later rows cannot be trusted
			return Log{}, fmt.Errorf("%w: %w", ErrInvalidFile, err)
		}
		if err := log.add(row, columns, &samples); err != nil {
			line, _ := rows.FieldPos(0)
			return Log{}, fmt.Errorf("%w: line %d after the comments: %w", ErrInvalidFile, line, err)
		}
	}
	if log.Samples == 0 {
		return Log{}, fmt.Errorf("%w: no samples", ErrInvalidFile)
	}
	log.Series = samples.series()
	return log, nil
}

// columnIndexes holds the positions of the columns; cpu is -1 if the column is absent.
type columnIndexes struct{ time, memory, cpu int }

func header(rows *csv.Reader) (columnIndexes, error) {
	names, err := rows.Read()
	if err != nil {
		return columnIndexes{}, fmt.Errorf("%w: missing header; the first line after the comments must name the columns timestamp, memory_bytes and, if known, cpu_cores", ErrInvalidFile)
	}
	at := func(name string) int {
		return slices.IndexFunc(names, func(n string) bool { return strings.TrimSpace(n) == name })
	}
	p := columnIndexes{at("timestamp"), at("memory_bytes"), at("cpu_cores")}
	if p.time < 0 || p.memory < 0 {
		return p, fmt.Errorf("%w: the header names the columns %.100q; it must name timestamp, memory_bytes and, if known, cpu_cores", ErrInvalidFile, strings.Join(names, ","))
	}
	return p, nil
}

// add adds a row to the log. It treats an empty cell as a value that was not sampled.
func (l *Log) add(row []string, columns columnIndexes, samples *downsampler) error {
	at, err := parseTime(strings.TrimSpace(row[columns.time]))
	if err != nil {
		return err
	}
	memory, err := parseAmount("memory_bytes", row[columns.memory], sizing.MaxBytes)
	if err != nil {
		return err
	}
	sample := slot{memory: memory}
	if columns.cpu >= 0 && strings.TrimSpace(row[columns.cpu]) != "" {
		sample.hasCPU = true
		if sample.cpu, err = parseAmount("cpu_cores", row[columns.cpu], float64(sizing.MaxCores)); err != nil {
			return err
		}
		l.CPU = max(l.CPU, sizing.Cores(sample.cpu))
	}
	l.Memory = max(l.Memory, sizing.Bytes(math.Ceil(memory)))
	samples.add(at, sample)
	if l.Samples == 0 || at.Before(l.From) {
		l.From = at
	}
	if at.After(l.To) {
		l.To = at
	}
	l.Samples++
	return nil
}

func parseAmount(column, cell string, limit float64) (float64, error) {
	cell = strings.TrimSpace(cell)
	if cell == "" {
		return 0, nil
	}
	v, err := strconv.ParseFloat(cell, 64)
	if err != nil || !(v >= 0 && v <= limit) {
		return 0, fmt.Errorf("%s: %.40q is not a number from 0 to %s; leave the cell empty if the value was not measured", column, cell, sizing.FormatNumber(limit))
	}
	return v, nil
}

// parseTime parses three formats: RFC 3339, str() of a Python datetime, and seconds since 1970. A time
// without a zone is UTC.
func parseTime(cell string) (time.Time, error) {
	const limit = 253e9 // in the year 9987; a larger number is probably in milliseconds
	if seconds, err := strconv.ParseFloat(cell, 64); err == nil && seconds >= 0 && seconds < limit {
		return time.UnixMicro(int64(math.Round(seconds * 1e6))).UTC(), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05", time.DateTime} {
		if t, err := time.Parse(layout, cell); err == nil {
			return t.UTC().Truncate(time.Microsecond), nil
		}
	}
	return time.Time{}, fmt.Errorf("timestamp: %.40q is not a time; use 2025-03-01T09:01:00Z or seconds since 1970", cell)
}

// Observation converts the log into an observation. It assumes success if the log does
// not state the outcome.
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

// Find returns the named files, and for each named folder the files below it that end in
// .csv or .csv.gz, sorted by path.
func Find(names ...string) ([]string, error) {
	var found []string
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			found = append(found, name)
			continue
		}
		err = filepath.WalkDir(name, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && strings.HasSuffix(strings.TrimSuffix(path, ".gz"), ".csv") {
				found = append(found, path)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// Open reads the usage log at path.
func Open(path string) (Log, error) {
	file, err := os.Open(path)
	if err != nil {
		return Log{}, err
	}
	defer file.Close()
	return Read(file, path)
}
