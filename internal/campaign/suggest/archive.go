// Package suggest reads archives of runs and chooses the runs to reproduce; see Rank.
package suggest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/loadaware/loadaware/internal/campaign"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/source/file"
	"github.com/loadaware/loadaware/internal/textfile"
)

// Archive contains the archived runs of one or more DAGs.
type Archive struct {
	Runs  []campaign.ArchivedRun // one for each namespace, DAG and run id, or for each line of a list of runs
	Rows  []sizing.Observation   // tries of a history; none in a list of runs
	RunOf []int                  // index in Runs of the run of each row
	Lines []int                  // line of each row
}

type runLine struct {
	Scenario      string          `json:"scenario"`
	ExecutionDate time.Time       `json:"execution_date"`
	Conf          json.RawMessage `json:"conf"`
}

// Read reads an archive: a history in a format of package source/file, or a list of runs as JSON
// lines with scenario (the name of the run), execution_date and conf. For a run in a history, the run
// id is the scenario, and the conf has the features whose values do not differ between the rows of the run.
func Read(r io.Reader) (*Archive, error) { return ReadAs(r, file.Layout{}) }

// ReadAs is like Read, for a CSV whose columns have the names and units of `layout`.
func ReadAs(r io.Reader, layout file.Layout) (*Archive, error) {
	in, err := textfile.Open(r, detectionBytes)
	if err != nil {
		return nil, sizing.Errorf(sizing.Invalid, "%w", err)
	}
	if start, _ := in.Peek(detectionBytes); isRunList(start) {
		return readRuns(in)
	}
	reader, err := file.OpenAs(in, layout)
	if err != nil {
		return nil, err
	}
	a := &Archive{}
	known := map[sizing.TaskKey]map[string]int{} // by DAG, then run id
	for row, err := range reader.All() {
		if err != nil {
			return nil, err
		}
		if err := a.add(&row, known); err != nil {
			return nil, err
		}
	}
	a.setConfs()
	return a, nil
}

// detectionBytes contain the scenario of the first run even if the scenario follows the longest conf.
const detectionBytes = 2 * campaign.MaxConf

// isRunList reports whether `start`, the first bytes of an archive, begins a JSON object with a scenario.
func isRunList(start []byte) bool {
	decoder := json.NewDecoder(bytes.NewReader(start))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return false
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil || name == "scenario" {
			return err == nil
		}
		var value json.RawMessage
		if decoder.Decode(&value) != nil {
			return false
		}
	}
	return false
}

// add adds a row and, if the row is the first one of its run, the run. It leaves the conf of a new run empty; setConfs sets
// it.
func (a *Archive) add(row *file.Row, known map[sizing.TaskKey]map[string]int) error {
	o := &row.Observation
	dag := sizing.TaskKey{Namespace: o.Try.Namespace, DAG: o.Try.DAG}
	if known[dag] == nil {
		known[dag] = map[string]int{}
	}
	n, ok := known[dag][o.Try.RunID]
	if !ok {
		at := o.StartedAt
		if at.IsZero() {
			at = o.EndedAt
		}
		if at.IsZero() {
			return sizing.Errorf(sizing.Invalid, "line %d: run %q has no started_at; add it, because it becomes the execution date", row.Line, o.Try.RunID)
		}
		n = len(a.Runs)
		known[dag][o.Try.RunID] = n
		a.Runs = append(a.Runs, campaign.ArchivedRun{Scenario: o.Try.RunID, ExecutionDate: at.UTC().Truncate(time.Second)})
	}
	a.Rows, a.RunOf, a.Lines = append(a.Rows, *o), append(a.RunOf, n), append(a.Lines, row.Line)
	return nil
}

// CheckDAG returns an error if a row is of another DAG. The error names the first such row. A list of runs names no DAG.
func (a *Archive) CheckDAG(dag string) error {
	for i := range a.Rows {
		if other := a.Rows[i].Try.DAG; other != dag {
			return sizing.Errorf(sizing.Invalid, "line %d: the run %q is of DAG %q, not of DAG %q", a.Lines[i], a.Rows[i].Try.RunID, other, dag)
		}
	}
	return nil
}

// OfDAG returns the part of the archive with the runs of a DAG, or an error if the archive has no such run. A list
// of runs names no DAG and is returned unchanged.
func (a *Archive) OfDAG(dag string) (*Archive, error) {
	if len(a.Rows) == 0 {
		return a, nil
	}
	isOf, dags := make([]bool, len(a.Runs)), map[string]bool{}
	for i, run := range a.RunOf {
		isOf[run] = a.Rows[i].Try.DAG == dag
		dags[a.Rows[i].Try.DAG] = true
	}
	if !dags[dag] {
		return nil, sizing.Errorf(sizing.Invalid, "no row is of DAG %q; the rows are of %s", dag, strings.Join(slices.Sorted(maps.Keys(dags)), ", "))
	}
	return a.filter(func(run int) bool { return isOf[run] }), nil
}

func (a *Archive) filter(keep func(run int) bool) *Archive {
	part := &Archive{}
	position := make([]int, len(a.Runs)) // by index in a.Runs: the index of the run in part.Runs; −1 if the run is left out
	for i := range a.Runs {
		position[i] = -1
		if keep(i) {
			position[i] = len(part.Runs)
			part.Runs = append(part.Runs, a.Runs[i])
		}
	}
	for i, run := range a.RunOf {
		if position[run] >= 0 {
			part.Rows, part.RunOf, part.Lines = append(part.Rows, a.Rows[i]), append(part.RunOf, position[run]), append(part.Lines, a.Lines[i])
		}
	}
	return part
}

// Candidates returns one candidate for each run. In a history, the features of a candidate are those of the tasks of
// its run. In a list of runs, they are the conf and the execution date.
func (a *Archive) Candidates() []Candidate {
	candidates := make([]Candidate, len(a.Runs))
	if len(a.Rows) == 0 {
		for i := range a.Runs {
			candidates[i].Features = a.Runs[i].Features()
		}
	}
	for i := range a.Rows {
		c := &candidates[a.RunOf[i]]
		if c.Features == nil {
			c.Features = sizing.Features{}
		}
		for name, v := range a.Rows[i].Features {
			if _, known := c.Features[name]; !known {
				c.Features[name] = v
			}
		}
	}
	return candidates
}

// Split returns the part of the archive without the registered runs (`rest`), and the features of the registered runs
// (`known`). A run of the archive counts as registered if a run in `registered` has the same scenario, conf and
// execution date.
func (a *Archive) Split(registered []campaign.ArchivedRun) (rest *Archive, known []Candidate) {
	type key struct {
		hash string
		at   int64
	}
	keyOf := func(run *campaign.ArchivedRun) key { return key{run.Hash(), run.ExecutionDate.UnixMicro()} }
	isKnown := map[key]bool{}
	for i := range registered {
		isKnown[keyOf(&registered[i])] = true
		known = append(known, Candidate{Features: registered[i].Features()})
	}
	return a.filter(func(run int) bool { return !isKnown[keyOf(&a.Runs[run])] }), known
}

// Write writes runs as JSON lines, which Read can read.
func Write(w io.Writer, runs []campaign.ArchivedRun) error {
	encoder := json.NewEncoder(w)
	for i := range runs {
		if err := encoder.Encode(runLine{runs[i].Scenario, runs[i].ExecutionDate, runs[i].Conf}); err != nil {
			return err
		}
	}
	return nil
}

func readRuns(in io.Reader) (*Archive, error) {
	a := &Archive{}
	decoder := json.NewDecoder(in)
	for n := 1; ; n++ {
		var line runLine
		err := decoder.Decode(&line)
		if errors.Is(err, io.EOF) {
			return a, nil
		}
		if err != nil {
			return nil, fmt.Errorf("run %d: %w; write one {\"scenario\", \"execution_date\", \"conf\"} per line", n, err)
		}
		a.Runs = append(a.Runs, campaign.ArchivedRun{Scenario: line.Scenario, ExecutionDate: line.ExecutionDate.Truncate(time.Second), Conf: line.Conf})
	}
}
