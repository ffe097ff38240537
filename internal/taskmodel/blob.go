package taskmodel

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/fxamacker/cbor/v2"

	"github.com/loadaware/loadaware/internal/ml/linear"
	"github.com/loadaware/loadaware/internal/sizing"
)

// FormatVersion is the newest version of a blob. It changes if older releases cannot read the blob,
// or if a number in it changes its meaning, for example through another encoding of the features or
// another order of models, experts or risks.
const FormatVersion = 13

// A blob has the oldest version that can hold its model, so that older releases read as many models as possible.
const (
	unscreenedVersion = 3  // the models use all columns of the encoding, and none of the columns that version 5 added
	screenedVersion   = 4  // the models use only some columns; see encoder.screenColumns
	offsetFreeVersion = 5  // the encoding may also have columns for the day of the month, the hour and the numbers in texts, but none for words in texts (textParts); no offset, see models.Offset
	offsetVersion     = 6  // may also have an offset and columns for words in texts, but no aligned day of the month, see alignedMonthDay
	alignedVersion    = 7  // may also have an aligned day of the month, but no effects of combinations, see combinations
	utcVersion        = 8  // may also have effects of combinations, but columns and effects of dates follow UTC, see hasLocalTime
	localVersion      = 9  // may also follow local time, but has no columns for peakDays
	peakDaysVersion   = 10 // may also have columns for peakDays, but all numbers have the unit 1, see column.LogUnit
	unitVersion       = 11 // may also have other units, but no columns for a step, no trend of the numbers in texts, and no logarithms of negative numbers
	trendVersion      = 12 // may also have these, but no words as parts of texts, no numbers in parts, and no periods in texts; see textParts and textDates
)

// ErrFormat reports a blob that is damaged or of an unknown version. The task must be trained again; until then a
// replica answers from the model that it decoded before, or without a model.
var ErrFormat = errors.New("model blob: damaged or of another version; train the task again")

// A blob consists of the magic, the version (u16, big endian), the SHA-256 of the snapshot, and the snapshot as deterministic
// CBOR (RFC 8949, section 4.2), so that equal models give equal bytes.
const (
	magic      = "lawm"
	headerSize = len(magic) + 2 + sha256.Size
)

// Format returns the version of the model's blob.
func (m *Model) Format() int {
	switch {
	case m.Models == nil:
	case slices.ContainsFunc(m.Models.Enc.Columns, func(c column) bool { return c.Parts.Separators == byWord || c.Parts.hasNumbers() || c.Dates.Count > 0 }):
		return FormatVersion // older releases would read other parts and no periods
	case m.Models.hasStep():
		return trendVersion // older releases would give the line too few inputs
	case len(m.Models.PeakTrend.Texts) > 0 || len(m.Models.PeakTrend.Negative) > 0:
		return trendVersion // older releases would confuse the inputs of the trend with other inputs
	case len(m.Models.Enc.Units) > 0 || slices.ContainsFunc(m.Models.Enc.Columns, func(c column) bool { return c.LogUnit < 1 && c.LogUnit > 0 }):
		return unitVersion // older releases would use the unit 1
	case slices.ContainsFunc(m.Models.Enc.Columns, func(c column) bool { return c.PeakDays.First > 0 }):
		return peakDaysVersion // older releases would give the line too few inputs
	case m.Models.hasLocalTime():
		return localVersion // older releases know only the UTC of a date
	case len(m.Models.Combinations.Columns) > 0:
		return utcVersion
	case slices.ContainsFunc(m.Models.Enc.Columns, func(c column) bool { return c.AlignedMonthDay }):
		return alignedVersion
	case m.Models.Above != nil || slices.ContainsFunc(m.Models.Enc.Columns, func(c column) bool { return len(c.Parts.At) > 0 }):
		return offsetVersion
	case slices.ContainsFunc(m.Models.Enc.Columns, func(c column) bool { return c.WithMonthDay || c.WithHour || c.Numbers.count() > 0 }):
		return offsetFreeVersion // older releases would give the trees too few inputs
	case m.Models.Enc.KeepLine != nil || m.Models.Enc.KeepTree != nil:
		return screenedVersion
	}
	return unscreenedVersion
}

// decoding allows longer arrays than the library's limit of 131,072 elements: models of releases
// without screening may have more than 507 columns, whose co-moments exceed this limit. The length of
// the input bounds the allocated memory.
var decoding = func() cbor.DecMode {
	mode, err := cbor.DecOptions{MaxArrayElements: 1 << 20, MaxMapPairs: 1 << 20}.DecMode()
	if err != nil {
		panic(err) // the options are constants
	}
	return mode
}()

// Blob encodes the model. It ends the use of a pool (see SetPool), so Size must not run at the same time.
func (m *Model) Blob() ([]byte, error) {
	m.leavePool()
	if m.Models != nil && m.Models.line != nil {
		m.Models.Line = m.Models.line.State()
		if m.Models.Unsolved > 0 {
			m.Models.Solved = m.Models.ridges
		}
		defer func() { m.Models.Line, m.Models.Solved = linear.State{}, nil }()
	}
	mode, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		return nil, err
	}
	body, err := mode.Marshal(m.snapshot())
	if err != nil {
		return nil, fmt.Errorf("encode model: %w", err)
	}
	blob := binary.BigEndian.AppendUint16([]byte(magic), uint16(m.Format()))
	sum := sha256.Sum256(body)
	return append(append(blob, sum[:]...), body...), nil
}

func bodyOf(blob []byte) ([]byte, error) {
	if len(blob) < headerSize || string(blob[:len(magic)]) != magic {
		return nil, fmt.Errorf("%w: header missing", ErrFormat)
	}
	if v := binary.BigEndian.Uint16(blob[len(magic):]); v < unscreenedVersion || v > FormatVersion {
		return nil, fmt.Errorf("%w: version %d, want %d to %d", ErrFormat, v, unscreenedVersion, FormatVersion)
	}
	body := blob[headerSize:]
	if sum := sha256.Sum256(body); !bytes.Equal(sum[:], blob[headerSize-sha256.Size:headerSize]) {
		return nil, fmt.Errorf("%w: checksum mismatch", ErrFormat)
	}
	return body, nil
}

// Open decodes a blob. Its error wraps ErrFormat: the blob is damaged or of an unknown version.
func Open(blob []byte) (*Model, error) {
	body, err := bodyOf(blob)
	if err != nil {
		return nil, err
	}
	stored := New().snapshot()
	if err := decoding.Unmarshal(body, stored); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	m := stored.model()
	if m.Experts == nil || m.Models != nil && (m.Models.Enc == nil || m.Models.Stack == nil) {
		return nil, fmt.Errorf("%w: parts are missing", ErrFormat)
	}
	if m.Models != nil {
		if m.Models.Groups == nil {
			m.Models.Groups = new(groups)
		}
		m.Models.migrateRemote()
		if err := m.Models.Enc.migrate(); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFormat, err)
		}
	}
	if m.Models != nil && !m.Models.linkTexts() {
		return nil, fmt.Errorf("%w: numbers in texts are inconsistent", ErrFormat)
	}
	if m.Models != nil && !m.Models.isValidOffset(m.Models.Offset, m.Models.Above, sizing.MaxBytes) {
		return nil, fmt.Errorf("%w: offset %v", ErrFormat, m.Models.Offset)
	}
	if m.Models != nil && !m.Models.isValidOffset(m.Models.RunTimeOffset, m.Models.RunTimeAbove, math.MaxFloat64) {
		return nil, fmt.Errorf("%w: offset of the run time %v", ErrFormat, m.Models.RunTimeOffset)
	}
	if m.Models != nil && !m.Models.hasValidCycles() {
		return nil, fmt.Errorf("%w: effects of the calendar are inconsistent", ErrFormat)
	}
	if m.Models != nil && !m.Models.hasValidRestart() {
		return nil, fmt.Errorf("%w: positions in the history are inconsistent", ErrFormat)
	}
	m.Experts.Rebuild(expertConfig)
	m.updateRunTimes()
	if m.Models != nil && m.Models.Line.Targets > 0 {
		if err := m.Models.resume(m.Models.Line); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFormat, err)
		}
		m.Models.Line, m.Models.Solved = linear.State{}, nil
	}
	return m, nil
}

// resume restores the ridge regressions from their stored sums. A blob may contain a solution that is older than the sums,
// because the model still used this solution. Then resume uses it, too: storing a model must not change its answers.
func (m *models) resume(line linear.State) error {
	var err error
	if m.line, err = linear.RestoreOnline(line); err != nil {
		return err
	}
	if m.isSolutionOf(line) {
		m.ridges = m.Solved
		return nil
	}
	m.ridges, err = m.line.Solve()
	return err
}

func (m *models) isValidOffset(offset float64, above *linear.Ridge, largest float64) bool {
	if above == nil {
		return offset == 0
	}
	return offset > 0 && offset <= largest && above.Cols() == m.Enc.LineWidth
}

func (m *models) isSolutionOf(line linear.State) bool {
	return len(m.Solved) == line.Targets && !slices.ContainsFunc(m.Solved, func(r *linear.Ridge) bool {
		return r == nil || r.Cols() != len(line.Known)
	})
}

// Family returns the kind of predictor that answers, for lists of models: "own-history" during the
// cold start, else "experts".
func (m *Model) Family() string {
	if m.Experts.IsColdStart() {
		return "own-history"
	}
	return "experts"
}

const maxVerifiedRows = 3

// VerifiedBlob encodes the model and decodes it again. Both models must give the same answers for the
// task's newest rows and for a question without features; otherwise VerifiedBlob returns an error, and the
// model must not be published.
func (m *Model) VerifiedBlob(h *sizing.History) ([]byte, error) {
	blob, err := m.Blob()
	if err != nil {
		return nil, err
	}
	stored, err := Open(blob)
	if err != nil {
		return nil, fmt.Errorf("verify model: open the encoded blob: %w", err)
	}
	questions := []Question{{RiskTarget: sizing.DefaultRiskTarget, Lifts: sizing.DefaultMaxLifts}}
	for i := max(0, len(h.Rows)-maxVerifiedRows); i < len(h.Rows); i++ {
		q := questions[0]
		q.Features = h.Schema.Features(h.Rows[i].Features)
		questions = append(questions, q)
	}
	for _, q := range questions {
		trained, decoded := m.Size(q), stored.Size(q)
		if err := trained.compare(&decoded); err != nil {
			return nil, fmt.Errorf("verify model: %w", err)
		}
	}
	return blob, nil
}

func (s *Answer) compare(other *Answer) error {
	if s.Limit < 0 || s.Limit == 0 && s.Source != sizing.FromRequested || s.Limit > sizing.MaxBytes || s.Promised != nil && math.IsNaN(*s.Promised) {
		return fmt.Errorf("the answer is invalid: %s", s.describe())
	}
	samePromise := s.Promised == other.Promised || s.Promised != nil && other.Promised != nil && *s.Promised == *other.Promised
	if !samePromise || s.Limit != other.Limit || s.Source != other.Source || s.CPU != other.CPU || !slices.Equal(s.Ladder, other.Ladder) {
		return fmt.Errorf("the answer of the decoded model has %s; that of the trained model has %s", other.describe(), s.describe())
	}
	return nil
}

func (s *Answer) describe() string {
	promise := "none"
	if s.Promised != nil {
		promise = fmt.Sprint(*s.Promised)
	}
	return fmt.Sprintf("limit %d, promise %s, source %s, CPU %v, ladder %d", s.Limit, promise, s.Source, float64(s.CPU), s.Ladder)
}
