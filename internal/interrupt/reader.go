package interrupt

import (
	"context"
	"io"
	"sync"
)

// reader reads an input until ctx ends. Read then returns, even if a system call still waits for input.
type reader struct {
	ctx   context.Context
	from  io.Reader
	start sync.Once
	pipe  *io.PipeReader
}

// NewReader returns a reader that reads from the given reader until ctx ends. After that Read returns the cause of
// ctx, unless the input had already ended. A call of Read that waits for input when ctx ends returns the cause, too.
func NewReader(ctx context.Context, from io.Reader) io.Reader {
	return &reader{ctx: ctx, from: from}
}

// Read implements io.Reader. The first call starts a goroutine that reads ahead.
func (r *reader) Read(p []byte) (int, error) {
	r.start.Do(func() {
		var in *io.PipeWriter
		r.pipe, in = io.Pipe()
		context.AfterFunc(r.ctx, func() { in.CloseWithError(context.Cause(r.ctx)) })
		go func() {
			_, err := io.Copy(in, r.from)
			in.CloseWithError(err)
		}()
	})
	return r.pipe.Read(p)
}
