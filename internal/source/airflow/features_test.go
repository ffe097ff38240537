package airflow_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/source/airflow"
)

// The rules are those of features.py in the Airflow provider.
func TestFeaturesOfParamsAndConf(t *testing.T) {
	declared := map[string]any{"rows": 500.0, "region": "emea", "day": "2020-01-03", "full": false, "none": nil, "list": []any{1.0},
		"db_password": "x", "API_KEY": "x", "long": strings.Repeat("x", 501), "huge": 1e300, "": 1.0, strings.Repeat("n", 101): 1.0}
	conf := map[string]any{"rows": json.Number("7"), "size_of_id": json.Number("1234567890123456789"), "note": "n", "size_of_x": 3.0, "my_token": "t", "region": map[string]any{"a": 1.0}}
	got := airflow.Features(declared, conf, airflow.CompileGlobs([]string{"size_*", "my_*"}))
	assert.Equal(t, sizing.Features{
		"rows": sizing.NumberValue(7), "day": sizing.TextValue("2020-01-03"), "full": sizing.BoolValue(false), "size_of_x": sizing.NumberValue(3), "size_of_id": sizing.TextValue("1234567890123456789"),
	}, got)
	assert.Equal(t, 500.0, declared["rows"], "the declared params must not change")
	assert.Empty(t, airflow.Features(nil, conf, nil))
}

// A test of the provider, test_globs_follow_the_same_table_as_the_importer, reads the same table.
func TestGlobsFollowTheSameTableAsTheProvider(t *testing.T) {
	table, err := os.ReadFile("testdata/globs.json")
	require.NoError(t, err)
	var cases []struct {
		Glob             string
		Matches, Differs []string
	}
	require.NoError(t, json.Unmarshal(table, &cases))
	for _, c := range cases {
		glob := airflow.CompileGlobs([]string{c.Glob})
		for _, name := range c.Matches {
			i := airflow.Instance{Operator: name}
			assert.True(t, i.LaunchesPod(glob), "%q must match %q", c.Glob, name)
		}
		for _, name := range c.Differs {
			i := airflow.Instance{Operator: name}
			assert.False(t, i.LaunchesPod(glob), "%q must not match %q", c.Glob, name)
		}
	}
	conf := map[string]any{"size_a/b": 1.0, "size_c": 2.0, "other": 3.0}
	assert.Equal(t, sizing.Features{"size_a/b": sizing.NumberValue(1), "size_c": sizing.NumberValue(2)}, airflow.Features(nil, conf, airflow.CompileGlobs([]string{"size_[!z]*"})))
}

// A test of the provider, test_secrets_follow_the_same_table_as_the_importer, reads the same table.
func TestSecretsFollowTheSameTableAsTheProvider(t *testing.T) {
	table, err := os.ReadFile("testdata/secrets.json")
	require.NoError(t, err)
	var names struct{ Never, Numbers, Always []string }
	require.NoError(t, json.Unmarshal(table, &names))
	check := func(names []string, isTextSent, isNumberSent bool) {
		for _, name := range names {
			assert.Len(t, airflow.Features(map[string]any{name: "x"}, nil, nil), map[bool]int{true: 1}[isTextSent], "%s as a text", name)
			assert.Len(t, airflow.Features(map[string]any{name: json.Number("7")}, nil, nil), map[bool]int{true: 1}[isNumberSent], "%s as a number", name)
		}
	}
	check(names.Never, false, false)
	check(names.Numbers, false, true)
	check(names.Always, true, true)
}

// A test of the provider, test_rendered_texts_follow_the_same_table_as_the_importer, reads the same table. The provider
// converts the text that Jinja rendered. The importer reads the same text in conf, and must convert it in the same way.
func TestRenderedTextsFollowTheSameTableAsTheProvider(t *testing.T) {
	table, err := os.ReadFile("testdata/rendered.json")
	require.NoError(t, err)
	var cases []struct {
		Text string
		Sent json.RawMessage
	}
	require.NoError(t, json.Unmarshal(table, &cases))
	for _, c := range cases {
		conf := map[string]any{"text": c.Text, "sent": json.Number(c.Sent)}
		if c.Sent[0] == '"' {
			var text string
			require.NoError(t, json.Unmarshal(c.Sent, &text))
			conf["sent"] = text
		}
		read := airflow.Features(conf, nil, nil)
		text, sent := read["text"], read["sent"]
		assert.Equal(t, text.Kind, sent.Kind, c.Text)
		assert.InDelta(t, text.Num, sent.Num, 1e-12*math.Abs(sent.Num), c.Text)
		if sent.Kind == sizing.Category {
			assert.Equal(t, text.Text, sent.Text)
		}
	}
}

// The provider sends the same hundred features; see its test test_the_first_hundred_names_of_params_and_conf_are_sent.
func TestFeaturesAreLimitedToAHundred(t *testing.T) {
	declared, conf, want := map[string]any{}, map[string]any{}, sizing.Features{}
	for n := range 300 {
		name := fmt.Sprintf("p%03d", n)
		if n%2 == 0 {
			declared[name] = float64(n)
		} else {
			conf[name] = float64(n)
		}
		if n < 100 {
			want[name] = sizing.NumberValue(float64(n))
		}
	}
	assert.Equal(t, want, airflow.Features(declared, conf, airflow.CompileGlobs([]string{"p*"})))
}

// Airflow 3 writes a JSON object, Airflow 2 a quoted Python dict.
func TestResourcesOfAirflow2And3(t *testing.T) {
	for rendered, want := range map[string][2]sizing.Resources{
		`{"claims": null, "limits": {"memory": "4Gi"}, "requests": {"memory": "2Gi", "cpu": "500m"}}`:       {{Memory: 2 * sizing.GiB, CPU: 0.5}, {Memory: 4 * sizing.GiB, CPU: 0.5}},
		`"{'claims': None,\n 'limits': {'memory': '4Gi'},\n 'requests': {'cpu': '500m', 'memory': '2Gi'}}"`: {{Memory: 2 * sizing.GiB, CPU: 0.5}, {Memory: 4 * sizing.GiB, CPU: 0.5}},
		`"{'claims': None, 'limits': {'memory': '4Gi', 'nvidia.com/gpu': '1'}, 'requests': None}"`:          {{Memory: 4 * sizing.GiB}, {Memory: 4 * sizing.GiB}},
		`{"limits": null, "requests": {"memory": "2Gi"}}`:                                                   {{Memory: 2 * sizing.GiB}, {Memory: 2 * sizing.GiB}},
		`{"limits": {"memory": "{{ params.memory }}"}}`:                                                     {},
		`null`:         {},
		`"Truncated."`: {},
		`[1]`:          {},
	} {
		i := airflow.Instance{DAG: "d", Task: "t", Run: "r", MapIndex: -1, Try: 1, State: "success", StartedAt: time.Unix(1e9, 0), EndedAt: time.Unix(1e9+1, 0)}
		require.NoError(t, json.Unmarshal([]byte(`{"container_resources": `+rendered+`}`), &i.Rendered))
		o, reason := i.Observation("default", nil)
		assert.Empty(t, reason)
		assert.Equal(t, want, [2]sizing.Resources{o.Requested, o.Allocated}, rendered)
	}
}

func TestObservationSaysWhyATryIsSkipped(t *testing.T) {
	ran := airflow.Instance{DAG: "d", Task: "t", Run: "r", MapIndex: -1, Try: 1, State: "success", StartedAt: time.Unix(1e9, 0), Seconds: 3}
	for message, change := range map[string]func(*airflow.Instance){
		"it has no state":              func(i *airflow.Instance) { i.State = "" },
		"its state is upstream_failed": func(i *airflow.Instance) { i.State = "upstream_failed" },
		"but never started":            func(i *airflow.Instance) { i.StartedAt = time.Time{} },
		"marked as success":            func(i *airflow.Instance) { i.Try = 0 },
		"its id is invalid":            func(i *airflow.Instance) { i.DAG = "a/b" },
	} {
		i := ran
		change(&i)
		_, reason := i.Observation("default", nil)
		assert.Contains(t, reason, message)
	}
	o, reason := ran.Observation("default", nil)
	assert.Empty(t, reason)
	assert.Zero(t, o.StartedAt, "the start must stay unknown if the end is unknown")
	assert.Equal(t, 3*time.Second, o.Duration)
}

func TestOnlyPodOperatorsLaunchAPod(t *testing.T) {
	for operator, launches := range map[string]bool{
		"KubernetesPodOperator": true, "SizedKubernetesPodOperator": true, "EksPodOperator": true, "GKEStartPodOperator": true,
		"_KubernetesDecoratedOperator": true, "SizedKubernetesDecoratedOperator": true,
		"PythonOperator": false, "EmptyOperator": false, "KubernetesDeleteJobOperator": false, "": false,
	} {
		i := airflow.Instance{Operator: operator}
		assert.Equal(t, launches, i.LaunchesPod(airflow.CompileGlobs(airflow.PodOperators)), operator)
	}
}
