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

// Pipe is the child's end: it receives orders and sends results.
type Pipe struct {
	orders  *json.Decoder
	mu      sync.Mutex // one result at a time
	results *json.Encoder
}

// NewPipe returns a Pipe that reads orders from in and writes results to out.
func NewPipe(in io.Reader, out io.Writer) *Pipe {
	return &Pipe{orders: json.NewDecoder(in), results: json.NewEncoder(out)}
}

// Ended sends the result of a training. Use it as trainer.Config.Ended.
func (p *Pipe) Ended(e trainer.Ended) {
	p.send(result{Report: e.Report, Failed: failureOf(e.Err), Search: e.Search, Took: e.Took})
}

// Serve runs tr and executes orders until the input ends. It cancels a training in
// progress and waits for it, so that its lease is released.
func (p *Pipe) Serve(ctx context.Context, tr *trainer.Trainer) error {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	work.Go(func() { tr.Run(ctx) })
	for {
		var o order
		if err := p.orders.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		work.Go(func() {
			report, err := tr.TrainNow(sizing.WithActor(ctx, o.Actor), o.Task)
			p.send(result{ID: o.ID, Report: report, Failed: failureOf(err)})
		})
	}
}

// send writes one result. If the parent is gone, the write fails and the orders end too.
func (p *Pipe) send(r result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.results.Encode(r)
}
