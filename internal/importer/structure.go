package importer

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/loadaware/loadaware/internal/client"
	"github.com/loadaware/loadaware/internal/insight/forecast"
	"github.com/loadaware/loadaware/internal/render"
	"github.com/loadaware/loadaware/internal/sizing"
)

type dagKey struct{ namespace, dag string }

// dependencies has the upstream tasks of each task of each DAG. If several rows of a task state them, the last row counts.
type dependencies map[dagKey]map[string][]string

// add notes the upstream tasks of a task, and replaces those that an earlier row stated. It does nothing if `upstream` is
// nil: then the row does not state the upstream tasks.
func (d dependencies) add(task sizing.TaskKey, upstream []string) {
	if upstream == nil {
		return
	}
	dag := dagKey{task.Namespace, task.DAG}
	if d[dag] == nil {
		d[dag] = map[string][]string{}
	}
	d[dag][task.Task] = upstream
}

// structure returns the structure of a DAG, with its tasks sorted by id. A task that is only named as an upstream task has no
// upstream tasks in the structure. An example is a task that launches no pod and so has no rows.
func structure(dag dagKey, upstream map[string][]string) (sizing.Structure, error) {
	complete := maps.Clone(upstream)
	for _, ids := range upstream {
		for _, id := range ids {
			if complete[id] == nil {
				complete[id] = []string{}
			}
		}
	}
	s := sizing.Structure{Namespace: dag.namespace, DAG: dag.dag, UpdatedAt: time.Now()}
	var checked []forecast.Task
	for _, id := range slices.Sorted(maps.Keys(complete)) {
		s.Tasks = append(s.Tasks, sizing.StructureTask{TaskID: id, Upstream: complete[id]})
		checked = append(checked, forecast.Task{ID: id, Upstream: complete[id]})
	}
	_, err := forecast.CheckStructure(checked)
	return s, err
}

func isRejected(err error) bool {
	return err != nil && sizing.KindOf(err) == sizing.Invalid || client.IsStatus(err, http.StatusUnprocessableEntity)
}

func (i *Importer) sendStructures(ctx context.Context) error {
	byName := func(a, b dagKey) int { return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.dag, b.dag)) }
	for _, dag := range slices.SortedFunc(maps.Keys(i.upstream), byName) {
		s, err := structure(dag, i.upstream[dag])
		if err == nil && i.Target != nil {
			err = i.Target.SetStructure(ctx, s)
		}
		if err != nil {
			err = fmt.Errorf("structure of DAG %s: %w; import again after the cause is removed; an import adds no row twice", dag.dag, err)
		}
		switch {
		case isRejected(err):
			i.rejectedStructures++
			fmt.Fprintln(i.con.Err, err)
		case err != nil:
			return err
		}
	}
	if n := len(i.upstream) - i.rejectedStructures; n > 0 && i.Target != nil {
		fmt.Fprintf(i.con.Out, "structures of %s stored\n", render.Count(n, "DAG"))
	}
	return nil
}
