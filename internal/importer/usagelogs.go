package importer

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/source/usagelog"
)

// UsageLogs imports the usage logs in the named files and folders.
func (t *TriesImporter) UsageLogs(ctx context.Context, names []string) error {
	return t.finish(ctx, "usage logs", t.eachUsageLog(names, func(log *usagelog.Log) error {
		o := log.Observation()
		o.Provisional = log.Outcome == sizing.UnknownOutcome // an assumed success must not replace a kill that is known from the pod
		t.assumed[o.Try] = o.Provisional
		return t.add(ctx, &o)
	}))
}

func (t *TriesImporter) eachUsageLog(names []string, use func(*usagelog.Log) error) error {
	files, err := usagelog.Find(names...)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("no file below %s ends in .csv or .csv.gz", strings.Join(names, ", "))
	}
	bar := t.con.progress(int64(len(files)), "usage logs")
	defer func() { _ = bar.Finish() }() // a drawing error does not matter
	for _, name := range files {
		log, err := usagelog.Open(name)
		switch {
		case errors.Is(err, usagelog.ErrInvalidFile):
			t.counts.read++
			t.reject(fmt.Sprintf("%s: %v", name, err))
		case err != nil:
			return err
		default:
			if err := use(&log); err != nil {
				return err
			}
		}
		_ = bar.Add(1)
	}
	return nil
}
