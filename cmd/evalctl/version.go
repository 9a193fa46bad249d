package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/alecthomas/kong"
)

// release is set by the linker for a released build.
var release = "0.1.0-dev"

type versionCmd struct{}

// Run prints one line: version, commit, Go version and platform.
func (versionCmd) Run(p *process) error {
	v := version()
	_, err := fmt.Fprintf(p.stdout, "evalctl %s %s %s/%s\n", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// versionFlag is equivalent to the version command.
type versionFlag bool

// BeforeReset prints the version and exits before the rest of the command line is parsed.
func (versionFlag) BeforeReset(app *kong.Kong, p *process) error {
	if err := (versionCmd{}).Run(p); err != nil {
		return err
	}
	app.Exit(exitDone)
	return nil
}

type build struct{ number, commit string }

func (b build) String() string { return b.number + " (" + b.commit + ")" }

// version returns the version and commit of this program. go run does not stamp a commit into a
// program, so version then uses the commit of the work tree in the current directory.
func version() build {
	b := build{number: release, commit: "commit unknown"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	commit, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-dirty"
		}
	}
	if commit == "" && info.Main.Version == "(devel)" {
		commit = worktreeCommit(".", info.Main.Path)
	}
	if commit != "" {
		b.commit = commit + dirty
	}
	return b
}

// userAgent returns the User-Agent header of requests.
func userAgent() string { return "evalctl/" + release }
