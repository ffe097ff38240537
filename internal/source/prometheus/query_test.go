package prometheus_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/source/prometheus"
)

func respondWith(t *testing.T, path string, respond http.HandlerFunc) *prometheus.Client {
	server := httptest.NewServer(respond)
	t.Cleanup(server.Close)
	c, err := prometheus.New(prometheus.Config{URL: server.URL + path, PerSecond: 1000})
	require.NoError(t, err)
	return c
}

func TestErrorResponsesAreRejectedOrUnavailable(t *testing.T) {
	for _, c := range []struct {
		status  int
		body    string
		want    error
		message string
	}{
		{400, `{"status":"error","errorType":"bad_data","error":"parse error: no label"}`, prometheus.ErrRejected, "bad_data: parse error: no label"},
		{400, `<html>`, prometheus.ErrRejected, "client_error: client error: 400"},
		{400, `{"status":"error"}`, prometheus.ErrRejected, "client_error: client error: 400"},
		{400, `{"status":"success","data":{}}`, prometheus.ErrUnavailable, "inconsistent"},
		{422, `{"status":"error","errorType":"execution","error":"too many samples"}`, prometheus.ErrUnavailable, "execution: too many samples"},
		{200, `{"status":"error","errorType":"timeout","error":"too slow"}`, prometheus.ErrUnavailable, "timeout: too slow"},
		{200, `<html>`, prometheus.ErrUnavailable, "bad_response"},
		{200, `{}`, prometheus.ErrUnavailable, "bad_response"},
		{200, `{"status":"success","data":{"resultType":"table","result":[]}}`, prometheus.ErrUnavailable, "bad_response"},
		{200, `{"status":"success","data":{"resultType":"matrix","result":[{"values":[[0,"one"]]}]}}`, prometheus.ErrUnavailable, "bad_response"},
		{200, `{"status":"success","data":{"resultType":"vector","result":[]}}`, prometheus.ErrRejected, "returned a vector instead of a matrix"},
		{200, `{"status":"success","data":{"resultType":"scalar","result":[0,"1"]}}`, prometheus.ErrRejected, "returned a scalar instead of a matrix"},
		{418, `short and stout`, prometheus.ErrRejected, "client_error: client error: 418"},
		{429, `slow down`, prometheus.ErrUnavailable, "server_error: too many requests: 429"},
		{304, ``, prometheus.ErrUnavailable, "bad_response: bad response code 304"},
	} {
		client := respondWith(t, "", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		})
		_, err := client.Usage(t.Context(), prometheus.Pod{Name: "x"}, noon, noon)
		require.ErrorIs(t, err, c.want, "%d %s", c.status, c.body)
		assert.ErrorContains(t, err, c.message, "%d %s", c.status, c.body)
	}
}

func TestQueryIsRepeatedByGETIfTheServerPermitsNoPOST(t *testing.T) {
	for _, status := range []int{http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusNotImplemented} {
		var methods, forms []string
		client := respondWith(t, "/prefix/?tenant=a", func(w http.ResponseWriter, r *http.Request) {
			assert.Equal(t, "/prefix/api/v1/query", r.URL.Path)
			assert.NoError(t, r.ParseForm())
			methods, forms = append(methods, r.Method), append(forms, r.Form.Get("tenant")+r.Form.Get("time")+r.Form.Get("query"))
			if r.Method == http.MethodPost {
				w.WriteHeader(status)
				return
			}
			_, _ = io.WriteString(w, `{"status":"success","data":{"resultType":"matrix","result":[
				{"metric":{"__name__":"container_memory_working_set_bytes","container":"base"},"values":[[1767441600,"5e8"],[1767441630.5,"NaN"]]}]}}`)
		})
		u, err := client.Usage(t.Context(), prometheus.Pod{Name: "x"}, noon, noon)
		require.NoError(t, err)
		assert.EqualValues(t, 500_000_000, u.PeakMemory)
		assert.Equal(t, []string{http.MethodPost, http.MethodGet}, methods)
		assert.Equal(t, forms[0], forms[1])
		assert.Contains(t, forms[0], "a1767441660{__name__", "the form must have the parameter of the address, the time and the query")
	}
}
