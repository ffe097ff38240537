package file

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

func TestLayoutRenamesColumnsAndScalesMemory(t *testing.T) {
	const text = "dag,task_id,run_id,peak,request,rows,note\netl,load,r1,0.1,2,7,x\netl,load,r2,,,7,\netl,load,r3,9e9,,,\netl,load,r4,lots,,,\n"
	layout := Layout{Unit: "GB", Fields: map[string]string{
		"dag": "dag_id", "peak": "memory_max_bytes", "request": "memory_requested_bytes", "rows": "feature.rows", "note": "",
	}}
	require.NoError(t, layout.Check())
	in, err := OpenAs(strings.NewReader(text), layout)
	require.NoError(t, err)
	row, err := in.Read()
	require.NoError(t, err)
	assert.Equal(t, "etl", row.Observation.Try.DAG)
	assert.Equal(t, sizing.Bytes(1e8), row.Observation.MemoryMax, "0.1 GB exactly")
	assert.Equal(t, sizing.Bytes(2e9), row.Observation.Requested.Memory)
	assert.Equal(t, sizing.Features{"rows": sizing.NumberValue(7)}, row.Observation.Features)
	row, err = in.Read()
	require.NoError(t, err)
	assert.Zero(t, row.Observation.MemoryMax)
	_, err = in.Read()
	assert.ErrorContains(t, err, `line 4: memory_max_bytes: "9e9" GB must be 1 byte to 8Pi`)
	_, err = in.Read()
	assert.ErrorContains(t, err, `line 5: memory_max_bytes: "lots" is not a number of GB`)
}

func TestUnitBytesAcceptsOnlyUnitsOfMemory(t *testing.T) {
	for unit, want := range map[string]sizing.Bytes{
		"": 1, "B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "G": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "Gi": 1 << 30,
	} {
		got, err := unitBytes(unit)
		require.NoError(t, err, unit)
		assert.Equal(t, want, got, unit)
	}
	for _, bad := range []string{"gigs", "gb", "m", "E", "GBB", "1G", " GB", "MBit"} {
		_, err := unitBytes(bad)
		assert.ErrorContains(t, err, "is not a unit of memory: use B, kB", bad)
	}
}

func TestLayoutThatDoesNotFitTheFileIsRejected(t *testing.T) {
	const header = "dag_id,task_id,run_id,peak,\netl,load,r1,1,\n"
	for name, c := range map[string]struct {
		text    string
		layout  Layout
		message string
	}{
		"no such column":            {header, Layout{Fields: map[string]string{"top": "memory_max_bytes"}}, `line 1: map column "top": not in the header, which has dag_id, task_id, run_id, peak`},
		"no such field":             {header, Layout{Fields: map[string]string{"peak": "memory"}}, `map column "peak": unknown field "memory"`},
		"two unknown fields":        {header, Layout{Fields: map[string]string{"peak": "memory", "dag_id": "dag"}}, `map column "dag_id": unknown field "dag"`},
		"a field twice":             {header, Layout{Fields: map[string]string{"peak": "dag_id"}}, "duplicate dag_id"},
		"a column without name":     {header, Layout{Fields: map[string]string{"peak": "memory_max_bytes"}}, `unknown ""`},
		"a required field left out": {header, Layout{Fields: map[string]string{"run_id": ""}}, "missing run_id, memory_max_bytes"},
		"JSON lines":                {"{}\n", Layout{Unit: "GB"}, "the file holds JSON lines"},
	} {
		_, err := OpenAs(strings.NewReader(c.text), c.layout)
		assert.ErrorContains(t, err, c.message, name)
		assert.Equal(t, sizing.Invalid, sizing.KindOf(err), name)
	}
}
