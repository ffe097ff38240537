package httpapi

import (
	"bytes"
	stdjson "encoding/json"
	"io"
	"net/http"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Questions and reports are most of what is read here. Those that are written plainly
// (known names once each, strings without escapes in ASCII, whole numbers without
// exponents where they have to be whole, features that are scalars) are read by hand, in
// a fifth of the time. All else, and all that is wrong, is left to the strict reader,
// which has the words for it: what is read quickly it would have read too, and to the
// same values.

// quickBody is the largest body that is read whole before it is looked at, in bytes.
const quickBody = 16 << 10

// decodeQuickly reads a question or a report quickly, or says that the strict reader
// must: from the reader that it returns, since the body has been read from.
func decodeQuickly(r *http.Request, body any) (rest io.Reader, done bool) {
	if r.ContentLength <= 0 || r.ContentLength > quickBody {
		return r.Body, false
	}
	raw := make([]byte, r.ContentLength)
	n, err := io.ReadFull(r.Body, raw)
	if err == nil {
		switch body := body.(type) {
		case *api.PredictRequest:
			done = quickQuestion(raw, body)
		case *api.Observation:
			done = quickReport(raw, body)
		}
	}
	return io.MultiReader(bytes.NewReader(raw[:n]), r.Body), done
}

// quickQuestion reads a question, or reports that it is not plain and leaves body empty.
func quickQuestion(raw []byte, body *api.PredictRequest) bool {
	q := quick{b: raw}
	plain := q.object(func(name []byte) bool {
		switch string(name) {
		case "dag_id":
			return q.text(&body.DagID)
		case "task_id":
			return q.text(&body.TaskID)
		case "namespace":
			return q.textAt(&body.Namespace)
		case "run_id":
			return q.textAt(&body.RunID)
		case "max_memory":
			return q.textAt(&body.MaxMemory)
		case "map_index":
			return q.intAt(&body.MapIndex)
		case "try_number":
			return q.intAt(&body.TryNumber)
		case "max_memory_bytes":
			return q.wholeAt(&body.MaxMemoryBytes)
		case "features":
			return q.features(&body.Features)
		case "requested":
			return q.resources(&body.Requested)
		}
		return false
	})
	if !plain || !q.ended() {
		*body = api.PredictRequest{}
		return false
	}
	return true
}

// quickReport reads a report, or reports that it is not plain and leaves body empty.
func quickReport(raw []byte, body *api.Observation) bool {
	q := quick{b: raw}
	plain := q.object(func(name []byte) bool {
		switch string(name) {
		case "dag_id":
			return q.text(&body.DagID)
		case "task_id":
			return q.text(&body.TaskID)
		case "namespace":
			return q.textAt(&body.Namespace)
		case "run_id":
			return q.text(&body.RunID)
		case "prediction_id":
			return q.textAt(&body.PredictionID)
		case "outcome":
			return q.text((*string)(&body.Outcome))
		case "map_index":
			return q.intAt(&body.MapIndex)
		case "try_number":
			return q.intAt(&body.TryNumber)
		case "features":
			return q.features(&body.Features)
		case "requested":
			return q.resources(&body.Requested)
		case "allocated":
			return q.resources(&body.Allocated)
		}
		return q.measured(name, body)
	})
	if !plain || !q.ended() {
		*body = api.Observation{}
		return false
	}
	return true
}

// measured reads what a report says of a try's use and time.
func (q *quick) measured(name []byte, body *api.Observation) bool {
	switch string(name) {
	case "memory_max":
		return q.textAt(&body.MemoryMax)
	case "memory_max_bytes":
		return q.wholeAt(&body.MemoryMaxBytes)
	case "memory_sampled_bytes":
		return q.wholeAt(&body.MemorySampledBytes)
	case "cpu_max_cores":
		return q.floatAt(&body.CPUMaxCores)
	case "duration_seconds":
		return q.floatAt(&body.DurationSeconds)
	case "started_at":
		return q.timeAt(&body.StartedAt)
	case "ended_at":
		return q.timeAt(&body.EndedAt)
	}
	return false
}

// resources reads memory and CPU.
func (q *quick) resources(to **api.Resources) bool {
	r := new(api.Resources)
	*to = r
	return q.object(func(name []byte) bool {
		switch string(name) {
		case "memory":
			return q.textAt(&r.Memory)
		case "cpu":
			return q.textAt(&r.CPU)
		case "memory_bytes":
			return q.wholeAt(&r.MemoryBytes)
		case "cpu_cores":
			return q.floatAt(&r.CPUCores)
		}
		return false
	})
}

// features passes over features that are scalars, and keeps them as they are written.
func (q *quick) features(to *api.Features) bool {
	from := q.at
	if !q.object(func([]byte) bool { return q.scalar() }) {
		return false
	}
	*to = q.b[from:q.at:q.at]
	return true
}

// quickFeatures reads features that were looked at, or reports that they are not plain.
func quickFeatures(raw []byte) (sizing.Features, bool) {
	q := quick{b: raw}
	if q.space(); q.at == len(raw) {
		return nil, false
	}
	features := make(sizing.Features, min(bytes.Count(raw, []byte(":")), sizing.MaxFeatures))
	plain := q.object(func(name []byte) bool {
		v, ok := q.value()
		if ok {
			features[string(name)] = v
		}
		return ok
	})
	return features, plain && q.ended()
}

// deepest is how deep an item of a batch may be nested: its features, or a point of its
// series.
const deepest = 4

// quickItems finds the items of the one list of a batch, or reports that the batch is
// not plain, or too long. What it finds is JSON, with names once each.
func quickItems(raw []byte, field string) ([]stdjson.RawMessage, bool) {
	q := quick{b: raw}
	var items []stdjson.RawMessage
	plain := q.object(func(name []byte) bool {
		return string(name) == field && q.list(func() bool {
			from := q.at
			ok := q.any(deepest)
			items = append(items, raw[from:q.at:q.at])
			return ok && len(items) <= maxBatch
		})
	})
	return items, plain && q.ended()
}
