package subprocess

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/trainer"
)

// Pipe is the child's end.
type Pipe struct {
	orders *json.Decoder
	mu     sync.Mutex // one told at a time
	told   *json.Encoder
}

// NewPipe reads orders from in, and tells out what came of them.
func NewPipe(in io.Reader, out io.Writer) *Pipe {
	return &Pipe{orders: json.NewDecoder(in), told: json.NewEncoder(out)}
}

// Ended tells of a training; it is what trainer.Config.Ended wants.
func (l *Pipe) Ended(e trainer.Ended) {
	l.tell(told{Report: e.Report, Failed: failureOf(e.Err), Search: e.Search, Took: e.Took})
}

// Serve runs a trainer, and trains what is ordered, until the orders end. A training
// under way is ended first, so that its lease is given back.
func (l *Pipe) Serve(ctx context.Context, tr *trainer.Trainer) error {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	work.Go(func() { tr.Run(ctx) })
	for {
		var o order
		if err := l.orders.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		work.Go(func() {
			report, err := tr.TrainNow(sizing.WithActor(ctx, o.Actor), o.Task)
			l.tell(told{ID: o.ID, Report: report, Failed: failureOf(err)})
		})
	}
}

// tell says one thing. Where nobody hears it any more, the orders have ended too.
func (l *Pipe) tell(t told) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.told.Encode(t)
}
