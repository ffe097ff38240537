package pglocal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// A footing is a way to run the server: as whom, and who then owns its files.
// PostgreSQL refuses to run as root, so for root there are several, and the first
// that reaches both the programs and the data is taken:
//
//	the user postgres, else nobody       where everybody may pass to the data
//	a user namespace (Linux)             data under /root: the server is root for the
//	                                     files and somebody else in its own eyes
//	postgres with CAP_DAC_OVERRIDE       data under another's closed home, or in a
//	(Linux)                              container that may not make namespaces
type footing struct {
	name     string
	attr     syscall.SysProcAttr
	uid, gid int // owner of the files, as we see it
}

// firmFooting chooses the footing for a data folder by trying them.
func firmFooting(bin binaries, dataDir string) (footing, error) {
	if os.Geteuid() != 0 {
		return footing{name: "this user", uid: os.Geteuid(), gid: os.Getegid()}, nil
	}
	var reasons []error
	for _, f := range rootFootings() {
		err := f.try(bin, dataDir)
		if err == nil {
			return f, nil
		}
		reasons = append(reasons, fmt.Errorf("as %s: %w", f.name, err))
	}
	return footing{}, fmt.Errorf("PostgreSQL refuses to run as root, and no other user can use this folder; "+
		"choose a data folder that the user postgres can reach (such as /var/lib/loadaware), run as an ordinary user, or give DATABASE_URL\n%w",
		errors.Join(reasons...))
}

func rootFootings() (all []footing) {
	for _, name := range []string{"postgres", "_postgres", "nobody"} {
		if f, err := asUser(name); err == nil { // else there is no such user here
			all = append(all, f)
		}
	}
	if len(all) > 0 {
		all = append(all, widened(all[0])...)
	}
	return all
}

// asUser is the plain footing: become that user.
func asUser(name string) (footing, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return footing{}, err
	}
	uid, uidErr := strconv.Atoi(u.Uid)
	gid, gidErr := strconv.Atoi(u.Gid)
	become := &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return footing{name: name, attr: syscall.SysProcAttr{Credential: become}, uid: uid, gid: gid},
		errors.Join(uidErr, gidErr)
}

// try runs the server program and enters a folder of the server's own in dataDir.
func (f footing) try(bin binaries, dataDir string) error {
	own, err := os.MkdirTemp(dataDir, "try-")
	if err != nil {
		return err
	}
	defer os.Remove(own)
	if err := f.give(own); err != nil {
		return err
	}
	cmd := f.command(exec.Command("/bin/sh", "-c", `cd "$1" && "$0" --version`, bin.path("postgres"), own))
	if says, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(says)))
	}
	return nil
}

// command puts cmd on this footing, in a process group of its own: an interrupt
// from the terminal reaches us alone, and we stop the server when we are done
// with it. The environment is bare, for PGDATA and its kin would change the
// server; LC_ALL keeps macOS from starting a thread that the server refuses.
func (f footing) command(cmd *exec.Cmd) *exec.Cmd {
	attr := f.attr
	attr.Setpgid = true
	cmd.SysProcAttr = &attr
	cmd.Dir = "/" // ours may be closed to the server's user
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	return cmd
}

// give makes the server's user the owner of a folder and all that is in it. Only
// root can, and only a folder that changed hands needs it.
func (f footing) give(dir string) error {
	if os.Geteuid() != 0 || ownedBy(dir, f.uid) {
		return nil
	}
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, f.uid, f.gid))
	})
}

func ownedBy(dir string, uid int) bool {
	info, err := os.Stat(dir)
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == uid
}
