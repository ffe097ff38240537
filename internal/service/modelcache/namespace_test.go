package modelcache

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/service/inflight"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

type sharesStore struct {
	store.Store
	shares map[string][]byte // by DAG
	reads  int
}

func (s *sharesStore) NamespaceShares(_ context.Context, namespace string, each func(store.Model) error) error {
	s.reads++
	for dag, share := range s.shares {
		if err := each(store.Model{Task: sizing.TaskKey{Namespace: namespace, DAG: dag, Task: "t"}, Share: share}); err != nil {
			return err
		}
	}
	return nil
}

// shareWith returns the share of a task with 50 equal residuals.
func shareWith(t testing.TB, residual float64) []byte {
	t.Helper()
	m := taskmodel.New()
	for range 50 {
		m.Share.RecordResidual(residual)
	}
	share, err := m.EncodeShare()
	require.NoError(t, err)
	return share
}

func TestTheStatisticsOfANamespaceAreReadAtIntervals(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	st := &sharesStore{shares: map[string][]byte{"a": shareWith(t, 0.1), "b": shareWith(t, 0.2)}}
	c := New(st, &inflight.Tries{}, Config{Now: func() time.Time { return now }}, nil)
	othersOf := func(dag string) *taskmodel.Namespace {
		_, others, _ := c.GetOrCreate(sizing.TaskKey{Namespace: "n", DAG: dag, Task: "t"}).pool.sumWith("t", taskmodel.Pool{})
		return others
	}
	assert.Nil(t, othersOf("a"), "nothing was read yet")

	require.NoError(t, c.loadNamespace(t.Context(), "n", time.Time{}))
	assert.InDelta(t, 1, othersOf("a").DAGs, 0, "the pool of a known DAG gets the other DAGs")
	assert.InDelta(t, 2, othersOf("new").DAGs, 0, "a new DAG gets all DAGs")
	require.NoError(t, c.loadNamespace(t.Context(), "n", time.Time{}))
	assert.Equal(t, 1, st.reads, "the shares were read already")

	version := c.Find(sizing.TaskKey{Namespace: "n", DAG: "a", Task: "t"}).pool.version.Load
	before := version()
	now = now.Add(namespaceInterval - time.Second)
	c.reloadNamespaces(t.Context())
	assert.Equal(t, 1, st.reads)
	now = now.Add(2 * time.Second)
	c.reloadNamespaces(t.Context())
	assert.Equal(t, 2, st.reads)
	assert.Equal(t, before, version(), "the same statistics change no model")

	st.shares["c"] = shareWith(t, 0.3)
	now = now.Add(namespaceInterval + time.Second)
	c.reloadNamespaces(t.Context())
	assert.InDelta(t, 2, othersOf("a").DAGs, 0)
	assert.NotEqual(t, before, version())
}

func BenchmarkLoadNamespace(b *testing.B) {
	st := &sharesStore{shares: map[string][]byte{}}
	share := shareWith(b, 0.1)
	for i := range 10_000 {
		st.shares[time.Duration(i).String()] = share
	}
	c := New(st, &inflight.Tries{}, Config{Now: time.Now}, nil)
	for b.Loop() {
		if err := c.loadNamespace(b.Context(), "n", time.Now().Add(time.Hour)); err != nil {
			b.Fatal(err)
		}
	}
}
