package pglocal

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// minVersion is the oldest supported major version of PostgreSQL.
const minVersion = 15

// ErrNotInstalled means that no usable PostgreSQL was found. The error that wraps it says what to do.
var ErrNotInstalled = errors.New("PostgreSQL is not installed")

// binaries locates the server programs of one installed PostgreSQL.
type binaries struct {
	dir   string // contains initdb and postgres
	major int
}

func (b binaries) path(program string) string { return filepath.Join(b.dir, program) }

// packageDirs lists patterns of the folders outside PATH into which packages install the server
// programs.
var packageDirs = []string{
	"/usr/lib/postgresql/*/bin",                               // Debian, Ubuntu
	"/usr/pgsql-*/bin",                                        // Red Hat
	"/opt/homebrew/opt/postgresql*/bin",                       // Homebrew on Apple silicon
	"/usr/local/opt/postgresql*/bin",                          // Homebrew on Intel
	"/home/linuxbrew/.linuxbrew/opt/postgresql*/bin",          // Homebrew on Linux
	"/Applications/Postgres.app/Contents/Versions/[0-9]*/bin", // Postgres.app
}

// findFor returns the installed programs that can run the cluster in a folder: those of its major version or, if there is no
// cluster yet, the preferred ones.
func findFor(cluster string) (binaries, error) {
	found := installed(os.Getenv("PG_BINDIR"), packageDirs)
	if len(found) == 0 {
		return binaries{}, notInstalled(os.Getenv("PG_BINDIR"))
	}
	version, err := clusterVersion(cluster)
	if err != nil || version == 0 {
		return found[0], err
	}
	for _, b := range found {
		if b.major == version {
			return b, nil
		}
	}
	return binaries{}, fmt.Errorf("the cluster was made by PostgreSQL %[1]d, but only these versions were found: %[2]s; nothing was changed: "+
		"install PostgreSQL %[1]d, migrate the data with pg_upgrade, or choose another data folder", version, versions(found))
}

// installed lists the usable programs in order of preference.
func installed(bindir string, patterns []string) []binaries {
	if bindir != "" {
		return usable([]string{bindir})
	}
	var dirs []string
	for _, pattern := range patterns {
		matches, _ := filepath.Glob(pattern) // fails only on a malformed pattern
		dirs = append(dirs, matches...)
	}
	others := usable(dirs)
	slices.SortStableFunc(others, func(a, b binaries) int { return cmp.Compare(b.major, a.major) })
	return append(usable(fromPath()), others...)
}

func fromPath() (dirs []string) {
	if postgres, err := exec.LookPath("postgres"); err == nil {
		dirs = append(dirs, filepath.Dir(postgres))
	}
	if bindir, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(bindir)))
	}
	return dirs
}

func usable(dirs []string) (found []binaries) {
	for _, dir := range dirs {
		dir, err := filepath.Abs(dir)
		if err != nil {
			continue
		}
		b := binaries{dir: dir}
		if _, err := os.Stat(b.path("initdb")); err != nil {
			continue
		}
		if b.major = majorVersion(b.path("postgres")); b.major >= minVersion {
			found = append(found, b)
		}
	}
	return found
}

var firstNumber = regexp.MustCompile(`\d+`)

// majorVersion returns the major version that a program prints, such as 15 for
// "postgres (PostgreSQL) 15.7 (Debian 15.7-0)". It returns 0 if the program fails or prints no number.
func majorVersion(postgres string) int {
	output, err := exec.Command(postgres, "--version").Output()
	if err != nil {
		return 0
	}
	major, _ := strconv.Atoi(firstNumber.FindString(string(output)))
	return major
}

func versions(found []binaries) string {
	var majors []int
	for _, b := range found {
		majors = append(majors, b.major)
	}
	slices.Sort(majors)
	var names []string
	for _, major := range slices.Compact(majors) {
		names = append(names, strconv.Itoa(major))
	}
	return strings.Join(names, ", ")
}

func notInstalled(bindir string) error {
	if bindir != "" {
		return fmt.Errorf("%w: PG_BINDIR=%s has no initdb and postgres of version %d or newer; correct or unset it",
			ErrNotInstalled, bindir, minVersion)
	}
	install := "apt-get install postgresql"
	if runtime.GOOS == "darwin" {
		install = "brew install postgresql@17"
	}
	return fmt.Errorf("%w: version %d or newer is neither on PATH nor in the folders of common packages; "+
		"install it (%s), set PG_BINDIR to the folder of its programs, or set DATABASE_URL", ErrNotInstalled, minVersion, install)
}
