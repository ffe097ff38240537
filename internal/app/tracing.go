package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/trace"

	"github.com/loadaware/loadaware/internal/config"
	"github.com/loadaware/loadaware/internal/tracing"
)

// startTracing starts to send traces. It returns a nil tracer if tracing is not configured. `end` sends the last spans and
// waits at most 5 seconds.
func startTracing(ctx context.Context, cfg *config.Config, version string, log *slog.Logger) (tracer trace.Tracer, end func(), err error) {
	tracer, flush, err := tracing.Start(ctx, tracing.Config{Endpoint: cfg.TraceURL, Headers: cfg.TraceHeaders, Version: version}, log)
	if err != nil {
		return nil, nil, config.Errorf("%v", err)
	}
	return tracer, func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := flush(ctx); err != nil {
			log.Warn("the last traces are lost", "err", err)
		}
	}, nil
}

func queryTracer(tracer trace.Tracer) pgx.QueryTracer {
	if tracer == nil {
		return nil
	}
	return tracing.QueryTracer{Tracer: tracer}
}
