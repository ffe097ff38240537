package test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	strict "sigs.k8s.io/yaml"
)

func (m *manifests) container() *core.Container {
	return &m.Deployment.Spec.Template.Spec.Containers[0]
}

func TestReplicasAreSpreadAndReplacedOneByOne(t *testing.T) {
	m := render(t)
	assert.Nil(t, m.Deployment.Spec.Replicas, "the autoscaler sets the replicas")
	scaler := m.HorizontalPodAutoscaler.Spec
	assert.Equal(t, m.Deployment.Name, scaler.ScaleTargetRef.Name)
	assert.EqualValues(t, 2, *scaler.MinReplicas)
	assert.Positive(t, m.container().Resources.Requests.Cpu().MilliValue(), "the autoscaler needs a CPU request")
	assert.Equal(t, intstr.FromInt32(1), *m.PodDisruptionBudget.Spec.MaxUnavailable)
	rolling := m.Deployment.Spec.Strategy.RollingUpdate
	assert.Equal(t, 0, rolling.MaxUnavailable.IntValue())
	assert.Equal(t, 1, rolling.MaxSurge.IntValue())
	spread := m.Deployment.Spec.Template.Spec.TopologySpreadConstraints
	require.Len(t, spread, 2)
	assert.Equal(t, "kubernetes.io/hostname", spread[0].TopologyKey)

	fixed := render(t, "autoscaling.enabled=false")
	assert.Nil(t, fixed.HorizontalPodAutoscaler)
	assert.EqualValues(t, 2, *fixed.Deployment.Spec.Replicas)
}

func TestSelectorsSelectTheirPods(t *testing.T) {
	m := render(t, allFeatures...)
	server, migration := m.Deployment.Spec.Template.Labels, m.Job.Spec.Template.Labels
	selects := func(selector, labels map[string]string) bool {
		for key, value := range selector {
			if labels[key] != value {
				return false
			}
		}
		return len(selector) > 0
	}
	selectors := map[string]map[string]string{
		"Deployment": m.Deployment.Spec.Selector.MatchLabels, "Service": m.Service.Spec.Selector,
		"PodDisruptionBudget": m.PodDisruptionBudget.Spec.Selector.MatchLabels,
	}
	for _, c := range m.Deployment.Spec.Template.Spec.TopologySpreadConstraints {
		selectors["spread by "+c.TopologyKey] = c.LabelSelector.MatchLabels
	}
	for name, selector := range selectors {
		assert.True(t, selects(selector, server), name)
		assert.False(t, selects(selector, migration), name)
	}
	assert.True(t, selects(m.NetworkPolicy.Spec.PodSelector.MatchLabels, server))
	assert.True(t, selects(m.NetworkPolicy.Spec.PodSelector.MatchLabels, migration), "the same rules apply to the migration")
	assert.True(t, selects(m.ServiceMonitor.Spec.Selector.MatchLabels, m.Service.Labels))
	assert.Equal(t, "metrics", m.ServiceMonitor.Spec.Endpoints[0].Port)
	for _, port := range m.Service.Spec.Ports {
		assert.Contains(t, []string{"api", "metrics"}, port.TargetPort.String())
	}
}

func TestPodsRunWithoutPrivileges(t *testing.T) {
	m := render(t, allFeatures...)
	for name, pod := range map[string]core.PodSpec{"server": m.Deployment.Spec.Template.Spec, "migration": m.Job.Spec.Template.Spec} {
		assert.True(t, *pod.SecurityContext.RunAsNonRoot, name)
		assert.EqualValues(t, 65532, *pod.SecurityContext.RunAsUser, name)
		assert.Equal(t, core.SeccompProfileTypeRuntimeDefault, pod.SecurityContext.SeccompProfile.Type, name)
		assert.False(t, *pod.AutomountServiceAccountToken, name)
		assert.False(t, pod.HostNetwork || pod.HostPID || pod.HostIPC, name)
		for _, c := range pod.Containers {
			assert.True(t, *c.SecurityContext.ReadOnlyRootFilesystem, name)
			assert.False(t, *c.SecurityContext.AllowPrivilegeEscalation, name)
			assert.Equal(t, []core.Capability{"ALL"}, c.SecurityContext.Capabilities.Drop, name)
			assert.Positive(t, c.Resources.Limits.Memory().Value(), name)
		}
		for _, v := range pod.Volumes {
			assert.Nil(t, v.HostPath, name)
		}
	}
}

func TestProbesUseTheEndpointsOfTheServer(t *testing.T) {
	for scheme, values := range map[core.URIScheme][]string{core.URISchemeHTTP: nil, core.URISchemeHTTPS: allFeatures} {
		c := render(t, values...).container()
		for path, probe := range map[string]*core.Probe{"/readyz": c.ReadinessProbe, "/healthz": c.LivenessProbe} {
			assert.Equal(t, path, probe.HTTPGet.Path)
			assert.Equal(t, scheme, probe.HTTPGet.Scheme)
			assert.Equal(t, "api", probe.HTTPGet.Port.String())
		}
		assert.GreaterOrEqual(t, c.StartupProbe.FailureThreshold*c.StartupProbe.PeriodSeconds, int32(300), "the startup probe must leave time for a migration")
		assert.Less(t, c.ReadinessProbe.PeriodSeconds*c.ReadinessProbe.FailureThreshold, int32(3), "the Service must drop the pod during the 3 s of the drain")
	}
}

func TestSecretsAreOnlyReferenced(t *testing.T) {
	m := render(t, allFeatures...)
	secretKeys := map[string]string{} // by environment variable
	for _, e := range append(m.container().Env, m.Job.Spec.Template.Spec.Containers[0].Env...) {
		if e.ValueFrom != nil {
			assert.Empty(t, e.Value)
			assert.Equal(t, "loadaware", e.ValueFrom.SecretKeyRef.Name)
			secretKeys[e.Name] = e.ValueFrom.SecretKeyRef.Key
		}
	}
	assert.Equal(t, map[string]string{
		"DATABASE_URL": "DATABASE_URL", "DATABASE_REPLICA_URL": "REPLICA", "LOADAWARE_TOKENS": "LOADAWARE_TOKENS", "LOADAWARE_UI_KEY": "LOADAWARE_UI_KEY", "OTEL_EXPORTER_OTLP_HEADERS": "HEADERS",
	}, secretKeys)
	assert.NotContains(t, m.text, "kind: Secret")
	assert.NotContains(t, m.text, "postgres://")
}

// The test reads the names of the variables from the source of the server.
func TestServerReadsEveryVariable(t *testing.T) {
	tags := func(file string) (names []string) {
		source, err := os.ReadFile("../../../internal/config/" + file)
		require.NoError(t, err)
		for _, tag := range regexp.MustCompile("envconfig:\"([A-Z_]+)\"").FindAllStringSubmatch(string(source), -1) {
			names = append(names, tag[1])
		}
		return names
	}
	read := map[string]bool{"OTEL_TRACES_SAMPLER": true, "OTEL_TRACES_SAMPLER_ARG": true} // by OpenTelemetry's SDK
	for _, name := range tags("config.go") {
		read["LOADAWARE_"+name], read[name] = true, true
	}
	for _, name := range tags("retention.go") { // the fields of KEEP
		read["LOADAWARE_KEEP_"+name] = true
	}
	for _, name := range tags("pages.go") { // the fields of UI
		read["LOADAWARE_UI_"+name] = true
	}
	for _, e := range render(t, allFeatures...).container().Env {
		assert.True(t, read[e.Name], "the server does not read %s", e.Name)
	}
	assert.False(t, read["LOADAWARE_ADDRESS"])
}

func TestRetentionFollowsTheValues(t *testing.T) {
	retention := func(values ...string) map[string]string {
		hours := map[string]string{}
		for _, e := range render(t, values...).container().Env {
			if kind, ok := strings.CutPrefix(e.Name, "LOADAWARE_KEEP_"); ok {
				hours[kind] = e.Value
			}
		}
		return hours
	}
	assert.Equal(t, map[string]string{"OBSERVATIONS": "8760h", "RECEIPTS": "2160h", "EXPERIMENTS": "8760h"}, retention()) // the defaults of the server, see package config
	assert.Equal(t, map[string]string{"OBSERVATIONS": "0", "RECEIPTS": "168h", "EXPERIMENTS": "8760h"}, retention("keep.receipts=168h", "keep.observations=0"))
}

func TestMigrationRunsBeforeAnyPodIsReplaced(t *testing.T) {
	m := render(t)
	assert.Equal(t, "pre-install,pre-upgrade", m.Job.Annotations["helm.sh/hook"])
	pod := m.Job.Spec.Template.Spec
	assert.Equal(t, []string{"migrate", "up"}, pod.Containers[0].Args)
	assert.Equal(t, m.container().Image, pod.Containers[0].Image)
	assert.Empty(t, pod.ServiceAccountName, "the service account of the chart does not exist before the hook")
	assert.Positive(t, *m.Job.Spec.ActiveDeadlineSeconds)
	assert.Nil(t, render(t, "migration.enabled=false").Job)
}

func TestOnlyCallersAndMonitoringReachThePods(t *testing.T) {
	rules := render(t).NetworkPolicy.Spec
	require.Len(t, rules.Ingress, 2)
	for i, c := range []struct {
		port      int
		namespace string
	}{{8080, "airflow"}, {9090, "monitoring"}} {
		rule := rules.Ingress[i]
		require.Len(t, rule.Ports, 1)
		assert.Equal(t, c.port, rule.Ports[0].Port.IntValue())
		require.Len(t, rule.From, 1, "a rule without a peer allows every source")
		assert.Equal(t, c.namespace, rule.From[0].NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"])
	}

	closed := render(t, "network.callers=null", "network.watchers=null").NetworkPolicy.Spec
	assert.Empty(t, closed.Ingress)
	assert.Len(t, closed.PolicyTypes, 2, "an empty list of rules allows no source")
	assert.Nil(t, render(t, "network.enabled=false").NetworkPolicy)
}

func TestPodsReachOnlyTheServicesTheyUse(t *testing.T) {
	ports := func(values ...string) map[int]bool {
		found := map[int]bool{}
		for _, rule := range render(t, values...).NetworkPolicy.Spec.Egress {
			require.NotEmpty(t, rule.Ports, "a rule without a port allows every destination port")
			for _, p := range rule.Ports {
				found[p.Port.IntValue()] = true
			}
		}
		return found
	}
	assert.Equal(t, map[int]bool{53: true, 5432: true}, ports())
	assert.Equal(t, map[int]bool{53: true, 5432: true, 4318: true}, ports("tracing.endpoint=http://collector:4318"))
	lookups := []string{"env[0].name=LOADAWARE_PROMETHEUS_URL", "env[0].value=http://prometheus.monitoring"}
	assert.Equal(t, map[int]bool{53: true, 5432: true, 9090: true}, ports(lookups...))
	assert.Equal(t, map[int]bool{53: true, 5432: true, 443: true}, ports(append(lookups, "network.prometheusPort=443")...))
}

func TestRulesAndDashboardEqualTheFiles(t *testing.T) {
	m := render(t, allFeatures...)
	text, err := os.ReadFile("../chart/files/alerts.yaml")
	require.NoError(t, err)
	var want monitoring.PrometheusRuleSpec
	require.NoError(t, strict.UnmarshalStrict(text, &want))
	assert.NotEmpty(t, want.Groups)
	assert.Equal(t, want, m.PrometheusRule.Spec)
	assert.Equal(t, "prometheus", m.PrometheusRule.Labels["release"])
	assert.Equal(t, "prometheus", m.ServiceMonitor.Labels["release"])

	text, err = os.ReadFile("../chart/files/dashboard.json")
	require.NoError(t, err)
	assert.Equal(t, string(text), m.ConfigMap.Data["loadaware.json"])
	assert.True(t, json.Valid(text))
	defaults := render(t)
	assert.Nil(t, defaults.ServiceMonitor)
	assert.Nil(t, defaults.PrometheusRule)
	assert.Nil(t, defaults.ConfigMap)
}

func TestImageTagMayBeADigest(t *testing.T) {
	assert.Equal(t, "registry.example/loadaware:v1", render(t).container().Image)
	digest := "sha256:" + strings.Repeat("a", 64)
	assert.Equal(t, "registry.example/loadaware@"+digest, render(t, "image.tag="+digest).container().Image)
}

// The test does not run Grafana; it checks the fields that an import needs.
func TestDashboardHasTheFieldsForGrafana(t *testing.T) {
	text, err := os.ReadFile("../chart/files/dashboard.json")
	require.NoError(t, err)
	var d struct {
		UID           string
		Title         string
		SchemaVersion int
		Panels        []struct {
			ID      int
			Type    string
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ RefID, Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &d))
	assert.NotEmpty(t, d.UID)
	assert.NotEmpty(t, d.Title)
	assert.Positive(t, d.SchemaVersion)
	ids, taken := map[int]bool{}, map[[2]int]string{}
	for _, p := range d.Panels {
		assert.False(t, ids[p.ID], "panel id %d is not unique", p.ID)
		ids[p.ID] = true
		assert.Contains(t, []string{"row", "timeseries"}, p.Type)
		assert.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24, p.Title)
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				assert.Empty(t, taken[at], "%s overlaps another panel", p.Title)
				taken[at] = p.Title
			}
		}
		refs := map[string]bool{}
		for _, target := range p.Targets {
			assert.False(t, refs[target.RefID], p.Title)
			refs[target.RefID] = true
		}
		assert.Equal(t, p.Type == "row", len(p.Targets) == 0, p.Title)
	}
}
