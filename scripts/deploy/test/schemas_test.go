package test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// kubernetes is a release whose sources contain the schemas. The Go module proxy serves them.
const kubernetes = "k8s.io/kubernetes@v1.34.1"

// kubeconformPath builds the kubeconform of go.mod once.
var kubeconformPath = sync.OnceValues(func() (string, error) {
	path, err := run("go", "tool", "-n", "kubeconform")
	return strings.TrimSpace(path), err
})

// schemas returns a folder with one schema file per version of a kind, with the name that kubeconform expects. All these
// files refer to one file of definitions. Types that belong to several versions, such as DeleteOptions, get no file.
func schemas(t *testing.T) string {
	t.Helper()
	output, err := run("go", "mod", "download", "-json", kubernetes)
	require.NoError(t, err)
	var module struct{ Dir string }
	require.NoError(t, json.Unmarshal([]byte(output), &module))
	text, err := os.ReadFile(filepath.Join(module.Dir, "api/openapi-spec/swagger.json"))
	require.NoError(t, err)
	var swagger struct {
		Definitions map[string]map[string]any `json:"definitions"`
	}
	require.NoError(t, json.Unmarshal(text, &swagger))
	// OpenAPI 2 cannot express alternatives: these two types may also be numbers.
	for _, either := range []string{"io.k8s.apimachinery.pkg.util.intstr.IntOrString", "io.k8s.apimachinery.pkg.api.resource.Quantity"} {
		require.Contains(t, swagger.Definitions, either)
		swagger.Definitions[either] = map[string]any{"type": []string{"string", "integer", "number"}}
	}
	dir := t.TempDir()
	save := func(name string, schema any) {
		text, err := json.Marshal(schema)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	kinds := 0
	for name, d := range swagger.Definitions {
		if fields, ok := d["properties"]; ok && fields != nil {
			d["additionalProperties"] = false // an unknown field is an error
		}
		groups, ok := d["x-kubernetes-group-version-kind"].([]any)
		if !ok || len(groups) != 1 {
			continue
		}
		gvk := groups[0].(map[string]any)
		group, _, _ := strings.Cut(gvk["group"].(string), ".")
		suffix := "-" + gvk["version"].(string)
		if group != "" {
			suffix = "-" + group + suffix
		}
		save(strings.ToLower(gvk["kind"].(string))+suffix+".json", map[string]any{"$ref": "definitions.json#/definitions/" + name})
		kinds++
	}
	save("definitions.json", swagger)
	require.Greater(t, kinds, 100)
	return dir
}

func TestManifestsConformToTheSchemasOfKubernetes(t *testing.T) {
	kubeconform, err := kubeconformPath()
	require.NoError(t, err)
	location := schemas(t) + "/{{ .ResourceKind }}{{ .KindSuffix }}.json"
	check := func(text string) (string, error) {
		file := filepath.Join(t.TempDir(), "manifests.yaml")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		// The kinds of the Prometheus operator are not part of Kubernetes, so only render checks them.
		return run(kubeconform, "-summary", "-skip", "ServiceMonitor,PrometheusRule", "-schema-location", location, file)
	}
	for name, values := range map[string][]string{
		"defaults": nil, "all features": allFeatures, "no optional objects": {"autoscaling.enabled=false", "network.enabled=false", "migration.enabled=false"},
	} {
		output, err := check(render(t, values...).text)
		assert.NoError(t, err, name)
		assert.Contains(t, output, "Invalid: 0, Errors: 0", name)
		t.Log(name, output)
	}
	for name, c := range map[string][2]string{
		"a wrong type":     {"maxUnavailable: 1\n", "maxUnavailable: {one: 1}\n"},
		"an unknown field": {"terminationGracePeriodSeconds:", "terminationGraceSeconds:"},
		"a missing field":  {"  scaleTargetRef:", "  # scaleTargetRef:"},
	} {
		good := render(t).text
		bad := strings.Replace(good, c[0], c[1], 1)
		require.NotEqual(t, good, bad, name)
		_, err := check(bad)
		assert.Error(t, err, name)
	}
}
