package airflow_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/source/airflow"
)

func TestMetadataEqualsProviderMetadata(t *testing.T) {
	for _, version := range versions {
		client := replay(t, version)
		tasks, err := client.Tasks(t.Context(), "history")
		require.NoError(t, err)
		tags, err := client.Tags(t.Context(), "history")
		require.NoError(t, err)
		_, err = client.Tags(t.Context(), "gone")
		require.ErrorIs(t, err, airflow.ErrNotFound)
		seen := false
		for i, err := range client.Instances(t.Context(), "history", []string{"manual__3", "manual__9"}) {
			require.NoError(t, err)
			if i.Task != "work" {
				continue
			}
			seen = true
			task := tasks["work"]
			assert.Equal(t, sizing.Metadata{
				"operator": {"KubernetesPodOperator"}, "owner": {"pricing"}, "pool": {"default_pool"}, "queue": {"default"},
				"tags": {"emea", "nightly"}, "params": {"depth", "full", "region", "rows"},
				"image": {"registry:5000/work"}, "gpu": {"nvidia.com/gpu=1"},
			}, i.Metadata(&task, tags), version)
		}
		assert.True(t, seen)
	}
}

func instanceOf(t *testing.T, operator, rendered string) airflow.Instance {
	var i airflow.Instance
	require.NoError(t, json.Unmarshal(fmt.Appendf(nil, `{"operator": %q, "pool": "p", "rendered_fields": %s}`, operator, rendered), &i))
	return i
}

// test_metadata.py of the provider has the same cases.
func TestImagesHaveNoTagAndDigest(t *testing.T) {
	for reference, want := range map[string][]string{
		"pricing":                        {"pricing"},
		"pricing:1":                      {"pricing"},
		"registry:5000/team/pricing":     {"registry:5000/team/pricing"},
		"registry/pricing@sha256:0123":   {"registry/pricing"},
		"registry/pricing:1@sha256:0123": {"registry/pricing"},
		"":                               nil,
	} {
		i := instanceOf(t, "KubernetesPodOperator", fmt.Sprintf(`{"image": %q}`, reference))
		assert.Equal(t, want, i.Metadata(&airflow.Task{}, nil)["image"], reference)
	}
}

func TestMetadataHasTheLimitsOfTheProvider(t *testing.T) {
	many := []string{"ok", "", "line\nbreak", "\xff", strings.Repeat("x", 201)}
	for n := range 1000 {
		many = append(many, fmt.Sprintf("%0200d", n))
	}
	i := instanceOf(t, "_SizedKubernetesDecoratedOperator", `{"image": 7, "namespace": ["jobs"], "node_selector": "none", "container_resources": [1]}`)
	found := i.Metadata(&airflow.Task{Params: map[string]any{"api_key": 1}, Owner: "a\x00b"}, many)
	assert.Equal(t, []string{"KubernetesDecoratedOperator"}, found["operator"])
	assert.Equal(t, []string{"p"}, found["pool"], "the pool must be that of the instance, because the task has none")
	assert.Len(t, found["tags"], sizing.MaxMetadataValues)
	assert.Len(t, found, 3)
	bounded, warnings := found.Bounded()
	assert.Empty(t, warnings)
	assert.Equal(t, found, bounded)

	i = instanceOf(t, "", `{"node_selector": {"pool": "highmem", "zone": null}, "namespace": "jobs"}`)
	assert.Equal(t, sizing.Metadata{"node_selector": {"pool=highmem"}, "kubernetes_namespace": {"jobs"}, "pool": {"heavy"}}, i.Metadata(&airflow.Task{Pool: "heavy"}, nil))
	assert.Nil(t, new(airflow.Instance).Metadata(&airflow.Task{}, nil))
}
