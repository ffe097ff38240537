package pglocal

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// socketName is the name that PostgreSQL gives its socket. maxSocketPath is the maximum length of a
// socket's path in bytes: sun_path has 104 bytes on macOS and 108 on Linux, including a final zero.
const (
	socketName    = ".s.PGSQL." + port
	maxSocketPath = 103
)

// makeSocketDir creates the folder of the socket, which only the server's user and root can enter.
// The folder is in the data folder; if that path is unusable, in the folder for temporary files or in /tmp.
func makeSocketDir(dataDir string, id identity) (string, error) {
	dir := filepath.Join(dataDir, "socket")
	if isUnusable(dir) {
		return makeTempSocketDir(id)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	clearSocketDir(dir)
	return dir, id.chown(dir)
}

func makeTempSocketDir(id identity) (string, error) {
	parent := os.TempDir()
	if isUnusable(filepath.Join(parent, "loadaware-0123456789")) { // MkdirTemp appends up to ten digits
		parent = "/tmp"
	}
	dir, err := os.MkdirTemp(parent, "loadaware-")
	if err != nil {
		return "", fmt.Errorf("create a temporary folder for the socket: %w; shorten the path of the data folder or remove the comma from it", err)
	}
	return dir, id.chown(dir)
}

// isUnusable reports whether clients cannot use a socket in dir, because its path is too long or has
// a comma, which separates the hosts of a DSN.
func isUnusable(dir string) bool {
	return len(filepath.Join(dir, socketName)) > maxSocketPath || strings.Contains(dir, ",")
}

// clearSocketDir removes the files of a killed server. The lock file of that server would block the
// next server if another process now has the same process id.
func clearSocketDir(dir string) {
	os.Remove(filepath.Join(dir, socketName))
	os.Remove(filepath.Join(dir, socketName+".lock"))
}

// removeSocketDir removes the folder of a socket, unless it has other files.
func removeSocketDir(dir string) {
	clearSocketDir(dir)
	os.Remove(dir)
}
