package pglocal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// InUseError reports that another process uses the data folder.
type InUseError struct {
	DataDir string
	PID     int    // 0 if unknown
	Addr    string // Config.Addr of the other process; may be empty
	socket  string // folder of the socket of its PostgreSQL
}

// DSN returns the URL of the PostgreSQL that the other process runs in the folder; empty if the URL
// is unknown. The URL is valid as long as that process runs. Only the user of the server and root can use the URL,
// because other users cannot enter the folder of the socket.
func (e *InUseError) DSN() string {
	if e.socket == "" {
		return ""
	}
	return dsnOf(e.socket)
}

func (e *InUseError) Error() string {
	holder := "another process"
	if e.PID != 0 {
		holder = fmt.Sprintf("process %d", e.PID)
	}
	if e.Addr != "" {
		holder += ", which serves at " + e.Addr
	}
	return fmt.Sprintf("the data folder %s is in use by %s; use that process, stop it, or choose another folder", e.DataDir, holder)
}

// lock is an advisory file lock on a data folder. The operating system releases the lock when the
// process ends; the file and its content stay.
type lock struct {
	file *os.File
	info lockInfo
}

// lockInfo is the content of the lock file. It names the process that holds the lock, and the folder of the
// socket, which the next process removes if a crash has left it.
type lockInfo struct {
	PID    int    `json:"pid"`
	Addr   string `json:"addr,omitempty"`   // Config.Addr
	Socket string `json:"socket,omitempty"` // folder of the socket
}

// acquire locks the data folder and removes the socket that a killed process left. It returns *InUseError
// if another process holds the lock.
func acquire(dataDir, addr string) (*lock, error) {
	file, err := os.OpenFile(filepath.Join(dataDir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%w; run as the user that owns the folder, or choose another folder", err)
	}
	previous := readInfo(file)
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		file.Close()
		return nil, &InUseError{DataDir: dataDir, PID: previous.PID, Addr: previous.Addr, socket: previous.Socket}
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("lock %s: %w", file.Name(), err)
	}
	if previous.Socket != "" {
		removeSocketDir(previous.Socket)
	}
	l := &lock{file: file, info: lockInfo{PID: os.Getpid(), Addr: addr}}
	if err := l.record(""); err != nil {
		return nil, errors.Join(err, l.release())
	}
	return l, nil
}

// readInfo reads the content of the lock file. It returns the zero value for a new file, and for a
// file that a crash left incomplete.
func readInfo(file *os.File) (info lockInfo) {
	text, err := io.ReadAll(file)
	if err != nil || json.Unmarshal(text, &info) != nil {
		return lockInfo{}
	}
	return info
}

func (l *lock) record(socket string) error {
	l.info.Socket = socket
	text, err := json.Marshal(l.info)
	if err != nil {
		return err
	}
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err = l.file.WriteAt(append(text, '\n'), 0)
	return err
}

func (l *lock) release() error { return l.file.Close() }
