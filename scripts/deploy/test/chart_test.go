// Package test renders the Helm chart and checks its manifests against the requirements of a platform
// team. It is a separate module, so that the module of loadaware does not depend on Kubernetes.
package test

import (
	"bytes"
	"errors"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	strict "sigs.k8s.io/yaml"
)

// manifests holds the rendered manifests by kind. There is at most one of each kind.
type manifests struct {
	Deployment              *apps.Deployment
	Service                 *core.Service
	ServiceAccount          *core.ServiceAccount
	PodDisruptionBudget     *policy.PodDisruptionBudget
	HorizontalPodAutoscaler *autoscaling.HorizontalPodAutoscaler
	NetworkPolicy           *networking.NetworkPolicy
	Job                     *batch.Job
	ConfigMap               *core.ConfigMap
	ServiceMonitor          *monitoring.ServiceMonitor
	PrometheusRule          *monitoring.PrometheusRule
	text                    string
}

// required lists the values without which the chart does not render.
var required = []string{"image.repository=registry.example/loadaware", "image.tag=v1", "secret.name=loadaware"}

// everything enables all features that are off by default.
var everything = []string{
	"tls.secretName=tls", "tracing.endpoint=http://collector:4318", "tracing.headersKey=HEADERS",
	"monitoring.serviceMonitor=true", "monitoring.rules=true", "monitoring.dashboard=true", "monitoring.labels.release=prometheus",
	"podAnnotations.team=platform", "nodeSelector.pool=small", "image.pullSecrets[0]=pull",
	"tolerations[0].key=pool", "tolerations[0].operator=Exists",
}

// tool returns a function that builds a program pinned by go.mod and returns its path.
func tool(name string) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		path, err := run("go", "tool", "-n", name)
		return strings.TrimSpace(path), err
	})
}

var helmPath = tool("helm")

func helm(args ...string) (string, error) {
	path, err := helmPath()
	if err != nil {
		return "", err
	}
	return run(path, args...)
}

// run returns the output of a command. The error contains its standard error.
func run(name string, args ...string) (string, error) {
	var out, stderr bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		return "", errors.Join(err, errors.New(out.String()+stderr.String()))
	}
	return out.String(), nil
}

func template(values ...string) (string, error) {
	args := []string{"template", "prod", "../chart", "--namespace", "loadaware", "--kube-version", "1.34.0"}
	for _, v := range append(required[:len(required):len(required)], values...) {
		args = append(args, "--set", v)
	}
	return helm(args...)
}

// render renders the chart and decodes every manifest strictly: an unknown field is an error, as is
// an unexpected kind.
func render(t *testing.T, values ...string) *manifests {
	t.Helper()
	text, err := template(values...)
	require.NoError(t, err)
	m, err := read(text)
	require.NoError(t, err)
	return m
}

func read(text string) (*manifests, error) {
	m := &manifests{text: text}
	for docs := yaml.NewDocumentDecoder(io.NopCloser(bytes.NewBufferString(text))); ; {
		doc := make([]byte, 1<<20)
		n, err := docs.Read(doc)
		if errors.Is(err, io.EOF) {
			return m, nil
		}
		if err != nil {
			return nil, err
		}
		var head struct{ Kind string }
		if err := strict.Unmarshal(doc[:n], &head); err != nil {
			return nil, err
		}
		if head.Kind == "" {
			continue // comments only
		}
		into := m.of(head.Kind)
		if into == nil {
			return nil, errors.New("decode manifests: unexpected kind " + head.Kind)
		}
		if err := strict.UnmarshalStrict(doc[:n], into); err != nil {
			return nil, err
		}
	}
}

// of allocates the manifest of a kind; nil for other kinds.
func (m *manifests) of(kind string) any {
	switch kind {
	case "Deployment":
		m.Deployment = &apps.Deployment{}
		return m.Deployment
	case "Service":
		m.Service = &core.Service{}
		return m.Service
	case "ServiceAccount":
		m.ServiceAccount = &core.ServiceAccount{}
		return m.ServiceAccount
	case "PodDisruptionBudget":
		m.PodDisruptionBudget = &policy.PodDisruptionBudget{}
		return m.PodDisruptionBudget
	case "HorizontalPodAutoscaler":
		m.HorizontalPodAutoscaler = &autoscaling.HorizontalPodAutoscaler{}
		return m.HorizontalPodAutoscaler
	case "NetworkPolicy":
		m.NetworkPolicy = &networking.NetworkPolicy{}
		return m.NetworkPolicy
	case "Job":
		m.Job = &batch.Job{}
		return m.Job
	case "ConfigMap":
		m.ConfigMap = &core.ConfigMap{}
		return m.ConfigMap
	case "ServiceMonitor":
		m.ServiceMonitor = &monitoring.ServiceMonitor{}
		return m.ServiceMonitor
	case "PrometheusRule":
		m.PrometheusRule = &monitoring.PrometheusRule{}
		return m.PrometheusRule
	}
	return nil
}

func TestUnknownFieldsAndKindsAreErrors(t *testing.T) {
	_, err := read("apiVersion: v1\nkind: Service\nspec: {selectors: {a: b}}\n")
	assert.ErrorContains(t, err, "selectors")
	_, err = read("apiVersion: v1\nkind: Secret\n")
	assert.ErrorContains(t, err, "Secret")
}

func TestHelmLintPasses(t *testing.T) {
	args := []string{"lint", "--strict", "../chart"}
	for _, v := range append(required[:len(required):len(required)], everything...) {
		args = append(args, "--set", v)
	}
	_, err := helm(args...)
	assert.NoError(t, err)
}

func TestInvalidValuesAreRejected(t *testing.T) {
	for claim, value := range map[string]string{
		"no secret":                  "secret.name=",
		"a single replica":           "replicas=1",
		"a misspelled value":         "autoscalling.enabled=true",
		"an unknown level":           "log.level=verbose",
		"a gRPC endpoint":            "tracing.endpoint=collector:4317",
		"receipts deleted too early": "keep.receipts=167h",
		"an age in days":             "keep.receipts=90d",
	} {
		_, err := template(value)
		assert.Error(t, err, claim)
	}
}
