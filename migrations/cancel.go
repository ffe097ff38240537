package migrations

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// sessions holds the connections that one call of the function run opened. golang-migrate takes no
// context, so the statements must be cancelled on the server.
type sessions struct {
	mu    sync.Mutex
	conns []*pgx.Conn
}

func (s *sessions) add(conn *pgx.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns = append(s.conns, conn)
}

// cancelAfter calls `do`. When ctx ends, it calls `stop`, and then cancels the statements of the sessions repeatedly until
// `do` returns.
func (s *sessions) cancelAfter(ctx context.Context, stop func(), do func() error) error {
	ended := make(chan struct{})
	var canceller sync.WaitGroup
	canceller.Go(func() {
		select {
		case <-ended:
		case <-ctx.Done():
			stop()
			s.cancel(ended)
		}
	})
	err := do()
	close(ended)
	canceller.Wait()
	return err
}

// cancel repeats its requests, with growing pauses, because a request that arrives between two statements has no effect.
// Therefore it also ignores errors.
func (s *sessions) cancel(ended <-chan struct{}) {
	for pause := 250 * time.Millisecond; ; pause *= 2 {
		s.mu.Lock()
		conns := append([]*pgx.Conn(nil), s.conns...)
		s.mu.Unlock()
		for _, conn := range conns {
			ctx, stop := context.WithTimeout(context.Background(), time.Second)
			_ = conn.PgConn().CancelRequest(ctx)
			stop()
		}
		select {
		case <-ended:
			return
		case <-time.After(pause):
		}
	}
}
