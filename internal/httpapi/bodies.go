package httpapi

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"golang.org/x/sync/semaphore"
)

// Bodies are bounded in bytes, not in number: eight batches of 32 MiB at once would
// take more memory than all models. A body that is not small is read whole before its
// request takes a place, out of a budget of bytes that it gives back with its answer;
// while the budget is used up, it waits.
//
//	declared ≤ 64 KiB ───────────────────────────────▶ place   read by its handler
//	declared ≤ 1 MiB  ──▶ its size of the 16 MiB ──read──▶ place
//	declared above    ──▶ its size of the 32 MiB ──read──▶ place
//	in chunks         ──▶ 64 KiB of the 16 MiB ──read──▶ if there is more: its limit of the 32 MiB
//
// So a body waits behind those of its kind of size alone, and a question never. Who has
// taken of the larger budget takes of no other, so nobody waits in a circle.
const (
	smallBody    = 64 << 10
	mediumBodies = 16 << 20 // bytes of bodies up to 1 MiB at once
	largeBodies  = batchBody
)

type budgets struct{ medium, large *semaphore.Weighted }

func newBudgets() *budgets {
	return &budgets{medium: semaphore.NewWeighted(mediumBodies), large: semaphore.NewWeighted(largeBodies)}
}

// readBody is a body that was read already.
type readBody struct {
	*bytes.Reader
	raw []byte
}

func (readBody) Close() error { return nil }

// wholeBody is all of the body of r: small, or read when it was admitted.
func wholeBody(r *http.Request) ([]byte, error) {
	if read, ok := r.Body.(readBody); ok {
		return read.raw, nil
	}
	raw := make([]byte, max(0, r.ContentLength))
	_, err := io.ReadFull(r.Body, raw)
	return raw, err
}

// read reads the body of r where its route takes one and it is not small. done gives
// back what it took of the budgets, whether it could be read or not. A body that is too
// large by its own word is not read at all.
func (b *budgets) read(ctx context.Context, r *http.Request, rule *route) (done func(), err error) {
	done = func() {}
	size := r.ContentLength
	switch {
	case rule.body == 0 || size >= 0 && size <= smallBody:
		return done, nil
	case size > rule.body:
		return done, &http.MaxBytesError{Limit: rule.body}
	}
	if err := checkMedia(r.Header); err != nil {
		return done, err
	}
	var raw []byte
	if size < 0 {
		raw, done, err = b.chunks(ctx, r.Body, rule)
	} else {
		raw, done, err = b.declared(ctx, r.Body, size, rule)
	}
	r.Body = readBody{bytes.NewReader(raw), raw}
	return done, err
}

func (b *budgets) declared(ctx context.Context, body io.Reader, size int64, rule *route) (raw []byte, done func(), err error) {
	of := b.large
	if size <= singleBody {
		of = b.medium
	}
	if done, err = take(ctx, of, size, rule); err != nil {
		return nil, done, err
	}
	raw = make([]byte, size)
	_, err = io.ReadFull(body, raw)
	return raw, done, readFailure(err)
}

// chunks reads a body of which nobody has said how long it is.
func (b *budgets) chunks(ctx context.Context, body io.Reader, rule *route) (raw []byte, done func(), err error) {
	first, err := take(ctx, b.medium, smallBody, rule)
	if err != nil {
		return nil, first, err
	}
	var all bytes.Buffer
	n, err := io.CopyN(&all, body, smallBody)
	if n < smallBody {
		if err == io.EOF {
			err = nil
		}
		return all.Bytes(), first, readFailure(err)
	}
	rest, err := take(ctx, b.large, rule.body, rule)
	done = func() { rest(); first() }
	if err != nil {
		return nil, done, err
	}
	// As much as was taken, so that it need not grow; what is not written to is not resident.
	whole := bytes.NewBuffer(make([]byte, 0, rule.body+bytes.MinRead))
	whole.Write(all.Bytes())
	_, err = whole.ReadFrom(body)
	return whole.Bytes(), done, readFailure(err)
}

// take takes n bytes of a budget within half of the time of the route: the other half
// is for reading and answering.
func take(ctx context.Context, of *semaphore.Weighted, n int64, rule *route) (done func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, rule.timeout/2)
	defer cancel()
	if of.Acquire(ctx, n) != nil {
		return func() {}, errCrowded
	}
	return func() { of.Release(n) }, nil
}
