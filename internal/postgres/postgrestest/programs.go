package postgrestest

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
)

// programs returns the directory of initdb, "" if there is none. On Windows it does not look,
// because nothing there would stop the servers of killed tests.
func programs() string {
	if runtime.GOOS == "windows" {
		return ""
	}
	installed, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(installed) > 0 {
		return filepath.Dir(installed[len(installed)-1]) // the newest version
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return filepath.Dir(path)
}

// owner returns the user and group that run the server if the tests run as root.
func owner() (uid, gid int, other bool, err error) {
	if runtime.GOOS == "windows" || os.Geteuid() != 0 {
		return 0, 0, false, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		return 0, 0, false, err
	}
	if uid, err = strconv.Atoi(u.Uid); err == nil {
		gid, err = strconv.Atoi(u.Gid)
	}
	return uid, gid, true, err
}

// chown gives a file to the user that runs the server.
func chown(path string) error {
	uid, gid, other, err := owner()
	if !other || err != nil {
		return err
	}
	return os.Chown(path, uid, gid)
}
