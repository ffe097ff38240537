package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/source/file"
	"github.com/loadaware/loadaware/internal/source/prometheus"
	"github.com/loadaware/loadaware/internal/source/usagelog"
)

// usage contains the usage of tries from other sources than Airflow, and joins it to the observations from Airflow. Files
// are read into memory before the join (about 0.5 kB per try, and 2 kB more for each usage log). Prometheus is queried
// try by try.
type usage struct {
	byTry      map[sizing.TryKey]*fileUsage
	prometheus *prometheus.Client // nil if not configured
}

type fileUsage struct {
	sizing.Observation
	joined bool // whether join added this usage to a try of Airflow
}

// readFile adds the usage in a file. It replaces the namespaces in the file by the namespace of the import.
func (u *usage) readFile(t *TriesImporter, name, namespace string) error {
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
		var rowError *file.RowError
		switch {
		case errors.As(err, &rowError):
			t.reject(fmt.Sprintf("%s: %v", name, err))
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		default:
			u.add(row.Observation, namespace)
		}
	}
	return nil
}

func (u *usage) readLogs(t *TriesImporter, folder, namespace string) error {
	return t.eachUsageLog([]string{folder}, func(log *usagelog.Log) error {
		u.add(log.Observation(), namespace)
		return nil
	})
}

// add adds the usage of a try. The values of an earlier file stay, and a later file only adds missing values. But a later
// outcome replaces the outcome success, which may be only the default.
func (u *usage) add(o sizing.Observation, namespace string) {
	o.Try.Namespace = namespace
	if existing := u.byTry[o.Try]; existing != nil {
		if existing.Outcome == sizing.Success { // may be the default of a row without an outcome
			existing.Outcome = o.Outcome
		}
		fillMissing(&existing.Observation, &o)
		return
	}
	u.byTry[o.Try] = &fileUsage{Observation: o}
}

// join adds the usage of a try to its observation from Airflow. missing describes the usage that no source has. It is
// empty in three cases: a file has the try; Prometheus has the peak of the try; or Prometheus is not configured and no
// file has a usable row.
func (u *usage) join(ctx context.Context, o *sizing.Observation) (missing string, err error) {
	if found := u.byTry[o.Try]; found != nil {
		found.joined = true
		merge(o, &found.Observation)
		return "", nil
	}
	if u.prometheus != nil {
		return u.query(ctx, o)
	}
	if len(u.byTry) == 0 {
		return "", nil // the user named no source of usage, or no row of the files was usable
	}
	return "without usage: no file has the try", nil
}

func (u *usage) query(ctx context.Context, o *sizing.Observation) (missing string, err error) {
	if o.StartedAt.IsZero() {
		return "without usage: Airflow has no start time of the try, which the query of Prometheus needs", nil
	}
	observed, found, err := u.prometheus.Observation(ctx, o.Try, o.StartedAt, o.EndedAt)
	switch {
	case errors.Is(err, prometheus.ErrAmbiguous):
		return "without usage: " + prometheus.ErrAmbiguous.Error(), nil
	case err != nil:
		return "", err
	case !found:
		return "without usage: Prometheus has no sample of its pod (kube-state-metrics must export the pod's labels, and samples end with Prometheus' retention)", nil
	}
	merge(o, &observed)
	if o.MemoryMax == 0 && o.MemorySampled == 0 {
		return "without a peak: Prometheus knows its pod, and has no sample of its memory", nil
	}
	return "", nil
}

// merge overrides o, which comes from Airflow, with an observation of the pod, which has more exact
// times and sizes. Airflow decides whether the try succeeded, and the pod decides the kind of a failure.
func merge(o, observed *sizing.Observation) {
	airflow := *o
	*o = *observed
	o.Try, o.Outcome = airflow.Try, airflow.Outcome
	if airflow.Outcome == sizing.Failed && observed.Outcome != sizing.Success && observed.Outcome != sizing.UnknownOutcome {
		o.Outcome = observed.Outcome
	}
	fillMissing(o, &airflow)
	if o.Outcome.OOM() && max(o.MemoryMax, o.MemorySampled, o.Allocated.Memory) == 0 {
		o.Outcome = sizing.Killed // an OOM without any amount is not a valid observation
	}
}

// fillMissing sets the unknown fields of `o` from `more`, except the prediction, the detailed series, the executed plan and
// the outcome. It sets the start and the end only if o has neither of them and no duration.
func fillMissing(o, more *sizing.Observation) {
	o.MemoryMax = cmp.Or(o.MemoryMax, more.MemoryMax)
	o.MemorySampled = cmp.Or(o.MemorySampled, more.MemorySampled)
	o.CPUMax = cmp.Or(o.CPUMax, more.CPUMax)
	if o.Duration == 0 && o.StartedAt.IsZero() && o.EndedAt.IsZero() { // values of two sources may contradict each other
		o.Duration, o.StartedAt, o.EndedAt = more.Duration, more.StartedAt, more.EndedAt
	}
	o.Duration = cmp.Or(o.Duration, more.Duration)
	o.Allocated.Memory = cmp.Or(o.Allocated.Memory, more.Allocated.Memory)
	o.Allocated.CPU = cmp.Or(o.Allocated.CPU, more.Allocated.CPU)
	o.Requested.Memory = cmp.Or(o.Requested.Memory, more.Requested.Memory)
	o.Requested.CPU = cmp.Or(o.Requested.CPU, more.Requested.CPU)
	o.Series = cmp.Or(o.Series, more.Series)
	features := sizing.Features{}
	maps.Copy(features, more.Features)
	maps.Copy(features, o.Features)
	o.Features = features
	fillMissingContext(o, more)
}

func fillMissingContext(o, more *sizing.Observation) {
	if len(more.Metadata) > 0 {
		metadata := maps.Clone(more.Metadata)
		maps.Copy(metadata, o.Metadata)
		o.Metadata = metadata
	}
	for field, v := range more.Usage {
		if math.IsNaN(o.Usage.Get(field)) && !math.IsNaN(v) {
			o.Usage = o.Usage.Set(field, v)
		}
	}
	o.Placement.NodeType = cmp.Or(o.Placement.NodeType, more.Placement.NodeType)
	o.Placement.ClusterLoad = cmp.Or(o.Placement.ClusterLoad, more.Placement.ClusterLoad)
}

func (u *usage) countUnjoined(notes noteCounts) {
	var tries []string
	for key, found := range u.byTry {
		if !found.joined {
			tries = append(tries, formatTry(key))
		}
	}
	slices.Sort(tries) // so that the examples are the same in each import
	for _, try := range tries {
		notes.add("with usage, but Airflow did not return the try, or the import skipped it (for example another DAG or operator, before --since, still running, or removed)", try)
	}
}
