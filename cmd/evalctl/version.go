package main

import (
	"fmt"
	"runtime"

	"github.com/alecthomas/kong"

	"evalctl/harness/result"
	"evalctl/internal/build"
)

// release is set by the linker for a released build.
var release = "0.1.0-dev"

// versionFlag is the flag that prints the version.
type versionFlag bool

// BeforeReset prints version, commit, Go version and platform in one line, and exits before the rest
// of the command line is parsed.
func (versionFlag) BeforeReset(app *kong.Kong, p *process) error {
	_, err := fmt.Fprintf(p.stdout, "evalctl %s %s %s/%s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return err
	}
	app.Exit(exitDone)
	return nil
}

// version returns the version and commit of this program.
func version() build.Version { return build.Of(release) }

// userAgent returns the User-Agent header of requests.
func userAgent() string { return "evalctl/" + release }

// toolID identifies this program in results.
func toolID() result.ToolID {
	v := version()
	return result.ToolID{
		Version: v.Number, Commit: v.Commit, Go: runtime.Version(),
		OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.GOMAXPROCS(0),
	}
}
