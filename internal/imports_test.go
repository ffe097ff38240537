// Package internal contains no code. Its tests check the imports between packages, and the links, paths and names of
// tests in docs.
package internal

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/loadaware/loadaware/"

// mayImport lists the packages that each package may import. A path such as internal/ml/… means all packages below
// internal/ml.
var mayImport = map[string][]string{
	"internal/sizing":     {},
	"internal/jsonwriter": {},
	"internal/csvtext":    {},
	"internal/textfile":   {},

	"internal/ml/table":      {},
	"internal/ml/binning":    {"internal/ml/table"},
	"internal/ml/score":      {},
	"internal/ml/conformal":  {},
	"internal/ml/gbt":        {"internal/ml/table"},
	"internal/ml/linear":     {"internal/ml/table"},
	"internal/ml/cart":       {"internal/ml/table"},
	"internal/ml/svm":        {"internal/ml/table"},
	"internal/ml/bayes":      {},
	"internal/ml/cost":       {},
	"internal/ml/experts":    {"internal/ml/bayes", "internal/ml/conformal", "internal/ml/cost"},
	"internal/ml/resample":   {"internal/ml/table"},
	"internal/ml/tune":       {},
	"internal/ml/sequential": {},
	"internal/ml/kmeans":     {},
	"internal/ml/phase":      {"internal/ml/kmeans"},
	"internal/ml/plan":       {},
	"internal/ml/shape":      {"internal/ml/kmeans"},
	"internal/ml/density":    {},
	"internal/ml/classify":   {"internal/ml/table", "internal/ml/gbt", "internal/ml/linear", "internal/ml/cart", "internal/ml/svm", "internal/ml/conformal", "internal/ml/score"},

	"internal/taskmodel": {"internal/sizing", "internal/ml/…"},
	"internal/cohort":    {"internal/sizing", "internal/ml/…", "internal/usageprofile"},

	"internal/cohort/shapetest": {"internal/sizing", "internal/ml/shape", "internal/taskmodel", "internal/cohort"},

	"internal/usageprofile": {"internal/sizing", "internal/ml/density"},
	"internal/taskplan":     {"internal/sizing", "internal/ml/phase", "internal/ml/plan"},

	"internal/campaign":         {"internal/sizing"},
	"internal/campaign/suggest": {"internal/sizing", "internal/campaign", "internal/source/file", "internal/textfile"},

	"internal/store":          {"internal/sizing", "internal/campaign"},
	"internal/store/postgres": {"internal/sizing", "internal/campaign", "internal/store", "internal/jsonwriter"},
	"migrations":              {},
	"internal/tracing":        {},
	"internal/pglocal":        {},
	"internal/testcluster":    {"internal/pglocal"},

	"internal/insight/groups":   {"internal/sizing"},
	"internal/insight/savings":  {"internal/sizing", "internal/store"},
	"internal/insight/drift":    {},
	"internal/insight/timeout":  {},
	"internal/insight/forecast": {"internal/sizing"},

	"internal/insight/forecast/forecasttest": {"internal/sizing", "internal/taskmodel", "internal/insight/forecast"},

	"internal/insight/placement":               {"internal/sizing", "internal/taskmodel"},
	"internal/insight/placement/placementtest": {"internal/sizing", "internal/taskmodel", "internal/insight/placement"},

	"internal/insight/report": {"internal/sizing", "internal/store", "internal/insight/savings"},

	"internal/trainer":            {"internal/sizing", "internal/store", "internal/taskmodel", "internal/cohort", "internal/usageprofile", "internal/taskplan", "internal/ml/plan", "internal/ml/sequential", "internal/insight/groups"},
	"internal/trainer/subprocess": {"internal/sizing", "internal/trainer"},
	"internal/service":            {"internal/sizing", "internal/campaign", "internal/store", "internal/taskmodel", "internal/cohort", "internal/usageprofile", "internal/taskplan", "internal/trainer", "internal/service/inflight", "internal/service/modelcache", "internal/service/outbox", "internal/insight/groups", "internal/insight/forecast", "internal/insight/placement"},
	"internal/service/packed":     {"internal/sizing"},
	"internal/service/inflight":   {"internal/sizing", "internal/store", "internal/taskmodel", "internal/service/packed"},
	"internal/service/outbox":     {"internal/sizing", "internal/store", "internal/service/packed"},
	"internal/service/modelcache": {"internal/sizing", "internal/store", "internal/taskmodel", "internal/cohort", "internal/service/inflight"},

	"internal/insight/explain": {"internal/sizing", "internal/taskmodel", "internal/service"},
	"internal/insight/whatif":  {"internal/sizing", "internal/service", "internal/backtest"},

	"internal/dashboard": {
		"internal/dashboard/chart", "internal/campaign", "internal/csvtext", "internal/httpapi/auth", "internal/insight/…", "internal/sizing", "internal/store", "internal/service", "internal/taskmodel", "internal/taskplan", "internal/usageprofile",
	},
	"internal/dashboard/chart": {"internal/sizing"},

	"internal/reconcile": {"internal/sizing", "internal/store"},
	"internal/retention": {"internal/sizing", "internal/store"},

	"internal/source/file":       {"api", "internal/sizing", "internal/textfile"}, // JSON lines are bodies of POST /observe
	"internal/source/airflow":    {"internal/sizing"},
	"internal/source/prometheus": {"internal/sizing"},
	"internal/source/usagelog":   {"internal/sizing", "internal/textfile"},
	"internal/client":            {"api", "internal/sizing", "internal/source/file"},
	"internal/importer":          {"internal/sizing", "internal/client", "internal/insight/forecast", "internal/render", "internal/source/…"},
	"internal/doctor":            {"migrations", "internal/taskmodel", "internal/cohort", "internal/render", "internal/store", "internal/source/airflow", "internal/source/prometheus"},
	"internal/httpserver":        {},

	"internal/backtest":   {"internal/sizing", "internal/source/file", "internal/taskmodel", "internal/cohort", "internal/usageprofile", "internal/ml/cost", "internal/ml/gbt", "internal/ml/shape", "internal/ml/table"},
	"internal/experiment": {"internal/sizing", "internal/source/file", "internal/taskmodel", "internal/ml/…"},
	".":                   {}, // embeds openapi.yaml for tests and scripts
	"api":                 {},
	"api/docspage":        {}, // go generate ./api runs it
	"api/compress":        {}, // go generate ./api runs it
	"testdata/demo":       {},
	"internal/httpapi":    {"api", "internal/httpapi/…", "internal/insight/…", "internal/sizing", "internal/campaign", "internal/store", "internal/service", "internal/trainer", "internal/usageprofile", "internal/taskplan"},
	"cmd/loadaware":       {"api", "migrations", "internal/…"},

	"internal/cli":             {"internal/client", "internal/config", "internal/httpserver", "internal/importer", "internal/render", "internal/sizing", "internal/source/file"},
	"internal/cli/campaigns":   {"api", "internal/campaign", "internal/campaign/suggest", "internal/cli", "internal/client", "internal/render", "internal/sizing", "internal/source/airflow", "internal/source/file", "internal/textfile"},
	"internal/cli/imports":     {"internal/app", "internal/cli", "internal/client", "internal/importer", "internal/pglocal", "internal/sizing", "internal/source/airflow", "internal/source/file", "internal/source/prometheus"},
	"internal/cli/experiments": {"internal/app", "internal/cli", "internal/client", "internal/experiment", "internal/experiment/tracking", "internal/ml/score", "internal/pglocal", "internal/store", "internal/store/postgres"},

	"internal/config":              {"internal/cgroup", "internal/sizing", "internal/httpapi/auth", "internal/source/airflow", "internal/source/prometheus"},
	"internal/interrupt":           {},
	"internal/render":              {"api", "internal/csvtext", "internal/sizing", "internal/insight/…", "internal/backtest/growth", "internal/campaign", "internal/campaign/suggest"},
	"internal/experiment/tracking": {"api", "internal/sizing", "internal/store", "internal/client", "internal/experiment", "internal/render"},
	"internal/app": {
		"migrations", "testdata/demo", "internal/sizing", "internal/config", "internal/pglocal", "internal/store", "internal/store/postgres",
		"internal/service", "internal/trainer", "internal/trainer/subprocess", "internal/reconcile", "internal/retention", "internal/tracing",
		"internal/source/file", "internal/source/prometheus", "internal/dashboard", "internal/httpapi", "internal/httpapi/auth", "internal/httpserver", "internal/insight/savings", "internal/insight/whatif",
	},

	"internal/backtest/growth": {"internal/sizing", "internal/textfile", "internal/backtest", "internal/ml/phase", "internal/ml/plan"},

	"internal/httpapi/admission": {},
	"internal/httpapi/auth":      {"internal/sizing", "internal/store", "internal/textfile"},
	"internal/httpapi/codec":     {"api", "internal/jsonwriter", "internal/sizing"},

	"internal/dataframe":               {},
	"internal/cgroup":                  {},
	"cmd/loadaware-peak":               {"internal/cgroup"},
	"cmd/loadaware-peak/testdata/load": {},
}

// testPackages lists packages that only tests and tools import, and the tools themselves. These packages and those below them
// may import every package.
var testPackages = []string{"internal/store/storetest", "internal/ml/classify/classifytest", "internal/experiment/tracking/trackingtest", "internal/ml/plan/plantest", "internal/pglocal/pgtest", "internal/testwait", "internal/source/prometheus/prometheustest", "internal/stories", "scripts"}

func TestPackagesImportOnlyAllowedPackages(t *testing.T) {
	for _, file := range goFiles(t) {
		pkg := filepath.ToSlash(filepath.Dir(file))
		if strings.HasSuffix(file, "_test.go") || isTestPackage(pkg) {
			continue
		}
		allowed, listed := mayImport[pkg]
		if !assert.Truef(t, listed, "package %s is missing in mayImport: add it with the packages that it may import", pkg) {
			continue
		}
		for _, imported := range importsOf(t, file) {
			local, inModule := strings.CutPrefix(imported, module)
			switch {
			case inModule:
				assert.Truef(t, local == pkg || matches(allowed, local), "%s imports %s, which mayImport does not allow", file, local)
			case pkg == "internal/sizing":
				assert.NotContainsf(t, strings.SplitN(imported, "/", 2)[0], ".", "%s imports %s: sizing may import only the standard library", file, imported)
			}
		}
	}
}

// goFiles returns the Go files outside hidden folders, relative to the root of the module.
func goFiles(t *testing.T) []string {
	var files []string
	root := ".."
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		if d.IsDir() && name != root && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		if strings.HasSuffix(name, ".go") {
			rel, err := filepath.Rel(root, name)
			require.NoError(t, err)
			files = append(files, rel)
		}
		return nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

func importsOf(t *testing.T, file string) []string {
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", file), nil, parser.ImportsOnly)
	require.NoError(t, err)
	var imports []string
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		require.NoError(t, err)
		imports = append(imports, imported)
	}
	return imports
}

func isTestPackage(pkg string) bool {
	return slices.ContainsFunc(testPackages, func(p string) bool {
		return pkg == p || strings.HasPrefix(pkg, p+"/")
	})
}

func matches(allowed []string, pkg string) bool {
	return slices.ContainsFunc(allowed, func(pattern string) bool {
		if parent, all := strings.CutSuffix(pattern, "/…"); all {
			return strings.HasPrefix(pkg, parent+"/")
		}
		return path.Clean(pattern) == pkg
	})
}
