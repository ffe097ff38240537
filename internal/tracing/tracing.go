// Package tracing sends OpenTelemetry traces to a collector, for those who name one.
//
//	request ──▶ span ──▶ spans of its statements ──▶ batch ──▶ POST /v1/traces
//
// It speaks OTLP over HTTP in protobuf. The client of OpenTelemetry itself would link
// gRPC into the program, three megabytes that the image has no room for. Samplers,
// batches, the name of the service and its attributes are set by the variables of
// OpenTelemetry (OTEL_TRACES_SAMPLER, OTEL_BSP_…, OTEL_SERVICE_NAME,
// OTEL_RESOURCE_ATTRIBUTES), which its SDK reads.
package tracing

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Config says where traces go. The zero Config sends none.
type Config struct {
	Endpoint string // of the collector, such as http://collector:4318; none if empty
	Headers  string // name=value pairs, separated by commas, percent-encoded: they may hold a token
	Version  string // of this build
}

// sendAtMost bounds one request to the collector; its spans are lost beyond it.
const sendAtMost = 10 * time.Second

// Start returns what makes spans, and what sends the last of them. The tracer is nil
// where no collector is named. An error if the endpoint or the headers cannot be read.
func Start(ctx context.Context, cfg Config, log *slog.Logger) (trace.Tracer, func(context.Context) error, error) {
	if cfg.Endpoint == "" {
		return nil, func(context.Context) error { return nil }, nil
	}
	to, err := newCollector(cfg)
	if err != nil {
		return nil, nil, err
	}
	exporter, err := otlptrace.New(ctx, to)
	if err != nil {
		return nil, nil, err
	}
	// What the SDK cannot do, such as reach the collector, is its own matter: no
	// request waits for it or fails.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("traces are lost", "err", err) }))
	about, err := resource.New(ctx, resource.WithAttributes(
		attribute.String("service.name", "loadaware"), attribute.String("service.version", cmp.Or(cfg.Version, "unknown")), attribute.String("service.instance.id", host()),
	), resource.WithFromEnv()) // the last wins
	if err != nil {
		return nil, nil, err
	}
	provider := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(about))
	return provider.Tracer("github.com/loadaware/loadaware"), provider.Shutdown, nil
}

func host() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}

// collector is where spans are posted to.
type collector struct {
	url     string
	headers http.Header
	client  http.Client
}

func newCollector(cfg Config) (*collector, error) {
	to, err := url.Parse(cfg.Endpoint)
	if err != nil || to.Host == "" || to.Scheme != "http" && to.Scheme != "https" {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_ENDPOINT is not understood: write http://host:4318")
	}
	c := &collector{url: to.JoinPath("v1/traces").String(), headers: http.Header{}, client: http.Client{Timeout: sendAtMost}}
	for pair := range strings.SplitSeq(cfg.Headers, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_HEADERS is not understood: write name=value, percent-encoded, separated by commas")
		}
		c.headers.Set(strings.TrimSpace(name), value)
	}
	c.headers.Set("Content-Type", "application/x-protobuf")
	return c, nil
}

// Start and Stop implement otlptrace.Client: there is nothing to open or to close.
func (c *collector) Start(context.Context) error { return nil }
func (c *collector) Stop(context.Context) error  { return nil }

// UploadTraces implements otlptrace.Client. TracesData has the wire form of the
// request that OTLP asks for.
func (c *collector) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header = c.headers
	response, err := c.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<16)) // so that the connection can be used again
	if response.StatusCode >= 300 {
		return fmt.Errorf("the collector answered %s", response.Status)
	}
	return nil
}
