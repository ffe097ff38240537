package cohort

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/fxamacker/cbor/v2"

	"github.com/loadaware/loadaware/internal/ml/gbt"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Format is the version of the encoding. The service does not use stored models of another format;
// the next training replaces them.
const Format = 1

type blob struct {
	Numbers    []string
	Categories []string
	Mean       float64
	Values     map[uint64]statistic
	Trees      []byte
	Errors     []weightedError
	Largest    float64
	Exceeded   float64
	Highest    sizing.Bytes // Model.LargestRequest
	Tasks      int
	Runs       int
	Ratios     ratios        `cbor:",omitzero"`
	Widening   widening      `cbor:",omitzero"`
	Known      []int         `cbor:",omitempty"`
	FirstRuns  firstRunKills `cbor:",omitzero"`
	RatioTrees []byte        `cbor:",omitempty"` // the trees, if they predict the log ratio of peak to request; Trees is then empty, so that earlier releases do not open the model

	Learned []uint64             `cbor:",omitempty"` // recentTasks.learned, ascending
	Killed  map[uint64]killedRun `cbor:",omitempty"` // recentTasks.killed

	Profiles *profilesBlob `cbor:",omitempty"`
	RunTimes *runTimesBlob `cbor:",omitempty"`

	DAGs         map[uint64]blob `cbor:",omitempty"` // Model.dags; only in the model of a namespace
	AnswersFirst bool            `cbor:",omitempty"` // Model.answersFirst; false in the model of a namespace
}

func (b *blob) setRecent(t *recentTasks) {
	if t != nil {
		b.Learned, b.Killed = slices.Sorted(maps.Keys(t.learned)), t.killed
	}
}

// recent returns nil if there are too many tasks, or none, as in a model that an earlier release encoded.
func (b *blob) recent() *recentTasks {
	if len(b.Learned) == 0 || len(b.Learned) > MaxRows || len(b.Killed) > MaxRows {
		return nil
	}
	t := &recentTasks{learned: make(map[uint64]struct{}, len(b.Learned)), killed: map[uint64]killedRun{}}
	for _, task := range b.Learned {
		t.learned[task] = struct{}{}
	}
	for task, k := range b.Killed {
		if !math.IsNaN(k.Error-k.Level) && !math.IsInf(k.Error-k.Level, 0) {
			t.killed[task] = k
		}
	}
	return t
}

// MarshalBinary encodes the model. Equal models have equal bytes.
func (m *Model) MarshalBinary() ([]byte, error) {
	mode, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		return nil, err
	}
	b, err := m.encoded()
	if err != nil {
		return nil, err
	}
	if len(m.dags) > 0 {
		b.DAGs = make(map[uint64]blob, len(m.dags))
	}
	for dag, own := range m.dags {
		if b.DAGs[dag], err = own.encoded(); err != nil {
			return nil, err
		}
	}
	if b.Profiles, err = m.profiles.encoded(); err != nil {
		return nil, err
	}
	if b.RunTimes, err = m.RunTimes.encoded(); err != nil {
		return nil, err
	}
	return mode.Marshal(b)
}

// encoded encodes the parts that the models of a namespace and of a DAG have in common.
func (m *Model) encoded() (blob, error) {
	var trees, ratioTrees []byte
	if m.trees != nil {
		var err error
		if trees, err = m.trees.MarshalBinary(); err != nil {
			return blob{}, err
		}
	}
	if m.byRequest {
		trees, ratioTrees = nil, trees
	}
	b := blob{
		Numbers: m.Numbers, Categories: m.Categories, Mean: m.Mean, Values: m.Values, Trees: trees, Errors: m.errors,
		Largest: m.LargestPeak, Exceeded: m.Exceeded, Highest: m.LargestRequest, Tasks: m.Tasks, Runs: m.Runs, Ratios: m.ratios, RatioTrees: ratioTrees,
		AnswersFirst: m.answersFirst, Widening: m.widening, Known: m.Known, FirstRuns: m.firstRuns,
	}
	b.setRecent(m.recent)
	return b, nil
}

// Open decodes the output of MarshalBinary. It returns an error if the model is not valid.
func Open(data []byte) (*Model, error) {
	var b blob
	if err := cbor.Unmarshal(data, &b); err != nil {
		return nil, fmt.Errorf("decode a cohort: %w", err)
	}
	m, err := b.open()
	if err != nil {
		return nil, err
	}
	if m.RunTimes, err = b.RunTimes.open(); err != nil {
		return nil, err
	}
	if m.profiles, err = b.Profiles.open(); err != nil {
		return nil, err
	}
	if len(b.DAGs) > maxDAGs {
		return nil, fmt.Errorf("decode a cohort: %d models of DAGs are out of range", len(b.DAGs))
	}
	if len(b.DAGs) > 0 {
		m.dags = make(map[uint64]*Model, len(b.DAGs))
	}
	for dag, encoded := range b.DAGs {
		own, err := encoded.open()
		if err != nil {
			return nil, fmt.Errorf("the model of DAG %x: %w", dag, err)
		}
		own.ofDAG, own.answersFirst = true, encoded.AnswersFirst
		m.dags[dag] = own
	}
	return m, nil
}

// open decodes the parts that the models of a namespace and of a DAG have in common.
func (b *blob) open() (*Model, error) {
	if !b.Ratios.isValid() {
		return nil, fmt.Errorf("decode a cohort: the ratios of peak to request %+v are not valid", b.Ratios)
	}
	m := &Model{
		LargestPeak: b.Largest, Exceeded: b.Exceeded, LargestRequest: b.Highest, Tasks: b.Tasks, Runs: b.Runs,
		ratios: b.Ratios, recent: b.recent(), firstRuns: b.FirstRuns,
	}
	if !m.firstRuns.isValid() {
		return nil, fmt.Errorf("decode a cohort: the kills and promises of first runs %+v are not valid", b.FirstRuns)
	}
	if len(b.Trees)+len(b.RatioTrees)+len(b.Errors) == 0 && b.Tasks > 0 {
		return m, nil // a model without trees
	}
	if len(b.Numbers) > maxNumbers || len(b.Categories) > maxCategories || len(b.Errors) == 0 {
		return nil, fmt.Errorf("decode a cohort: %d numbers, %d categories and %d errors are out of range", len(b.Numbers), len(b.Categories), len(b.Errors))
	}
	if len(b.Known) > len(b.Categories) {
		return nil, fmt.Errorf("decode a cohort: %d counts of known values for %d categories", len(b.Known), len(b.Categories))
	}
	m.encoder, m.trees = encoder{b.Numbers, b.Categories, b.Mean, b.Values, b.Known, len(b.RatioTrees) > 0}, new(gbt.Regressor)
	for i, e := range b.Errors {
		if math.IsNaN(e.Error) || math.IsInf(e.Error, 0) || i > 0 && e.Error < b.Errors[i-1].Error {
			return nil, fmt.Errorf("decode a cohort: the errors of the trees must be finite and ascending: error %d is %v", i, e.Error)
		}
	}
	if m.widening = b.Widening; !m.widening.isValid() {
		return nil, fmt.Errorf("decode a cohort: the factors on the errors for new DAGs and names %v are not valid", m.widening)
	}
	m.setErrors(b.Errors)
	trees := b.Trees
	if m.byRequest {
		trees = b.RatioTrees
	}
	if err := m.trees.UnmarshalBinary(trees); err != nil {
		return nil, fmt.Errorf("decode a cohort: %w", err)
	}
	if m.trees.Cols() != m.columns() {
		return nil, fmt.Errorf("decode a cohort: the trees have %d columns, not %d", m.trees.Cols(), m.columns())
	}
	return m, nil
}
