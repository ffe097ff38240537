package store

import (
	"context"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// TaskPlan is what was learned about the runs of one task. Only package taskplan interprets Content.
type TaskPlan struct {
	Task      sizing.TaskKey
	Version   int   // 1, 2, …: assigned by SavePlan
	Format    int   // version of the encoding of Content
	Series    int64 // ID of the newest DetailedRun that was learned
	Plans     int64 // ID of the newest PlanOutcome that was learned
	LearnedAt time.Time
	Content   []byte
}

// PlanPool is what was learned about the runs of all tasks of a namespace together. Only package taskplan
// interprets Content.
type PlanPool struct {
	Namespace string
	Version   int // 1, 2, …: assigned by SavePlan; 0 without a stored pool
	Format    int // of Content
	Content   []byte
}

// MaxPlan is the largest Content of a TaskPlan and of a PlanPool in bytes.
const MaxPlan = 2 << 20

// MaxDetailedRuns and MaxExecutedPlans bound the numbers of stored series and executed plans of a task. The series and
// the plans of the newest reports stay. A repeated report does not restore a deleted series or plan.
const (
	MaxDetailedRuns  = 64
	MaxExecutedPlans = 256
)

// DetailedRun is a success with the series from which plans are learned (sizing.Observation.PlanSeries): its detailed
// series, which has short steps, or else its usage series.
type DetailedRun struct {
	ID       int64 // in order of arrival
	RunID    string
	MapIndex int // sizing.NoMap for an unmapped task
	Try      int // number of the try, from 1
	Series   sizing.Series
	// Static is the static grant: the newest limit that the first try of the run was granted, or else the
	// allocation, or else the request of this try. Its CPU is the allocation, or else the request.
	Static sizing.Resources
}

// PlanOutcome is the end of a try that followed a memory plan, which changes the memory limit during the run.
type PlanOutcome struct {
	ID     int64 // in order of arrival
	Killed bool  // by an OOM kill; otherwise the try succeeded
}

// Plans stores the data from which plans (limits that grow during a run) are learned, and the learned plans. Record
// stores the series of a DetailedRun and the executed plan of any report. Of a try it keeps the first executed plan, and
// the first series until a series with shorter steps replaces it. Voiding or removing a report, or deleting its task,
// also deletes its series and its executed plan. Renaming a task moves them.
type Plans interface {
	// PlannableTasks lists, by name, the tasks with a stored series or executed plan that either have no plan of this
	// format, or have series or outcomes newer than their plan.
	PlannableTasks(ctx context.Context, format int) ([]sizing.TaskKey, error)
	// PlannedTasks lists the tasks with a plan, by name. Their plans have no Content. An empty namespace
	// selects all.
	PlannedTasks(ctx context.Context, namespace string) ([]TaskPlan, error)
	// DetailedRuns returns the stored DetailedRuns of a task whose ID is above `after`, in order of arrival.
	DetailedRuns(ctx context.Context, task sizing.TaskKey, after int64) ([]DetailedRun, error)
	// PlanOutcomes returns the outcomes of a task whose ID is above `after`, in order of arrival.
	PlanOutcomes(ctx context.Context, task sizing.TaskKey, after int64) ([]PlanOutcome, error)

	// SavePlan replaces the plan of a task and the pool of its namespace together if both stored
	// versions are still the given ones (0: none). Otherwise it returns Conflict. Both get the next
	// version. It returns NotFound if the task is unknown.
	SavePlan(ctx context.Context, p TaskPlan, pool PlanPool) error
	// TaskPlan returns the plan of a task, or NotFound if there is none. Content is nil if its version
	// equals `known`.
	TaskPlan(ctx context.Context, task sizing.TaskKey, known int) (TaskPlan, error)
	// PlanPool returns the pool of a namespace, or a pool of version 0 if there is none. Content is nil
	// if its version equals `known`.
	PlanPool(ctx context.Context, namespace string, known int) (PlanPool, error)
}
