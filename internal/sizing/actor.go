package sizing

import "context"

type actorKey struct{}

// WithActor says in ctx on whose behalf what follows is done: the name of a
// token, never the token. It is there to be written into the audit trail; no rule
// asks for it.
func WithActor(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, actorKey{}, name)
}

// Actor is whom WithActor named last; "" where the service acts by itself.
func Actor(ctx context.Context) string {
	name, _ := ctx.Value(actorKey{}).(string)
	return name
}
