package postgres

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// appendBody appends a receipt as encoding/json would write it, in a fifth of the
// time: every answer has one. An error where a number is not finite.
func appendBody(b []byte, r *sizing.Receipt) ([]byte, error) {
	w := writer{b: b}
	w.ask(&r.Ask)
	w.allocation(&r.Allocation)
	w.key(`,"At":`)
	w.quoted(r.At.Format(time.RFC3339Nano))
	w.key("}")
	if w.infinite {
		return nil, errors.New("a number that is not finite")
	}
	return w.b, nil
}

// writer appends JSON.
type writer struct {
	b        []byte
	infinite bool // a number was met that JSON cannot hold
}

func (w *writer) key(k string)                   { w.b = append(w.b, k...) }
func (w *writer) whole(v int64)                  { w.b = strconv.AppendInt(w.b, v, 10) }
func (w *writer) quoted(s string)                { w.b = append(append(append(w.b, '"'), s...), '"') }
func (w *writer) bytes(k string, v sizing.Bytes) { w.key(k); w.whole(int64(v)) }

// text writes a string; the library escapes those that need it.
func (w *writer) text(s string) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			escaped, err := json.Marshal(s)
			if err != nil {
				panic(err) // any string can be written
			}
			w.b = append(w.b, escaped...)
			return
		}
	}
	w.quoted(s)
}

// number writes v as ECMAScript does, which is what the library follows.
func (w *writer) number(v float64) {
	if size := math.Abs(v); size != 0 && (size < 1e-6 || size >= 1e21) {
		text, err := json.Marshal(v)
		w.b, w.infinite = append(w.b, text...), w.infinite || err != nil
		return
	}
	w.infinite = w.infinite || math.IsNaN(v)
	w.b = strconv.AppendFloat(w.b, v, 'f', -1, 64)
}

func (w *writer) ask(a *sizing.Ask) {
	w.key(`{"Ask":{"Try":{`)
	w.task(&a.Try.TaskKey)
	w.key(`,"RunID":`)
	w.text(a.Try.RunID)
	w.key(`,"MapIndex":`)
	w.whole(int64(a.Try.MapIndex))
	w.key(`,"Number":`)
	w.whole(int64(a.Try.Number))
	w.key(`},"Features":`)
	w.features(a.Features)
	w.bytes(`,"Requested":{"Memory":`, a.Requested.Memory)
	w.key(`,"CPU":`)
	w.number(float64(a.Requested.CPU))
	w.bytes(`},"MaxMemory":`, a.MaxMemory)
	w.key(`}`)
}

func (w *writer) task(k *sizing.TaskKey) {
	w.key(`"Namespace":`)
	w.text(k.Namespace)
	w.key(`,"DAG":`)
	w.text(k.DAG)
	w.key(`,"Task":`)
	w.text(k.Task)
}

func (w *writer) features(f sizing.Features) {
	if f == nil {
		w.key("null")
		return
	}
	var room [32]string
	names := slices.AppendSeq(room[:0], maps.Keys(f))
	slices.Sort(names)
	for i, name := range names {
		if i == 0 {
			w.key("{")
		} else {
			w.key(",")
		}
		v := f[name]
		w.text(name)
		w.key(`:{"Kind":`)
		w.whole(int64(v.Kind))
		w.key(`,"Num":`)
		w.number(v.Num)
		w.key(`,"Text":`)
		w.text(v.Text)
		w.key("}")
	}
	if len(names) == 0 {
		w.key("{")
	}
	w.key("}")
}

func (w *writer) allocation(a *sizing.Allocation) {
	w.key(`,"Allocation":{"PredictionID":`)
	w.text(a.PredictionID)
	w.key(`,"Task":{`)
	w.task(&a.Task)
	w.key(`},"Memory":`)
	w.grant(&a.Memory)
	w.key(`,"CPU":`)
	w.number(float64(a.CPU))
	w.key(`,"Duration":`)
	if a.Duration == nil {
		w.key("null")
	} else {
		w.key(`{"Median":`)
		w.whole(int64(a.Duration.Median))
		w.key(`,"P95":`)
		w.whole(int64(a.Duration.P95))
		w.key("}")
	}
	w.key(`,"Bins":`)
	w.bins(a.Bins)
	w.key(`,"Ladder":`)
	w.amounts(a.Ladder)
	w.key(`,"Risk":{"Promised":`)
	if a.Risk.Promised == nil {
		w.key("null")
	} else {
		w.number(*a.Risk.Promised)
	}
	w.key(`,"Target":`)
	w.number(a.Risk.Target)
	w.key(`},"Source":`)
	w.text(string(a.Source))
	w.key(`,"Mode":`)
	w.text(string(a.Mode))
	w.key(`,"Shadow":`)
	w.grant(a.Shadow)
	w.key(`,"Model":`)
	w.model(a.Model)
	w.key(`,"Reason":`)
	w.text(a.Reason)
	w.key(`,"Guard":{"Version":`)
	w.whole(a.Guard.Version)
	w.key(`,"Params":null}}`) // in a column: JSON has no infinity
}

func (w *writer) grant(g *sizing.Grant) {
	if g == nil {
		w.key("null")
		return
	}
	w.bytes(`{"Request":`, g.Request)
	w.bytes(`,"Limit":`, g.Limit)
	w.key("}")
}

func (w *writer) amounts(amounts []sizing.Bytes) {
	if amounts == nil {
		w.key("null")
		return
	}
	w.key("[")
	for i, v := range amounts {
		if i > 0 {
			w.key(",")
		}
		w.whole(int64(v))
	}
	w.key("]")
}

func (w *writer) bins(c *sizing.BinChoice) {
	if c == nil {
		w.key("null")
		return
	}
	w.key(`{"Upper":`)
	w.amounts(c.Upper)
	w.key(`,"Probabilities":`)
	if c.Probabilities == nil {
		w.key("null")
	} else {
		w.key("[")
		for i, p := range c.Probabilities {
			if i > 0 {
				w.key(",")
			}
			w.number(p)
		}
		w.key("]")
	}
	w.key(`,"Chosen":`)
	w.whole(int64(c.Chosen))
	w.key("}")
}

func (w *writer) model(m *sizing.ModelRef) {
	if m == nil {
		w.key("null")
		return
	}
	w.key(`{"Version":`)
	w.whole(int64(m.Version))
	w.key(`,"Family":`)
	w.text(m.Family)
	w.key(`,"Observations":`)
	w.whole(int64(m.Observations))
	w.key(`,"TrainedAt":`)
	w.quoted(m.TrainedAt.Format(time.RFC3339Nano))
	w.key("}")
}
