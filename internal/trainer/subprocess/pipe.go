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

// Pipe is the child's side of the connection: it receives requests and sends results.
type Pipe struct {
	requests *json.Decoder
	mu       sync.Mutex // serializes results
	results  *json.Encoder
}

// NewPipe returns a Pipe that reads requests from `in` and writes results to `out`.
func NewPipe(in io.Reader, out io.Writer) *Pipe {
	return &Pipe{requests: json.NewDecoder(in), results: json.NewEncoder(out)}
}

// Ended sends the result of a training, or of a search for better tree parameters. Use it as trainer.Config.Ended.
func (p *Pipe) Ended(e trainer.JobEnd) {
	p.send(result{Report: e.Report, Failed: failureOf(e.Err), Search: e.Search, Took: e.Took})
}

// Serve runs `tr` and executes requests until the input ends. Then it cancels trainings in progress and waits for them, so
// that their leases are released.
func (p *Pipe) Serve(ctx context.Context, tr *trainer.Trainer) error {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	work.Go(func() { tr.Run(ctx) })
	for {
		var r request
		if err := p.requests.Decode(&r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		work.Go(func() {
			report, err := tr.TrainNow(sizing.WithActor(ctx, r.Actor), r.Task)
			p.send(result{ID: r.ID, Report: report, Failed: failureOf(err)})
		})
	}
}

// send ignores a write error: after the end of the parent the input ends too, and then Serve returns.
func (p *Pipe) send(r result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.results.Encode(r)
}
