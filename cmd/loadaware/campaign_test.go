package main

import (
	"fmt"
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

// Of six archived runs, the first call registers four, the second the other two, and the third none.
func TestSuggestDoesNotRepeatTheRunsOfACampaign(t *testing.T) {
	server := startServer(t, database(t))
	history := "dag_id,task_id,run_id,started_at,memory_max_bytes,feature.rows\n"
	for n := range 6 {
		history += fmt.Sprintf("etl,load,r%d,2020-01-0%dT02:00:00Z,100,%d\n", n, n+1, 1000<<n)
	}
	code, out, stderr := invoke(t, "", "campaign", "create", "c", "--url", server.url, "--dag", "etl", "--conf", `{"sandbox": true}`)
	require.Equal(t, 0, code, out+stderr)
	for _, registered := range []string{"registered 4 runs; registered before: 0", "registered 2 runs; registered before: 0", "registered 0 runs; registered before: 0"} {
		code, out, stderr = invoke(t, history, "campaign", "suggest", "-", "--url", server.url, "--count", "4", "--campaign", "1")
		require.Equal(t, 0, code, out+stderr)
		assert.Contains(t, out, registered)
	}
}

func TestCampaignTakesOnlyRunsOfItsDAG(t *testing.T) {
	server := startServer(t, database(t))
	code, out, stderr := invoke(t, "", "campaign", "create", "c", "--url", server.url, "--dag", "pricing", "--conf", `{"sandbox": true}`)
	require.Equal(t, 0, code, out+stderr)
	const header = "dag_id,task_id,run_id,started_at,memory_max_bytes\n"
	const pricing = "pricing,load,r1,2020-01-01T02:00:00Z,1000000000\n"
	const sales = "sales,load,r2,2020-01-02T02:00:00Z,1000000000\n"
	for name, args := range map[string][]string{
		"register": {"register", "1", "-"},
		"suggest":  {"suggest", "-", "--campaign", "1"},
	} {
		code, _, stderr = invoke(t, header+pricing+sales, append([]string{"campaign", "--url", server.url}, args...)...)
		assert.Equal(t, 1, code, name)
		assert.Contains(t, stderr, `register runs with campaign 1: -: line 3: the run "r2" is of DAG "sales", not of DAG "pricing"`, name)
	}
	code, out, stderr = invoke(t, header+sales+pricing, "campaign", "suggest", "-", "--dag", "pricing", "--url", server.url, "--campaign", "1")
	require.Equal(t, 0, code, stderr)
	assert.Contains(t, out, "registered 1 run; registered before: 0")
	code, out, stderr = invoke(t, header+pricing, "campaign", "register", "1", "-", "--url", server.url)
	require.Equal(t, 0, code, stderr)
	assert.Contains(t, out, "registered 0 runs; registered before: 1")
	code, _, stderr = invoke(t, header+sales+pricing, "campaign", "suggest", "-", "--dag", "nope")
	assert.Equal(t, 1, code)
	assert.Contains(t, stderr, `choose the runs of --dag: -: no row is of DAG "nope"; the rows are of pricing, sales`)
}

func TestSuggestNamesFeaturesThatDifferWithinARun(t *testing.T) {
	const history = "dag_id,task_id,run_id,map_index,started_at,memory_max_bytes,feature.rows\n" +
		"etl,load,r1,0,2020-01-01T02:00:00Z,100,7\netl,load,r1,1,2020-01-01T02:00:00Z,100,8\n"
	code, out, stderr := invoke(t, history, "campaign", "suggest", "-", "-o", "json")
	require.Zero(t, code, stderr)
	assert.Contains(t, stderr, "between the tasks or instances of a run: rows (in 1 run)")
	assert.Contains(t, out, `"conf":{}`)
}

func TestSuggestReadsOtherColumns(t *testing.T) {
	const history = "pipeline,task_id,run_id,started_at,peak,rows\netl,load,r1,2020-01-01T02:00:00Z,1.5,7\n"
	code, out, stderr := invoke(t, history, "campaign", "suggest", "-", "-o", "json", "--unit", "GB",
		"--map", "pipeline=dag_id", "--map", "peak=memory_max_bytes", "--map", "rows=feature.rows")
	require.Zero(t, code, stderr)
	assert.Contains(t, out, `"conf":{"rows":7}`)
}
