package usagelog

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Find lists the files that are meant: those that are named, and below a folder all
// that end in .csv or .csv.gz, in the order of their paths.
func Find(names ...string) ([]string, error) {
	var found []string
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			found = append(found, name)
			continue
		}
		err = filepath.WalkDir(name, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && strings.HasSuffix(strings.TrimSuffix(path, ".gz"), ".csv") {
				found = append(found, path)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// Open reads the file at path.
func Open(path string) (Log, error) {
	file, err := os.Open(path)
	if err != nil {
		return Log{}, err
	}
	defer file.Close()
	return Read(file, path)
}
