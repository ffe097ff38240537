package dashboard

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A defect of a page must not end the process that answers predictions.
func TestPanicOfABackgroundReadEndsOnlyThatRead(t *testing.T) {
	now := time.Unix(0, 0)
	c := newCache(func() time.Time { return now }, slog.New(slog.DiscardHandler))
	read := func(value int) (int, error) {
		return cached(t.Context(), c, "key", func(context.Context) (int, error) {
			if now = now.Add(2 * slowQuery); value == 0 {
				panic("a defect")
			}
			return value, nil
		})
	}
	got, err := read(1)
	require.NoError(t, err)
	require.Equal(t, 1, got)
	now = now.Add(2 * maxAge)
	got, err = read(0)
	require.NoError(t, err)
	require.Equal(t, 1, got, "the previous value")
	e, _ := c.entry("key")
	e.reading <- struct{}{} // until the background has ended
	<-e.reading
	now = now.Add(2 * staleAge)
	got, err = read(3)
	require.NoError(t, err)
	require.Equal(t, 3, got)
}
