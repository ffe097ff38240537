package experiment_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/experiment"
	"github.com/loadaware/loadaware/internal/ml/classify"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

var bins = map[string][][]float64{"score": {{20, 200}}}

func plan(t testing.TB, text string, cfg experiment.Config) *experiment.Plan {
	t.Helper()
	p, err := experiment.New(read(t, text), cfg)
	require.NoError(t, err)
	return p
}

func run(t testing.TB, text string, cfg experiment.Config) *experiment.Report {
	t.Helper()
	r, err := plan(t, text, cfg).Run(t.Context(), nil)
	require.NoError(t, err)
	return r
}

func render(t testing.TB, format string, r *experiment.Report) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, experiment.Write(&out, format, r))
	return out.String()
}

func TestTheSameSeedsGiveTheSameBytes(t *testing.T) {
	text := history(120)
	cfg := experiment.Config{
		Families: []string{"svm", "softmax-trees", experiment.Final, experiment.Serving}, Oversamplings: []string{experiment.None, experiment.SMOTE},
		BinsGB: map[string][][]float64{"score": {{20, 200}, {5, 20, 200}}}, Seeds: 2, Trials: 2,
	}
	once := render(t, "json", run(t, text, cfg))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	assert.Equal(t, once, render(t, "json", run(t, text, cfg)), "a run on one processor gives the same bytes")
}

func TestPlanSkipsIncompatibleCombinations(t *testing.T) {
	r := run(t, history(120), experiment.Config{
		Families: experiment.Families(), Oversamplings: experiment.Oversamplings(), BinsGB: bins, Seeds: 1,
	})
	tried := map[string]int{}
	for _, row := range r.Rows {
		tried[row.Family]++
		assert.Equal(t, "score", row.Task)
		assert.Equal(t, []float64{20, 200}, row.BinsGB)
		assert.InDelta(t, row.Optimal*row.Accuracy-row.URate, row.Estimated, 1e-12)
	}
	assert.Equal(t, map[string]int{
		"prior": 4, "cart": 4, "svm": 4, "softmax-trees": 4, "softmax-trees-argmax": 4,
		"regression": 2, "regression+softmax-trees": 2, "final": 1, "serving": 1,
	}, tried)
	assert.Len(t, r.LeftOut, 2*2+2*3)
	require.Len(t, r.Confusions, len(r.Rows))
	for i, c := range r.Confusions {
		right := float64(c.Counts[0][0]+c.Counts[1][1]) / 36
		assert.InDelta(t, r.Rows[i].Accuracy, right, 1e-12, "the accuracy must be that of the confusion matrix over the 36 rows of the holdout: %s", c.Family)
	}
}

func TestTrainedFamiliesBeatThePrior(t *testing.T) {
	r := run(t, history(200), experiment.Config{BinsGB: bins, Seeds: 2})
	score := map[string]float64{}
	for _, s := range r.Summaries {
		score[s.Family] = s.UScore.Mean
	}
	assert.Len(t, score, len(experiment.DefaultFamilies()))
	for _, family := range []string{"svm", "softmax-trees", "regression", "regression+softmax-trees", "final", "serving"} {
		assert.Less(t, score[family], 0.7*score["prior"], family)
	}
	assert.Less(t, score["final"], score["softmax-trees"], "final must be better than softmax-trees, because bins lose information that log peaks have")
}

// bimodal returns runs of two kinds. All peaks are near 10 GB, except those of a quarter of the runs with b > 0.5, which are
// near 15 GB. With the edges 11 and 20 GB and the default penalty, the least cost is that of bin 1 for b > 0.5 and bin 0 for the
// others: a u score of about 37.5.
func bimodal(runs int) string {
	rng := rand.New(rand.NewPCG(5, 0))
	var text strings.Builder
	text.WriteString("dag_id,task_id,run_id,duration_s,memory_requested_bytes,memory_max_bytes,feature.a,feature.b")
	for i := range runs {
		a, b, peak := rng.Float64(), rng.Float64(), 10e9*math.Exp(0.02*rng.NormFloat64())
		if b > 0.5 && rng.Float64() < 0.25 {
			peak *= 1.5
		}
		fmt.Fprintf(&text, "\nd,load,r%d,60,350e9,%.0f,%.4f,%.4f", i, peak, a, b)
	}
	return text.String()
}

// The residuals of rows with similar levels do not show that b separates the kinds.
func TestFinalLearnsWhichRowsAreAboveAnEdge(t *testing.T) {
	r := run(t, bimodal(400), experiment.Config{
		Families: []string{experiment.Final}, BinsGB: map[string][][]float64{"load": {{11, 20}}}, Seeds: 5,
	})
	u := 0.0
	for i := range r.Rows {
		u += r.Rows[i].UScore / float64(len(r.Rows))
	}
	assert.Less(t, u, 50.0)
}

func TestFinalIgnoresOversampling(t *testing.T) {
	r := run(t, history(60), experiment.Config{Families: []string{"final"}, Oversamplings: []string{"smote"}, BinsGB: bins, Seeds: 1})
	require.Len(t, r.Rows, 1)
	assert.Equal(t, "none", r.Rows[0].Oversampling)
	_, err := experiment.New(read(t, history(60)), experiment.Config{Families: []string{"regression"}, Oversamplings: []string{"smote"}})
	assert.ErrorContains(t, err, "none of the families can learn from rows oversampled by smote")
}

// With a split by time, every seed has the same training rows.
func TestASplitByTimeIsTheSameForEverySeed(t *testing.T) {
	r := run(t, history(80), experiment.Config{Families: []string{"final", "serving"}, Split: experiment.ByTime, BinsGB: bins, Seeds: 2})
	for _, s := range r.Summaries {
		assert.Equal(t, s.UScore.Low, s.UScore.High)
	}
	require.Len(t, r.Runs, 1)
	assert.Equal(t, r.Runs[0].SavedGBSeeds.Low, r.Runs[0].SavedGBSeeds.High)
}

func TestOneRunIsComparedWithItsRequest(t *testing.T) {
	r := run(t, history(150), experiment.Config{Families: []string{"serving"}, BinsGB: bins, Seeds: 2})
	require.Len(t, r.Runs, 1)
	l := r.Runs[0]
	assert.Equal(t, "d", l.DAG)
	assert.Equal(t, 2, l.Tasks, "both tasks of the DAG, although only score is a task of the experiment")
	assert.Equal(t, 2*2*45, l.Rows)
	assert.InDelta(t, 220, l.RequestedGB, 1e-9)
	assert.Greater(t, l.SavedGB, 0.75)
	assert.Less(t, l.Killed, 0.1)
	assert.InDelta(t, 10, l.RequestedCores, 1e-9)
	assert.InDelta(t, 0.5, l.AboveGrant, 0.1, "the tries of score, which are half of all tries, use 1 to 1.1 cores and are granted one")
	assert.Zero(t, l.AboveGrantThread, "a grant of one core to a task with one thread does not count")
	require.Len(t, r.Tasks, 2)
	assert.Equal(t, "score", r.Tasks[0].Task, "the task with the most requested GB·h comes first")
	assert.InDelta(t, 200, r.Tasks[0].RequestedGB, 1e-9)
	assert.Empty(t, run(t, history(60), experiment.Config{Families: []string{"prior"}, Seeds: 1}).Runs, "without the family \"serving\", Report.Runs is empty")
}

func TestBinsAreSearchedUpToTheRequest(t *testing.T) {
	r := run(t, history(150), experiment.Config{Families: []string{"prior"}, Seeds: 1})
	optimal := map[string][]float64{}
	for _, b := range r.Binnings {
		assert.Equal(t, "score", b.Task, "only score has a tenth of the memory time and 100 rows")
		assert.Equal(t, 200.0, b.BinsGB[len(b.BinsGB)-1])
		optimal[b.Found] = append(optimal[b.Found], b.Optimal)
	}
	require.Len(t, optimal["searched"], 3)
	for i, best := range optimal["searched"] {
		assert.GreaterOrEqual(t, best, optimal["stride search"][i])
		assert.GreaterOrEqual(t, best, optimal["searched by time"][i])
		assert.Len(t, r.Rows[i].BinsGB, 2+i)
	}
}

func TestTopEdgeHasAMarginIfAPeakExceedsTheRequest(t *testing.T) {
	text := history(30) + "d,load,big,2025-01-01T00:00:00Z,60,20e9,4,30e9,1,5,a,2025-01-01\n"
	r := run(t, text, experiment.Config{Tasks: []string{"load"}, Families: []string{"prior"}, Seeds: 1})
	assert.Equal(t, 36.0, r.Binnings[0].BinsGB[1], "the top edge is a fifth above the largest peak, 30 GB")
}

// Table 6 of the publication of a load-aware scheduler (see binning.History.Improvement) gives these edges in GB and the
// improvements with them (Binning.Optimal and, weighted by duration, Binning.TimeOptimal), in percent.
// LOADAWARE_RETAIL_TRACE names a gzipped CSV history with the distributions of that publication.
func TestTheRetailTraceGivesThePublishedImprovements(t *testing.T) {
	path := os.Getenv("LOADAWARE_RETAIL_TRACE")
	if path == "" {
		t.Skip("LOADAWARE_RETAIL_TRACE names no file; other tests check binnings of synthetic histories")
	}
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	d, err := experiment.Read("retail", file)
	require.NoError(t, err)
	p, err := experiment.New(d, experiment.Config{Families: []string{"prior"}, Seeds: 1, BinsGB: map[string][][]float64{
		"predict_demand": {{30, 350}, {10, 60, 350}, {10, 20, 60, 350}}, "simulate_discounts": {{40, 200}, {20, 70, 200}, {10, 30, 70, 200}},
	}})
	require.NoError(t, err, "bins of the two large tasks must be accepted")
	r, err := p.Run(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, r.Rows, 6)
	for i, want := range [][2]float64{{89.9, 79.6}, {95.9, 88.3}, {96.2, 89.2}, {78.7, 59.4}, {88.7, 71.4}, {93.4, 74.7}} {
		assert.InDelta(t, want[0], 100*r.Rows[i].Optimal, 0.051)
		assert.InDelta(t, want[1], 100*r.Rows[i].TimeOptimal, 0.051)
	}
}

func TestASearchDoesNotSeeTheHoldout(t *testing.T) {
	cfg := experiment.Config{Families: []string{"softmax-trees"}, Split: experiment.ByTime, BinsGB: bins, Seeds: 1, Trials: 6}
	text := history(100)
	first := run(t, text, cfg)
	lines := strings.SplitAfter(text, "\n")
	for i := len(lines) - 1 - 2*30; i < len(lines)-1; i++ { // the newest 30 runs
		lines[i] = strings.Replace(lines[i], ",200000000000,6,", ",200000000000,6,1", 1)
	}
	other := run(t, strings.Join(lines, ""), cfg)
	require.Len(t, first.Tuned, 1)
	assert.Equal(t, first.Tuned[0].Params, other.Tuned[0].Params)
	assert.Equal(t, first.Tuned[0].UScore, other.Tuned[0].UScore)
	assert.NotEqual(t, first.Rows, other.Rows)
	assert.LessOrEqual(t, first.Tuned[0].UScore, first.Tuned[0].FirstUScore)
	assert.Len(t, first.Tuned[0].Params, 6)
	cfg.Search = experiment.RandomSearch
	assert.NotEqual(t, first.Tuned[0].Params, run(t, text, cfg).Tuned[0].Params)
}

func TestProgressReportsEveryStep(t *testing.T) {
	p := plan(t, history(40), experiment.Config{Families: []string{"prior", "svm", "serving"}, BinsGB: bins, Seeds: 2, Trials: 3})
	steps := make(chan int, 1000)
	_, err := p.Run(t.Context(), func(n int) { steps <- n })
	require.NoError(t, err)
	assert.Len(t, steps, p.Steps())
	assert.Equal(t, 2*(3+3+2), p.Steps(), "number of steps: for each of two seeds three families, three trials of svm and two tasks of the DAG")
}

func TestAnExperimentEndsWithItsContext(t *testing.T) {
	for _, trials := range []int{0, 1000} {
		ctx, cancel := context.WithCancel(t.Context())
		p := plan(t, history(40), experiment.Config{Families: []string{"prior", "svm"}, BinsGB: bins, Seeds: 500, Trials: trials})
		var done atomic.Int64
		_, err := p.Run(ctx, func(int) { cancel(); done.Add(1) })
		assert.ErrorIs(t, err, context.Canceled)
		assert.Less(t, done.Load(), int64(50), "number of steps: running trials end, and no new trial starts")
	}
}

func TestNewRejectsAnInvalidConfig(t *testing.T) {
	d := read(t, history(30)+strings.Repeat("e,load,r,,1,1e9,,1e9,,1,a,2024-01-01\n", 10))
	for message, cfg := range map[string]experiment.Config{
		`there is no task "scores"`:                  {Tasks: []string{"scores"}},
		`there is no family "xgboost"; choose among`: {Families: []string{"xgboost"}},
		`family "svm" is named twice`:                {Families: []string{"svm", "svm"}},
		`there is no oversampling "adasyn"`:          {Oversamplings: []string{"adasyn"}},
		`there is no split "random"`:                 {Split: "random"},
		`there is no search "grid"`:                  {Search: "grid"},
		`seeds (-1)`:                                 {Seeds: -1},
		`bins of score: [30 20] GB; give ascending`:  {BinsGB: map[string][][]float64{"score": {{30, 20}}}},
		`bins are given for "d/load"`:                {BinsGB: map[string][][]float64{"d/load": {{1, 2}}}},
		`search bins of e/load: all peaks equal`:     {Tasks: []string{"e/load"}},
	} {
		_, err := experiment.New(d, cfg)
		assert.ErrorContains(t, err, message)
		assert.Contains(t, []sizing.Kind{sizing.Invalid, sizing.NotFound}, sizing.KindOf(err), message)
	}
}

func TestTasksWithTheSameNameStayDistinct(t *testing.T) {
	text := history(30) + strings.ReplaceAll(strings.TrimPrefix(history(30), header), "d,load,", "e,load,")
	r := run(t, text, experiment.Config{Tasks: []string{"load"}, BinsGB: map[string][][]float64{"load": {{1, 20}}}, Families: []string{"prior"}, Seeds: 1})
	require.Len(t, r.Rows, 2)
	assert.Equal(t, "d/load", r.Rows[0].Task)
	assert.Equal(t, "e/load", r.Rows[1].Task)
}

func TestATaskThatIsNamedTwiceCountsOnce(t *testing.T) {
	r := run(t, history(30), experiment.Config{Tasks: []string{"score", "d/score"}, BinsGB: bins, Families: []string{"prior"}, Seeds: 1})
	assert.Len(t, r.Rows, 1)
}

func TestStoredModelsDecode(t *testing.T) {
	p := plan(t, history(60), experiment.Config{
		Families: []string{"cart", "svm", "final"}, BinsGB: map[string][][]float64{"score": {{20, 200}, {5, 200}}}, Seeds: 2,
	})
	r, err := p.Run(t.Context(), nil)
	require.NoError(t, err)
	models, err := p.Models(r)
	require.NoError(t, err)
	require.Len(t, models, 3, "number of models: the model of the service, and the svm of the first seed for each of two binnings; cart is not stored")
	m, err := taskmodel.Open(models[0].Blob)
	require.NoError(t, err)
	assert.Equal(t, 60, m.Experts.LearnedRows, "the model learned the whole history")
	assert.Equal(t, "svm none {20;200}", models[1].Family)
	for _, stored := range models[1:] {
		c, err := classify.Decode(stored.Blob)
		require.NoError(t, err)
		assert.Equal(t, 2, c.Bins())
	}
}

func TestJSONRowsHaveTheDocumentedFields(t *testing.T) {
	var out struct{ Rows []map[string]any }
	text := render(t, "json", run(t, history(40), experiment.Config{Families: []string{"prior"}, BinsGB: bins, Seeds: 1}))
	require.NoError(t, json.Unmarshal([]byte(text), &out))
	require.Len(t, out.Rows, 1)
	want := []string{"task", "bins_gb", "family", "oversampling", "split", "seed", "accuracy", "u_score", "u_rate", "optimal", "time_optimal", "estimated"}
	assert.Len(t, out.Rows[0], len(want))
	for _, key := range want {
		assert.Contains(t, out.Rows[0], key)
	}
}
