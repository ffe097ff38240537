package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/loadaware/loadaware/internal/app"
	"github.com/loadaware/loadaware/internal/cli"
	"github.com/loadaware/loadaware/migrations"
)

const migrateUsage = `up | down [N] | status [flags]

Migrates the tables of a database to the newest step (serve does so at every start),
reverts the newest N steps (default 1; their data are lost), or prints the current step.
Without --database and DATABASE_URL it uses the private database in --data.`

func migrate(ctx context.Context, con cli.Console, args []string) error {
	cmd := cli.New("migrate", migrateUsage, "database", "data")
	rest, err := cmd.ParseArgs(con, args)
	if err != nil {
		return err
	}
	apply, err := migration(rest)
	if err != nil {
		return err
	}
	if rest[0] != "up" && !cmd.HasDatabase() {
		return fmt.Errorf("DATABASE_URL is not set, and the data folder %s has no database; name another folder with --data, or a database with --database", cmd.Data)
	}
	dsn, stop, err := app.FindDatabase(ctx, &cmd.Config, "", cmd.Logger(con.Err))
	if err != nil {
		return err
	}
	defer stop()
	if err := app.RunMigration(func() error { return apply(ctx, dsn) }); err != nil {
		return err
	}
	return printStatus(ctx, con, dsn)
}

func migration(args []string) (func(ctx context.Context, dsn string) error, error) {
	switch {
	case len(args) == 1 && args[0] == "up":
		return migrations.Up, nil
	case len(args) == 1 && args[0] == "status":
		return func(context.Context, string) error { return nil }, nil // migrate prints the status after each command
	case len(args) >= 1 && len(args) <= 2 && args[0] == "down":
		steps := 1
		if len(args) == 2 {
			n, err := strconv.Atoi(args[1])
			if err != nil || n < 1 {
				return nil, cli.UsageErrorf("down takes a number of steps, at least 1, not %q", args[1])
			}
			steps = n
		}
		return func(ctx context.Context, dsn string) error { return app.RevertMigrations(ctx, dsn, steps) }, nil
	}
	return nil, cli.UsageErrorf("use up, down or status; see loadaware migrate --help")
}

func printStatus(ctx context.Context, con cli.Console, dsn string) error {
	current, dirty, newest, err := migrations.Status(ctx, dsn)
	if err != nil {
		return err
	}
	state := "up to date"
	switch {
	case dirty:
		state = "INCOMPLETE: loadaware migrate up prints how to repair it"
	case current < newest:
		state = fmt.Sprintf("%d to go (the numbers of steps have gaps): loadaware migrate up", migrations.Missing(current))
	case current > newest:
		state = "newer than this build: upgrade loadaware"
	}
	_, err = fmt.Fprintf(con.Out, "at step %d of %d: %s\n", current, newest, state)
	return err
}
