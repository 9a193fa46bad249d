package launch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"evalctl/internal/environ"
)

// workDir is the working folder, in Options.Home, of a self-contained command.
const workDir = "work"

// userHome returns the home of the daemon's user, "" for the caller's.
func (o Options) userHome() string {
	if o.SelfContained {
		return o.Home
	}
	return o.UserHome
}

// settle sets a command's user home: its working folder, and its variables, which precede set.
// Variables passed on by the profile are unchanged.
func settle(cmd *exec.Cmd, p Profile, o Options, set []string) ([]string, error) {
	home, err := filepath.Abs(o.userHome())
	if err != nil {
		return nil, err
	}
	downloads := o.Downloads
	if downloads != "" { // the process works in another folder
		if downloads, err = filepath.Abs(downloads); err != nil {
			return nil, err
		}
	}
	env, create := environ.Home(home, downloads, os.Environ())
	env = slices.DeleteFunc(env, func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(p.Passed, name)
	})
	if o.SelfContained && p.Dir == "" {
		cmd.Dir = filepath.Join(home, workDir)
		create = append(create, cmd.Dir)
		if err := fromHere(cmd); err != nil {
			return nil, err
		}
	}
	for _, dir := range create {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("create a home for the program: %w", err)
		}
	}
	return append(env, set...), nil
}

// fromHere makes file names in a command absolute that are relative to this process's working
// folder.
func fromHere(cmd *exec.Cmd) error {
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	if !filepath.IsAbs(cmd.Path) {
		cmd.Path = filepath.Join(here, cmd.Path)
	}
	for i, arg := range cmd.Args {
		before, path := "", arg
		if name, value, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(name, "-") {
			before, path = name+"=", value
		}
		// A word without a separator and an extension is more likely a package or a command.
		if filepath.IsAbs(path) || !strings.ContainsRune(path, filepath.Separator) && filepath.Ext(path) == "" {
			continue
		}
		if _, err := os.Stat(path); err == nil {
			cmd.Args[i] = before + filepath.Join(here, path)
		}
	}
	return nil
}

// Isolated adds to the error of a daemon that did not start or has ended the environment withheld
// from it, which may be the cause.
func (d *Daemon) Isolated(err error) error {
	if withheld := d.Withheld(); withheld != "" {
		err = fmt.Errorf("%w\nwithheld from it: %s; --daemon-env NAME passes a variable on", err, withheld)
	}
	if d.settled {
		err = fmt.Errorf("%w\nits home and its temporary folder were empty; --home-of-user gives it the user's", err)
	}
	return err
}
