package taskmodel

import (
	"fmt"
	"math"
	"sync"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/ml/resample"
	"github.com/loadaware/loadaware/internal/ml/table"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Dataset holds the measured rows of a task's history for experiments (docs/experiments.md). The rows are in the order of
// the history, oldest first, and numbered from 0 to Len()−1.
//
//	rows ─▶ Raw ─▶ (oversampled) ─▶ Encoding ─▶ classifiers
//	  └───▶ Serve: the production model on the same rows
type Dataset struct {
	Task   sizing.TaskKey
	schema sizing.Schema
	rows   []sizing.HistoryRow
}

// NewDataset selects the rows of h whose peak was measured or sampled. It raises sampled peaks to
// estimates of the true peaks; see sampling.go.
func NewDataset(h *sizing.History) *Dataset {
	sampled := samplingOf(h.Task, h.Pairs)
	h = sampled.raiseHistory(h)
	d := &Dataset{Task: h.Task, schema: h.Schema}
	for i := range h.Rows {
		if _, censoring := h.Rows[i].Peak(); censoring == sizing.Exact {
			d.rows = append(d.rows, h.Rows[i])
		}
	}
	return d
}

// Len returns the number of rows.
func (d *Dataset) Len() int { return len(d.rows) }

// Row returns a row of the history.
func (d *Dataset) Row(i int) *sizing.HistoryRow { return &d.rows[i] }

// Peak returns the peak of a row, in bytes.
func (d *Dataset) Peak(i int) float64 {
	bytes, _ := d.rows[i].Peak()
	return math.Max(1, float64(bytes))
}

// Seconds returns the duration of a row; a minute if it is unknown.
func (d *Dataset) Seconds(i int) float64 { return secondsOf(d.rows[i].Duration) }

// Raw returns rows as numbers before encoding, and the kind of each column, for oversampling. A category becomes the
// code of its value, a date the number of whole local days since 1970, a bool 0 or 1, and a missing value NaN. Targets are log
// peaks.
func (d *Dataset) Raw(rows []int) (*table.Table, []resample.Kind) {
	t := &table.Table{Names: make([]string, len(d.schema.Fields))}
	kinds := make([]resample.Kind, len(d.schema.Fields))
	for j, field := range d.schema.Fields {
		t.Names[j] = field.Name
		switch field.Kind {
		case sizing.Category, sizing.Bool:
			kinds[j] = resample.Category
		case sizing.Date:
			kinds[j] = resample.Integer
		}
	}
	for _, i := range rows {
		codes := d.rows[i].Features
		for j := range d.schema.Fields {
			v := math.NaN()
			if j < len(codes) {
				v = codes[j]
			}
			if kinds[j] == resample.Integer {
				// Without the time of day, an Encoding never has a column for the hour; see chooseCycles.
				v = math.Floor(sizing.DecodeValue(sizing.Date, v).LocalDays())
			}
			t.X = append(t.X, v)
		}
		t.Y = append(t.Y, math.Log(d.Peak(i)))
	}
	return t, kinds
}

// Encoding is a feature encoding. The training rows determine its columns.
type Encoding struct {
	Train    *table.Table // the training rows in their order; targets are log peaks
	schema   *sizing.Schema
	previous []int
	enc      *encoder
}

// Encode chooses the columns of an encoding from the given rows only, which must be in order, oldest first. An encoded row
// consists of the inputs of the line (the ridge regression) and then the inputs of the trees.
func (d *Dataset) Encode(rows []int) *Encoding {
	e := &Encoding{schema: &d.schema, previous: d.schema.PreviousSameName()}
	raw, _ := d.Raw(rows)
	cells := make([][]sizing.Value, len(rows))
	for i := range rows {
		cells[i] = cellsOf(e.schema, e.previous, raw.Row(i))
	}
	e.enc = newEncoder(e.schema, cells, raw.Y)
	e.Train = &table.Table{Names: make([]string, e.enc.LineWidth+e.enc.TreeWidth), Y: raw.Y}
	for i := range rows {
		e.Train.X = append(e.Train.X, e.row(cells[i])...)
		e.enc.learn(cells[i], raw.Y[i])
	}
	return e
}

// Row encodes one raw row, such as a synthetic row or a row of the holdout.
func (e *Encoding) Row(raw []float64) []float64 { return e.row(cellsOf(e.schema, e.previous, raw)) }

func (e *Encoding) row(cells []sizing.Value) []float64 {
	line, tree := e.enc.encode(cells, nil, nil)
	return append(line, tree...)
}

// ServedModel is the production model, fitted on some rows of a Dataset.
type ServedModel struct {
	Model   *Model
	dataset *Dataset
	history *sizing.History // the training rows

	// TrainingPredictions holds, for each training row, the result of Probabilities by models that were fitted without the row.
	// It is nil unless CrossValidated has cross-validated the model, and if the model does not learn from every training row.
	TrainingPredictions [][]float64

	crossValidated func() (*ServedModel, error) // crossValidate, computed once
}

// Serve fits the production model on the given rows only, in the given order.
func (d *Dataset) Serve(rows []int) (*ServedModel, error) {
	h := sizing.History{Task: d.Task, Schema: d.schema, Total: len(rows)}
	for _, i := range rows {
		r := d.rows[i]
		h.LastSeq++
		r.Seq, r.Weight, r.Promised = h.LastSeq, 1, nil
		h.Rows = append(h.Rows, r)
	}
	m, outcome, err := Fit(&h, nil)
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, fmt.Errorf("serve %s: %s", d.Task, outcome.Reason)
	}
	s := &ServedModel{Model: m, dataset: d, history: &h}
	s.crossValidated = sync.OnceValues(s.crossValidate)
	return s, nil
}

// Probabilities writes to p, for each bin, the probability that the peak of a row of the Dataset is in this bin. edges
// are the ascending upper edges of the bins in bytes, and len(p) must be len(edges). The last bin includes all larger
// peaks, too. The result has the predictions of the models for the row; see TrainingPredictions.
func (s *ServedModel) Probabilities(row int, edges, p []float64) (predictions []float64) {
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	var point experts.Point
	s.Model.Models.predict(cellsOf(&s.dataset.schema, s.dataset.schema.PreviousSameName(), s.dataset.rows[row].Features), &point, b)
	s.Model.binProbabilities(&point, edges, p, b)
	return predictionsOf(&point)
}

// Size returns the answer of the production model to q with the features of a row of the Dataset.
func (s *ServedModel) Size(row int, q Question) Answer {
	q.Features = s.dataset.schema.Features(s.dataset.rows[row].Features)
	return s.Model.Size(q)
}
