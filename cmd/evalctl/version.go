package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"

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
// program, so for such a program version uses the commit of the work tree in the current directory,
// which is usually that of the sources. Any other program without a stamp may be run anywhere, so
// its commit is unknown.
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
	if file, err := os.Executable(); err == nil && commit == "" && info.Main.Version == "(devel)" && builtByGoRun(file) {
		commit = worktreeCommit(".", info.Main.Path)
	}
	if commit != "" {
		b.commit = commit + dirty
	}
	return b
}

// cachedProgram matches the folder of a program in Go's build cache: the hash has 64 digits.
var cachedProgram = regexp.MustCompile(`^[0-9a-f]+-d$`)

// builtByGoRun reports whether file, a program, is where go run places what it builds: at
// go-build<number>/b001/exe/<name> in a temporary folder, or, when it is run again, at
// <xx>/<hash>-d/<name> in the build cache, where xx is the beginning of the hash.
func builtByGoRun(file string) bool {
	dir := filepath.Dir(file)
	folder, parent := filepath.Base(dir), filepath.Dir(dir)
	if len(folder) == 64+len("-d") && cachedProgram.MatchString(folder) {
		return filepath.Base(parent) == folder[:2]
	}
	return folder == "exe" && filepath.Base(parent) == "b001" &&
		strings.HasPrefix(filepath.Base(filepath.Dir(parent)), "go-build")
}

// userAgent returns the User-Agent header of requests.
func userAgent() string { return "evalctl/" + release }
