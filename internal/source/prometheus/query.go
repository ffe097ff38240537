package prometheus

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
)

// server calls the two operations of the HTTP API of Prometheus that a Client needs. It replaces
// client_golang's api/prometheus/v1, which would add half a megabyte to the container image for
// json-iterator and its reflection.
type server struct {
	base *url.URL // with the path before /api/v1
	http *http.Client
}

// kind is the errorType of an API error, which decode reads from responses with status 2xx, 400 or 422. Other
// faulty responses get one of the kinds that client_golang uses: badResponse, clientError or serverError.
type kind string

const (
	badData     kind = "bad_data"
	badResponse kind = "bad_response"
	clientError kind = "client_error"
	serverError kind = "server_error"
)

// apiError is an error that the server reported, or a response that does not follow the API.
type apiError struct {
	kind    kind
	message string
}

func (e *apiError) Error() string { return string(e.kind) + ": " + e.message }

// query returns the samples that the expression selects. The expression must select a range of samples.
func (s *server) query(ctx context.Context, expression string, at time.Time) (model.Matrix, error) {
	var result struct {
		ResultType model.ValueType `json:"resultType"`
		Result     json.RawMessage `json:"result"`
	}
	if err := s.post(ctx, "query", url.Values{"query": {expression}, "time": {unixSeconds(at)}}, &result); err != nil {
		return nil, err
	}
	switch result.ResultType {
	case model.ValMatrix:
	case model.ValNone:
		return nil, &apiError{badResponse, "no resultType"}
	default:
		return nil, fmt.Errorf("%w: %s returned a %s instead of a matrix; check that the URL is that of a Prometheus server", ErrRejected, expression, result.ResultType)
	}
	var matrix model.Matrix
	if err := json.Unmarshal(result.Result, &matrix); err != nil {
		return nil, &apiError{badResponse, err.Error()}
	}
	return matrix, nil
}

func (s *server) series(ctx context.Context, match string, from, to time.Time) ([]model.LabelSet, error) {
	var found []model.LabelSet
	err := s.post(ctx, "series", url.Values{"match[]": {match}, "start": {unixSeconds(from)}, "end": {unixSeconds(to)}}, &found)
	return found, err
}

// post calls an operation and decodes its data. It posts a form, because an expression can be
// too long for a URL. If the server or a proxy does not permit POST, it repeats the request with GET.
func (s *server) post(ctx context.Context, operation string, form url.Values, data any) error {
	address := s.base.JoinPath("api/v1", operation)
	for name, values := range s.base.Query() {
		if !form.Has(name) {
			form[name] = values
		}
	}
	encoded := form.Encode()
	status, body, err := s.send(ctx, http.MethodPost, address, encoded)
	switch status {
	case http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		address.RawQuery = encoded
		status, body, err = s.send(ctx, http.MethodGet, address, "")
	}
	if err != nil {
		return err
	}
	return decode(status, body, data)
}

func (s *server) send(ctx context.Context, method string, address *url.URL, form string) (int, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, address.String(), strings.NewReader(form))
	if err != nil {
		return 0, nil, err
	}
	if form != "" {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		// This permits the transport to repeat the request on a new connection. A header without a value is not sent.
		request.Header["Idempotency-Key"] = nil
	}
	response, err := s.http.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	var body bytes.Buffer
	_, err = body.ReadFrom(response.Body)
	return response.StatusCode, body.Bytes(), err
}

func decode(status int, body []byte, data any) error {
	envelope := struct {
		Status    string `json:"status"`
		Data      any    `json:"data"`
		ErrorType kind   `json:"errorType"`
		Error     string `json:"error"`
	}{Data: data}
	switch {
	case status/100 == 2:
		if err := json.Unmarshal(body, &envelope); err != nil {
			return &apiError{badResponse, err.Error()}
		}
		if envelope.Status == "error" {
			return &apiError{envelope.ErrorType, envelope.Error}
		}
		return nil
	case status != http.StatusBadRequest && status != http.StatusUnprocessableEntity:
		return statusError(status) // for example from a proxy, or 503 from an overloaded Prometheus
	}
	envelope.Data = &json.RawMessage{}
	switch err := json.Unmarshal(body, &envelope); {
	case err != nil:
		return statusError(status)
	case envelope.Status == "success":
		return &apiError{badResponse, "inconsistent body for response code"}
	case envelope.ErrorType == "":
		envelope.ErrorType = clientError
	}
	if envelope.Error == "" {
		envelope.Error = fmt.Sprintf("client error: %d", status)
	}
	return &apiError{envelope.ErrorType, envelope.Error}
}

func statusError(status int) error {
	switch {
	case status == http.StatusTooManyRequests: // from a proxy with a rate limit; a later retry may succeed
		return &apiError{serverError, "too many requests: 429"}
	case status/100 == 4:
		return &apiError{clientError, fmt.Sprintf("client error: %d", status)}
	case status/100 == 5:
		return &apiError{serverError, fmt.Sprintf("server error: %d", status)}
	}
	return &apiError{badResponse, fmt.Sprintf("bad response code %d", status)}
}

func unixSeconds(t time.Time) string {
	return strconv.FormatFloat(float64(t.Unix())+float64(t.Nanosecond())/1e9, 'f', -1, 64)
}
