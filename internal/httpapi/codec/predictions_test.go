package codec

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/api"
)

// randomPrediction returns a prediction with random fields, some of them null. A plan has only some of its fields.
func randomPrediction(r *rand.Rand) api.Prediction {
	texts := []string{"", "emea", `a "quote"`, `back\slash`, "<b>&", "für 学", "tab\tand\nline", "\u2028"}
	text := func() string { return texts[r.IntN(len(texts))] }
	number := func() float64 {
		return []float64{0, 1, -2.5, 1e-7, 3e21, 5e-324, r.Float64(), 1e6 * r.NormFloat64()}[r.IntN(8)]
	}
	whole := func() int64 { return r.Int64N(1<<40) - 1<<39 }
	memory := func() *api.Memory {
		if r.IntN(3) == 0 {
			return nil
		}
		return &api.Memory{Limit: text(), LimitBytes: whole(), Request: text(), RequestBytes: whole()}
	}
	p := api.Prediction{
		DagID: text(), Memory: memory(), Mode: api.Mode(text()), Namespace: text(), PredictionID: text(), Reason: text(),
		Risk: api.Risk{Target: number()}, Shadow: memory(), Source: api.Source(text()), TaskID: text(),
	}
	if r.IntN(3) > 0 {
		p.Bins = &api.Bins{Chosen: r.IntN(4), Probabilities: []float64{number(), number()}[:r.IntN(3)], UpperBytes: []int64{whole(), whole()}[:r.IntN(3)]}
		p.CPU = &api.CPU{Request: text(), RequestCores: number()}
	}
	if r.IntN(3) > 0 {
		risk := number()
		p.Risk.Promised, p.LadderBytes = &risk, []int64{whole(), whole(), whole()}[:r.IntN(4)]
		p.Duration = &api.Duration{MedianSeconds: number(), P95Seconds: number()}
		if r.IntN(2) > 0 {
			p99, outlier, timeout, shape := number(), number(), number(), text()
			p.Duration.P99Seconds, p.Duration.OutlierProbability, p.Duration.TimeoutProbability, p.Duration.Shape = &p99, &outlier, &timeout, &shape
		}
	}
	for range r.IntN(3) {
		p.Warnings = append(p.Warnings, api.Warning{Field: text(), Detail: text()})
	}
	if r.IntN(3) == 0 {
		p.Plan = &api.Plan{Version: r.IntN(9), StaticBytes: whole(), Steps: []api.PlanStep{{AfterSeconds: number(), MemoryBytes: whole()}}, PollSeconds: number()}
	}
	if r.IntN(3) > 0 {
		profile, confidence := r.IntN(9), number()
		p.Cohort = &api.Cohort{Profile: &profile, Confidence: &confidence, Tasks: r.IntN(99), Runs: r.IntN(999)}
		p.GPUMemory = &api.GPUMemory{MedianBytes: whole(), P95Bytes: whole()}
		if r.IntN(2) > 0 {
			p.Cohort.Profile, p.Cohort.Confidence = nil, nil
		}
	}
	if r.IntN(3) > 0 {
		zone := time.FixedZone("", 3600*r.IntN(3))
		p.Model = &api.Model{Family: text(), Observations: int(whole()), TrainedAt: time.Unix(r.Int64N(1<<31), r.Int64N(1e9)).In(zone), Version: r.IntN(100)}
	}
	return p
}

func TestWritePredictionsMatchesEncodingJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	var batch []api.BatchPrediction
	for i := range 3000 {
		p := randomPrediction(r)
		want, err := json.Marshal(p)
		require.NoError(t, err)
		require.Equal(t, string(want)+"\n", string(WritePrediction(&p).B))
		if i%7 == 0 {
			batch = append(batch, api.BatchPrediction{Error: &api.Problem{Title: "Invalid", Status: 422, Detail: "<none>"}})
		}
		batch = append(batch, api.BatchPrediction{Prediction: &p})
	}
	want, err := json.Marshal(api.PredictBatch200JSONResponse{Predictions: batch})
	require.NoError(t, err)
	got, err := WritePredictions(len(batch), func(i int) (api.Prediction, *api.Problem) {
		if batch[i].Prediction == nil {
			return api.Prediction{}, batch[i].Error
		}
		return *batch[i].Prediction, nil
	}, nil)
	require.NoError(t, err)
	require.Equal(t, string(want)+"\n", string(got.B))
}

func TestNumbersThatAreNotFiniteAreNotSent(t *testing.T) {
	nan, finite := math.NaN(), api.Prediction{TaskID: "finite"}
	for name, p := range map[string]api.Prediction{
		"promise": {Risk: api.Risk{Promised: &nan}},
		"plan":    {Plan: &api.Plan{PollSeconds: math.Inf(1)}},
	} {
		got := httptest.NewRecorder()
		require.Error(t, WritePrediction(&p).VisitPredictResponse(got), name)
		assert.Empty(t, got.Body.String(), name)
		assert.Empty(t, got.Header(), name)

		batch := []api.Prediction{finite, p, finite}
		w, err := WritePredictions(len(batch), func(i int) (api.Prediction, *api.Problem) { return batch[i], nil },
			func(int, error) *api.Problem { return &api.Problem{Status: 500} })
		require.NoError(t, err)
		var answer api.PredictBatch200JSONResponse
		got = httptest.NewRecorder()
		require.NoError(t, w.VisitPredictBatchResponse(got))
		require.NoError(t, json.Unmarshal(got.Body.Bytes(), &answer))
		assert.Equal(t, 500, answer.Predictions[1].Error.Status, name)
		assert.Equal(t, "finite", answer.Predictions[2].Prediction.TaskID, name)
	}
}

func TestPooledAnswersAreIndependent(t *testing.T) {
	var callers sync.WaitGroup
	for caller := range 8 {
		callers.Go(func() {
			r := rand.New(rand.NewPCG(uint64(caller), 0))
			for range 200 {
				p := randomPrediction(r)
				want, err := json.Marshal(p)
				assert.NoError(t, err)
				got := httptest.NewRecorder()
				assert.NoError(t, WritePrediction(&p).VisitPredictResponse(got))
				assert.Equal(t, string(want)+"\n", got.Body.String())
				assert.Equal(t, strconv.Itoa(got.Body.Len()), got.Header().Get("Content-Length"))
			}
		})
	}
	callers.Wait()
}
