package postgres

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loadaware/loadaware/internal/sizing"
)

// channel carries the keys of changed tasks, as JSON, at the commit of the change.
const channel = "loadaware_changes"

const notifySQL = `SELECT pg_notify('` + channel + `', $1)`

func notify(ctx context.Context, tx pgx.Tx, task sizing.TaskKey) error {
	payload, err := json.Marshal(task)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, notifySQL, string(payload))
	return err
}

// Changes listens on a connection of its own: it may wait for days, and must not
// take one from the pool. A network that was cut ends it within twice silence.
func (s *Store) Changes(ctx context.Context, ready func(), changed func(sizing.TaskKey)) error {
	conn, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
	if err != nil {
		return explain("listen for changes", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return explain("listen for changes", err)
	}
	ready()
	for {
		n, err := wait(ctx, conn)
		if err != nil {
			return explain("listen for changes", err)
		}
		var task sizing.TaskKey
		if err := json.Unmarshal([]byte(n.Payload), &task); err != nil {
			s.cfg.Log.WarnContext(ctx, "a change was announced that cannot be read", "payload", n.Payload, "err", err)
			continue
		}
		changed(task)
	}
}

// wait waits for the next announcement. A connection whose network was cut announces
// nothing and says nothing: after each silence it is asked for a sign of life.
func wait(ctx context.Context, conn *pgx.Conn) (*pgconn.Notification, error) {
	for {
		listening, cancel := context.WithTimeout(ctx, silence)
		n, err := conn.WaitForNotification(listening)
		cancel()
		if err == nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return n, err
		}
		asking, cancel := context.WithTimeout(ctx, silence)
		err = conn.Ping(asking)
		cancel()
		if err != nil {
			return nil, err
		}
	}
}
