package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/source/file"
	"github.com/loadaware/loadaware/internal/source/prometheus"
	"github.com/loadaware/loadaware/internal/source/usagelog"
)

// usage is what other sources than Airflow tell of tries: all of files, which are read
// first (about half a kilobyte of memory a try, two more of a usage log), and then Prometheus, which is asked
// try by try.
type usage struct {
	ofTry map[sizing.TryKey]*fileUsage
	asked *prometheus.Client // nil: nobody
}

type fileUsage struct {
	sizing.Observation
	joined bool
}

// readCSV takes in a CSV or JSON lines, as loadaware import takes them. Of the
// namespace nothing is expected there: it is that of the import.
func (u *usage) readCSV(t *triesImport, name, namespace string) error {
	in, err := os.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	rows, err := file.Open(in)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for row, err := range rows.All() {
		var lost *file.RowError
		switch {
		case errors.As(err, &lost):
			t.refuse(fmt.Sprintf("%s: %v", name, err))
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		default:
			u.take(row.Observation, namespace)
		}
	}
	return nil
}

// readLogs takes in usage logs.
func (u *usage) readLogs(t *triesImport, folder, namespace string) error {
	return t.readUsageLogs([]string{folder}, func(log *usagelog.Log) error {
		u.take(log.Observation(), namespace)
		return nil
	})
}

func (u *usage) take(o sizing.Observation, namespace string) {
	o.Try.Namespace = namespace
	if had := u.ofTry[o.Try]; had != nil {
		complete(&had.Observation, &o)
		return
	}
	u.ofTry[o.Try] = &fileUsage{Observation: o}
}

// join completes what Airflow tells of a try; missing says why nothing could be added.
func (u *usage) join(ctx context.Context, o *sizing.Observation) (missing string, err error) {
	found := u.ofTry[o.Try]
	if found != nil {
		found.joined = true
		overlay(o, &found.Observation)
		return "", nil
	}
	if u.asked == nil {
		if len(u.ofTry) == 0 {
			return "", nil // no usage was given, so that none is missed
		}
		return "without usage: no file is of the try", nil
	}
	return u.ask(ctx, o)
}

func (u *usage) ask(ctx context.Context, o *sizing.Observation) (missing string, err error) {
	if o.StartedAt.IsZero() {
		return "without usage: Airflow keeps no times by which Prometheus could be asked", nil
	}
	seen, found, err := u.asked.Observation(ctx, o.Try, o.StartedAt, o.EndedAt)
	if err != nil {
		return "", err
	}
	if !found {
		return "without usage: Prometheus has no sample of its pod (kube-state-metrics must export the pod's labels, and samples end with Prometheus' retention)", nil
	}
	overlay(o, &seen)
	if o.MemoryMax == 0 && o.MemorySampled == 0 {
		return "without a peak: Prometheus knows its pod, and has no sample of its memory", nil
	}
	return "", nil
}

// overlay puts what was seen of a try over what Airflow says of it: who saw the pod
// knows its times and sizes better. Whether it succeeded is Airflow's to say; how it
// failed is not.
func overlay(o, seen *sizing.Observation) {
	airflow := *o
	*o = *seen
	o.Try, o.Outcome = airflow.Try, airflow.Outcome
	if airflow.Outcome == sizing.Failed && seen.Outcome != sizing.Success && seen.Outcome != sizing.UnknownOutcome {
		o.Outcome = seen.Outcome
	}
	complete(o, &airflow)
	if o.Outcome.OOM() && max(o.MemoryMax, o.MemorySampled, o.Allocated.Memory) == 0 {
		o.Outcome = sizing.Killed // "more than" nothing says nothing
	}
}

// complete fills in what o does not know.
func complete(o, more *sizing.Observation) {
	o.MemoryMax = cmp.Or(o.MemoryMax, more.MemoryMax)
	o.MemorySampled = cmp.Or(o.MemorySampled, more.MemorySampled)
	o.CPUMax = cmp.Or(o.CPUMax, more.CPUMax)
	if o.Duration == 0 && o.StartedAt.IsZero() && o.EndedAt.IsZero() { // they belong together
		o.Duration, o.StartedAt, o.EndedAt = more.Duration, more.StartedAt, more.EndedAt
	}
	o.Duration = cmp.Or(o.Duration, more.Duration)
	o.Allocated.Memory = cmp.Or(o.Allocated.Memory, more.Allocated.Memory)
	o.Allocated.CPU = cmp.Or(o.Allocated.CPU, more.Allocated.CPU)
	o.Requested.Memory = cmp.Or(o.Requested.Memory, more.Requested.Memory)
	o.Requested.CPU = cmp.Or(o.Requested.CPU, more.Requested.CPU)
	o.Series = cmp.Or(o.Series, more.Series)
	features := sizing.Features{}
	for _, of := range []sizing.Features{more.Features, o.Features} {
		for name, v := range of {
			features[name] = v
		}
	}
	o.Features = features
}

// tellUnjoined counts what files told of tries that Airflow did not name.
func (u *usage) tellUnjoined(left leftOut) {
	for key, found := range u.ofTry {
		if !found.joined {
			left.add("with usage that Airflow did not tell of (another DAG, before --since, still running, or removed)", sayTry(key))
		}
	}
}
