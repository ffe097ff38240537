package airflow_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/source/airflow"
)

// exchange is one request to a real Airflow with its response, as recorded by
// api/python/tests/airflow/harness/recording.py.
type exchange struct {
	Method string         `json:"method"`
	Path   string         `json:"path"`
	Body   map[string]any `json:"body"`
	As     string         `json:"as"` // the value of the variable `as` in replayServer; empty if the request had credentials
	Status int            `json:"status"`
	Answer json.RawMessage
}

// replay returns a client of a server whose pages have the recorded size, whatever limit the client requests.
func replay(t *testing.T, version string) *airflow.Client {
	client, err := airflow.Open(t.Context(), airflow.Config{URL: replayServer(t, version), User: "reader", Password: "p", PerSecond: 1e6})
	require.NoError(t, err)
	return client
}

func replayServer(t *testing.T, version string) (url string) {
	text, err := os.ReadFile("testdata/airflow-" + version + ".json")
	require.NoError(t, err)
	var answers []exchange
	require.NoError(t, json.Unmarshal(text, &answers))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/auth/token" {
			_, _ = w.Write([]byte(`{"access_token": "t"}`))
			return
		}
		var body map[string]any
		_ = json.NewDecoder(r.Body).Decode(&body)
		as := ""
		if r.Header.Get("Authorization") == "" {
			as = "nobody"
		}
		at := slices.IndexFunc(answers, func(a exchange) bool {
			return a.Method == r.Method && a.Path == r.URL.RequestURI() && (a.As == as || strings.HasSuffix(a.Path, "/version")) && matchesRecorded(a.Body, body)
		})
		if !assert.NotEqual(t, -1, at, "the recording must contain the request %s %s %v", r.Method, r.URL, body) {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		w.WriteHeader(answers[at].Status)
		_, _ = w.Write(answers[at].Answer)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func matchesRecorded(recorded, body map[string]any) bool {
	for name, value := range recorded {
		if name != "page_limit" && !assert.ObjectsAreEqual(value, body[name]) {
			return false
		}
	}
	return true
}

var versions = []string{"2.11", "3"}

func TestRunsYieldsEndedRunsInOrder(t *testing.T) {
	for _, version := range versions {
		client, ids := replay(t, version), []string{}
		for page, err := range client.Runs(t.Context(), time.Time{}, nil) {
			require.NoError(t, err)
			assert.Equal(t, 12, page.Remaining)
			for _, run := range page.Runs {
				ids = append(ids, run.ID)
			}
			assert.Equal(t, map[string]any{"rows": json.Number("100"), "note": "not a feature"}, page.Runs[0].Conf, version)
			assert.Empty(t, page.Runs[7].Conf)
			assert.True(t, time.Date(2025, 3, 1, 6, 30, 0, 0, time.UTC).Equal(page.Runs[0].EndedAt))
			assert.True(t, time.Date(2025, 3, 1, 6, 0, 0, 0, time.UTC).Equal(page.Runs[0].ExecutionDate()), version)
		}
		assert.Equal(t, "manual__0 manual__1 manual__2 manual__3 manual__4 manual__5 manual__6 manual__7 manual__8 manual__9 manual__10 manual__11", strings.Join(ids, " "))
	}
}

func TestTasksReturnsParamsOrErrNotFound(t *testing.T) {
	for _, version := range versions {
		client := replay(t, version)
		tasks, err := client.Tasks(t.Context(), "history")
		require.NoError(t, err)
		assert.Equal(t, map[string]any{"rows": json.Number("500"), "region": "emea", "full": false, "api_key": "never sent", "depth": json.Number("2")}, tasks["work"].Params, version)
		assert.Equal(t, map[string]any{"rows": json.Number("500"), "region": "emea", "full": false, "api_key": "never sent"}, tasks["part"].Params, version)
		_, err = client.Tasks(t.Context(), "gone")
		assert.ErrorIs(t, err, airflow.ErrNotFound, version)
	}
}

// readObservations returns the observations of manual__3 and manual__9, and the operators that launch no pod. manual__3 has a
// failed and a successful try. All tries of manual__9 failed.
func readObservations(t *testing.T, client *airflow.Client) (observations []sizing.Observation, skipped []string) {
	features := sizing.Features{"rows": sizing.NumberValue(130)}
	for last, err := range client.Instances(t.Context(), "history", []string{"manual__3", "manual__9"}) {
		require.NoError(t, err)
		if !last.LaunchesPod(airflow.CompileGlobs(airflow.PodOperators)) {
			skipped = append(skipped, last.Operator)
			continue
		}
		tries := []airflow.Instance{last}
		if last.Try > 1 {
			tries, err = client.Tries(t.Context(), &last)
			require.NoError(t, err)
			require.Len(t, tries, last.Try)
			tries[last.Try-1] = last
		}
		for _, try := range tries {
			o, reason := try.Observation("default", features)
			require.Empty(t, reason)
			require.Empty(t, o.Validate())
			observations = append(observations, o)
		}
	}
	slices.SortFunc(observations, func(a, b sizing.Observation) int {
		return strings.Compare(a.Try.RunID+a.Try.Task+string(rune('b'+a.Try.MapIndex))+string(rune('0'+a.Try.Number)), b.Try.RunID+b.Try.Task+string(rune('b'+b.Try.MapIndex))+string(rune('0'+b.Try.Number)))
	})
	return observations, skipped
}

func TestBothVersionsReturnTheSameObservations(t *testing.T) {
	old, skipped := readObservations(t, replay(t, "2.11"))
	assert.Equal(t, []string{"EmptyOperator", "EmptyOperator"}, skipped)
	recent, skipped := readObservations(t, replay(t, "3"))
	assert.Equal(t, []string{"EmptyOperator", "EmptyOperator"}, skipped)
	require.Len(t, recent, 7)
	assert.Equal(t, recent, old)
	first, second := recent[2], recent[3]
	start := time.Date(2025, 3, 1, 9, 1, 0, 0, time.UTC)
	assert.Equal(t, sizing.Observation{
		Try:      sizing.TryKey{TaskKey: sizing.TaskKey{Namespace: "default", DAG: "history", Task: "work"}, RunID: "manual__3", MapIndex: -1, Number: 1},
		Outcome:  sizing.Failed,
		Duration: 51 * time.Second, StartedAt: start, EndedAt: start.Add(51 * time.Second),
		Features: sizing.Features{"rows": sizing.NumberValue(130)},
		// no Requested and Allocated, because Airflow keeps no rendered fields of this try
	}, first)
	assert.Equal(t, sizing.Success, second.Outcome)
	assert.Equal(t, 2, second.Try.Number)
	eight := sizing.Resources{Memory: 8 * sizing.GiB, CPU: 1.5}
	assert.Equal(t, eight, second.Requested)
	assert.Equal(t, eight, second.Allocated)
	assert.Equal(t, sizing.Failed, recent[6].Outcome, "the last try of manual__9 must have failed, like all tries of this run")
}

func TestOpenWithoutCredentialsIsDenied(t *testing.T) {
	for _, version := range versions {
		_, err := airflow.Open(t.Context(), airflow.Config{URL: replayServer(t, version), PerSecond: 1e6})
		assert.ErrorIs(t, err, airflow.ErrDenied, version)
	}
}
