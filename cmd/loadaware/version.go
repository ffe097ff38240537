package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/loadaware/loadaware/internal/cli"
)

// buildVersion overrides the version of the module. `make build` and `make dist` set it with -X main.buildVersion=….
var buildVersion string

// buildRevision is the commit, for builds in which the Go tool records none: with -buildvcs=false, in a worktree, or without
// .git. The linker sets it.
var buildRevision string

// currentVersion returns the version of this build. It returns "" or "(devel)" if the version is unknown.
func currentVersion() string {
	info, ok := debug.ReadBuildInfo()
	if buildVersion != "" || !ok {
		return buildVersion
	}
	return strings.TrimPrefix(info.Main.Version, "v")
}

const versionUsage = `

Prints the version, the revision and the Go version of this build.`

func version(_ context.Context, con cli.Console, args []string) error {
	cmd := cli.New("version", versionUsage)
	rest, err := cmd.ParseArgs(con, args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return cli.UsageErrorf("version takes no arguments, but was given %q; see loadaware version --help", rest)
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		_, err := fmt.Fprintln(con.Out, "loadaware (built without module support)")
		return err
	}
	revision := cmp.Or(buildRevision, "unknown revision")
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			revision = setting.Value
		}
	}
	_, err = fmt.Fprintf(con.Out, "loadaware %s (%s, %s)\n", cmp.Or(currentVersion(), "unknown"), revision, info.GoVersion)
	return err
}
