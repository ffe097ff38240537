package prometheus_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/source/prometheus"
	"github.com/loadaware/loadaware/internal/source/prometheus/prometheustest"
)

func decodeNamespaces(t *testing.T, text string) (n prometheus.Namespaces) {
	require.NoError(t, n.Decode(text), text)
	return n
}

func TestNamespacesNameTheKubernetesNamespace(t *testing.T) {
	for _, c := range []struct {
		setting, loadaware, want string
		ok                       bool
	}{
		{"", "prod", "", true},
		{"airflow", "prod", "airflow", true},
		{" prod = af-prod , staging=af-staging", "prod", "af-prod", true},
		{"prod=af-prod,staging=af-staging", "staging", "af-staging", true},
		{"prod=af-prod,staging=af-staging", "default", "", false},
	} {
		kubernetes, ok := decodeNamespaces(t, c.setting).Of(c.loadaware)
		assert.Equal(t, c.want, kubernetes, c)
		assert.Equal(t, c.ok, ok, c)
	}
	for _, wrong := range []string{"af-prod,af-staging", "prod=", "=af-prod", "prod=af-prod,", "prod=Af", "prod=a,prod=b"} {
		assert.Error(t, new(prometheus.Namespaces).Decode(wrong), wrong)
	}
}

// Two Airflow deployments run the same DAG with the same run ids. So the labels of their pods are equal, and only the Kubernetes namespace
// shows the deployment.
func TestPodsOfTwoDeploymentsAreNotMixed(t *testing.T) {
	pod := func(namespace string, peak float64, start time.Time) prometheustest.Pod {
		return prometheustest.Pod{Namespace: namespace, Name: "fit-" + namespace, Labels: prometheus.Labels(succeededTry), Start: start,
			Memory: []float64{peak / 2, peak, peak}, Reason: "Completed", Phase: "Succeeded"}
	}
	url := prometheustest.Fake(t, pod("af-prod", 10*gib, noon), pod("af-staging", gib, noon.Add(5*time.Second)))
	of := func(namespace string) sizing.TryKey {
		try := succeededTry
		try.Namespace = namespace
		return try
	}
	client := func(namespaces string) *prometheus.Client {
		c, err := prometheus.New(prometheus.Config{URL: url, PerSecond: 1000, Namespaces: decodeNamespaces(t, namespaces)})
		require.NoError(t, err)
		return c
	}
	query := func(namespace string) prometheus.PodQuery {
		return prometheus.PodQuery{From: noon.Add(-time.Hour), To: noon.Add(time.Hour), Namespace: namespace}
	}

	c := client("prod=af-prod,staging=af-staging")
	for namespace, want := range map[string]sizing.Bytes{"prod": 10 * sizing.GiB, "staging": sizing.GiB} {
		o, found, err := c.Observation(t.Context(), of(namespace), noon, noon.Add(time.Minute))
		require.NoError(t, err)
		assert.True(t, found)
		assert.Equal(t, want, o.MemorySampled, namespace)
		pods, err := c.LaunchedPods(t.Context(), query(namespace))
		require.NoError(t, err)
		require.Len(t, pods, 1)
		assert.Equal(t, "fit-af-"+namespace, pods[0].Name)
		assert.Equal(t, of(namespace), pods[0].Try)
		assert.Empty(t, pods[0].Unidentified)
	}
	_, found, err := c.Observation(t.Context(), of("default"), noon, noon.Add(time.Minute))
	require.NoError(t, err)
	assert.False(t, found, "a namespace without a pair must have no pods")
	pods, err := c.LaunchedPods(t.Context(), query("default"))
	require.NoError(t, err)
	assert.Empty(t, pods)

	c = client("")
	_, _, err = c.Observation(t.Context(), of("prod"), noon, noon.Add(time.Minute))
	require.ErrorIs(t, err, prometheus.ErrAmbiguous)
	assert.ErrorContains(t, err, "af-prod, af-staging")
	pods, err = c.LaunchedPods(t.Context(), query("prod"))
	require.NoError(t, err)
	require.Len(t, pods, 2)
	for i := range pods {
		assert.Contains(t, pods[i].Unidentified, "LOADAWARE_PROMETHEUS_NAMESPACE")
	}

	o, found, err := client("af-prod").Observation(t.Context(), of("default"), noon, noon.Add(time.Minute))
	require.NoError(t, err)
	assert.True(t, found)
	assert.Equal(t, 10*sizing.GiB, o.MemorySampled, "one Kubernetes namespace must apply to all loadaware namespaces")
}
