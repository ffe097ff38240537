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

// oldest is the first major version whose SQL the service may rely on.
const oldest = 15

// ErrNotInstalled means that no usable PostgreSQL is on this machine. The error
// that wraps it names the package to install.
var ErrNotInstalled = errors.New("PostgreSQL is not installed")

// binaries are the server programs of one installed PostgreSQL.
type binaries struct {
	dir   string // has initdb and postgres
	major int
}

func (b binaries) path(program string) string { return filepath.Join(b.dir, program) }

// usualPlaces are where packages put the server programs outside of PATH.
var usualPlaces = []string{
	"/usr/lib/postgresql/*/bin",                               // Debian, Ubuntu
	"/usr/pgsql-*/bin",                                        // Red Hat
	"/opt/homebrew/opt/postgresql*/bin",                       // Homebrew on Apple silicon
	"/usr/local/opt/postgresql*/bin",                          // Homebrew on Intel
	"/home/linuxbrew/.linuxbrew/opt/postgresql*/bin",          // Homebrew on Linux
	"/Applications/Postgres.app/Contents/Versions/[0-9]*/bin", // Postgres.app
}

// findFor chooses the programs for a cluster: for an existing one, those of its
// own major version; for a new one, the first found.
func findFor(cluster string) (binaries, error) {
	found := installed(os.Getenv("PG_BINDIR"), usualPlaces)
	if len(found) == 0 {
		return binaries{}, notInstalled(os.Getenv("PG_BINDIR"))
	}
	made, err := clusterVersion(cluster)
	if err != nil || made == 0 {
		return found[0], err
	}
	for _, b := range found {
		if b.major == made {
			return b, nil
		}
	}
	return binaries{}, fmt.Errorf("the cluster was made by PostgreSQL %[1]d, and only version %[2]s is installed; nothing was changed: "+
		"install PostgreSQL %[1]d, move the data by pg_upgrade, or choose another data folder", made, versions(found))
}

// installed lists what can be used, the preferred first: bindir alone if given;
// else what PATH leads to, then the usual places, the newest first.
func installed(bindir string, places []string) []binaries {
	if bindir != "" {
		return usable([]string{bindir})
	}
	var dirs []string
	for _, place := range places {
		matches, _ := filepath.Glob(place) // fails on a malformed pattern only
		dirs = append(dirs, matches...)
	}
	others := usable(dirs)
	slices.SortStableFunc(others, func(a, b binaries) int { return cmp.Compare(b.major, a.major) })
	return append(usable(fromPath()), others...)
}

// fromPath asks PATH for postgres itself, and for pg_config, which knows where
// its postgres is.
func fromPath() (dirs []string) {
	if postgres, err := exec.LookPath("postgres"); err == nil {
		dirs = append(dirs, filepath.Dir(postgres))
	}
	if bindir, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(bindir)))
	}
	return dirs
}

// usable keeps the folders that hold both programs, of a version new enough.
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
		if b.major = majorVersion(b.path("postgres")); b.major >= oldest {
			found = append(found, b)
		}
	}
	return found
}

var firstNumber = regexp.MustCompile(`\d+`)

// majorVersion reads 15 from "postgres (PostgreSQL) 15.7 (Debian 15.7-0)"; 0 if
// the program does not run.
func majorVersion(postgres string) int {
	says, err := exec.Command(postgres, "--version").Output()
	if err != nil {
		return 0
	}
	major, _ := strconv.Atoi(firstNumber.FindString(string(says)))
	return major
}

func versions(found []binaries) string {
	var names []string
	for _, b := range found {
		names = append(names, strconv.Itoa(b.major))
	}
	return strings.Join(slices.Compact(names), ", ")
}

func notInstalled(bindir string) error {
	if bindir != "" {
		return fmt.Errorf("%w: PG_BINDIR=%s does not hold initdb and postgres of version %d or newer; correct or unset it",
			ErrNotInstalled, bindir, oldest)
	}
	install := "apt-get install postgresql"
	if runtime.GOOS == "darwin" {
		install = "brew install postgresql@17"
	}
	return fmt.Errorf("%w: version %d or newer was found neither on PATH nor in the usual places; "+
		"install it (%s), name its folder in PG_BINDIR, or give DATABASE_URL", ErrNotInstalled, oldest, install)
}
