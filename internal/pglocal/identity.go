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

// identity is the user that runs the server and owns its files. PostgreSQL refuses to run as root, so root tries several identities and takes the first with access to the programs and
// the data:
//
//	the user postgres, or else nobody    if all users can reach the data
//	a user namespace (Linux)             for data under /root: the server has the file access of
//	                                     root and another user id in its namespace
//	postgres with CAP_DAC_OVERRIDE       for data under the closed home of another user, or in a
//	(Linux)                              container without user namespaces
type identity struct {
	name     string
	attr     syscall.SysProcAttr
	uid, gid int // owner of the files, as this process sees it
}

// chooseIdentity returns the first identity that can use the data folder.
func chooseIdentity(bin binaries, dataDir string) (identity, error) {
	if os.Geteuid() != 0 {
		return identity{name: "this user", uid: os.Geteuid(), gid: os.Getegid()}, nil
	}
	var reasons []error
	for _, id := range rootIdentities() {
		err := id.try(bin, dataDir)
		if err == nil {
			return id, nil
		}
		reasons = append(reasons, fmt.Errorf("as %s: %w", id.name, err))
	}
	return identity{}, fmt.Errorf("PostgreSQL refuses to run as root, and no other user can use this folder; "+
		"choose a data folder that the user postgres can reach (such as /var/lib/loadaware), run as an ordinary user, or set DATABASE_URL\n%w",
		errors.Join(reasons...))
}

// rootIdentities lists the identities that root can give the server.
func rootIdentities() (all []identity) {
	for _, name := range []string{"postgres", "_postgres", "nobody"} {
		if id, err := asUser(name); err == nil { // skip users that do not exist
			all = append(all, id)
		}
	}
	if len(all) > 0 {
		all = append(all, privileged(all[0])...)
	}
	return all
}

// asUser returns the identity of an ordinary user.
func asUser(name string) (identity, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return identity{}, err
	}
	uid, uidErr := strconv.Atoi(u.Uid)
	gid, gidErr := strconv.Atoi(u.Gid)
	credential := &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return identity{name: name, attr: syscall.SysProcAttr{Credential: credential}, uid: uid, gid: gid},
		errors.Join(uidErr, gidErr)
}

// try checks that the identity can run the server program and enter a folder in dataDir.
func (id identity) try(bin binaries, dataDir string) error {
	own, err := os.MkdirTemp(dataDir, "try-")
	if err != nil {
		return err
	}
	defer os.Remove(own)
	if err := id.own(own); err != nil {
		return err
	}
	cmd := id.command(exec.Command("/bin/sh", "-c", `cd "$1" && "$0" --version`, bin.path("postgres"), own))
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(output)))
	}
	return nil
}

// command makes cmd run as this identity in its own process group, so that an interrupt from the
// terminal reaches only this process, which then stops the server. The environment is minimal,
// because PGDATA and the like would change the server; without LC_ALL, macOS starts a thread that
// the server refuses.
func (id identity) command(cmd *exec.Cmd) *exec.Cmd {
	attr := id.attr
	attr.Setpgid = true
	cmd.SysProcAttr = &attr
	cmd.Dir = "/" // the current directory may be closed to the server's user
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	return cmd
}

// own makes the server's user the owner of a folder and its contents. Only root can change owners,
// and only a folder with another owner needs it.
func (id identity) own(dir string) error {
	if os.Geteuid() != 0 || ownedBy(dir, id.uid) {
		return nil
	}
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, id.uid, id.gid))
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
