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

// HeldError says that another process uses the data folder, and where to find it.
type HeldError struct {
	DataDir string
	PID     int    // 0 if not known
	Addr    string // what the process serves; empty if it did not say
	socket  string // folder of the socket of its PostgreSQL
}

// DSN is the URL of the PostgreSQL that the other process runs in the folder; empty if it
// did not say. It lasts as long as that process. Whoever may read the folder's lock is
// the user that owns the database.
func (e *HeldError) DSN() string {
	if e.socket == "" {
		return ""
	}
	return dsnOf(e.socket)
}

func (e *HeldError) Error() string {
	who := "another process"
	if e.PID != 0 {
		who = fmt.Sprintf("process %d", e.PID)
	}
	if e.Addr != "" {
		who += ", which serves at " + e.Addr
	}
	return fmt.Sprintf("the data folder %s is in use by %s; use that one, stop it, or choose another folder", e.DataDir, who)
}

// A lock is our hold on a data folder. The operating system frees it when we die,
// however we die: the file stays, and what stands in it is then history.
type lock struct {
	file *os.File
	note note
}

// A note tells others who holds the folder, and the next holder what to tidy up.
type note struct {
	PID    int    `json:"pid"`
	Addr   string `json:"addr,omitempty"`
	Socket string `json:"socket,omitempty"` // folder of the socket
}

// acquire takes the folder for us, and removes the socket of the holder before us
// if that was killed. *HeldError if another process has it.
func acquire(dataDir, addr string) (*lock, error) {
	file, err := os.OpenFile(filepath.Join(dataDir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%w; run as the user that owns the folder, or choose another folder", err)
	}
	before := readNote(file)
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		file.Close()
		return nil, &HeldError{DataDir: dataDir, PID: before.PID, Addr: before.Addr, socket: before.Socket}
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("lock %s: %w", file.Name(), err)
	}
	if before.Socket != "" {
		removeSocketDir(before.Socket)
	}
	l := &lock{file: file, note: note{PID: os.Getpid(), Addr: addr}}
	return l, l.record("")
}

// readNote reads what the last holder wrote. A file that is new, or torn by a
// crash, says nothing.
func readNote(file *os.File) (n note) {
	text, err := io.ReadAll(file)
	if err != nil || json.Unmarshal(text, &n) != nil {
		return note{}
	}
	return n
}

// record writes who we are.
func (l *lock) record(socket string) error {
	l.note.Socket = socket
	text, err := json.Marshal(l.note)
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
