package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// forecastEnds returns the end of each task in the forecast of a DAG, in seconds since the start of the run.
func forecastEnds(t *testing.T, url, dag string) map[string]float64 {
	response, err := http.Get(url + "/dags/" + dag + "/forecast")
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusOK, response.StatusCode)
	var answer struct {
		Tasks []struct {
			ID  string  `json:"task_id"`
			End float64 `json:"end_seconds"`
		} `json:"tasks"`
	}
	require.NoError(t, json.NewDecoder(response.Body).Decode(&answer))
	ends := map[string]float64{}
	for _, task := range answer.Tasks {
		ends[task.ID] = task.End
	}
	return ends
}

const structureHeader = "dag_id,task_id,run_id,memory_max_bytes,duration_s,upstream\n"

func TestImportStoresStructureOfColumnUpstream(t *testing.T) {
	server := startServer(t, database(t))
	rows := structureHeader
	for run := range 40 {
		for _, task := range []string{"a,%d,100000000,10,", "b,%d,100000000,20,a", "c,%d,100000000,40,a; b;gate", `d,%d,100000000,5,"[""a""]"`} {
			rows += "etl," + fmt.Sprintf(task, run) + "\n"
		}
	}
	code, out, stderr := invoke(t, rows, "import", "--dry-run", "-")
	require.Zero(t, code, stderr)
	assert.NotContains(t, out, "structures")
	code, out, stderr = invoke(t, rows, "import", "--train", "--url", server.url, "-")
	require.Zero(t, code, stderr)
	assert.Contains(t, out, "structures of 1 DAG stored\n")
	ends := forecastEnds(t, server.url, "etl")
	assert.InDelta(t, 10, ends["a"], 1e-6)
	assert.InDelta(t, 30, ends["b"], 1e-6)
	assert.InDelta(t, 70, ends["c"], 1e-6)
	assert.InDelta(t, 15, ends["d"], 1e-6)
	assert.Contains(t, ends, "gate", "an upstream task without rows")

	code, _, stderr = invoke(t, structureHeader+"etl,a,r2,100000000,10,c\netl,c,r2,100000000,40,a\n", "import", "--url", server.url, "-")
	assert.Equal(t, 3, code, "the rows are stored, the structure is not")
	assert.Contains(t, stderr, `structure of DAG etl: tasks[0].upstream is part of a cycle: "a" waits for "c", "c" waits for "a"; import again`)
	assert.Contains(t, stderr, "structures of 1 DAG rejected")
	assert.Equal(t, 1, strings.Count(stderr, "cycle"), stderr)
	assert.InDelta(t, 70, forecastEnds(t, server.url, "etl")["c"], 1e-6, "the stored structure stays")

	code, _, stderr = invoke(t, structureHeader+"etl,a,r3,100000000,10,b;/x\netl,a,r4,100000000,10,[1\n", "import", "--dry-run", "-")
	assert.Equal(t, 3, code)
	assert.Contains(t, stderr, `line 2: upstream: the task id "/x" must not contain '/'; write ids such as extract;transform`)
	assert.Contains(t, stderr, `line 3: upstream: "[1" is not a JSON list of task ids`)
}

func TestImportOfAirflowStoresStructure(t *testing.T) {
	server, airflow := startServer(t, database(t)), startFakeAirflow(t, 40)
	code, out, stderr := invoke(t, "", "import", "airflow", "--url", airflow.url, "--user", "u", "--into", server.url, "--rate", "1e6", "--train", "--usage-log", airflow.usageLogs(t, 0, 40))
	require.Zero(t, code, out+stderr)
	assert.Contains(t, out, "structures of 1 DAG stored\n")
	ends := forecastEnds(t, server.url, "etl")
	assert.Zero(t, ends["begin"], "it launches no pod")
	assert.InDelta(t, 10, ends["load"], 1, "the time between its first and last sample")
}
