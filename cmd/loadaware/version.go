package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
)

// buildVersion overrides the version of the module. The linker sets it with
// -X main.buildVersion=…, for example in an image built without git.
var buildVersion string

const versionUsage = `

Prints the version, the revision and the Go version of this build.`

// version prints the build information in the binary.
func version(_ context.Context, con console, args []string) error {
	cmd := newCommand("version", versionUsage)
	if _, err := cmd.parse(con, args); err != nil {
		return err
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		_, err := fmt.Fprintln(con.out, "loadaware (built without module support)")
		return err
	}
	revision := "unknown revision"
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			revision = setting.Value
		}
	}
	_, err := fmt.Fprintf(con.out, "loadaware %s (%s, %s)\n", cmp.Or(buildVersion, info.Main.Version), revision, info.GoVersion)
	return err
}
