package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/schollz/progressbar/v3"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/source/usagelog"
)

const usageLogUsage = `[flags] FOLDER | FILE…

Sends the peaks of usage logs: one CSV a try, of samples taken every few seconds, plain
or gzip, below a FOLDER all that end in .csv or .csv.gz. Importing twice adds nothing.

    # dag_id=pricing, task_id=load, run_id=manual__3, map_index=-1, try_number=1
    timestamp,memory_bytes,cpu_cores
    2025-03-01T09:01:00Z,104857600,0.2

Which try it is may stand in the path instead, as in Airflow's own folders of logs:
dag_id=pricing/run_id=manual__3/task_id=load/attempt=1.csv. Where no outcome=… says
otherwise the try is taken to have succeeded; loadaware import airflow --usage-log
asks Airflow how it ended, and for its features. The largest sample is stored, as a
peak that was sampled, and of all of them a series of at most 120 points.`

// maxBatch is what POST /observe/batch takes.
const maxBatch = 10_000

func importUsageLogs(ctx context.Context, con console, args []string) error {
	cmd := newCommand("import usage-log", usageLogUsage, "url", "token", "database", "data")
	dryRun := cmd.Bool("dry-run", false, "read and check, and send nothing")
	batch := cmd.Int("batch", 500, "tries sent at once, 1 to 10000")
	train := cmd.Bool("train", false, "then have the server train every task, and wait for it; else it trains them within seconds by itself")
	names, err := cmd.parse(con, args)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return usageErrorf("name a folder or files of usage logs; see loadaware import usage-log --help")
	}
	if *batch < 1 || *batch > maxBatch {
		return usageErrorf("--batch must be 1 to %d, not %d", maxBatch, *batch)
	}
	t := newTriesImport(con, *batch)
	return t.run(ctx, cmd, *dryRun, *train, func() error {
		return t.finish(ctx, "usage logs", t.readUsageLogs(names, func(log *usagelog.Log) error {
			o := log.Observation()
			t.assumed[o.Try] = log.Outcome == sizing.UnknownOutcome
			return t.add(ctx, &o)
		}))
	})
}

// readUsageLogs reads all files that are meant. One that cannot be read costs itself only.
func (t *triesImport) readUsageLogs(names []string, take func(*usagelog.Log) error) error {
	files, err := usagelog.Find(names...)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("no file below %s ends in .csv or .csv.gz", names[0])
	}
	bar := progressbar.NewOptions(len(files), progressbar.OptionSetDescription("usage logs"),
		progressbar.OptionSetWriter(t.con.err), progressbar.OptionSetVisibility(isTerminal(t.con.err)),
		progressbar.OptionClearOnFinish())
	defer func() { _ = bar.Finish() }() // it only draws
	for _, file := range files {
		log, err := usagelog.Open(file)
		switch {
		case errors.Is(err, usagelog.ErrInvalidFile):
			t.sum.read++
			t.refuse(fmt.Sprintf("%s %v", file, err))
		case err != nil:
			return err
		default:
			if err := take(&log); err != nil {
				return err
			}
		}
		_ = bar.Add(1)
	}
	return nil
}
