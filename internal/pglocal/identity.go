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

// identity is the user that runs the server and owns its files. PostgreSQL refuses to run as
// root. A process of root therefore tries several identities in this order, and uses the first one with
// access to the programs and the data:
//
//	the user postgres, or else nobody    if all users can reach the data
//	(macOS: _postgres)
//	a user namespace (Linux)             for data under /root: the server has another user id in its
//	                                     namespace, and outside it the user id of root without
//	                                     root's capabilities, so that it can use files of root
//	the first of these users with        for data below a home directory that only its owner can
//	CAP_DAC_OVERRIDE, which bypasses     enter, or in a container without user namespaces
//	file permissions (Linux)
type identity struct {
	name     string              // for error messages
	attr     syscall.SysProcAttr // of the server's process
	uid, gid int                 // owner of the files, as this process sees it
}

func chooseIdentity(bin binaries, dataDir string) (identity, error) {
	if os.Geteuid() != 0 {
		return identity{name: "this user", uid: os.Geteuid(), gid: os.Getegid()}, nil
	}
	var reasons []error
	for _, id := range rootIdentities() {
		err := id.check(bin, dataDir)
		if err == nil {
			return id, nil
		}
		reasons = append(reasons, fmt.Errorf("as %s: %w", id.name, err))
	}
	return identity{}, fmt.Errorf("PostgreSQL refuses to run as root, and no other user can use this folder; "+
		"choose a data folder that the user postgres can reach (such as /var/lib/loadaware), run as an ordinary user, or set DATABASE_URL\n%w",
		errors.Join(reasons...))
}

func rootIdentities() (all []identity) {
	for _, name := range []string{"postgres", "_postgres", "nobody"} {
		if id, err := asUser(name); err == nil { // skip users that do not exist
			all = append(all, id)
		}
	}
	if len(all) > 0 {
		all = append(all, privilegedIdentities(all[0])...)
	}
	return all
}

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

// check returns an error if the identity cannot run the server program or enter a folder in dataDir.
func (id identity) check(bin binaries, dataDir string) error {
	probe, err := os.MkdirTemp(dataDir, "try-")
	if err != nil {
		return err
	}
	defer os.Remove(probe)
	if err := id.chown(probe); err != nil {
		return err
	}
	cmd := id.command(exec.Command("/bin/sh", "-c", `cd "$1" && "$0" --version`, bin.path("postgres"), probe))
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(output)))
	}
	return nil
}

// command prepares cmd to run as this identity. The command gets its own process group, so that an
// interrupt from the terminal reaches only this process, which then stops the server. The
// environment is minimal, because variables such as PGDATA would change the server. Without LC_ALL,
// macOS would start a second thread in the server, and PostgreSQL refuses to start with two threads.
func (id identity) command(cmd *exec.Cmd) *exec.Cmd {
	attr := id.attr
	attr.Setpgid = true
	cmd.SysProcAttr = &attr
	cmd.Dir = "/" // the server's user may have no access to the current directory
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	return cmd
}

// chown makes the server's user the owner of a folder and its contents. It does nothing if the user
// already owns the folder, or if this process is not root, because only root can change owners.
func (id identity) chown(dir string) error {
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
