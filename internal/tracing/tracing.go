// Package tracing sends OpenTelemetry traces to a collector, if one is configured.
//
//	request ──▶ span ──▶ spans of its statements ──▶ batch ──▶ POST /v1/traces
//
// It sends OTLP over HTTP in protobuf with its own client, because the client of OpenTelemetry depends on
// gRPC, which would add three megabytes to the image. The SDK reads the standard variables for samplers,
// batches, service name and attributes (OTEL_TRACES_SAMPLER, OTEL_BSP_…, OTEL_SERVICE_NAME,
// OTEL_RESOURCE_ATTRIBUTES).
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

// Config configures the export of traces. The zero Config sends no traces.
type Config struct {
	Endpoint string // URL of the collector, such as http://collector:4318; no traces if empty
	Headers  string // name=value pairs, percent-encoded, separated by commas; may contain a token
	Version  string
}

// sendTimeout bounds one upload to the collector. If an upload takes longer, its spans are lost.
const sendTimeout = 10 * time.Second

// Start returns a tracer and a function that flushes and stops the tracer. The tracer is nil if no collector
// is configured. Start fails if the endpoint, the headers or OTEL_RESOURCE_ATTRIBUTES are malformed.
func Start(ctx context.Context, cfg Config, log *slog.Logger) (trace.Tracer, func(context.Context) error, error) {
	if cfg.Endpoint == "" {
		return nil, func(context.Context) error { return nil }, nil
	}
	client, err := newCollector(cfg)
	if err != nil {
		return nil, nil, err
	}
	exporter, err := otlptrace.New(ctx, client)
	if err != nil {
		return nil, nil, err
	}
	// The SDK exports in the background: its errors neither delay nor fail a request.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("export traces failed", "err", err) }))
	res, err := resource.New(ctx, resource.WithAttributes(
		attribute.String("service.name", "loadaware"), attribute.String("service.version", cmp.Or(cfg.Version, "unknown")), attribute.String("service.instance.id", host()),
	), resource.WithFromEnv()) // later options take precedence
	if err != nil {
		return nil, nil, err
	}
	provider := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(res))
	return provider.Tracer("github.com/loadaware/loadaware"), provider.Shutdown, nil
}

func host() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}

// collector is an OTLP client over HTTP. It implements otlptrace.Client.
type collector struct {
	url     string
	headers http.Header
	client  http.Client
}

func newCollector(cfg Config) (*collector, error) {
	endpoint, err := url.Parse(cfg.Endpoint)
	if err != nil || endpoint.Host == "" || endpoint.Scheme != "http" && endpoint.Scheme != "https" {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_ENDPOINT is malformed; write http://host:4318")
	}
	c := &collector{url: endpoint.JoinPath("v1/traces").String(), headers: http.Header{}, client: http.Client{Timeout: sendTimeout}}
	for pair := range strings.SplitSeq(cfg.Headers, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_HEADERS is malformed; write name=value, percent-encoded, separated by commas")
		}
		c.headers.Set(strings.TrimSpace(name), value)
	}
	c.headers.Set("Content-Type", "application/x-protobuf")
	return c, nil
}

// Start implements otlptrace.Client. It does nothing.
func (c *collector) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client. It does nothing.
func (c *collector) Stop(context.Context) error { return nil }

// UploadTraces implements otlptrace.Client. TracesData has the wire format of an OTLP export request.
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
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<16)) // so that the connection is reused
	if response.StatusCode >= 300 {
		return fmt.Errorf("upload traces: collector returned %s", response.Status)
	}
	return nil
}
