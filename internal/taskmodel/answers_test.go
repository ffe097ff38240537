package taskmodel_test

import (
	"flag"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

var update = flag.Bool("update", false, "rewrite the reference files in testdata")

// TestAnswersMatchTheReference compares 600 answers to seeded questions with the reference file, which
// contains a hash of the numbers and a hash of the reason of each answer. An optimisation must not
// change any bit of these answers. After an intended change run
//
//	go test ./internal/taskmodel -run TestAnswersMatchTheReference -update
func TestAnswersMatchTheReference(t *testing.T) {
	t.Parallel()
	const file = "testdata/answers.txt"
	var out strings.Builder
	var memo taskmodel.Memo
	for _, c := range []struct {
		generator string
		rows      int
	}{{"log-linear in size", 3}, {"two kinds, eightfold", 24}, {"constant", 150}, {"step at fifty thousand", 200}, {"log-linear in size", 400}} {
		k, rng := trainedTask(t, generators[c.generator], 5, c.rows)
		for i := range 80 {
			f, _ := generators[c.generator](rng)
			q := question(f)
			q.RiskTarget = []float64{target, target, 0.05, 0.001}[i%4]
			q.Lifts, q.GuardFactor = i%5, 1+float64(i%3)/4
			if i%7 == 3 {
				q.Above = bytes(0.1 + rng.Float64())
			}
			if i%9 == 4 {
				q.Cap = 0
			}
			if i%11 == 5 {
				q.Edges = sizing.Bins{gib, 4 * gib, 16 * gib}
			}
			writeAnswer(t, &memo, &out, fmt.Sprint(c.generator, ", ", c.rows, " runs, ", i), k.model, q)
		}
	}
	k := wideHistory(1460)
	older := k.history
	older.Rows, older.LastSeq = older.Rows[:600], older.Rows[599].Seq
	m, _, err := taskmodel.Fit(&older, nil)
	require.NoError(t, err)
	for i := range 200 {
		row := &k.history.Rows[600+i]
		q := question(k.history.Schema.Features(row.Features))
		if i%5 == 4 {
			q.Above = bytes(3)
		}
		writeAnswer(t, &memo, &out, fmt.Sprint("wide, ", i), m, q)
		if i%4 == 0 {
			m.Learn(taskmodel.NewTrainingRow(&k.history.Schema, row))
		}
	}
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(out.String()), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	wanted, got := strings.Split(string(want), "\n"), strings.Split(out.String(), "\n")
	require.Len(t, got, len(wanted))
	for i := range got {
		require.Equal(t, wanted[i], got[i])
	}
	t.Logf("%d answers", len(got)-1)
}

// writeAnswer also requires the same answer from `memo`.
func writeAnswer(t *testing.T, memo *taskmodel.Memo, out *strings.Builder, name string, m *taskmodel.Model, q taskmodel.Question) {
	sized := m.Size(q)
	for range 3 { // a Memo stores an answer when its question is repeated, so the third answer is the stored one
		again := memo.Size(m, q)
		require.Equal(t, digest(&sized, nil), digest(&again, nil), name)
	}
	risk := m.Risk(q, sized.Limit+64*sizing.MiB)
	fmt.Fprintf(out, "%016x %08x %s\n", digest(&sized, risk), crc32.ChecksumIEEE([]byte(sized.Reason)), name)
}

func digest(s *taskmodel.Answer, risk *float64) uint64 {
	h := fnv.New64a()
	bits := func(v *float64) string {
		if v == nil {
			return "nil"
		}
		return fmt.Sprintf("%016x", math.Float64bits(*v))
	}
	fmt.Fprintln(h, int64(s.Limit), s.Ladder, bits(s.Promised), bits(risk), float64(s.CPU), s.Source, s.Guard.Version)
	if s.Bins != nil {
		fmt.Fprintln(h, s.Bins.Upper, s.Bins.Chosen)
		for _, p := range s.Bins.Probabilities {
			fmt.Fprintln(h, bits(&p))
		}
	}
	if s.Duration != nil {
		fmt.Fprintln(h, int64(s.Duration.Median), int64(s.Duration.P95))
	}
	for _, p := range s.Guard.Params {
		fmt.Fprintln(h, bits(&p))
	}
	return h.Sum64()
}

func TestDigestChangesWithTheLastBitOfANumber(t *testing.T) {
	risk := 0.1
	one := taskmodel.Answer{Promised: &risk, Guard: sizing.Guard{Params: []float64{1}}}
	before := digest(&one, nil)
	one.Guard.Params[0] = math.Nextafter(1, 2)
	assert.NotEqual(t, before, digest(&one, nil))
}
