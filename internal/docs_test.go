package internal

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	markdownLink = regexp.MustCompile(`\]\(([^)#:\s]+)(?:#[^)]*)?\)`)
	sourcePath   = regexp.MustCompile("`((?:internal|cmd|scripts|migrations|api|testdata)/[A-Za-z0-9_./-]+)`")
	goTest       = regexp.MustCompile(`go test[^` + "`" + `]*`)
	packagePath  = regexp.MustCompile(`\./[a-z][a-z0-9/-]*`)
	testPattern  = regexp.MustCompile(`-(?:run|bench) +(?:'([^']+)'|([A-Za-z]\w*))`)
	testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz)\w+)`)
)

func TestLinksAndPathsInDocsExist(t *testing.T) {
	for name, text := range docs(t) {
		for _, link := range markdownLink.FindAllStringSubmatch(text, -1) {
			_, err := os.Stat(filepath.Join(filepath.Dir(name), link[1]))
			assert.NoError(t, err, "link in %s", name)
		}
		for _, path := range sourcePath.FindAllStringSubmatch(text, -1) {
			_, err := os.Stat(filepath.Join("..", path[1]))
			assert.NoError(t, err, "path in %s", name)
		}
	}
}

// The documented rollback reverts every migration from the first one that it names to the newest one. A new migration changes
// the number of its steps.
func TestDocumentedRollbackRevertsTheNewestMigrations(t *testing.T) {
	text := docs(t)["../docs/operations.md"]
	found := regexp.MustCompile(`migrate down (\d+)` + "`" + `\. It reverts migrations (\d+) to (\d+) and (\d+) to (\d+),`).FindStringSubmatch(text)
	require.NotNil(t, found)
	var n [5]int // steps; first and last migration of two ranges
	for i := range n {
		var err error
		n[i], err = strconv.Atoi(found[i+1])
		require.NoError(t, err)
	}
	steps, err := filepath.Glob("../migrations/*.up.sql")
	require.NoError(t, err)
	newest := filepath.Base(slices.Max(steps))[:4]
	assert.Equal(t, newest, fmt.Sprintf("%04d", n[4]), "the last reverted migration")
	reverted := 0
	for _, step := range steps {
		if filepath.Base(step)[:4] >= fmt.Sprintf("%04d", n[1]) {
			reverted++
		}
	}
	assert.Equal(t, reverted, n[0], "number of steps")
}

// go test passes if no test matches -run, so a command in docs with the old name of a test would check nothing.
func TestTestsNamedInDocsExist(t *testing.T) {
	checked := 0 // patterns of test names
	for name, text := range docs(t) {
		for _, command := range goTest.FindAllString(text, -1) {
			functions := testFunctions(t, command)
			for _, flag := range testPattern.FindAllStringSubmatch(command, -1) {
				for pattern := range strings.SplitSeq(strings.ReplaceAll(flag[1]+flag[2], `\|`, "|"), "|") {
					pattern, _, _ = strings.Cut(pattern, "/") // this test does not check the names of subtests
					if pattern == "^$" {
						continue
					}
					checked++
					assert.True(t, regexp.MustCompile(pattern).MatchString(functions), "%s: no test matches %s in %q", name, pattern, command)
				}
			}
		}
	}
	assert.Greater(t, checked, 20, "the docs contain more than 20 patterns of tests, which the regular expressions must find")
}

// testFunctions returns the names of the tests in the packages of a go test command, one per line.
func testFunctions(t *testing.T, command string) string {
	var names []string
	for _, pkg := range packagePath.FindAllString(command, -1) {
		files, err := filepath.Glob(filepath.Join("..", pkg, "*_test.go"))
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, function := range testFunction.FindAllSubmatch(text, -1) {
				names = append(names, string(function[1]))
			}
		}
	}
	return strings.Join(names, "\n")
}

// docs returns the texts of README.md and of the pages in docs by path.
func docs(t *testing.T) map[string]string {
	names, err := filepath.Glob("../docs/*.md")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	texts := map[string]string{}
	for _, name := range append(names, "../README.md") {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		texts[name] = string(text)
	}
	return texts
}
