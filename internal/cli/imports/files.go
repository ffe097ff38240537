// Package imports has the command loadaware import and the commands below it.
package imports

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/loadaware/loadaware/internal/app"
	"github.com/loadaware/loadaware/internal/cli"
	"github.com/loadaware/loadaware/internal/client"
	"github.com/loadaware/loadaware/internal/importer"
	"github.com/loadaware/loadaware/internal/pglocal"
	"github.com/loadaware/loadaware/internal/source/file"
)

const importUsage = `[flags] FILE…
       loadaware import airflow | prometheus | usage-log [flags] … (each has its own --help)

Sends history to a running server, or into its database. A FILE is CSV or JSON
lines, plain or gzip; - is standard input. Importing twice adds nothing, so repeat
an import that was interrupted.

Destination: --url (LOADAWARE_URL), --database or --data if given; else the server
at LOADAWARE_ADDR (127.0.0.1:8080 if not set) if it answers; else DATABASE_URL if
set; else the data folder. If a server uses that folder, the import goes to the server.

A CSV with other column names and units can be imported as it is:
  loadaware import runs.csv --map peak=memory_max_bytes --map rows=feature.rows --map note= --unit GB

CSV columns: `

// Run runs loadaware import, or the command of the source that the first argument names.
func Run(ctx context.Context, con cli.Console, args []string) error {
	if len(args) > 0 && importSources[args[0]] != nil {
		return importSources[args[0]](ctx, con, args[1:])
	}
	cmd := cli.New("import", importUsage+strings.Join(file.Columns(), ", "), "url", "token", "database", "data")
	flags := newImportFlags(cmd, "rows")
	layout := cmd.LayoutFlags()
	strict := cmd.Bool("strict", false, "send nothing if a row cannot be read, and stop after the first batch in which the server rejects a row; the other rows of this batch and all rows of earlier batches stay stored")
	files, err := cmd.ParseArgs(con, args)
	if err != nil {
		return err
	}
	if err := cli.CheckLayout(layout); err != nil {
		return err
	}
	if len(files) == 0 {
		return cli.UsageErrorf("name the files to import, or - for standard input; see loadaware import --help")
	}
	if err := flags.check(); err != nil {
		return err
	}
	i := importer.New(con.ForImport(), *flags.batch)
	i.Layout, i.Strict = *layout, *strict
	return flags.run(ctx, con, cmd, i, func() error { return i.Files(ctx, files) })
}

// importFlags are the settings that all imports share. The command import prometheus has no flag --batch: it sets
// batch to podBatch.
type importFlags struct {
	dryRun, train *bool
	batch         *int
}

const trainHelp = "train every imported task on the server and wait for the results; without --train the server trains the tasks by itself within seconds"

// newImportFlags defines the flags that all imports share. The argument `items` says what a batch contains, such as rows.
func newImportFlags(cmd *cli.Command, items string) importFlags {
	return importFlags{
		dryRun: cmd.Bool("dry-run", false, "read and check, but send nothing"),
		batch:  cmd.Int("batch", 500, items+" per request, 1 to 10000"),
		train:  cmd.Bool("train", false, trainHelp),
	}
}

func (f importFlags) check() error {
	if *f.batch < 1 || *f.batch > client.MaxBatch {
		return cli.UsageErrorf("--batch must be 1 to %d, not %d", client.MaxBatch, *f.batch)
	}
	return nil
}

func (f importFlags) run(ctx context.Context, con cli.Console, cmd *cli.Command, i *importer.Importer, read func() error) error {
	if !*f.dryRun {
		target, closeTarget, err := findTarget(cmd, ctx, con)
		if err != nil {
			return err
		}
		defer closeTarget()
		i.Target = target
	}
	if err := read(); err != nil {
		return err
	}
	if *f.train {
		if err := i.Train(ctx); err != nil {
			return err
		}
	}
	return i.Result()
}

// findTarget chooses the server or the database to import into, as importUsage describes.
func findTarget(cmd *cli.Command, ctx context.Context, con cli.Console) (importer.Target, func(), error) {
	server := cmd.Server()
	server.Retrying = con.PrintRetry
	storeNamed := cmd.Given("database") || cmd.Given("data")
	if cmd.ServerGiven() || !storeNamed && (cmd.URL != "" || server.IsAvailable(ctx)) {
		return server, func() {}, nil
	}
	if !storeNamed && !cmd.HasDatabase() {
		return nil, nil, fmt.Errorf("no server answers at %s, and the data folder %s has no database; start a server with loadaware serve, or name the destination with --url, --database or --data",
			server.URL, cmd.Data)
	}
	st, stop, err := app.OpenStore(ctx, &cmd.Config, cmd.Logger(con.Err))
	if inUse := (*pglocal.InUseError)(nil); errors.As(err, &inUse) && inUse.Addr != "" {
		server.URL = cmd.ServerAt(inUse.Addr)
		return server, func() {}, nil
	}
	if err != nil {
		return nil, nil, err
	}
	fmt.Fprintf(con.Err, "importing into %s\n", cmd.Location())
	return st, stop, nil
}
