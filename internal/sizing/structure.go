package sizing

import (
	"slices"
	"time"
)

// StructureTask is one task of a DAG with the tasks that must end before it starts.
type StructureTask struct {
	TaskID   string   `json:"task_id"`
	Upstream []string `json:"upstream"`
}

// Structure lists the dependencies between the tasks of a DAG.
type Structure struct {
	Namespace, DAG string
	Tasks          []StructureTask
	UpdatedAt      time.Time
	ChangedAt      time.Time // when the tasks or their dependencies last changed; zero if no change is known
}

// HasSameTasks reports whether both structures have the same tasks with the same dependencies, in any order.
func (d *Structure) HasSameTasks(other *Structure) bool {
	upstream := make(map[string][]string, len(d.Tasks))
	for _, t := range d.Tasks {
		upstream[t.TaskID] = sortedSet(t.Upstream)
	}
	return len(d.Tasks) == len(other.Tasks) && !slices.ContainsFunc(other.Tasks, func(t StructureTask) bool {
		of, isKnown := upstream[t.TaskID]
		return !isKnown || !slices.Equal(of, sortedSet(t.Upstream))
	})
}

func sortedSet(ids []string) []string { return slices.Compact(slices.Sorted(slices.Values(ids))) }
