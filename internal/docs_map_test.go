package internal

import (
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// provider is the folder of the Airflow provider, whose modules docs/development.md names without the folder.
const provider = "api/python/src/airflow_provider_loadaware"

var (
	tableToken  = regexp.MustCompile("[()]|`[^`]+`")
	tableFolder = regexp.MustCompile(`^(internal|cmd|scripts|migrations|api|testdata)/[A-Za-z0-9_/-]+$`)
	tableFile   = regexp.MustCompile(`^[A-Za-z0-9_./-]+\.(go|py|sql|html|yaml|json|css|txt|sh)$`)
	identifier  = regexp.MustCompile(`^[A-Za-z_]\w*$`)
	endpoint    = regexp.MustCompile("`(/[^`]+)`")
	apiPath     = regexp.MustCompile(`(?m)^  (/\S+):$`)
)

// The files in the tables of docs/development.md must exist and contain the functions and constants in the parentheses after
// their names. A file without a folder is in a folder that the head of its column names, in the folder before it in its row,
// in the provider, or in the root of the repository.
func TestFilesInTablesOfDocsExist(t *testing.T) {
	files, names := 0, 0
	for _, table := range mapTables(t) {
		for _, row := range table[2:] {
			folder, text := "", ""
			for i, cell := range row {
				depth := 0 // of parentheses
				for _, token := range tableToken.FindAllString(cell, -1) {
					name := strings.Trim(token, "`")
					switch {
					case token == "(":
						depth++
					case token == ")":
						depth--
					case tableFolder.MatchString(name):
						folder = name
					case tableFile.MatchString(name):
						file := findFile(append(foldersOf(table[0][i]), folder, provider, ""), name)
						if !assert.NotEmpty(t, file, "%s does not exist: %s", name, strings.Join(row, "|")) {
							continue
						}
						files++
						content, err := os.ReadFile(path.Join("..", file))
						require.NoError(t, err)
						folder, text = path.Dir(file), string(content)
					case depth > 0 && text != "" && identifier.MatchString(name):
						names++
						assert.Regexp(t, `\b`+name+`\b`, text, "the file before %s does not contain it: %s", name, strings.Join(row, "|"))
					}
				}
			}
		}
	}
	assert.Greater(t, files, 400, "the tables name more than 400 files")
	assert.Greater(t, names, 100, "the tables name more than 100 functions and constants")
}

func foldersOf(head string) (folders []string) {
	for _, token := range tableToken.FindAllString(head, -1) {
		if name := strings.Trim(token, "`"); tableFolder.MatchString(name) {
			folders = append(folders, name)
		}
	}
	return folders
}

// findFile returns the path of a file in one of the folders; "" if no folder contains it.
func findFile(folders []string, name string) string {
	at := slices.IndexFunc(folders, func(folder string) bool {
		_, err := os.Stat(path.Join("..", folder, name))
		return err == nil
	})
	if at < 0 {
		return ""
	}
	return path.Join(folders[at], name)
}

// The first table of docs/development.md must contain each path of openapi.yaml. In the table, the sign … stands for
// parameters or, at the end, for any text.
func TestTableOfDocsHasAllEndpoints(t *testing.T) {
	var patterns []string
	for _, row := range mapTables(t)[0][2:] {
		for _, match := range endpoint.FindAllStringSubmatch(row[0], -1) {
			pattern := regexp.QuoteMeta(match[1])
			if rest, found := strings.CutSuffix(pattern, "…"); found {
				pattern = rest + ".*"
			}
			patterns = append(patterns, strings.ReplaceAll(pattern, "…", `\{\w+\}(/\{\w+\})?`))
		}
	}
	contained := regexp.MustCompile("^(" + strings.Join(patterns, "|") + ")$")
	contract, err := os.ReadFile("../openapi.yaml")
	require.NoError(t, err)
	paths := apiPath.FindAllStringSubmatch(string(contract), -1)
	require.Greater(t, len(paths), 40)
	for _, match := range paths {
		assert.Regexp(t, contained, match[1], "add a row to the first table of docs/development.md")
	}
}

// mapTables returns the tables of the section "Where to change what" of docs/development.md as rows of cells.
func mapTables(t *testing.T) (tables [][][]string) {
	text, err := os.ReadFile("../docs/development.md")
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(text), "## Where to change what")
	section, _, _ = strings.Cut(section, "\n## ")
	isTable := false
	for line := range strings.SplitSeq(section, "\n") {
		if !strings.HasPrefix(line, "|") {
			isTable = false
			continue
		}
		if !isTable {
			tables = append(tables, nil)
		}
		isTable = true
		last := &tables[len(tables)-1]
		*last = append(*last, strings.Split(strings.Trim(line, "|"), "|"))
	}
	require.Greater(t, len(tables), 10)
	return tables
}
