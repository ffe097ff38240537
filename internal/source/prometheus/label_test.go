package prometheus_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/source/prometheus"
)

func TestSafeLabelEqualsAirflow(t *testing.T) {
	text, err := os.ReadFile("../../../testdata/oracle/labels/labels.json")
	require.NoError(t, err)
	var oracle struct {
		Labels []struct{ ID, Label string }
	}
	require.NoError(t, json.Unmarshal(text, &oracle))
	require.Greater(t, len(oracle.Labels), 300)
	for _, known := range oracle.Labels {
		assert.Equal(t, known.Label, prometheus.SafeLabel(known.ID), "of %q", known.ID)
	}
}

func TestIDFromLabelRestoresTheIDsOfAirflow(t *testing.T) {
	for _, id := range []string{
		"emea__2020-01-03__017",
		"scheduled__2026-01-03T02:00:00+00:00",
		"manual__2026-01-03T02:00:00.123456+00:00",
		"manual__2026-01-03T02:00:00.123456+00:00_aB3dE6gH",
		"scheduled__2026-01-03T02:00:00-05:00",
	} {
		found, ok := prometheus.IDFromLabel(prometheus.SafeLabel(id))
		assert.True(t, ok, id)
		assert.Equal(t, id, found)
	}
	for _, id := range []string{"a run of mine", "größe", "scheduled__2026-01-03T02:00:00", "run-0123456789abcdef01234567890abcdef0123456789abcdef0123456789abcdef"} {
		_, ok := prometheus.IDFromLabel(prometheus.SafeLabel(id))
		assert.False(t, ok, "%q cannot be restored from %q", id, prometheus.SafeLabel(id))
	}
}

func TestLabelsOfUnmappedAndMappedTask(t *testing.T) {
	try := sizing.TryKey{TaskKey: sizing.TaskKey{Namespace: "default", DAG: "etl", Task: "größe"}, RunID: "r/1", MapIndex: sizing.NoMap, Number: 2}
	assert.Equal(t, map[string]string{
		"label_dag_id": "etl", "label_task_id": "gre-fdbb3a562", "label_run_id": "r1-3f375bc2a", "label_try_number": "2",
	}, prometheus.Labels(try))
	try.MapIndex = 0
	assert.Equal(t, "0", prometheus.Labels(try)["label_map_index"])
}

// FuzzSafeLabel checks that Kubernetes accepts the label of every id with an ASCII letter or digit, and that an id
// restored from a label has this label.
func FuzzSafeLabel(f *testing.F) {
	f.Add("scheduled__2026-01-03T02:00:00+00:00")
	f.Add("-ab-")
	f.Fuzz(func(t *testing.T, id string) {
		label := prometheus.SafeLabel(id)
		require.LessOrEqual(t, len(label), 63)
		// If the id has no ASCII letter or digit, the label begins with '-', as in Airflow. Kubernetes rejects this label.
		if label != "" && label[0] != '-' {
			require.Regexp(t, `^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$`, label)
		}
		if found, ok := prometheus.IDFromLabel(label); ok {
			require.Equal(t, label, prometheus.SafeLabel(found))
		}
	})
}
