package auth

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Grants are all grants of one caller.
type Grants []*Token

// ForbiddenError reports that a caller is known but its grants do not permit the request.
type ForbiddenError struct{ Detail string }

func (e *ForbiddenError) Error() string { return e.Detail }

// WithRole returns the grants whose role is RoleAdmin or one of roles. It reuses the memory of g.
func (g Grants) WithRole(roles []Role) Grants {
	return slices.DeleteFunc(g, func(t *Token) bool {
		return t.Role != RoleAdmin && !slices.Contains(roles, t.Role)
	})
}

// RoleError says which roles an operation needs.
func RoleError(roles []Role) error {
	sufficient := []string{string(RoleAdmin)}
	for _, r := range roles {
		sufficient = append(sufficient, string(r))
	}
	return &ForbiddenError{"the role of this token does not permit this operation; use a token with role " + strings.Join(sufficient, " or ")}
}

// Unlimited reports whether one of the grants covers every task.
func (g Grants) Unlimited() bool {
	return slices.ContainsFunc(g, func(t *Token) bool { return t.Namespace == "" && t.DAGPrefix == "" })
}

// CheckUnlimited fails unless one of the grants covers every task; subject names what needs it.
func (g Grants) CheckUnlimited(subject string) error {
	if g.Unlimited() {
		return nil
	}
	return g.scopeError(subject)
}

// Covers reports whether the caller may access a task.
func (g Grants) Covers(task sizing.TaskKey) bool {
	return slices.ContainsFunc(g, func(t *Token) bool { return t.covers(task) })
}

// CheckTask fails if the caller may not access a task. The error is the same whether the
// task exists or not.
func (g Grants) CheckTask(task sizing.TaskKey) error {
	if g.Covers(task) {
		return nil
	}
	return g.scopeError(fmt.Sprintf("the request names dag_id %q in namespace %q", task.DAG, task.Namespace))
}

// ListNamespace returns the namespace to which a list is limited; "" means all. The argument
// is the requested namespace; "" requests everything that the caller may see.
func (g Grants) ListNamespace(requested string) (string, error) {
	if requested != "" {
		if slices.ContainsFunc(g, func(t *Token) bool { return t.coversNamespace(requested) }) {
			return requested, nil
		}
		return "", g.scopeError(fmt.Sprintf("the request names namespace %q", requested))
	}
	for _, t := range g {
		if t.Namespace != g[0].Namespace {
			return "", nil
		}
	}
	return g[0].Namespace, nil
}

// SkipAhead returns the key after which a list continues: after itself, or the start of the
// caller's next range of dag_ids if that is further. Tasks between two ranges are not shown,
// but reading them would cost as much. more is false after the last range.
//
//	shown         etl_a etl_b                 ml_x
//	stored   billing │   │    hr_1 … hr_9999   │   web
//	                 └───┘───── one step ─────▶┘
func (g Grants) SkipAhead(namespace string, after sizing.TaskKey) (from sizing.TaskKey, more bool) {
	for _, t := range g {
		start := sizing.TaskKey{Namespace: cmp.Or(t.Namespace, namespace), DAG: t.DAGPrefix}
		switch {
		case start.Namespace == "" || t.covers(after):
			return after, true // the range recurs in every namespace, or after is inside it
		case less(after, start) && (!more || less(start, from)):
			from, more = start, true
		}
	}
	return from, more
}

// less is the byte order in which the store lists tasks.
func less(a, b sizing.TaskKey) bool {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.DAG, b.DAG), strings.Compare(a.Task, b.Task)) < 0
}

func (g Grants) scopeError(requested string) error {
	var scopes []string
	for _, t := range g {
		if scope := t.scope(); !slices.Contains(scopes, scope) {
			scopes = append(scopes, scope)
		}
	}
	return &ForbiddenError{"this token is limited to " + strings.Join(scopes, ", or to ") + ", but " + requested}
}

func (t *Token) covers(task sizing.TaskKey) bool {
	return t.coversNamespace(task.Namespace) && strings.HasPrefix(task.DAG, t.DAGPrefix)
}

func (t *Token) coversNamespace(namespace string) bool {
	return t.Namespace == "" || t.Namespace == namespace
}

// scope describes the tasks that t covers.
func (t *Token) scope() string {
	var parts []string
	if t.Namespace != "" {
		parts = append(parts, fmt.Sprintf("namespace %q", t.Namespace))
	}
	if t.DAGPrefix != "" {
		parts = append(parts, fmt.Sprintf("dag_ids that begin with %q", t.DAGPrefix))
	}
	return strings.Join(parts, " and ")
}
