package admission

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"
	"weak"
)

// Sizes of request bodies in bytes.
const (
	SmallBody  = 64 << 10 // largest declared length of a body that needs no buffer of BodyBuffers
	SingleBody = 1 << 20  // largest body of a single request
	BatchBody  = 32 << 20 // largest body of a batch
)

// BodyBuffers bound the memory of large request bodies to 48 MiB. Without them eight batches of 32 MiB at once would
// need 256 MiB. A body that declares more than SmallBody, or no length, is read completely before its request enters a
// gate, into a buffer of its size class. While all buffers of the class are in use, the request waits.
//
//	declared up to  64 KiB ──────────────────▶ gate   the handler reads the body
//	                 1 MiB ──▶ 8 buffers ────▶ gate
//	                 4 MiB ──▶ 2 buffers ────▶ gate
//	                32 MiB ──▶ 1 buffer  ────▶ gate
//	chunked ──▶ a buffer of 1 MiB, then the buffer of 32 MiB if the body is longer
//
// Buffers are reused, because a new allocation for each body would add garbage until the next garbage
// collection and cause more collections: a body of 32 MiB would take several times as long to read
// (BenchmarkBodyBuffers).
type BodyBuffers []*bufferPool // ordered by size; every body fits into a buffer of the last pool

// NewBodyBuffers creates the pools; a buffer is allocated at its first use.
func NewBodyBuffers() BodyBuffers {
	return BodyBuffers{newBufferPool(SingleBody, 8), newBufferPool(4<<20, 2), newBufferPool(BatchBody, 1)}
}

// bufferPool has a fixed number of buffers of one size. Its weak pointers let the garbage
// collector free unused buffers. A sync.Pool would not bound the number of buffers.
type bufferPool struct {
	size int64 // longest body in bytes
	free chan weak.Pointer[Buffer]
}

// Buffer contains one body. It is one byte larger than the size of its pool, so that reading
// detects a body that is too long.
type Buffer struct {
	bytes []byte
	pool  *bufferPool
}

func newBufferPool(size int64, buffers int) *bufferPool {
	p := &bufferPool{size: size, free: make(chan weak.Pointer[Buffer], buffers)}
	for range buffers {
		p.free <- weak.Pointer[Buffer]{}
	}
	return p
}

func (p *bufferPool) acquire(ctx context.Context) (*Buffer, error) {
	select {
	case free := <-p.free:
		if b := free.Value(); b != nil {
			return b, nil
		}
		return &Buffer{make([]byte, p.size+1), p}, nil
	case <-ctx.Done():
		return nil, ErrOverloaded
	}
}

// Release returns b to its pool; b may be nil.
func (b *Buffer) Release() {
	if b != nil {
		b.pool.free <- weak.Make(b)
	}
}

// Read reads the body of r into a buffer. It fails with ErrOverloaded if it does not get its buffers within bufferWait; for a
// chunked body, this time includes the reading of the first MiB. It reads no small body (IsSmall), for which it returns nil,
// and no body that declares more than `limit` bytes, for which it fails with http.MaxBytesError. The caller limits a chunked
// body by http.MaxBytesReader, and releases the buffer after the answer, even if Read fails.
func (bb BodyBuffers) Read(ctx context.Context, r *http.Request, limit int64, bufferWait time.Duration) (*Buffer, error) {
	size := r.ContentLength
	switch {
	case IsSmall(r):
		return nil, nil
	case size > limit:
		return nil, &http.MaxBytesError{Limit: limit}
	}
	ctx, cancel := context.WithTimeout(ctx, bufferWait)
	defer cancel()
	if size < 0 {
		return bb.readChunked(ctx, r)
	}
	class := 0
	for bb[class].size < size {
		class++
	}
	b, err := bb[class].acquire(ctx)
	if err != nil {
		return nil, err
	}
	return b, b.read(r, r.Body, 0, size)
}

// IsSmall reports whether the body of r declares at most SmallBody bytes.
func IsSmall(r *http.Request) bool { return r.ContentLength >= 0 && r.ContentLength <= SmallBody }

func (bb BodyBuffers) readChunked(ctx context.Context, r *http.Request) (*Buffer, error) {
	small, large := bb[0], bb[len(bb)-1]
	b, err := small.acquire(ctx)
	if err != nil {
		return nil, err
	}
	body := r.Body
	err = b.read(r, body, 0, small.size+1)
	if err != nil || r.ContentLength <= small.size { // read has set ContentLength to the number of bytes
		return b, err
	}
	longer, err := large.acquire(ctx)
	if err != nil {
		return b, err
	}
	copy(longer.bytes, b.bytes)
	b.Release()
	return longer, longer.read(r, body, small.size+1, large.size+1)
}

// read fills b from byte `n` on, until the body ends or b has `end` bytes, and makes the content of b
// the body of r.
func (b *Buffer) read(r *http.Request, from io.Reader, n, end int64) (err error) {
	for n < end && err == nil {
		var count int
		count, err = from.Read(b.bytes[n:end])
		n += int64(count)
	}
	if err == io.EOF {
		err = nil
	}
	r.Body, r.ContentLength = bufferedBody{bytes.NewReader(b.bytes[:n]), b.bytes[:n]}, n
	return err
}

// bufferedBody is a body in a Buffer. It is valid until the buffer is released.
type bufferedBody struct {
	*bytes.Reader
	raw []byte
}

// Close implements io.Closer; the server closes the body of the connection.
func (bufferedBody) Close() error { return nil }

// BufferedBytes returns the body of r if Read has put it into a buffer.
func BufferedBytes(r *http.Request) (raw []byte, ok bool) {
	body, ok := r.Body.(bufferedBody)
	return body.raw, ok
}
