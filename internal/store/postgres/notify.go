package postgres

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loadaware/loadaware/internal/sizing"
)

// channel is the name of the NOTIFY channel. The payload of a notification is the key of a changed
// task as JSON.
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

// Changes calls `changed` for every changed task. It listens on its own connection, because it may wait
// for days and must not occupy a connection of the pool. It detects a broken network within twice
// pingTimeout.
func (s *Store) Changes(ctx context.Context, ready func(), changed func(sizing.TaskKey)) error {
	conn, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
	if err != nil {
		return wrapError("listen for changes", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return wrapError("listen for changes", err)
	}
	ready()
	for {
		n, err := waitForNotification(ctx, conn)
		if err != nil {
			return wrapError("listen for changes", err)
		}
		var task sizing.TaskKey
		if err := json.Unmarshal([]byte(n.Payload), &task); err != nil {
			s.cfg.Log.WarnContext(ctx, "ignored a change notification with an invalid payload", "payload", n.Payload, "err", err)
			continue
		}
		changed(task)
	}
}

// waitForNotification pings the database after each pingTimeout without a notification, because a connection over a broken
// network otherwise blocks forever.
func waitForNotification(ctx context.Context, conn *pgx.Conn) (*pgconn.Notification, error) {
	for {
		waitCtx, cancel := context.WithTimeout(ctx, pingTimeout)
		n, err := conn.WaitForNotification(waitCtx)
		cancel()
		if err == nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return n, err
		}
		pingCtx, cancel := context.WithTimeout(ctx, pingTimeout)
		err = conn.Ping(pingCtx)
		cancel()
		if err != nil {
			return nil, err
		}
	}
}
