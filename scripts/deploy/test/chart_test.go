// Package test renders the Helm chart and checks its manifests. It is a separate module, so that the module
// of loadaware does not depend on Kubernetes.
package test

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// manifests contains the rendered manifests. The chart has at most one manifest of each kind.
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
	text                    string // all manifests
}

// required lists the values without which the chart does not render.
var required = []string{"image.repository=registry.example/loadaware", "image.tag=v1", "secret.name=loadaware"}

var allFeatures = []string{
	"secret.replicaKey=REPLICA", "tls.secretName=tls", "tracing.endpoint=http://collector:4318", "tracing.headersKey=HEADERS",
	"monitoring.serviceMonitor=true", "monitoring.rules=true", "monitoring.dashboard=true", "monitoring.labels.release=prometheus",
	"podAnnotations.team=platform", "nodeSelector.pool=small", "image.pullSecrets[0]=pull",
	"tolerations[0].key=pool", "tolerations[0].operator=Exists",
	"env[0].name=LOADAWARE_UI_KEY", "env[0].valueFrom.secretKeyRef.name=loadaware", "env[0].valueFrom.secretKeyRef.key=LOADAWARE_UI_KEY",
}

// helm runs the program in the environment variable HELM, or else the helm in PATH.
func helm(args ...string) (string, error) {
	return run(cmp.Or(os.Getenv("HELM"), "helm"), args...)
}

// run runs a program and returns its standard output. The error contains both outputs.
func run(name string, args ...string) (string, error) {
	var out, stderr bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		return "", errors.Join(err, errors.New(out.String()+stderr.String()))
	}
	return out.String(), nil
}

// template renders the chart with the required values and others, such as "replicas=2".
func template(values ...string) (string, error) {
	args := []string{"template", "prod", "../chart", "--namespace", "loadaware", "--kube-version", "1.34.0"}
	for _, v := range append(required[:len(required):len(required)], values...) {
		args = append(args, "--set", v)
	}
	return helm(args...)
}

// render renders the chart and decodes the manifests. It fails the test on an unknown field or an unexpected kind.
func render(t *testing.T, values ...string) *manifests {
	t.Helper()
	text, err := template(values...)
	require.NoError(t, err)
	m, err := decode(text)
	require.NoError(t, err)
	return m
}

func decode(text string) (*manifests, error) {
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
		into := m.allocate(head.Kind)
		if into == nil {
			return nil, errors.New("decode manifests: unexpected kind " + head.Kind)
		}
		if err := strict.UnmarshalStrict(doc[:n], into); err != nil {
			return nil, err
		}
	}
}

// allocate returns a new manifest of a kind, to decode into. It returns nil if the chart must not contain that kind.
func (m *manifests) allocate(kind string) any {
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
	_, err := decode("apiVersion: v1\nkind: Service\nspec: {selectors: {a: b}}\n")
	assert.ErrorContains(t, err, "selectors")
	_, err = decode("apiVersion: v1\nkind: Secret\n")
	assert.ErrorContains(t, err, "Secret")
}

func TestHelmLintPasses(t *testing.T) {
	args := []string{"lint", "--strict", "../chart"}
	for _, v := range append(required[:len(required):len(required)], allFeatures...) {
		args = append(args, "--set", v)
	}
	_, err := helm(args...)
	assert.NoError(t, err)
}

// make dist writes the version and the digest into a copy of the chart without running helm, so this test checks such a
// copy.
func TestReleasedChartRunsTheDigest(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "loadaware")
	digest := "sha256:" + strings.Repeat("0123456789abcdef", 4)
	_, err := run("sh", "../../dist/chart.sh", "1.2.3-dev.20310131120000.g0123456789ab", digest, folder)
	require.NoError(t, err)
	values := []string{"--set", "image.repository=registry.example/loadaware", "--set", "secret.name=loadaware"}
	_, err = helm(append([]string{"lint", "--strict", folder}, values...)...)
	require.NoError(t, err)
	text, err := helm(append([]string{"template", "prod", folder, "--kube-version", "1.34.0"}, values...)...)
	require.NoError(t, err)
	m, err := decode(text)
	require.NoError(t, err)
	for _, c := range append(m.Deployment.Spec.Template.Spec.Containers, m.Job.Spec.Template.Spec.Containers...) {
		assert.Equal(t, "registry.example/loadaware@"+digest, c.Image)
	}
	assert.Equal(t, "1.2.3-dev.20310131120000.g0123456789ab", m.Deployment.Labels["app.kubernetes.io/version"])
}

func TestInvalidValuesAreRejected(t *testing.T) {
	for name, value := range map[string]string{
		"no secret":                  "secret.name=",
		"a single replica":           "replicas=1",
		"a misspelled value":         "autoscalling.enabled=true",
		"an unknown level":           "log.level=verbose",
		"a gRPC endpoint":            "tracing.endpoint=collector:4317",
		"receipts deleted too early": "keep.receipts=167h",
		"a retention in days":        "keep.receipts=90d",
		"a variable without a name":  "env[0].value=x",
	} {
		_, err := template(value)
		assert.Error(t, err, name)
	}
}
