package httpapi

import (
	"encoding/json"
	"net/http"
	"strconv"
	"sync"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/plainjson"
)

// Answers to questions are most of what is written here, and are written by hand: the
// bytes are those of encoding/json.

// answerWriter is a 200 whose body is JSON already, in the shapes of the contract. It is
// written to its caller once, and then used again.
type answerWriter struct{ plainjson.Writer }

var answerWriters = sync.Pool{New: func() any { return new(answerWriter) }}

const largestKept = 256 << 10 // bytes of an answer whose memory is used again

func (w *answerWriter) VisitPredictResponse(to http.ResponseWriter) error { return w.visit(to) }

func (w *answerWriter) VisitPredictBatchResponse(to http.ResponseWriter) error { return w.visit(to) }

func (w *answerWriter) visit(to http.ResponseWriter) error {
	h := to.Header()
	h["Content-Type"] = jsonMedia
	h["Content-Length"] = []string{strconv.Itoa(len(w.B))}
	to.WriteHeader(http.StatusOK)
	_, err := to.Write(w.B)
	if cap(w.B) <= largestKept {
		w.B, w.Infinite = w.B[:0], false
		answerWriters.Put(w)
	}
	return err
}

var jsonMedia = []string{"application/json"} // read only

// writeAnswer is one answer, and the newline that ends it.
func writeAnswer(p *api.Prediction) *answerWriter {
	w := answerWriters.Get().(*answerWriter)
	w.prediction(p)
	w.Raw("\n")
	return w
}

// writeAnswers is the answer to a batch of n, of which each is a prediction or a problem.
func writeAnswers(n int, answer func(i int) (api.Prediction, *api.Problem)) (*answerWriter, error) {
	w := answerWriters.Get().(*answerWriter)
	w.Raw(`{"predictions":[`)
	for i := range n {
		if i > 0 {
			w.Raw(",")
		}
		p, problem := answer(i)
		if problem == nil {
			w.prediction(&p)
			continue
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

func (w *answerWriter) prediction(p *api.Prediction) {
	w.Raw(`{"bins":`)
	w.bins(p.Bins)
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
		w.Raw(`,"p95_seconds":`)
		w.Number(p.Duration.P95Seconds)
		w.Raw("}")
	}
	w.Raw(`,"ladder_bytes":`)
	plainjson.Wholes(&w.Writer, p.LadderBytes)
	w.Raw(`,"memory":`)
	w.memory(p.Memory)
	w.Raw(`,"mode":`)
	w.Text(string(p.Mode))
	w.Raw(`,"model":`)
	w.model(p.Model)
	w.Raw(`,"namespace":`)
	w.Text(p.Namespace)
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
	w.Raw("}")
}

func (w *answerWriter) bins(b *api.Bins) {
	if b == nil {
		w.Raw("null")
		return
	}
	w.Raw(`{"chosen":`)
	w.Whole(int64(b.Chosen))
	w.Raw(`,"probabilities":`)
	w.Numbers(b.Probabilities)
	w.Raw(`,"upper_bytes":`)
	plainjson.Wholes(&w.Writer, b.UpperBytes)
	w.Raw("}")
}

func (w *answerWriter) memory(m *api.Memory) {
	if m == nil {
		w.Raw("null")
		return
	}
	w.Raw(`{"limit":`)
	w.Text(m.Limit)
	w.Raw(`,"limit_bytes":`)
	w.Whole(m.LimitBytes)
	w.Raw(`,"request":`)
	w.Text(m.Request)
	w.Raw(`,"request_bytes":`)
	w.Whole(m.RequestBytes)
	w.Raw("}")
}

func (w *answerWriter) model(m *api.Model) {
	if m == nil {
		w.Raw("null")
		return
	}
	w.Raw(`{"family":`)
	w.Text(m.Family)
	w.Raw(`,"observations":`)
	w.Whole(int64(m.Observations))
	w.Raw(`,"trained_at":`)
	w.Time(m.TrainedAt)
	w.Raw(`,"version":`)
	w.Whole(int64(m.Version))
	w.Raw("}")
}
