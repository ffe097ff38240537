package admission

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// newRequest creates a request that declares a body of `size` bytes, or a chunked request if `size` is negative.
func newRequest(body io.Reader, size int64) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/", body)
	r.ContentLength = size
	return r
}

func TestBodiesOfAnySizeAreReadWhole(t *testing.T) {
	bb := NewBodyBuffers()
	for _, size := range []int{0, 1, SmallBody, SmallBody + 1, SingleBody, SingleBody + 1, SingleBody + 2, 4 << 20, 4<<20 + 1, BatchBody} {
		want := bytes.Repeat([]byte("0123456789abcdef!"), size/17+1)[:size]
		for _, declared := range []int64{int64(size), -1} {
			// HalfReader returns short reads, like a connection.
			r := newRequest(iotest.HalfReader(bytes.NewReader(want)), declared)
			b, err := bb.Read(t.Context(), r, BatchBody, time.Minute)
			require.NoError(t, err, "%d bytes, declared as %d", size, declared)
			assert.Equal(t, size > SmallBody || declared < 0, b != nil, "only a body that declares a small size needs no buffer")
			got, err := io.ReadAll(r.Body)
			require.NoError(t, err)
			assert.True(t, bytes.Equal(want, got), "%d bytes, declared as %d", size, declared)
			b.Release()
		}
	}
	for _, pool := range bb {
		assert.Len(t, pool.free, cap(pool.free), "all buffers are released")
	}
}

func TestTooLargeBodyIsNotRead(t *testing.T) {
	unread := iotest.ErrReader(errors.New("the body was read"))
	b, err := NewBodyBuffers().Read(t.Context(), newRequest(unread, BatchBody+1), BatchBody, time.Minute)
	var large *http.MaxBytesError
	require.ErrorAs(t, err, &large)
	assert.Nil(t, b)
}

func TestChunkedBodyBeyondItsLimitIsTooLarge(t *testing.T) {
	for _, limit := range []int64{SingleBody, BatchBody} {
		r := newRequest(nil, -1)
		r.Body = http.MaxBytesReader(httptest.NewRecorder(), io.NopCloser(strings.NewReader(strings.Repeat("x", int(limit)+1))), limit)
		b, err := NewBodyBuffers().Read(t.Context(), r, limit, time.Minute)
		var large *http.MaxBytesError
		require.ErrorAs(t, err, &large)
		b.Release()
	}
}

func TestReadReturnsTheErrorOfTheConnection(t *testing.T) {
	r := newRequest(io.MultiReader(strings.NewReader("{"), iotest.ErrReader(io.ErrUnexpectedEOF)), SmallBody+1)
	b, err := NewBodyBuffers().Read(t.Context(), r, BatchBody, time.Minute)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	b.Release()
}

// The largest bodies are read one after another. Smaller bodies do not wait for them.
func TestBodyWaitsOnlyForItsSizeClass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bb := NewBodyBuffers()
		read := func(size int64) (*Buffer, error) {
			return bb.Read(t.Context(), newRequest(bytes.NewReader(make([]byte, size)), size), BatchBody, 30*time.Second)
		}
		first, err := read(BatchBody)
		require.NoError(t, err)
		started := time.Now()
		for range 8 {
			_, err := read(SingleBody)
			require.NoError(t, err)
		}
		assert.Zero(t, time.Since(started), "smaller bodies do not wait")
		_, err = read(BatchBody)
		assert.ErrorIs(t, err, ErrOverloaded)
		assert.Equal(t, 30*time.Second, time.Since(started))
		go func() { time.Sleep(time.Second); first.Release() }()
		second, err := read(BatchBody)
		require.NoError(t, err)
		assert.Equal(t, 31*time.Second, time.Since(started))
		assert.Same(t, first, second, "the buffer is reused")
		runtime.KeepAlive(first)
	})
}

// BenchmarkBodyBuffers compares reused buffers with a new allocation for each body of 32 MiB, next to
// a heap of 256 MiB, which every garbage collection marks. It reports the collections per body.
func BenchmarkBodyBuffers(b *testing.B) {
	heap := make([]*[1 << 10]byte, 256<<10)
	for i := range heap {
		heap[i] = new([1 << 10]byte)
	}
	body := make([]byte, BatchBody)
	countCollections := func(b *testing.B, read func(r *http.Request)) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		b.ReportAllocs()
		for b.Loop() {
			read(newRequest(bytes.NewReader(body), BatchBody))
		}
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.NumGC-before.NumGC)/float64(b.N), "collections/op")
	}
	b.Run("reused", func(b *testing.B) {
		bb := NewBodyBuffers()
		countCollections(b, func(r *http.Request) {
			buffer, err := bb.Read(b.Context(), r, BatchBody, time.Minute)
			require.NoError(b, err)
			buffer.Release()
		})
	})
	b.Run("allocated", func(b *testing.B) {
		countCollections(b, func(r *http.Request) {
			_, err := io.ReadFull(r.Body, make([]byte, r.ContentLength))
			require.NoError(b, err)
		})
	})
	runtime.KeepAlive(heap)
}
