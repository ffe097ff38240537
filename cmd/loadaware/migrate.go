package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/loadaware/loadaware/internal/app"
	"github.com/loadaware/loadaware/migrations"
)

const migrateUsage = `up | down [N] | status [flags]

Migrates the tables of a database to the newest step (serve does so at every start),
reverts the newest N steps (default 1; their data are lost), or prints the current step.
Without --database it uses the private database in --data.`

func migrate(ctx context.Context, con console, args []string) error {
	cmd := newCommand("migrate", migrateUsage, "database", "data")
	rest, err := cmd.parse(con, args)
	if err != nil {
		return err
	}
	act, err := migration(rest)
	if err != nil {
		return err
	}
	dsn, stop, err := app.FindDatabase(ctx, &cmd.Config, "", cmd.Logger(con.err))
	if err != nil {
		return err
	}
	defer stop()
	if err := app.RunMigration(func() error { return act(ctx, dsn) }); err != nil {
		return err
	}
	return printStatus(ctx, con, dsn)
}

// migration returns the function for the arguments.
func migration(what []string) (func(ctx context.Context, dsn string) error, error) {
	switch {
	case len(what) == 1 && what[0] == "up":
		return migrations.Up, nil
	case len(what) == 1 && what[0] == "status":
		return func(context.Context, string) error { return nil }, nil // the status is always printed
	case len(what) >= 1 && len(what) <= 2 && what[0] == "down":
		steps := 1
		if len(what) == 2 {
			n, err := strconv.Atoi(what[1])
			if err != nil || n < 1 {
				return nil, usageErrorf("down takes a number of steps, at least 1, not %q", what[1])
			}
			steps = n
		}
		return func(ctx context.Context, dsn string) error { return migrations.Down(ctx, dsn, steps) }, nil
	}
	return nil, usageErrorf("use up, down or status; see loadaware migrate --help")
}

func printStatus(ctx context.Context, con console, dsn string) error {
	at, dirty, newest, err := migrations.Status(ctx, dsn)
	if err != nil {
		return err
	}
	state := "up to date"
	switch {
	case dirty:
		state = "INCOMPLETE: loadaware migrate up prints how to repair it"
	case at < newest:
		state = fmt.Sprintf("%d to go: loadaware migrate up", newest-at)
	case at > newest:
		state = "newer than this build: upgrade loadaware"
	}
	_, err = fmt.Fprintf(con.out, "at step %d of %d: %s\n", at, newest, state)
	return err
}
