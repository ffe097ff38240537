package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/loadaware/loadaware/internal/sizing"
)

// reaches reports whether t is for a task.
func (t *Token) reaches(task sizing.TaskKey) bool {
	return t.inNamespace(task.Namespace) && strings.HasPrefix(task.DAG, t.DAGPrefix)
}

func (t *Token) inNamespace(namespace string) bool {
	return t.Namespace == "" || t.Namespace == namespace
}

// scope says in words what t is for.
func (t *Token) scope() string {
	var words []string
	if t.Namespace != "" {
		words = append(words, fmt.Sprintf("namespace %q", t.Namespace))
	}
	if t.DAGPrefix != "" {
		words = append(words, fmt.Sprintf("dag_ids that begin with %q", t.DAGPrefix))
	}
	return strings.Join(words, " and ")
}

// mayName reports whether the caller may name a task.
func mayName(ctx context.Context, task sizing.TaskKey) bool {
	return slices.ContainsFunc(callOf(ctx).held, func(t *Token) bool { return t.reaches(task) })
}

// checkScope refuses a task that is not the caller's to name, whether there is
// one or not.
func checkScope(ctx context.Context, task sizing.TaskKey) error {
	if mayName(ctx, task) {
		return nil
	}
	return outOfScope(callOf(ctx).held, fmt.Sprintf("the request names dag_id %q in namespace %q", task.DAG, task.Namespace))
}

func outOfScope(held []*Token, asked string) error {
	var own []string
	for _, t := range held {
		if words := t.scope(); !slices.Contains(own, words) {
			own = append(own, words)
		}
	}
	return &failure{class: forbidden, detail: "this token is for " + strings.Join(own, ", or for ") + ", and " + asked}
}

// listScope is the namespace that a list is limited to ("" for all) when the
// caller asked for one ("" for all that it may see). Within it, mayName says what
// is shown.
func listScope(ctx context.Context, asked string) (string, error) {
	held := callOf(ctx).held
	if asked != "" {
		if slices.ContainsFunc(held, func(t *Token) bool { return t.inNamespace(asked) }) {
			return asked, nil
		}
		return "", outOfScope(held, fmt.Sprintf("the request names namespace %q", asked))
	}
	for _, t := range held {
		if t.Namespace != held[0].Namespace {
			return "", nil
		}
	}
	return held[0].Namespace, nil
}

// visible reads the caller's tasks behind a key, at most limit, in the store's order.
func (s *server) visible(ctx context.Context, namespace string, after sizing.TaskKey, limit int) ([]sizing.Profile, error) {
	var seen []sizing.Profile
	for {
		from, more := onward(callOf(ctx).held, namespace, after)
		if !more {
			return seen, nil
		}
		read, err := s.svc.Tasks(ctx, namespace, from, limit)
		if err != nil {
			return nil, err
		}
		for i := range read {
			if mayName(ctx, read[i].Task) && len(seen) < limit {
				seen = append(seen, read[i])
			}
		}
		if len(read) < limit || len(seen) == limit {
			return seen, nil
		}
		after = read[len(read)-1].Task
	}
}

// onward is the key behind which to read on: after, or where the next of the
// caller's dag_ids begin if that is further, since what lies between is not shown
// and costs as much to read. There is no more behind the last of them.
//
//	shown         etl_a etl_b                 ml_x
//	stored   billing │   │    hr_1 … hr_9999   │   web
//	                 └───┘───── one step ─────▶┘
func onward(held []*Token, namespace string, after sizing.TaskKey) (from sizing.TaskKey, more bool) {
	for _, t := range held {
		start := sizing.TaskKey{Namespace: cmp.Or(t.Namespace, namespace), DAG: t.DAGPrefix}
		switch {
		case start.Namespace == "" || t.reaches(after):
			return after, true // dag_ids of every namespace begin anew with each, or after is amid them
		case before(after, start) && (!more || before(start, from)):
			from, more = start, true
		}
	}
	return from, more
}

// before is the store's order, which is by bytes.
func before(a, b sizing.TaskKey) bool {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.DAG, b.DAG), strings.Compare(a.Task, b.Task)) < 0
}
