package cohort

import (
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/usageprofile"
)

// Facts are what is known about a try before its launch.
type Facts struct {
	Task      sizing.TaskKey
	Metadata  sizing.Metadata
	Features  sizing.Features
	Requested sizing.Resources
	Placement sizing.Placement // only Shapes uses it, because the other learners get no row with a placement
}

// Row is one ended try.
type Row struct {
	Facts
	Peak   float64 // in bytes; for a kill a lower bound, usually the allocation
	Killed bool

	Usage     usageprofile.Vector // decides on the usage profile of the run; NaN is unknown
	Seconds   float64             // run time; 0: unknown
	Cores     float64             // largest CPU use; 0: unknown
	GPUMemory float64             // largest use, in bytes; 0: none, NaN: unknown
}

// RowOf returns the row of a stored try; ok is false if neither the peak nor a lower bound is known.
func RowOf(r *sizing.ContextRow) (row Row, ok bool) {
	peak, censoring := r.Peak()
	if censoring == sizing.NoPeak || censoring == sizing.AtMost {
		return Row{}, false
	}
	facts := Facts{Task: r.Task, Metadata: r.Metadata, Features: r.Features, Requested: r.Requested}
	row = Row{
		Facts: facts, Peak: float64(peak), Killed: censoring == sizing.AtLeast,
		Seconds: r.Duration.Seconds(), Cores: float64(r.CPUMax), GPUMemory: r.Usage.Get(sizing.GPUMemoryMax),
	}
	if r.Usage != nil && math.IsNaN(row.GPUMemory) && !(r.Usage.Get(sizing.GPUUtilisation) > 0) {
		row.GPUMemory = 0 // programs that report usage leave out the GPUs of a try without any
	}
	if run, ok := usageprofile.RunOf(r); ok {
		row.Usage = run.Vector
	}
	return row, true
}

// The names of the numbers and categories that do not come from features or metadata.
const (
	requestedMemory = "requested.memory"
	requestedCPU    = "requested.cpu"
	dagID           = "dag_id"
	taskID          = "task_id"
	nodeType        = "node_type"
	clusterLoad     = "cluster_load"

	featurePrefix  = "feature."
	metadataPrefix = "metadata."
)

// eachNumber calls visit for each number, in no specific order. All numbers except the cluster load are on a logarithmic
// scale.
func (f *Facts) eachNumber(visit func(name string, v float64)) {
	if f.Requested.Memory > 0 {
		visit(requestedMemory, math.Log(float64(f.Requested.Memory)))
	}
	if f.Requested.CPU > 0 {
		visit(requestedCPU, math.Log(float64(f.Requested.CPU)))
	}
	if load := f.Placement.ClusterLoad; load != nil {
		visit(clusterLoad, *load)
	}
	for name, v := range f.Features {
		switch v.Kind {
		case sizing.Number, sizing.Bool, sizing.Date:
			visit(featurePrefix+name, signedLog(v.Num))
		}
	}
}

// eachCategory calls visit for each value of a category. The order is fixed, because sums over the values must not depend on
// the order of a map.
func (f *Facts) eachCategory(visit func(name, value string)) {
	visit(dagID, f.Task.DAG)
	visit(taskID, f.Task.Task)
	if f.Placement.NodeType != "" {
		visit(nodeType, f.Placement.NodeType)
	}
	var buffer [sizing.MaxMetadata]string // on the stack, because each prediction calls this
	names := buffer[:0]
	for name := range f.Metadata {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, v := range f.Metadata[name] {
			visit(metadataPrefix+name, v)
		}
	}
	names = names[:0]
	for name, v := range f.Features {
		if v.Kind == sizing.Category {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		visit(featurePrefix+name, f.Features[name].Text)
	}
}

func signedLog(v float64) float64 {
	if v < 0 {
		return -math.Log1p(-v)
	}
	return math.Log1p(v)
}
