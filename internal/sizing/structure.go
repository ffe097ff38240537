package sizing

import "time"

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
}
