// Command pack writes the archives and images of a release. The same files give the same bytes: all
// times are SOURCE_DATE_EPOCH, all owners are fixed, and names are sorted.
//
//	pack archive OUT FOLDER                 writes a folder (.tar.gz, .tgz) or only its contents (.tar)
//	pack image FLAGS OUT PLATFORM=PROGRAM…  writes an OCI image layout with one image per platform; prints the digest
//	pack unpack LAYOUT.tar PLATFORM FOLDER  checks a layout, writes the files of one image, prints its configuration
//	pack modules PROGRAM…                   prints the names of the modules in Go programs
//	pack notices PROGRAM…                   prints the licences of Go and of these modules
//	pack sums FOLDER                        prints the SHA-256 of each file in the format of sha256sum
//
// It is a separate module, so that the module of loadaware does not depend on libraries that build images.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("no command given; use archive, image, unpack, modules, notices or sums")
	}
	command, args := args[0], args[1:]
	want := map[string]int{"archive": 2, "unpack": 3, "sums": 1}
	if n, ok := want[command]; ok && len(args) != n {
		return fmt.Errorf("%s: %d arguments given; the command takes %d", command, len(args), n)
	}
	switch command {
	case "archive":
		created, err := sourceDate()
		if err != nil {
			return err
		}
		return archive(args[0], args[1], created)
	case "image":
		return imageCommand(args, os.Stdout)
	case "unpack":
		return unpack(args[0], args[1], args[2], os.Stdout)
	case "modules":
		return listModules(os.Stdout, args)
	case "notices":
		return notices(os.Stdout, args)
	case "sums":
		return sums(os.Stdout, args[0])
	}
	return fmt.Errorf("unknown command %q; use archive, image, unpack, modules, notices or sums", command)
}

// sourceDate returns the time that every file gets (https://reproducible-builds.org/specs/source-date-epoch).
func sourceDate() (time.Time, error) {
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("read SOURCE_DATE_EPOCH: %w; set it to the time of the commit in seconds", err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}
