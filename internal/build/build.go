// Package build reports the version and the commit of this program.
package build

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
)

// Version is the version of a program and the commit that it was built from.
type Version struct{ Number, Commit string }

func (b Version) String() string { return b.Number + " (" + b.Commit + ")" }

// Of returns the version and commit of this program, whose release has a number. go run does not
// stamp a commit into a program. For such a program, Of uses the commit of the work tree in the
// current directory, which usually has the sources. Any other program without a stamp may be run
// anywhere, so its commit is unknown.
func Of(release string) Version {
	b := Version{Number: release, Commit: "commit unknown"}
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
		b.Commit = commit + dirty
	}
	return b
}

// cachedProgram matches the folder of a program in Go's build cache: the hash has 64 digits.
var cachedProgram = regexp.MustCompile(`^[0-9a-f]+-d$`)

// builtByGoRun reports whether file, a program, is where go run places programs: at
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
