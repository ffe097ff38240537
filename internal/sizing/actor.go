package sizing

import "context"

type actorKey struct{}

// WithActor returns a context that carries the name of the actor, such as a token, the trainer or the watchdog. The
// name is written to the audit trail; no authorization depends on it.
func WithActor(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, actorKey{}, name)
}

// Actor returns the name that WithActor stored last, or "" if it stored none.
func Actor(ctx context.Context) string {
	name, _ := ctx.Value(actorKey{}).(string)
	return name
}
