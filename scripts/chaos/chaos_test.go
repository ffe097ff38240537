package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/testcluster"
	"github.com/loadaware/loadaware/internal/testwait"
)

// fault is a handler between the callers and a real replica. It makes an error, which the checks of a trial must find. Each
// fault of faultCases makes at most one error.
type fault func(w http.ResponseWriter, r *http.Request, body string, replica http.Handler)

type faultCase struct {
	inject fault
	want   string // part of the recorded text; for "never sent 1" the test counts stored reports instead; empty if the trial must find no fault
}

// faultCases returns the faults to inject. In the case "none", the trial must find no fault.
func faultCases() map[string]faultCase {
	forward := func(w http.ResponseWriter, r *http.Request, body string, replica http.Handler) {
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
		replica.ServeHTTP(w, r)
	}
	on := func(path string, inject fault) fault {
		return func(w http.ResponseWriter, r *http.Request, body string, replica http.Handler) {
			if r.URL.Path == path {
				inject(w, r, body, replica)
				return
			}
			forward(w, r, body, replica)
		}
	}
	once := func(inject fault) fault {
		done := false
		return func(w http.ResponseWriter, r *http.Request, body string, replica http.Handler) {
			if !done {
				done = true
				inject(w, r, body, replica)
				return
			}
			forward(w, r, body, replica)
		}
	}
	status := func(code int) fault {
		return func(w http.ResponseWriter, _ *http.Request, _ string, _ http.Handler) { w.WriteHeader(code) }
	}
	return map[string]faultCase{
		"none": {forward, ""},
		"a false acknowledgement": {on("/observe", once(func(w http.ResponseWriter, _ *http.Request, _ string, _ http.Handler) {
			_, _ = io.WriteString(w, `{"recorded": true}`)
		})), "lost 1"},
		"an additional effect": {on("/observe", once(func(w http.ResponseWriter, r *http.Request, body string, replica http.Handler) {
			forward(httptest.NewRecorder(), r.Clone(r.Context()), strings.Replace(body, `"run_id":"`, `"run_id":"again-`, 1), replica)
			forward(w, r, body, replica)
		})), "never sent 1"},
		"a changed body": {on("/observe", once(func(w http.ResponseWriter, r *http.Request, body string, replica http.Handler) {
			forward(w, r, strings.Replace(body, `"memory_max_bytes":`, `"memory_max_bytes":1`, 1), replica)
		})), "changed 1"},
		"an error":                        {on("/predict", once(status(http.StatusInternalServerError))), "1 calls failed"},
		"a rejection without Retry-After": {on("/observe", once(status(http.StatusServiceUnavailable))), "1 rejections without Retry-After"},
		"a late answer": {on("/predict", once(func(w http.ResponseWriter, r *http.Request, body string, replica http.Handler) {
			time.Sleep(predictDeadline + 50*time.Millisecond)
			forward(w, r, body, replica)
		})), "1 calls beyond their deadline"},
	}
}

func TestTrialsFindInjectedFaults(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*testwait.Limit)
	defer cancel()
	binary := t.TempDir() + "/loadaware"
	root, err := testcluster.Root()
	require.NoError(t, err)
	require.NoError(t, testcluster.Build(ctx, root, binary))
	tr := &trialRun{seed: 1, binary: binary}
	cluster, tasks, err := tr.openCluster(ctx, testcluster.Config{})
	require.NoError(t, err)
	defer func() { require.NoError(t, cluster.Close()) }()

	for name, c := range faultCases() {
		front := httptest.NewServer(proxyWith(t, cluster, c.inject))
		tr := &trialRun{seed: 1}
		// The report log of a case does not contain the reports of the other cases.
		view := *cluster
		view.Reports = testcluster.NewReportLog()
		load := tr.newTraffic(&view, tasks, "fault-"+name)
		load.urls = []string{front.URL}
		load.start(ctx, 1)
		require.Eventually(t, func() bool { return load.counts().Observed >= 3 }, testwait.Limit, 10*time.Millisecond, name)
		counts := load.stop()
		before := len(tr.failures)
		tr.checkTraffic(ctx, name, counts, &view)
		found := strings.Join(tr.failures[before:], "; ")
		comparison, err := view.Reports.Check(ctx, cluster.Postgres.DSN())
		require.NoError(t, err)
		// Check counts the reports of the other cases as never sent, so the test looks only for the injected fault.
		recorded := found + " " + comparison.String()
		switch c.want {
		case "":
			assert.Zero(t, comparison.Lost+comparison.Changed+comparison.Duplicate+comparison.Miscounted, name)
			assert.Zero(t, counts.Failed+counts.Late+counts.NoRetryAfter+counts.NoAnswer, name)
		case "never sent 1":
			assert.Equal(t, 1, countStored(ctx, t, cluster, "again-fault-%"), name)
			assert.Contains(t, found, "the stored reports differ", name)
		default:
			assert.Contains(t, recorded, c.want, name)
		}
		front.Close()
	}

	t.Run("duplicates that are all recorded, and other bodies that are accepted", func(t *testing.T) {
		front := httptest.NewServer(proxyWith(t, cluster, func(w http.ResponseWriter, _ *http.Request, _ string, _ http.Handler) {
			_, _ = io.WriteString(w, `{"recorded": true, "duplicate": false}`)
		}))
		defer front.Close()
		tr := &trialRun{}
		sendDuplicates(ctx, testcluster.NewReportLog(), []string{front.URL}, tasks, 1, 60).check(tr)
		assert.Len(t, tr.failures, 2, "%v", tr.failures)
	})
	t.Run("predictions without a model", func(t *testing.T) {
		tr := &trialRun{seed: 1}
		p := tr.newProber(cluster, []testcluster.Task{{DAG: "not", Task: "reported"}})
		p.probe(ctx)
		p.check(tr, "for an unknown task")
		assert.Len(t, tr.failures, 1)
	})
	t.Run("a shortage without effect", func(t *testing.T) {
		tr := &trialRun{seed: 1}
		nothing := func(context.Context, *testcluster.Cluster) error { return nil }
		require.NoError(t, tr.runShortage(ctx, cluster, tasks, &shortage{"nothing", nothing, nothing}))
		assert.Contains(t, strings.Join(tr.failures, "; "), "there was no shortage")
	})
}

func proxyWith(t *testing.T, cluster *testcluster.Cluster, inject fault) http.Handler {
	to, err := url.Parse(cluster.Replicas[0].URL)
	require.NoError(t, err)
	replica := httputil.NewSingleHostReverseProxy(to)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		inject(w, r, string(body), replica)
	})
}

// countStored returns the number of stored reports whose run id matches `like`, an SQL pattern.
func countStored(ctx context.Context, t *testing.T, cluster *testcluster.Cluster, like string) (n int) {
	conn, err := connect(ctx, cluster)
	require.NoError(t, err)
	defer conn.Close(ctx)
	require.NoError(t, conn.QueryRow(ctx, `SELECT count(*) FROM observation WHERE run_id LIKE $1`, like).Scan(&n))
	return n
}

// loadRunAt returns a run of 5 s with a constant number of answers per second.
func loadRunAt(perSecond int) *loadRun {
	l := &loadRun{connections: 8, length: 5 * time.Second, buckets: make([]int, 51)}
	l.predicts.good = 5 * perSecond
	for i := range 50 {
		l.buckets[i] = perSecond / 10
	}
	return l
}

func TestComparisonFindsViolatedBounds(t *testing.T) {
	slow, withoutRetryAfter, notRecovered := loadRunAt(900), loadRunAt(900), loadRunAt(1000)
	slow.predicts.rejected, slow.predicts.rejectedTimes = 1, []time.Duration{60 * time.Millisecond}
	withoutRetryAfter.noRetryAfter = 1
	clear(notRecovered.buckets)
	for name, c := range map[string]struct {
		above, after *loadRun
		want         string
	}{
		"within the bounds":               {loadRunAt(900), loadRunAt(1000), ""},
		"low goodput":                     {loadRunAt(700), loadRunAt(1000), "goodput is 0.70"},
		"a slow rejection":                {slow, loadRunAt(1000), "rejections took 60ms"},
		"a rejection without Retry-After": {withoutRetryAfter, loadRunAt(1000), "without Retry-After"},
		"no recovery":                     {loadRunAt(900), notRecovered, "not recovered"},
		"failed calls":                    {loadRunAt(900), failedRun(), "2 calls failed"},
	} {
		tr := &trialRun{long: true}
		(&comparison{atBest: []*loadRun{loadRunAt(1000), c.after}, aboveBest: []*loadRun{c.above}}).check(tr, name)
		if c.want == "" {
			assert.Empty(t, tr.failures, name)
			continue
		}
		assert.Contains(t, strings.Join(tr.failures, "; "), c.want, name)
	}
}

func failedRun() *loadRun {
	l := loadRunAt(1000)
	l.failed = 2
	return l
}

func TestWireConnReadsAnswers(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/full" {
			w.Header().Set("Retry-After", "2")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = io.Copy(w, r.Body)
	}))
	defer server.Close()
	conn := &wireConn{addr: strings.TrimPrefix(server.URL, "http://")}
	defer conn.close()
	for range 2 {
		a, err := conn.post("/", []byte(`{"a": 1}`), time.Second)
		require.NoError(t, err)
		assert.Equal(t, wireAnswer{status: 200}, a)
		a, err = conn.post("/full", []byte(`{}`), time.Second)
		require.NoError(t, err)
		assert.Equal(t, wireAnswer{status: 503, retryAfter: 2 * time.Second, hasRetryAfter: true}, a)
	}
}
