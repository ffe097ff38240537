package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/campaign/suggest"
)

func TestSuggestReadsTheHistoryOfAirflow(t *testing.T) {
	airflow := startFakeAirflow(t, 120)
	code, out, stderr := invoke(t, "", "campaign", "suggest", "--airflow-url", airflow.url, "--user", "u", "--dag", "etl", "--count", "3", "-o", "json")
	require.Equal(t, 0, code, out+stderr)
	archive, err := suggest.Read(strings.NewReader(out))
	require.NoError(t, err)
	require.Len(t, archive.Runs, 3)
	rows := map[float64]bool{}
	for _, candidate := range archive.Candidates() {
		rows[candidate.Features["rows"].Num] = true
		assert.NotEmpty(t, candidate.Features["execution_date"].Text)
	}
	assert.Len(t, rows, 3, "three runs with different inputs")

	code, _, stderr = invoke(t, "", "campaign", "suggest", "--airflow-url", airflow.url)
	assert.Equal(t, 2, code)
	assert.Contains(t, stderr, "--airflow-url URL --dag DAG")
}
