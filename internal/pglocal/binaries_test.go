package pglocal

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func installFake(t *testing.T, dir, version string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	script := fmt.Sprintf("#!/bin/sh\necho 'postgres (PostgreSQL) %s'\n", version)
	for _, program := range []string{"initdb", "postgres"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, program), []byte(script), 0o755))
	}
}

func TestInstalledListsProgramsByPreference(t *testing.T) {
	root := t.TempDir()
	for name, version := range map[string]string{
		"lib/9.6/bin": "9.6.24", "lib/14/bin": "14.1", "lib/15/bin": "15.7 (Debian 15.7-0+deb12u1)", "lib/17/bin": "17.2",
		"path": "16.3", "named": "18beta1", "lib/99": "99",
	} {
		installFake(t, filepath.Join(root, name), version)
	}
	patterns := []string{filepath.Join(root, "lib/*/bin")}
	for name, c := range map[string]struct {
		bindir, path string
		want         []int
	}{
		"the newest in the package folders":      {want: []int{17, 15}},
		"PATH precedes the package folders":      {path: "path", want: []int{16, 17, 15}},
		"PG_BINDIR excludes all others":          {path: "path", bindir: "named", want: []int{18}},
		"PG_BINDIR is not replaced when too old": {path: "path", bindir: "lib/14/bin"},
		"PG_BINDIR is not replaced when wrong":   {path: "path", bindir: "nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			bindir := c.bindir
			if bindir != "" {
				bindir = filepath.Join(root, bindir)
			}
			t.Setenv("PATH", filepath.Join(root, c.path, "."))
			var got []int
			for _, b := range installed(bindir, patterns) {
				got = append(got, b.major)
			}
			assert.Equal(t, c.want, got)
		})
	}
}

func TestFindForMatchesTheClusterVersion(t *testing.T) {
	root := t.TempDir()
	installFake(t, filepath.Join(root, "old"), "15.1")
	t.Setenv("PG_BINDIR", filepath.Join(root, "old"))
	cluster := filepath.Join(root, "cluster")
	require.NoError(t, os.Mkdir(cluster, 0o700))
	write := func(version string) {
		require.NoError(t, os.WriteFile(filepath.Join(cluster, "PG_VERSION"), []byte(version), 0o600))
	}

	write("15\n")
	b, err := findFor(cluster)
	require.NoError(t, err)
	assert.Equal(t, 15, b.major)

	write("17\n")
	_, err = findFor(cluster)
	assert.ErrorContains(t, err, "made by PostgreSQL 17, but only these versions were found: 15")

	write("\x00garbage")
	_, err = findFor(cluster)
	assert.ErrorContains(t, err, "is corrupt")
}

func TestVersionsListsEachMajorVersionOnce(t *testing.T) {
	assert.Equal(t, "15, 16", versions([]binaries{{major: 15}, {major: 16}, {major: 15}}))
}

func TestNotInstalledNamesThePackage(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	assert.Empty(t, installed("", nil))
	assert.ErrorIs(t, notInstalled(""), ErrNotInstalled)
	assert.Regexp(t, `apt-get install postgresql|brew install postgresql@17`, notInstalled("").Error())
	assert.ErrorContains(t, notInstalled("/opt/wrong"), "PG_BINDIR=/opt/wrong")
}
