package stories

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/store/postgres"
	"github.com/loadaware/loadaware/internal/testwait"
	"github.com/loadaware/loadaware/internal/trainer"
	"github.com/loadaware/loadaware/migrations"
)

// env is the service of one story. It trains a task only in a train step, so that the story controls the times of trainings.
// The background loops of the service run only during restart.
type env struct {
	store       *postgres.Store
	svc         *service.Service
	clockOffset time.Duration // added to the system clock for the service; a wait step increases it
	runs        int
}

func newEnv(t *testing.T) *env {
	dsn := pgtest.DSN(t)
	require.NoError(t, migrations.Up(t.Context(), dsn))
	st, err := postgres.Open(t.Context(), dsn, postgres.Config{})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	e := &env{store: st}
	e.start()
	return e
}

func (e *env) start() {
	log := slog.New(slog.DiscardHandler)
	// Long timeouts, so that a slow machine does not change the answers.
	cfg := service.Config{ReadTimeout: testwait.Limit, DecodeWait: testwait.Limit, PingTimeout: testwait.Limit, Now: func() time.Time { return time.Now().Add(e.clockOffset) }}
	e.svc = service.New(e.store, trainer.New(e.store, trainer.Config{OnlyRequested: true}, log), cfg, log)
}

// restart simulates a new process on the same database, which knows only what it reads from the database at its start.
func (e *env) restart(ctx context.Context) error {
	e.start()
	ctx, cancel := context.WithTimeout(ctx, testwait.Limit)
	ended := make(chan struct{})
	go func() {
		_ = e.svc.Run(ctx) // ends with ctx
		close(ended)
	}()
	for !e.svc.Readiness().Ready && ctx.Err() == nil {
		time.Sleep(5 * time.Millisecond)
	}
	isReady := e.svc.Readiness().Ready
	cancel()
	<-ended
	if !isReady {
		return errors.New("restart: the service did not become ready")
	}
	return nil
}
