package httpapi

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

	"github.com/loadaware/loadaware/api"
)

// sent is a request of size bytes; in chunks if it does not say so.
func sent(body io.Reader, size int64) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/", body)
	r.ContentLength = size
	r.Header.Set("Content-Type", "application/json")
	return r
}

var batchRoute = &route{body: batchBody, timeout: time.Minute}

func TestABodyIsReadWholeWhateverItsSize(t *testing.T) {
	s := newShelves()
	for _, size := range []int{0, 1, smallBody, smallBody + 1, singleBody, singleBody + 1, singleBody + 2, 4 << 20, 4<<20 + 1, batchBody} {
		want := bytes.Repeat([]byte("0123456789abcdef!"), size/17+1)[:size]
		for _, said := range []int64{int64(size), -1} {
			// HalfReader hands out less than it is asked for, as connections do.
			r := sent(iotest.HalfReader(bytes.NewReader(want)), said)
			lent, err := s.read(t.Context(), r, batchRoute)
			require.NoError(t, err, "%d bytes, said to be %d", size, said)
			assert.Equal(t, size > smallBody || said < 0, lent != nil, "small bodies cost nothing")
			got, err := io.ReadAll(r.Body)
			require.NoError(t, err)
			assert.True(t, bytes.Equal(want, got), "%d bytes, said to be %d", size, said)
			lent.giveBack()
		}
	}
	for _, shelf := range s {
		assert.Len(t, shelf.free, cap(shelf.free), "all were given back")
	}
}

func TestABodyThatIsRefusedAnywayIsNotRead(t *testing.T) {
	unread := iotest.ErrReader(errors.New("it was read"))
	for claim, c := range map[string]struct {
		size   int64
		media  string
		status int
	}{
		"too large":     {batchBody + 1, "application/json", http.StatusRequestEntityTooLarge},
		"no JSON":       {batchBody, "text/csv", http.StatusUnsupportedMediaType},
		"no JSON known": {-1, "text/csv", http.StatusUnsupportedMediaType},
	} {
		r := sent(unread, c.size)
		r.Header.Set("Content-Type", c.media)
		lent, err := newShelves().read(t.Context(), r, batchRoute)
		require.Error(t, err, claim)
		assert.Nil(t, lent, claim)
		assert.Equal(t, c.status, failureOf(err).status, claim)
	}
}

func TestWhatGoesOnBeyondItsLimitIsTooLarge(t *testing.T) {
	for _, limit := range []int64{singleBody, batchBody} {
		s := newShelves()
		r := sent(nil, -1)
		r.Body = http.MaxBytesReader(httptest.NewRecorder(), io.NopCloser(strings.NewReader(strings.Repeat("x", int(limit)+1))), limit)
		lent, err := s.read(t.Context(), r, &route{body: limit, timeout: time.Minute})
		require.Error(t, err)
		assert.Equal(t, http.StatusRequestEntityTooLarge, failureOf(err).status)
		lent.giveBack()
	}
}

func TestABodyThatBreaksOffIsTheCallersFault(t *testing.T) {
	r := sent(io.MultiReader(strings.NewReader("{"), iotest.ErrReader(io.ErrUnexpectedEOF)), smallBody+1)
	lent, err := newShelves().read(t.Context(), r, batchRoute)
	assert.Equal(t, http.StatusBadRequest, failureOf(err).status)
	lent.giveBack()
}

// The largest are read one after another. Nobody else waits for them, and who waits for
// half of its time is told to come again.
func TestABodyWaitsBehindItsSizeAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelves()
		read := func(size int64) (*buffer, error) {
			return s.read(t.Context(), sent(bytes.NewReader(make([]byte, size)), size), batchRoute)
		}
		first, err := read(batchBody)
		require.NoError(t, err)
		begun := time.Now()
		for range 8 {
			_, err := read(singleBody)
			require.NoError(t, err)
		}
		assert.Zero(t, time.Since(begun), "smaller ones do not wait")
		_, err = read(batchBody)
		assert.ErrorIs(t, err, errCrowded)
		assert.Equal(t, 30*time.Second, time.Since(begun))
		go func() { time.Sleep(time.Second); first.giveBack() }()
		second, err := read(batchBody)
		require.NoError(t, err)
		assert.Equal(t, 31*time.Second, time.Since(begun))
		assert.Same(t, first, second, "used again")
		runtime.KeepAlive(first)
	})
}

// A list of two bytes for each item would be pointed at by twelve times its size.
func TestAListThatIsTooLongIsGivenUpSoon(t *testing.T) {
	s := &server{strict: api.Strict()}
	r := post(`{"tasks": [` + strings.Repeat("0,", 4<<20) + `0]}`)
	lent, err := newShelves().read(t.Context(), r, batchRoute)
	require.NoError(t, err)
	defer lent.giveBack()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err = s.decode(r, &api.PredictBatchRequest{})
	runtime.ReadMemStats(&after)
	assert.Equal(t, http.StatusUnprocessableEntity, failureOf(err).status)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20))
}
