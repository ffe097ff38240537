package prometheustest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

type fakeSeries struct {
	labels map[string]string
	values [][2]any // pairs of a time in seconds and a value, as the HTTP API encodes them
}

var (
	selectorPattern = regexp.MustCompile(`^(\w*)\{(.*)\}(?:\[(\d+)s\])?$`)
	matcherPattern  = regexp.MustCompile(`(\w+)(=~|!=|=)("(?:[^"\\]|\\.)*")`)
)

// Fake starts a server that answers the queries of package prometheus from the samples of the pods, and returns its URL. Unlike
// Start, it needs no installed Prometheus. It evaluates only selectors, with the operators =, != and =~.
func Fake(t testing.TB, pods ...Pod) string {
	t.Helper()
	byName := map[string]*fakeSeries{}
	var all []*fakeSeries
	for i := range pods {
		pods[i].write(func(family, labels string, value float64, at time.Time) {
			name := family + "{" + labels + "}"
			if byName[name] == nil {
				byName[name] = &fakeSeries{labels: map[string]string{"__name__": family}}
				for _, m := range matcherPattern.FindAllStringSubmatch(labels, -1) {
					byName[name].labels[m[1]], _ = strconv.Unquote(m[3])
				}
				all = append(all, byName[name])
			}
			byName[name].values = append(byName[name].values, [2]any{at.Unix(), strconv.FormatFloat(value, 'g', -1, 64)})
		})
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/api/v1/query", func(w http.ResponseWriter, r *http.Request) {
		expression := r.PostFormValue("query")
		span, err := strconv.ParseFloat(selectorPattern.FindStringSubmatch(expression)[3], 64)
		assert.NoError(t, err)
		to := parseTime(t, r, "time")
		result := []any{}
		for _, s := range all {
			if values := s.between(to-span, to); len(values) > 0 && s.matches(t, expression) {
				result = append(result, map[string]any{"metric": s.labels, "values": values})
			}
		}
		respond(t, w, map[string]any{"resultType": "matrix", "result": result})
	})
	mux.HandleFunc("/api/v1/series", func(w http.ResponseWriter, r *http.Request) {
		found := []map[string]string{}
		for _, s := range all {
			if len(s.between(parseTime(t, r, "start"), parseTime(t, r, "end"))) > 0 && s.matches(t, r.PostFormValue("match[]")) {
				found = append(found, s.labels)
			}
		}
		respond(t, w, found)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

func parseTime(t testing.TB, r *http.Request, name string) float64 {
	at, err := strconv.ParseFloat(r.PostFormValue(name), 64)
	assert.NoError(t, err)
	return at
}

func respond(t testing.TB, w http.ResponseWriter, data any) {
	w.Header().Set("Content-Type", "application/json")
	assert.NoError(t, json.NewEncoder(w).Encode(map[string]any{"status": "success", "data": data}))
}

func (s *fakeSeries) between(from, to float64) (values [][2]any) {
	for _, v := range s.values {
		if at := float64(v[0].(int64)); at >= from && at <= to {
			values = append(values, v)
		}
	}
	return values
}

func (s *fakeSeries) matches(t testing.TB, selector string) bool {
	parts := selectorPattern.FindStringSubmatch(selector)
	if !assert.NotNil(t, parts, selector) {
		return false
	}
	matchers := matcherPattern.FindAllStringSubmatch(parts[2], -1)
	if parts[1] != "" {
		matchers = append(matchers, []string{"", "__name__", "=", fmt.Sprintf("%q", parts[1])})
	}
	for _, m := range matchers {
		want, err := strconv.Unquote(m[3])
		assert.NoError(t, err)
		value := s.labels[m[1]]
		switch m[2] {
		case "=":
			if value != want {
				return false
			}
		case "!=":
			if value == want {
				return false
			}
		default:
			if !regexp.MustCompile("^(?:" + want + ")$").MatchString(value) {
				return false
			}
		}
	}
	return true
}
