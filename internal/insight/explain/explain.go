// Package explain turns the factors of an answer into one explanation for the API, the command line and
// the dashboard: the chain from base to grant, similar runs, the ladder, the cause of a kill, and one
// paragraph of text.
package explain

import (
	"context"
	"time"

	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// Explanation explains one answer. A nil field is unknown or does not apply.
type Explanation struct {
	Try     sizing.TryKey
	Chain   Chain
	Shadow  *Chain         // in shadow mode: the grant that enforce mode would give
	Ladder  []sizing.Bytes // the grant, then the lift after each OOM kill
	Risk    sizing.Risk
	Source  sizing.Source
	Mode    sizing.Mode
	Model   *sizing.ModelRef
	Reason  string     // the reason in the answer of /predict
	Nearest []Run      // the most similar past runs, nearest first
	Killed  *KilledTry // nil if the try was not killed
	Note    string     // the reason why the chain is incomplete; "" if it is complete
	Text    string     // the whole explanation in one paragraph

	warnings []sizing.FieldError // parts of the request that were ignored or not used as sent
}

// Chain leads from a base to the grant: Base · Π Factor = Granted.
type Chain struct {
	Granted  sizing.Bytes
	Base     sizing.Bytes
	BaseName string       // what Base is, in words
	Expected sizing.Bytes // the expected peak; see taskmodel.Explanation
	Terms    []Term
}

// Term is one factor of a Chain.
type Term = taskmodel.Term

// Run is a past run.
type Run struct {
	RunID     string
	MapIndex  int
	TryNumber int
	At        time.Time
	Outcome   sizing.Outcome
	Peak      sizing.Bytes // for an OOM kill a lower bound of the peak
	Distance  float64      // 0: identical inputs, or no feature explains the peaks
}

// KilledTry explains why a try was OOM-killed, and with which amount it would not have been killed.
type KilledTry struct {
	At        sizing.Bytes // the allocation of the killed try, or its highest measured usage if that is more
	Needed    sizing.Bytes // largest peak of the later tries of the run; zero: none has ended with a measured peak above At
	WouldHold sizing.Bytes // Needed, rounded up to whole MiB; zero if unknown
	Rung      int          // index in Ladder of the first lift of at least WouldHold; 0: unknown or none
	Text      string       // the explanation in sentences
}

// Explainer explains answers of a service.
type Explainer struct{ svc *service.Service }

// New returns an Explainer.
func New(svc *service.Service) *Explainer { return &Explainer{svc} }

// Ask explains the answer that /predict would give now. It records nothing.
func (x *Explainer) Ask(ctx context.Context, ask *sizing.Ask) (*Explanation, error) {
	explained, err := x.svc.Explain(ctx, ask)
	if err != nil {
		return nil, err
	}
	return newExplanation(explained), nil
}

// Receipt explains a recorded answer.
func (x *Explainer) Receipt(ctx context.Context, r *sizing.Receipt) (*Explanation, error) {
	explained, err := x.svc.ExplainReceipt(ctx, r)
	if err != nil {
		return nil, err
	}
	return newExplanation(explained), nil
}

func newExplanation(s *service.ExplainedAnswer) *Explanation {
	a := &s.Allocation
	e := &Explanation{
		Try: s.Ask.Try, Chain: chainOf(&s.Factors), Ladder: a.Ladder, Risk: a.Risk, Source: a.Source, Mode: a.Mode, Model: a.Model,
		Reason: a.Reason, Note: s.Note, warnings: a.Warnings,
	}
	if s.Shadow != nil {
		shadow := chainOf(s.Shadow)
		e.Shadow = &shadow
	}
	for _, near := range s.Nearest {
		r := near.Row
		peak, _ := r.Peak()
		e.Nearest = append(e.Nearest, Run{RunID: r.RunID, MapIndex: r.MapIndex, TryNumber: r.Try, At: r.At, Outcome: r.Outcome, Peak: peak, Distance: near.Distance})
	}
	e.Killed = e.killedOf(s.Run.Rows)
	e.Text = e.text()
	return e
}

func chainOf(f *taskmodel.Explanation) Chain {
	return Chain{Granted: f.Granted, Base: f.Base, BaseName: f.BaseName, Expected: f.Expected, Terms: f.Terms}
}
