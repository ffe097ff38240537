package store

import (
	"context"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Shapes are the distributions of the ratio of run time to prediction that the tasks of a namespace share, with the
// classifier that predicts the shape of a task with few runs. Package cohort interprets the classifier in Content. Only
// package taskmodel interprets the other data in Content.
type Shapes struct {
	Namespace string
	Version   int // 1, 2, …: assigned by SaveShapes
	LearnedAt time.Time
	Content   []byte
}

// MaxShapes is the largest Content of Shapes in bytes.
const MaxShapes = 1 << 20

// RunTimes stores what tasks share about run times, and the structures of DAGs. The run times that a
// task learned alone are in its model.
type RunTimes interface {
	// SaveShapes replaces the shapes of a namespace if their stored version is still s.Version (0:
	// none), and returns the next version. Otherwise it returns Conflict.
	SaveShapes(ctx context.Context, s Shapes) (version int, err error)
	// Shapes returns the shapes of a namespace, or NotFound if there are none.
	Shapes(ctx context.Context, namespace string) (Shapes, error)
	// ShapeVersions returns the version of the shapes of every namespace that has shapes.
	ShapeVersions(context.Context) (map[string]int, error)

	// SetStructure replaces the structure of a DAG.
	SetStructure(context.Context, sizing.Structure) error
	// Structure returns the structure of a DAG, or NotFound if none is stored.
	Structure(ctx context.Context, namespace, dag string) (sizing.Structure, error)
}
