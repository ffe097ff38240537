package codec

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"sync"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/jsonwriter"
)

// PredictionResponse is an encoded answer with status 200. It has the same bytes as the answer of
// encoding/json. Call only one Visit method, and only once, because it returns the memory to a pool.
type PredictionResponse struct{ jsonwriter.Writer }

var responsePool = sync.Pool{New: func() any { return new(PredictionResponse) }}

// maxPooled is the largest answer, in bytes, whose memory is reused. The memory of larger answers, mostly of batches, would
// stay allocated in the pool.
const maxPooled = 256 << 10

// VisitPredictResponse implements api.PredictResponseObject.
func (w *PredictionResponse) VisitPredictResponse(to http.ResponseWriter) error { return w.send(to) }

// VisitPredictBatchResponse implements api.PredictBatchResponseObject.
func (w *PredictionResponse) VisitPredictBatchResponse(to http.ResponseWriter) error {
	return w.send(to)
}

// errInfinite reports an answer that JSON cannot express.
var errInfinite = errors.New("encode a prediction: a number is not finite")

func (w *PredictionResponse) send(to http.ResponseWriter) error {
	defer w.release()
	if w.Infinite {
		return errInfinite
	}
	h := to.Header()
	h["Content-Type"] = jsonMedia
	h["Content-Length"] = []string{strconv.Itoa(len(w.B))}
	to.WriteHeader(http.StatusOK)
	_, err := to.Write(w.B)
	return err
}

func (w *PredictionResponse) release() {
	if cap(w.B) <= maxPooled {
		w.B, w.Infinite = w.B[:0], false
		responsePool.Put(w)
	}
}

var jsonMedia = []string{"application/json"} // read only

// WritePrediction encodes one prediction.
func WritePrediction(p *api.Prediction) *PredictionResponse {
	w := responsePool.Get().(*PredictionResponse)
	w.prediction(p)
	w.Raw("\n")
	return w
}

// WritePredictions encodes the answer to a batch of `n` items. item(i) returns the prediction for item i, or a problem.
// If this prediction cannot be encoded, problemOf(i, err) returns the problem that replaces it.
func WritePredictions(n int, item func(i int) (api.Prediction, *api.Problem), problemOf func(i int, err error) *api.Problem) (*PredictionResponse, error) {
	w := responsePool.Get().(*PredictionResponse)
	w.Raw(`{"predictions":[`)
	for i := range n {
		if i > 0 {
			w.Raw(",")
		}
		p, problem := item(i)
		if start := len(w.B); problem == nil {
			if w.prediction(&p); !w.Infinite {
				continue
			}
			w.B, w.Infinite = w.B[:start], false
			problem = problemOf(i, errInfinite)
		}
		text, err := json.Marshal(api.BatchPrediction{Error: problem})
		if err != nil {
			return nil, err
		}
		w.B = append(w.B, text...)
	}
	w.Raw("]}\n")
	return w, nil
}

// duration writes the fields of `d` that follow median_seconds in the order of names, and the closing brace.
func (w *PredictionResponse) duration(d *api.Duration) {
	w.Raw(`,"outlier_probability":`)
	w.optional(d.OutlierProbability)
	w.Raw(`,"p95_seconds":`)
	w.Number(d.P95Seconds)
	w.Raw(`,"p99_seconds":`)
	w.optional(d.P99Seconds)
	w.Raw(`,"shape":`)
	if d.Shape == nil {
		w.Raw("null")
	} else {
		w.Text(*d.Shape)
	}
	w.Raw(`,"timeout_probability":`)
	w.optional(d.TimeoutProbability)
	w.Raw("}")
}

func (w *PredictionResponse) optional(v *float64) {
	if v == nil {
		w.Raw("null")
		return
	}
	w.Number(*v)
}

// prediction writes all fields of a prediction in the order in which encoding/json writes them.
func (w *PredictionResponse) prediction(p *api.Prediction) {
	w.Raw(`{"bins":`)
	w.bins(p.Bins)
	w.cohort(p.Cohort)
	w.Raw(`,"cpu":`)
	if p.CPU == nil {
		w.Raw("null")
	} else {
		w.Raw(`{"request":`)
		w.Text(p.CPU.Request)
		w.Raw(`,"request_cores":`)
		w.Number(p.CPU.RequestCores)
		w.Raw("}")
	}
	w.Raw(`,"dag_id":`)
	w.Text(p.DagID)
	w.Raw(`,"duration":`)
	if p.Duration == nil {
		w.Raw("null")
	} else {
		w.Raw(`{"median_seconds":`)
		w.Number(p.Duration.MedianSeconds)
		w.duration(p.Duration)
	}
	if p.GPUMemory != nil {
		w.Raw(`,"gpu_memory":{"median_bytes":`)
		w.Int(p.GPUMemory.MedianBytes)
		w.Raw(`,"p95_bytes":`)
		w.Int(p.GPUMemory.P95Bytes)
		w.Raw("}")
	}
	w.Raw(`,"ladder_bytes":`)
	jsonwriter.Ints(&w.Writer, p.LadderBytes)
	w.Raw(`,"memory":`)
	w.memory(p.Memory)
	w.Raw(`,"mode":`)
	w.Text(string(p.Mode))
	w.Raw(`,"model":`)
	w.model(p.Model)
	w.Raw(`,"namespace":`)
	w.Text(p.Namespace)
	w.plan(p.Plan)
	w.Raw(`,"prediction_id":`)
	w.Text(p.PredictionID)
	w.Raw(`,"reason":`)
	w.Text(p.Reason)
	w.Raw(`,"risk":{"promised":`)
	if p.Risk.Promised == nil {
		w.Raw("null")
	} else {
		w.Number(*p.Risk.Promised)
	}
	w.Raw(`,"target":`)
	w.Number(p.Risk.Target)
	w.Raw(`},"shadow":`)
	w.memory(p.Shadow)
	w.Raw(`,"source":`)
	w.Text(string(p.Source))
	w.Raw(`,"task_id":`)
	w.Text(p.TaskID)
	w.warnings(p.Warnings)
	w.Raw("}")
}

// plan writes a plan by encoding/json, because few answers have one. It writes nothing for nil.
func (w *PredictionResponse) plan(p *api.Plan) {
	if p == nil {
		return
	}
	text, err := json.Marshal(p)
	if err != nil {
		w.Infinite = true // encoding/json rejects only numbers that are not finite
		return
	}
	w.Raw(`,"plan":`)
	w.B = append(w.B, text...)
}

func (w *PredictionResponse) cohort(c *api.Cohort) {
	if c == nil {
		return
	}
	w.Raw(`,"cohort":{"confidence":`)
	w.optional(c.Confidence)
	w.Raw(`,"profile":`)
	if c.Profile == nil {
		w.Raw("null")
	} else {
		w.Int(int64(*c.Profile))
	}
	w.Raw(`,"runs":`)
	w.Int(int64(c.Runs))
	w.Raw(`,"tasks":`)
	w.Int(int64(c.Tasks))
	w.Raw("}")
}

func (w *PredictionResponse) warnings(all []api.Warning) {
	for i, warning := range all {
		if i == 0 {
			w.Raw(`,"warnings":[`)
		} else {
			w.Raw(",")
		}
		w.Raw(`{"detail":`)
		w.Text(warning.Detail)
		w.Raw(`,"field":`)
		w.Text(warning.Field)
		w.Raw("}")
	}
	if len(all) > 0 {
		w.Raw("]")
	}
}

func (w *PredictionResponse) bins(b *api.Bins) {
	if b == nil {
		w.Raw("null")
		return
	}
	w.Raw(`{"chosen":`)
	w.Int(int64(b.Chosen))
	w.Raw(`,"probabilities":`)
	w.Numbers(b.Probabilities)
	w.Raw(`,"upper_bytes":`)
	jsonwriter.Ints(&w.Writer, b.UpperBytes)
	w.Raw("}")
}

func (w *PredictionResponse) memory(m *api.Memory) {
	if m == nil {
		w.Raw("null")
		return
	}
	w.Raw(`{"limit":`)
	w.Text(m.Limit)
	w.Raw(`,"limit_bytes":`)
	w.Int(m.LimitBytes)
	w.Raw(`,"request":`)
	w.Text(m.Request)
	w.Raw(`,"request_bytes":`)
	w.Int(m.RequestBytes)
	w.Raw("}")
}

func (w *PredictionResponse) model(m *api.Model) {
	if m == nil {
		w.Raw("null")
		return
	}
	w.Raw(`{"family":`)
	w.Text(m.Family)
	w.Raw(`,"observations":`)
	w.Int(int64(m.Observations))
	w.Raw(`,"trained_at":`)
	w.Time(m.TrainedAt)
	w.Raw(`,"version":`)
	w.Int(int64(m.Version))
	w.Raw("}")
}
