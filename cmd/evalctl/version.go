package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
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

type build struct{ number, commit string }

func (b build) String() string { return b.number + " (" + b.commit + ")" }

// version tells what this program was built from. A build without version
// control says so.
func version() build {
	b := build{number: release, commit: "commit unknown"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	dirty := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			b.commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-dirty"
		}
	}
	b.commit += dirty
	return b
}

// userAgent names this program to daemons.
func userAgent() string { return "evalctl/" + release }
