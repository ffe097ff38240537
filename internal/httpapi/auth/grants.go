package auth

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// Grants are all grants of one caller. A grant is a role in a scope (Token), not an amount of memory.
type Grants []*Token

// ForbiddenError reports that a caller is known but its grants do not permit the request.
type ForbiddenError struct{ Detail string }

// Error implements error.
func (e *ForbiddenError) Error() string { return e.Detail }

// WithRole returns the grants whose role is RoleAdmin or one of `roles`. It overwrites g.
func (g Grants) WithRole(roles []Role) Grants {
	return slices.DeleteFunc(g, func(t *Token) bool {
		return t.Role != RoleAdmin && !slices.Contains(roles, t.Role)
	})
}

// RoleError returns the error of a caller that has none of the `roles` and is no admin.
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

// CheckUnlimited fails unless one of the grants covers every task. The error ends with `reason`,
// a clause that says why the operation needs such a grant.
func (g Grants) CheckUnlimited(reason string) error {
	if g.Unlimited() {
		return nil
	}
	return g.scopeError(reason)
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

// ListNamespace returns the namespace to which a list is limited, or "" for all namespaces. It checks no dag_ids
// and, if it returns "", no namespaces: the code that lists the tasks filters them by Covers or Scopes. The argument
// `requested` is the namespace in the request; "" requests all visible tasks.
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

// OneNamespace returns the namespace of a request that concerns exactly one namespace. If
// `requested` is not "", it is the result. If it is "", the result is the only namespace of the grants, or the default
// namespace if the grants have several namespaces or cover all. OneNamespace fails if no grant covers the result.
func (g Grants) OneNamespace(requested string) (string, error) {
	namespace, err := g.ListNamespace(requested)
	if err != nil || namespace != "" {
		return namespace, err
	}
	if !slices.ContainsFunc(g, func(t *Token) bool { return t.coversNamespace(sizing.DefaultNamespace) }) {
		return "", g.scopeError(fmt.Sprintf("the request names no namespace, which means %q; send the parameter namespace", sizing.DefaultNamespace))
	}
	return sizing.DefaultNamespace, nil
}

// Scopes returns the ranges of tasks that the caller may access.
func (g Grants) Scopes() []store.Scope {
	scopes := make([]store.Scope, len(g))
	for i, t := range g {
		scopes[i] = store.Scope{Namespace: t.Namespace, DAGPrefix: t.DAGPrefix}
	}
	return scopes
}

// SkipAhead returns the key from which a list continues. This is the argument `after` if a grant covers it, or else the
// start of the caller's next range of dag_ids. The list shows no tasks between two ranges, and would otherwise read
// all of them. `more` is false after the last range. In a list of all namespaces, SkipAhead skips nothing if a grant
// has no namespace.
//
//	shown         etl_a etl_b                 ml_x
//	stored   billing │   │    hr_1 … hr_9999   │   web
//	                 └───┘───── one step ─────▶┘
func (g Grants) SkipAhead(namespace string, after sizing.TaskKey) (from sizing.TaskKey, more bool) {
	for _, t := range g {
		start := sizing.TaskKey{Namespace: cmp.Or(t.Namespace, namespace), DAG: t.DAGPrefix}
		switch {
		case start.Namespace == "" || t.covers(after):
			return after, true // the range recurs in every namespace, or `after` is inside it
		case less(after, start) && (!more || less(start, from)):
			from, more = start, true
		}
	}
	return from, more
}

// Visible returns tasks that the caller may access, in the order of their keys: at most `limit`, whose keys are greater
// than `after`. The function `list` reads the tasks of `namespace` ("" for all) that follow a key, in order, at most
// `limit`.
func (g Grants) Visible(namespace string, after sizing.TaskKey, limit int, list func(after sizing.TaskKey) ([]sizing.Profile, error)) ([]sizing.Profile, error) {
	var visible []sizing.Profile
	for {
		from, more := g.SkipAhead(namespace, after)
		if !more {
			return visible, nil
		}
		profiles, err := list(from)
		if err != nil {
			return nil, err
		}
		for i := range profiles {
			if g.Covers(profiles[i].Task) && len(visible) < limit {
				visible = append(visible, profiles[i])
			}
		}
		if len(profiles) < limit || len(visible) == limit {
			return visible, nil
		}
		after = profiles[len(profiles)-1].Task
	}
}

// less reports whether `a` is before `b` in the byte order, in which the store lists tasks.
func less(a, b sizing.TaskKey) bool {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.DAG, b.DAG), strings.Compare(a.Task, b.Task)) < 0
}

func (g Grants) scopeError(reason string) error {
	var scopes []string
	for _, t := range g {
		if scope := t.scope(); !slices.Contains(scopes, scope) {
			scopes = append(scopes, scope)
		}
	}
	return &ForbiddenError{"this token is limited to " + strings.Join(scopes, ", or to ") + ", but " + reason}
}

func (t *Token) covers(task sizing.TaskKey) bool {
	return t.coversNamespace(task.Namespace) && strings.HasPrefix(task.DAG, t.DAGPrefix)
}

func (t *Token) coversNamespace(namespace string) bool {
	return t.Namespace == "" || t.Namespace == namespace
}

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
