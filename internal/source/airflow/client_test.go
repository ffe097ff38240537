package airflow_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/source/airflow"
)

// newClient opens a client of a server that responds like Airflow 3 to version requests and calls f otherwise.
func newClient(t *testing.T, cfg airflow.Config, f http.HandlerFunc) (*airflow.Client, error) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/version") {
			fmt.Fprint(w, `{"version": "3.3.2"}`)
			return
		}
		f(w, r)
	}))
	t.Cleanup(server.Close)
	cfg.URL, cfg.PerSecond = server.URL+"/", 1e6
	if cfg.RetryFor == 0 {
		cfg.RetryFor = 10 * time.Second
	}
	return airflow.Open(t.Context(), cfg)
}

func TestExpiredTokenIsFetchedAgain(t *testing.T) {
	var fetched atomic.Int32
	client, err := newClient(t, airflow.Config{User: "u", Password: "p"}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/auth/token" {
			var credentials map[string]string
			assert.NoError(t, json.NewDecoder(r.Body).Decode(&credentials))
			assert.Equal(t, map[string]string{"username": "u", "password": "p"}, credentials)
			w.WriteHeader(http.StatusCreated)
			fmt.Fprintf(w, `{"access_token": "token %d"}`, fetched.Add(1))
			return
		}
		want := "Bearer token 1"
		if r.URL.Path == "/api/v2/dags/d/tasks" {
			want = "Bearer token 2" // the first token has expired
		}
		if r.Header.Get("Authorization") != want {
			http.Error(w, `{"detail": "expired"}`, http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, `{"dags": [], "tasks": []}`)
	})
	require.NoError(t, err)
	_, err = client.Tasks(t.Context(), "d")
	require.NoError(t, err)
	assert.EqualValues(t, 2, fetched.Load())
}

func TestConcurrentRequestsShareOneNewToken(t *testing.T) {
	var fetched, denied atomic.Int32
	bothDenied := make(chan struct{})
	client, err := newClient(t, airflow.Config{User: "u", Password: "p"}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/auth/token" {
			fmt.Fprintf(w, `{"access_token": "token %d"}`, fetched.Add(1))
			return
		}
		if r.URL.Path == "/api/v2/dags/d/tasks" && r.Header.Get("Authorization") != "Bearer token 2" {
			if denied.Add(1) == 2 {
				close(bothDenied)
			}
			<-bothDenied
			http.Error(w, `{"detail": "expired"}`, http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, `{"dags": [], "tasks": []}`)
	})
	require.NoError(t, err)
	errs := make(chan error)
	for range 2 {
		go func() {
			_, err := client.Tasks(t.Context(), "d")
			errs <- err
		}()
	}
	assert.NoError(t, <-errs)
	assert.NoError(t, <-errs)
	assert.EqualValues(t, 2, fetched.Load())
}

func TestDeniedAccessIsNotRetried(t *testing.T) {
	var requests atomic.Int32
	_, err := newClient(t, airflow.Config{Token: "wrong"}, func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		http.Error(w, `{"detail": "Invalid JWT token"}`, http.StatusForbidden)
	})
	assert.ErrorIs(t, err, airflow.ErrDenied)
	assert.ErrorContains(t, err, "Invalid JWT token")
	assert.NotContains(t, err.Error(), "wrong", "an error must not quote the token")
	assert.EqualValues(t, 1, requests.Load())
}

func TestTransientErrorsAreRetried(t *testing.T) {
	var requests atomic.Int32
	_, err := newClient(t, airflow.Config{}, func(w http.ResponseWriter, _ *http.Request) {
		switch requests.Add(1) {
		case 1:
			w.Header().Set("Retry-After", time.Now().UTC().Add(-time.Hour).Format(http.TimeFormat)) // at once
			w.WriteHeader(http.StatusTooManyRequests)
		case 2:
			w.WriteHeader(http.StatusBadGateway)
		case 3:
			panic(http.ErrAbortHandler)
		default:
			fmt.Fprint(w, `{}`)
		}
	})
	require.NoError(t, err)
	assert.EqualValues(t, 4, requests.Load())
}

func TestClientGivesUpIfRetryAfterExceedsRetryFor(t *testing.T) {
	var requests atomic.Int32
	_, err := newClient(t, airflow.Config{RetryFor: time.Minute}, func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	assert.ErrorIs(t, err, airflow.ErrUnavailable)
	assert.ErrorContains(t, err, "gave up, because the pauses before retries would exceed 1m0s")
	assert.EqualValues(t, 1, requests.Load(), "the client must not retry, because Retry-After exceeds RetryFor")
}

func TestErrorOfInvalidResponseNamesTheCause(t *testing.T) {
	for response, message := range map[string]string{
		`{"task_instances": [{"dag_id": "d", "task_id": "t", "dag_run_id": "r", "try_number": "two"}], "total_entries": 1}`: "task_instances.try_number is a JSON string instead of int",
		`{"task_instances": [{"dag_id": "d", "task_id": "t"}], "total_entries": 1}`:                                         "task_instances[0].dag_run_id is missing",
		`{"task_instances": []}`: "total_entries is missing",
		`<html>login</html>`:     "returns HTML instead of JSON",
		`{"task_instances": [`:   "unexpected EOF",
		`{"task_instances": [], "total_entries": 0}{"task_instances": []}`: "data after the JSON value",
	} {
		client, err := newClient(t, airflow.Config{}, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				fmt.Fprint(w, `{}`)
				return
			}
			fmt.Fprint(w, response)
		})
		require.NoError(t, err)
		for _, err = range client.Instances(t.Context(), "d", []string{"r"}) {
			require.ErrorIs(t, err, airflow.ErrInvalidResponse)
		}
		assert.ErrorContains(t, err, message)
	}
	client, err := newClient(t, airflow.Config{}, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"dag_runs": [{"dag_id": "d", "dag_run_id": "r", "end_date": null}], "total_entries": 1}`)
	})
	require.NoError(t, err)
	for _, err = range client.Runs(t.Context(), time.Time{}, nil) {
		assert.ErrorContains(t, err, "dag_runs[0].end_date is missing")
	}
}

func TestOpenRejectsOtherServersAndInvalidURLs(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	_, err := airflow.Open(t.Context(), airflow.Config{URL: server.URL})
	assert.ErrorIs(t, err, airflow.ErrInvalidResponse)
	for _, url := range []string{"", "airflow:8080", "ftp://host", "http://u:secret@host"} {
		_, err := airflow.Open(t.Context(), airflow.Config{URL: url})
		require.Error(t, err)
		assert.NotContains(t, err.Error(), "secret")
	}
}

type runTable struct{ runs []airflow.Run }

func (table *runTable) answer(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		fmt.Fprint(w, `{}`)
		return
	}
	var query struct {
		From   time.Time `json:"end_date_gte"`
		Offset int       `json:"page_offset"`
		Limit  int       `json:"page_limit"`
	}
	_ = json.NewDecoder(r.Body).Decode(&query)
	rows := []map[string]any{}
	for _, run := range table.runs {
		if !run.EndedAt.Before(query.From) {
			rows = append(rows, map[string]any{"dag_id": run.DAG, "dag_run_id": run.ID, "end_date": run.EndedAt, "conf": nil})
		}
	}
	total := len(rows)
	rows = rows[min(query.Offset, total):min(query.Offset+query.Limit, total)]
	_ = json.NewEncoder(w).Encode(map[string]any{"dag_runs": rows, "total_entries": total})
}

func TestRunsStayCompleteWhileRunsAreClearedAndEnd(t *testing.T) {
	table, start := &runTable{}, time.Date(2025, 1, 1, 0, 0, 0, 123000, time.UTC)
	for n := range 450 { // groups of seven have the same end date
		table.runs = append(table.runs, airflow.Run{DAG: "d", ID: fmt.Sprint(n), EndedAt: start.Add(time.Duration(n/7) * time.Second)})
	}
	client, err := newClient(t, airflow.Config{}, table.answer)
	require.NoError(t, err)
	var seen []string
	for page, err := range client.Runs(t.Context(), start.Add(time.Second), nil) {
		require.NoError(t, err)
		for _, run := range page.Runs {
			seen = append(seen, run.ID)
		}
		// Clearing a run shifts the offsets of all later runs; another run ends.
		table.runs = append(slices.Delete(table.runs, 10, 11), airflow.Run{DAG: "d", ID: fmt.Sprintf("late %d", len(seen)), EndedAt: start.Add(time.Hour)})
	}
	var want []string
	for n := 7; n < 450; n++ {
		want = append(want, fmt.Sprint(n))
	}
	assert.Subset(t, seen, want)
	slices.Sort(seen)
	assert.Len(t, slices.Compact(seen), len(seen), "no run must be read twice")
}

func TestRunsWithTheSameEndDateAreReadOnce(t *testing.T) {
	table := &runTable{}
	for n := range 250 {
		table.runs = append(table.runs, airflow.Run{DAG: "d", ID: fmt.Sprint(n), EndedAt: time.Unix(1e9, 0)})
	}
	client, err := newClient(t, airflow.Config{}, table.answer)
	require.NoError(t, err)
	seen := 0
	for page, err := range client.Runs(t.Context(), time.Time{}, nil) {
		require.NoError(t, err)
		seen += len(page.Runs)
	}
	assert.Equal(t, 250, seen)
}

func TestInstancesReadsUnsortedPagesUntilComplete(t *testing.T) {
	var passes int
	client, err := newClient(t, airflow.Config{}, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			fmt.Fprint(w, `{}`)
			return
		}
		var query struct {
			Offset int `json:"page_offset"`
		}
		_ = json.NewDecoder(r.Body).Decode(&query)
		from := query.Offset
		if query.Offset == 0 {
			passes++
		}
		if passes == 1 && query.Offset == 100 {
			from = 50 // the order has changed
		}
		rows := []map[string]any{}
		for n := from; n < min(from+100, 200); n++ {
			rows = append(rows, map[string]any{"dag_id": "d", "task_id": "t", "dag_run_id": "r", "map_index": n, "try_number": 1})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"task_instances": rows, "total_entries": 200})
	})
	require.NoError(t, err)
	seen := map[int]int{}
	for i, err := range client.Instances(t.Context(), "d", []string{"r"}) {
		require.NoError(t, err)
		seen[i.MapIndex]++
	}
	assert.Len(t, seen, 200)
	for n, times := range seen {
		assert.Equal(t, 1, times, n)
	}
	assert.Equal(t, 2, passes)
}

func TestOpenGivesUpEarlyIfConnectionIsRefused(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	var waits []time.Duration
	_, err := airflow.Open(t.Context(), airflow.Config{URL: closed.URL, Retrying: func(err error, wait time.Duration) {
		assert.ErrorIs(t, err, airflow.ErrUnavailable)
		waits = append(waits, wait)
	}})
	require.ErrorIs(t, err, airflow.ErrUnavailable)
	assert.ErrorContains(t, err, "gave up, because the pauses before retries would exceed 3s")
	assert.ErrorContains(t, err, "connection refused")
	total := time.Duration(0)
	for _, wait := range waits {
		total += wait
	}
	assert.NotEmpty(t, waits)
	assert.LessOrEqual(t, total, 3*time.Second)
}

func TestRetryingReceivesError(t *testing.T) {
	var requests atomic.Int32
	var messages []string
	cfg := airflow.Config{RetryFor: 100 * time.Millisecond, Retrying: func(err error, _ time.Duration) { messages = append(messages, err.Error()) }}
	_, err := newClient(t, cfg, func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1) <= 2 {
			http.Error(w, `{"detail": "restarting"}`, http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, `{"dags": []}`)
	})
	require.NoError(t, err)
	require.Len(t, messages, 2)
	assert.Contains(t, messages[0], "503 Service Unavailable: restarting")
}
