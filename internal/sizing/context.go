package sizing

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Placement describes the node of a try and the load of the cluster at its launch.
type Placement struct {
	NodeType    string   // the instance type or class of the node; empty if unknown
	ClusterLoad *float64 // the share of the cluster that was allocated to pods, 0 to 1; nil if unknown
}

// Validate returns an error for each field outside the limits.
func (p Placement) Validate() []FieldError {
	var bad []FieldError
	if !isMetadataText(p.NodeType, MaxMetadataValue) {
		bad = append(bad, FieldError{"node_type", fmt.Sprintf("must be at most %d characters without control characters", MaxMetadataValue)})
	}
	if l := p.ClusterLoad; l != nil && !(*l >= 0 && *l <= 1) {
		bad = append(bad, FieldError{"cluster_load", "must be 0 to 1"})
	}
	return bad
}

// Bounded returns p without the fields that exceed the limits, and a warning for each of these fields.
func (p Placement) Bounded() (Placement, []FieldError) {
	warnings := p.Validate()
	for i := range warnings {
		w := &warnings[i]
		w.Detail = "is ignored: it " + w.Detail
		if w.Field == "node_type" {
			p.NodeType = ""
			continue
		}
		w.Detail = fmt.Sprintf("%g %s", *p.ClusterLoad, w.Detail)
		p.ClusterLoad = nil
	}
	return p, warnings
}

// BoundContext drops the parts of the context (metadata, usage and placement) that exceed the limits, and computes
// unknown means of memory and CPU from the series of the report. It returns warnings about the dropped parts.
func (o *Observation) BoundContext() []FieldError {
	var metadata, placement, usage []FieldError
	o.Metadata, metadata = o.Metadata.Bounded()
	o.Placement, placement = o.Placement.Bounded()
	o.Usage, usage = o.Usage.bounded()
	if s := cmp.Or(o.Series, o.Detailed); s != nil {
		if len(s.Memory) > 0 && math.IsNaN(o.Usage.Get(MemoryMean)) {
			o.Usage = o.Usage.Set(MemoryMean, mean(s.Memory))
		}
		if len(s.CPU) > 0 && math.IsNaN(o.Usage.Get(CPUMean)) {
			o.Usage = o.Usage.Set(CPUMean, mean(s.CPU))
		}
	}
	return slices.Concat(metadata, placement, usage)
}

// BoundContext drops the parts of the metadata and the placement that exceed the limits, and returns warnings about them.
func (a *Ask) BoundContext() []FieldError {
	var metadata, placement []FieldError
	a.Metadata, metadata = a.Metadata.Bounded()
	a.Placement, placement = a.Placement.Bounded()
	return slices.Concat(metadata, placement)
}

// HasContext reports whether the report has metadata, usage or a placement.
func (o *Observation) HasContext() bool {
	return len(o.Metadata) > 0 || o.Usage != nil || o.Placement != Placement{}
}

// ContextRow is one stored try with its context (metadata, usage and placement), for learning across the tasks of a
// namespace.
type ContextRow struct {
	Task TaskKey
	HistoryRow
	Features  Features // decoded; HistoryRow.Features is nil
	Metadata  Metadata // nil if unknown
	Usage     MeanUsage
	Placement Placement
}
