package httpapi

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"weak"
)

// Bodies are bounded in bytes: eight batches of 32 MiB at once would take more memory
// than all models. A body above 64 KiB is read whole before its request takes a place,
// into a buffer of a shelf; while all of that shelf are lent, it waits. So it waits
// behind bodies of its size alone, and a question never.
//
//	declared up to  64 KiB ──────────────────▶ place   read by its handler
//	                 1 MiB ──▶ 8 buffers ────▶ place
//	                 4 MiB ──▶ 2 buffers ────▶ place
//	                32 MiB ──▶ 1 buffer  ────▶ place
//	in chunks ──▶ a buffer of 1 MiB, and if there is more, that of 32 MiB
//
// Buffers are used again. The collector runs when the heap has doubled, so bodies that
// became garbage would take as much again as what lives, and more while it is busy.
const smallBody = 64 << 10

// shelf lends buffers of one size, each to one body at a time. It holds on to those that
// are not lent only until the next collection.
type shelf struct {
	size int64
	free chan weak.Pointer[buffer]
}

// buffer has room for a byte more than its shelf says, by which a body that ends with
// it is told from one that goes on.
type buffer struct {
	bytes []byte
	from  *shelf
}

func newShelf(size int64, buffers int) *shelf {
	s := &shelf{size: size, free: make(chan weak.Pointer[buffer], buffers)}
	for range buffers {
		s.free <- weak.Pointer[buffer]{}
	}
	return s
}

// lend waits for a buffer until ctx ends.
func (s *shelf) lend(ctx context.Context) (*buffer, error) {
	select {
	case kept := <-s.free:
		if b := kept.Value(); b != nil {
			return b, nil
		}
		return &buffer{make([]byte, s.size+1), s}, nil
	case <-ctx.Done():
		return nil, errCrowded
	}
}

// giveBack ends the use of what was read into b. What was never lent is nil.
func (b *buffer) giveBack() {
	if b != nil {
		b.from.free <- weak.Make(b)
	}
}

// shelves are ordered by size; any body has room in the last.
type shelves []*shelf

func newShelves() shelves {
	return shelves{newShelf(singleBody, 8), newShelf(4<<20, 2), newShelf(batchBody, 1)}
}

// read reads the body of r if its route takes one and it is not small. The buffer is to
// be given back with the answer, error or not. What is too large by its own word, or of
// a kind that is not taken, is not read at all.
func (s shelves) read(ctx context.Context, r *http.Request, rule *route) (*buffer, error) {
	size := r.ContentLength
	switch {
	case rule.body == 0 || size >= 0 && size <= smallBody:
		return nil, nil
	case size > rule.body:
		return nil, &http.MaxBytesError{Limit: rule.body}
	}
	if err := checkMedia(r.Header); err != nil {
		return nil, err
	}
	// The other half of its time is for reading and answering.
	ctx, cancel := context.WithTimeout(ctx, rule.timeout/2)
	defer cancel()
	if size < 0 {
		return s.chunks(ctx, r)
	}
	at := 0
	for s[at].size < size {
		at++
	}
	b, err := s[at].lend(ctx)
	if err != nil {
		return nil, err
	}
	return b, b.read(r, r.Body, 0, size)
}

// chunks reads a body of which nobody has said how long it is.
func (s shelves) chunks(ctx context.Context, r *http.Request) (*buffer, error) {
	small, large := s[0], s[len(s)-1]
	b, err := small.lend(ctx)
	if err != nil {
		return nil, err
	}
	body := r.Body
	err = b.read(r, body, 0, small.size+1)
	if err != nil || r.ContentLength <= small.size {
		return b, err
	}
	more, err := large.lend(ctx)
	if err != nil {
		return b, err
	}
	copy(more.bytes, b.bytes)
	b.giveBack()
	return more, more.read(r, body, small.size+1, large.size+1)
}

// read reads a body into b from byte n on, until it ends or the room up to byte end
// does. What b then holds is the body of r.
func (b *buffer) read(r *http.Request, from io.Reader, n, end int64) (err error) {
	for n < end && err == nil {
		var more int
		more, err = from.Read(b.bytes[n:end])
		n += int64(more)
	}
	if err == io.EOF {
		err = nil
	}
	r.Body, r.ContentLength = readBody{bytes.NewReader(b.bytes[:n]), b.bytes[:n]}, n
	return readFailure(err)
}

// readBody is a body that was read already. Nothing of it may be kept beyond the answer.
type readBody struct {
	*bytes.Reader
	raw []byte
}

// Close implements io.Closer; the connection's own body is the server's to close.
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
