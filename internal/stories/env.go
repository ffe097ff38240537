package stories

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/store/postgres"
	"github.com/loadaware/loadaware/internal/trainer"
	"github.com/loadaware/loadaware/migrations"
)

// world is what a story plays in: a service, its database and a clock.
//
// The service's background work does not run: a task that is due would be trained
// at a moment that the story does not name.
type world struct {
	store *postgres.Store
	svc   *service.Service
	ahead time.Duration // of the service's clock; the order of reports is that of their arrival
	runs  int           // made up so far
}

func newWorld(t *testing.T) *world {
	dsn := pgtest.DSN(t)
	require.NoError(t, migrations.Up(t.Context(), dsn))
	st, err := postgres.Open(t.Context(), dsn, postgres.Config{})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	w := &world{store: st}
	w.start()
	return w
}

func (w *world) start() {
	log := slog.New(slog.DiscardHandler)
	// A busy machine must not change what is answered.
	cfg := service.Config{LaterTryRead: time.Minute, OpenWait: time.Minute, Now: func() time.Time { return time.Now().Add(w.ahead) }}
	w.svc = service.New(w.store, trainer.New(w.store, trainer.Config{Every: time.Hour}, log), cfg, log)
}

// restart is a new process on the same database: its memory is what it reads at
// its start.
func (w *world) restart(ctx context.Context) {
	w.start()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	ended := make(chan struct{})
	go func() {
		_ = w.svc.Run(ctx) // ends with ctx
		close(ended)
	}()
	for !w.svc.Readiness().Ready && ctx.Err() == nil {
		time.Sleep(5 * time.Millisecond)
	}
	cancel()
	<-ended
}
