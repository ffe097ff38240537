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
)

// A liar stands in front of a real replica and does one thing wrong. Each trial's
// counts must catch it: a check that never failed shows nothing.
type liar func(w http.ResponseWriter, r *http.Request, body string, honest http.Handler)

func liars() map[string]struct {
	lie  liar
	says string
} {
	forward := func(w http.ResponseWriter, r *http.Request, body string, honest http.Handler) {
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
		honest.ServeHTTP(w, r)
	}
	on := func(path string, do liar) liar {
		return func(w http.ResponseWriter, r *http.Request, body string, honest http.Handler) {
			if r.URL.Path == path {
				do(w, r, body, honest)
				return
			}
			forward(w, r, body, honest)
		}
	}
	once := func(do liar) liar {
		done := false
		return func(w http.ResponseWriter, r *http.Request, body string, honest http.Handler) {
			if !done {
				done = true
				do(w, r, body, honest)
				return
			}
			forward(w, r, body, honest)
		}
	}
	status := func(code int) liar {
		return func(w http.ResponseWriter, _ *http.Request, _ string, _ http.Handler) { w.WriteHeader(code) }
	}
	return map[string]struct {
		lie  liar
		says string
	}{
		"an honest one": {forward, ""},
		"a false ack": {on("/observe", once(func(w http.ResponseWriter, _ *http.Request, _ string, _ http.Handler) {
			_, _ = io.WriteString(w, `{"recorded": true}`)
		})), "lost 1"},
		"an effect too many": {on("/observe", once(func(w http.ResponseWriter, r *http.Request, body string, honest http.Handler) {
			forward(httptest.NewRecorder(), r.Clone(r.Context()), strings.Replace(body, `"run_id":"`, `"run_id":"again-`, 1), honest)
			forward(w, r, body, honest)
		})), "invented 1"},
		"another body than was sent": {on("/observe", once(func(w http.ResponseWriter, r *http.Request, body string, honest http.Handler) {
			forward(w, r, strings.Replace(body, `"memory_max_bytes":`, `"memory_max_bytes":1`, 1), honest)
		})), "changed 1"},
		"an error": {on("/predict", once(status(http.StatusInternalServerError))), "1 calls failed"},
		"a refusal that does not say when to come again": {on("/observe", once(status(http.StatusServiceUnavailable))), "1 refusals without Retry-After"},
		"an answer that comes too late": {on("/predict", once(func(w http.ResponseWriter, r *http.Request, body string, honest http.Handler) {
			time.Sleep(predictWithin + 50*time.Millisecond)
			forward(w, r, body, honest)
		})), "1 calls beyond their deadline"},
	}
}

func TestEachLieIsFound(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	binary := t.TempDir() + "/loadaware"
	root, err := testcluster.Root()
	require.NoError(t, err)
	require.NoError(t, testcluster.Build(ctx, root, binary))
	s := &sheet{seed: 1, binary: binary}
	cluster, tasks, err := s.open(ctx, testcluster.Config{})
	require.NoError(t, err)
	defer func() { require.NoError(t, cluster.Close()) }()

	for name, c := range liars() {
		front := httptest.NewServer(inFront(t, cluster, c.lie))
		s := &sheet{seed: 1}
		// A ledger of its own: what other liars did to the database is not its business.
		apart := *cluster
		apart.Ledger = testcluster.NewLedger()
		load := s.traffic(&apart, tasks, "liar-"+name)
		load.urls = []string{front.URL}
		load.start(ctx, 1)
		require.Eventually(t, func() bool { return load.seen().Observed >= 3 }, time.Minute, 10*time.Millisecond, name)
		seen := load.stop()
		before := len(s.faults)
		s.settle(ctx, name, seen, &apart)
		found := strings.Join(s.faults[before:], "; ")
		balance, err := apart.Ledger.Check(ctx, cluster.Postgres.DSN())
		require.NoError(t, err)
		// All that the others stored was never sent by this ledger: only its own lie counts.
		told := found + " " + balance.String()
		switch c.says {
		case "":
			assert.Zero(t, balance.Lost+balance.Changed+balance.Doubled+balance.Miscounted, name)
			assert.Zero(t, seen.Failed+seen.Late+seen.Rude+seen.Broken, name)
		case "invented 1":
			assert.Equal(t, 1, stored(ctx, t, cluster, "again-liar-%"), name)
			assert.Contains(t, found, "do not balance", name)
		default:
			assert.Contains(t, told, c.says, name)
		}
		front.Close()
	}

	t.Run("duplicates that are all new, and other bodies that are taken", func(t *testing.T) {
		front := httptest.NewServer(inFront(t, cluster, func(w http.ResponseWriter, _ *http.Request, _ string, _ http.Handler) {
			_, _ = io.WriteString(w, `{"recorded": true, "duplicate": false}`)
		}))
		defer front.Close()
		s := &sheet{}
		duplicates(ctx, testcluster.NewLedger(), []string{front.URL}, tasks, 1, 60).judge(s)
		assert.Len(t, s.faults, 2, "%v", s.faults)
	})
	t.Run("answers without a model", func(t *testing.T) {
		s := &sheet{seed: 1}
		a := s.asker(cluster, []testcluster.Task{{DAG: "never", Task: "heard of"}})
		a.ask(ctx)
		a.judge(s, "here")
		assert.Len(t, s.faults, 1)
	})
	t.Run("a scarcity that is none", func(t *testing.T) {
		s := &sheet{seed: 1}
		nothing := func(context.Context, *testcluster.Cluster) error { return nil }
		require.NoError(t, s.scarce(ctx, cluster, tasks, &want{"nothing", nothing, nothing}))
		assert.Contains(t, strings.Join(s.faults, "; "), "nothing was scarce")
	})
}

// inFront forwards to the cluster's first replica through a liar.
func inFront(t *testing.T, cluster *testcluster.Cluster, lie liar) http.Handler {
	to, err := url.Parse(cluster.Replicas[0].URL)
	require.NoError(t, err)
	honest := httputil.NewSingleHostReverseProxy(to)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		lie(w, r, string(body), honest)
	})
}

func stored(ctx context.Context, t *testing.T, cluster *testcluster.Cluster, like string) (n int) {
	conn, err := connect(ctx, cluster)
	require.NoError(t, err)
	defer conn.Close(ctx)
	require.NoError(t, conn.QueryRow(ctx, `SELECT count(*) FROM observation WHERE run_id LIKE $1`, like).Scan(&n))
	return n
}

// gathered is a crowd that got so many answers a second for 5 s.
func gathered(perSecond int) *gathering {
	g := &gathering{connections: 8, took: 5 * time.Second, buckets: make([]int, 51)}
	g.asks.good = 5 * perSecond
	for i := range 50 {
		g.buckets[i] = perSecond / 10
	}
	return g
}

func TestAnOverloadIsJudged(t *testing.T) {
	slow, rude, late := gathered(900), gathered(900), gathered(1000)
	slow.asks.refused, slow.asks.refusedTook = 1, []time.Duration{60 * time.Millisecond}
	rude.rude = 1
	clear(late.buckets)
	for name, c := range map[string]struct {
		beyond, after *gathering
		says          string
	}{
		"as it should be":          {gathered(900), gathered(1000), ""},
		"goodput that falls":       {gathered(700), gathered(1000), "goodput is 0.70"},
		"a refusal that is slow":   {slow, gathered(1000), "refusals took 60ms"},
		"a refusal that is rude":   {rude, gathered(1000), "without Retry-After"},
		"a crowd that stays away":  {gathered(900), late, "not recovered"},
		"calls that simply failed": {gathered(900), failing(), "2 calls failed"},
	} {
		s := &sheet{long: true}
		(&contrast{right: []*gathering{gathered(1000), c.after}, beyond: []*gathering{c.beyond}}).judge(s, name)
		if c.says == "" {
			assert.Empty(t, s.faults, name)
			continue
		}
		assert.Contains(t, strings.Join(s.faults, "; "), c.says, name)
	}
}

func failing() *gathering {
	g := gathered(1000)
	g.failed = 2
	return g
}

func TestAnAnswerIsReadOffTheWire(t *testing.T) {
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
		assert.Equal(t, wireAnswer{status: 503, retryAfter: 2 * time.Second, polite: true}, a)
	}
}
