package postgres_test

import (
	"context"
	"maps"
	"net"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/store/postgres"
	"github.com/loadaware/loadaware/internal/testwait"
	"github.com/loadaware/loadaware/migrations"
)

// poolerParameters are the startup parameters that all versions of PgBouncer accept. PgBouncer rejects a
// connection with most other parameters, unless ignore_startup_parameters in its configuration lists them.
var poolerParameters = []string{"user", "database", "application_name", "client_encoding", "DateStyle", "TimeZone", "standard_conforming_strings"}

// PgBouncer is the usual connection pooler in front of PostgreSQL.
func TestStartupParametersAreAcceptedByPgBouncer(t *testing.T) {
	for name, open := range map[string]func(dsn string){
		"store": func(dsn string) {
			st, err := postgres.Open(t.Context(), dsn, postgres.Config{})
			require.NoError(t, err)
			defer st.Close()
			_ = st.Ping(t.Context())
		},
		"migrations": func(dsn string) { _ = migrations.Up(t.Context(), dsn) },
	} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			defer listener.Close()
			sent := make(chan map[string]string, 1)
			go func() { sent <- startupOf(listener) }()
			open("postgres://user@" + listener.Addr().String() + "/some?sslmode=disable&connect_timeout=5")
			got := <-sent
			require.Equal(t, "user", got["user"], "the code under test must connect")
			for _, parameter := range slices.Sorted(maps.Keys(got)) {
				assert.Contains(t, poolerParameters, parameter)
			}
		})
	}
}

func startupOf(listener net.Listener) map[string]string {
	conn, err := listener.Accept()
	if err != nil {
		return nil
	}
	defer listener.Close()
	defer conn.Close()
	message, err := pgproto3.NewBackend(conn, conn).ReceiveStartupMessage()
	if startup, ok := message.(*pgproto3.StartupMessage); ok && err == nil {
		return startup.Parameters
	}
	return nil
}

// A connection that stops answering must leave the pool.
func TestUnresponsiveConnectionIsReplaced(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	accepted := make(chan net.Conn, 8)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			backend := pgproto3.NewBackend(conn, conn)
			_, _ = backend.ReceiveStartupMessage()
			backend.Send(&pgproto3.AuthenticationOk{})
			backend.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
			_ = backend.Flush()
			accepted <- conn
		}
	}()
	st, err := postgres.Open(t.Context(), "postgres://user@"+listener.Addr().String()+"/some?sslmode=disable", postgres.Config{MaxConns: 1})
	require.NoError(t, err)
	defer st.Close()
	ctx, cancel := context.WithTimeout(t.Context(), testwait.Limit)
	defer cancel()
	for i := range 2 {
		go func() { _ = st.Ping(ctx) }()
		select {
		case conn := <-accepted:
			defer conn.Close()
		case <-ctx.Done():
			t.Fatalf("connection %d of 2 was not opened", i+1)
		}
	}
}
