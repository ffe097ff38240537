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
	now = now.Add(2 * maxFresh)
	got, err = read(0)
	require.NoError(t, err)
	require.Equal(t, 1, got, "a page gets the previous value while the background read runs")
	e, _ := c.entry("key")
	e.reading <- struct{}{} // waits until the background read has ended
	<-e.reading
	now = now.Add(2 * maxStale)
	got, err = read(3)
	require.NoError(t, err)
	require.Equal(t, 3, got)
}

// A server that starts without history reads empty lists. The first page after an import must not show them.
func TestEmptyListIsReadAgain(t *testing.T) {
	now := time.Unix(0, 0)
	c := newCache(func() time.Time { return now }, slog.New(slog.DiscardHandler))
	rows := 0
	read := func() int {
		list, err := cached(t.Context(), c, "key", func(context.Context) (*taskList, error) {
			now = now.Add(2 * slowQuery)
			return &taskList{rows: make([]TaskRow, rows)}, nil
		})
		require.NoError(t, err)
		return len(list.rows)
	}
	require.Zero(t, read())
	rows = 1
	require.Equal(t, 1, read())
	rows = 2
	require.Equal(t, 1, read(), "a list with rows is cached")
	c.clear()
	require.Equal(t, 2, read())
}

// A page loads itself again until a list has been read. The page must also stop loading itself if the list is empty.
func TestEmptyListCountsAsRead(t *testing.T) {
	now, rows := time.Unix(0, 0), 2
	c := newCache(func() time.Time { return now }, slog.New(slog.DiscardHandler))
	read := func() (*taskList, bool) {
		list, isRead, err := cachedIfRead(t.Context(), c, "key", func(context.Context) (*taskList, error) {
			now = now.Add(2 * slowQuery)
			return &taskList{rows: make([]TaskRow, rows)}, nil
		})
		require.NoError(t, err)
		e, _ := c.entry("key")
		e.reading <- struct{}{} // waits until a background read has ended
		<-e.reading
		return list, isRead
	}
	_, isRead := read()
	require.False(t, isRead)
	now, rows = now.Add(2*maxFresh), 0
	list, isRead := read()
	require.True(t, isRead)
	require.Len(t, list.rows, 2, "the previous value, while the read runs in the background")
	for range 2 {
		list, isRead = read()
		require.True(t, isRead)
		require.Empty(t, list.rows)
	}
	rows = 1
	list, isRead = read()
	require.True(t, isRead)
	require.Len(t, list.rows, 1, "an empty list is read again")
}

// After a start of the server, a page must not wait for the sums of many days.
func TestFirstReadRunsInTheBackground(t *testing.T) {
	now := time.Unix(0, 0)
	c := newCache(func() time.Time { return now }, slog.New(slog.DiscardHandler))
	release := make(chan struct{})
	read := func(value int) (int, bool) {
		got, isRead, err := cachedIfRead(t.Context(), c, "key", func(context.Context) (int, error) {
			<-release
			return value, nil
		})
		require.NoError(t, err)
		return got, isRead
	}
	for range 2 {
		got, isRead := read(1)
		require.False(t, isRead)
		require.Zero(t, got)
	}
	close(release)
	e, _ := c.entry("key")
	e.reading <- struct{}{} // waits until the background read has ended
	<-e.reading
	got, isRead := read(2)
	require.True(t, isRead)
	require.Equal(t, 2, got, "the first read took no time, so it is repeated")
}

func TestValueStaysUntilTheStateOfTheDataChanges(t *testing.T) {
	now, reads := time.Unix(0, 0), 0
	c := newCache(func() time.Time { return now }, slog.New(slog.DiscardHandler))
	read := func(state string) int {
		value, err := cachedInState(t.Context(), c, "key", state, func(context.Context) (int, error) {
			reads++
			return reads, nil
		})
		require.NoError(t, err)
		return value
	}
	require.Equal(t, 1, read("version 1"))
	now = now.Add(24 * time.Hour)
	require.Equal(t, 1, read("version 1"))
	require.Equal(t, 2, read("version 2"))
	require.Equal(t, 3, read("version 1"))
	c.clear()
	require.Equal(t, 4, read("version 1"))
}
