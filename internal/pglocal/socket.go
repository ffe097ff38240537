package pglocal

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// socketName is how PostgreSQL names its socket. longestSocket is what fits into
// sun_path: 104 bytes on macOS, 108 on Linux, each with a final zero.
const (
	socketName    = ".s.PGSQL." + port
	longestSocket = 103
)

// makeSocketDir makes the folder of the socket, closed to all but the server's
// user (and root, who needs no permission): in the data folder, or in a temporary
// one where that path would not do.
func makeSocketDir(dataDir string, f footing) (string, error) {
	dir := filepath.Join(dataDir, "socket")
	if unfit(dir) {
		return makeTempSocketDir(f)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	clearSocketDir(dir)
	return dir, f.give(dir)
}

func makeTempSocketDir(f footing) (string, error) {
	parent := os.TempDir()
	if unfit(filepath.Join(parent, "loadaware-0123456789")) {
		parent = "/tmp"
	}
	dir, err := os.MkdirTemp(parent, "loadaware-")
	if err != nil {
		return "", fmt.Errorf("a socket cannot lie in the data folder, whose path is long or has a comma: %w", err)
	}
	return dir, f.give(dir)
}

// unfit tells a folder that no client could name: too long for the system, or with
// a comma, which divides the hosts of a DSN.
func unfit(dir string) bool {
	return len(filepath.Join(dir, socketName)) > longestSocket || strings.Contains(dir, ",")
}

// clearSocketDir removes what a killed server left. Its lock file would stop the
// next server if some other process has been given the same process id.
func clearSocketDir(dir string) {
	os.Remove(filepath.Join(dir, socketName))
	os.Remove(filepath.Join(dir, socketName+".lock"))
}

// removeSocketDir removes the folder of a socket, and nothing else: a folder that
// holds more stays.
func removeSocketDir(dir string) {
	clearSocketDir(dir)
	os.Remove(dir)
}
