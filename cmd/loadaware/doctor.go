package main

import (
	"cmp"
	"context"
	"errors"

	"github.com/loadaware/loadaware/internal/app"
	"github.com/loadaware/loadaware/internal/cli"
	"github.com/loadaware/loadaware/internal/client"
	"github.com/loadaware/loadaware/internal/config"
	"github.com/loadaware/loadaware/internal/doctor"
	"github.com/loadaware/loadaware/internal/pglocal"
)

const doctorUsage = `[flags]

Checks a deployment, and prints each problem with advice. Run it with the settings of
serve: it checks the settings, the database, the certificate, and Prometheus and Airflow
if they are configured. It also checks a server: the one at --url; else the one that uses
the data folder; else, without a database, the one at --addr. It changes no setting and no
stored row, and creates no database. If the private database is not running, doctor
starts it, and stops it after the checks.
Exit code 1 if there is an error; warnings leave it at 0.`

func checkDeployment(ctx context.Context, con cli.Console, args []string) error {
	cmd := cli.New("doctor", doctorUsage, "database", "data", "addr", "tokens", "tokens-file", "tls-cert", "tls-key", "tls-client-ca", "url")
	output := cmd.String("o", "text", "output: text or json")
	rest, err := cmd.ParseArgs(con, args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return cli.UsageErrorf("doctor takes no arguments, but was given %q; see loadaware doctor --help", rest)
	}
	if *output != "text" && *output != "json" {
		return cli.UsageErrorf("-o must be text or json, not %q", *output)
	}
	report := doctor.NewReport()
	dsn, stop := findDatabaseToCheck(cmd, ctx, con, report)
	defer stop()
	cfg := doctorConfig(&cmd.Config, dsn)
	report.Run(ctx, &cfg)
	return report.Write(con.Out, *output)
}

func doctorConfig(c *config.Config, dsn string) doctor.Config {
	tokens, _, err := c.AccessTokens()
	cfg := doctor.Config{
		Addr: c.Addr, Tokens: len(tokens), TokensErr: err, TLSCert: c.TLSCert, TLSKey: c.TLSKey,
		KeepObservations: c.Keep.Observations, KeepReceipts: c.Keep.Receipts, ServerURL: c.URL, DSN: dsn,
		Prometheus: c.Prometheus(0), Airflow: c.Airflow(0),
	}
	if c.DatabaseURL == "" {
		cfg.DataDir = c.Data
	}
	return cfg
}

// findDatabaseToCheck returns the DSN to check. Without a database it reports the reason and returns "". If --url
// names no server, it sets cmd.URL to the server that uses the data folder or, without a database, to the server
// that answers at --addr.
func findDatabaseToCheck(cmd *cli.Command, ctx context.Context, con cli.Console, report *doctor.Report) (dsn string, stop func()) {
	none := func() {}
	report.Ran("database")
	if !cmd.HasDatabase() {
		running := cmp.Or(cmd.URL, cmd.ServerAt(cmd.Addr))
		if client.New(running, "").IsAvailable(ctx) {
			cmd.URL = running
			report.Warnf("database", "set DATABASE_URL to the database of the server, or name its data folder with --data",
				"the database was not checked, only the server at %s: DATABASE_URL is not set, and the folder %s has no database", running, cmd.Data)
			return "", none
		}
		report.Errorf("database", "set DATABASE_URL, or name the folder of a private database with --data",
			"no database to check: DATABASE_URL is not set, the folder %s has no database, and no server answers at %s", cmd.Data, running)
		return "", none
	}
	dsn, stop, err := app.FindDatabase(ctx, &cmd.Config, "", cmd.Logger(con.Err))
	var inUse *pglocal.InUseError
	if errors.As(err, &inUse) {
		consequence, advice := "", "; or name that server with --url to check the server"
		if cmd.URL == "" && inUse.Addr != "" {
			cmd.URL = cmd.ServerAt(inUse.Addr)
		}
		if running := inUse.DSN(); running != "" {
			return running, none
		}
		if cmd.URL != "" {
			consequence, advice = "; the server was checked instead", ""
		}
		report.Warnf("database", "stop the server to check its private database"+advice, "the private database is in use: %v%s", inUse, consequence)
		return "", none
	}
	if err != nil {
		problem := "the private database does not start"
		if cmd.DatabaseURL != "" {
			problem = "the database cannot be checked"
		}
		report.Errorf("database", "follow the advice in the message", "%s: %v", problem, err)
		return "", none
	}
	return dsn, stop
}
