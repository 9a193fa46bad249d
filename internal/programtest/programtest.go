// Package programtest builds evalctl for tests that start it as a process.
package programtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// Build builds evalctl with the settings of the calling test, and links or copies it to file, which
// must not exist. It keeps the program in the user's folder for caches, so that go build links it
// only after a change. A program built with further flags of go build is not kept.
func Build(file string, flags ...string) error {
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	kept := filepath.Join(cache, "evalctl-test", "evalctl")
	args := []string{"build", "-buildvcs=false", "-ldflags=-s -w"}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, flag := range []string{"-race", "-trimpath"} { // or every package would be compiled again
			if slices.Contains(info.Settings, debug.BuildSetting{Key: flag, Value: "true"}) {
				args, kept = append(args, flag), kept+flag
			}
		}
	}
	build := func(out string) error {
		text, err := exec.Command("go", append(append(args, flags...), "-o", out, "evalctl/cmd/evalctl")...).CombinedOutput() //nolint:noctx // the test waits
		if err != nil {
			return fmt.Errorf("build evalctl: %w\n%s", err, text)
		}
		return nil
	}
	if len(flags) > 0 {
		return build(file)
	}
	if err := os.MkdirAll(filepath.Dir(kept), 0o700); err != nil {
		return err
	}
	// Other tests, also of another work tree, may build the same file.
	unlock, err := lockedfile.MutexAt(kept + ".lock").Lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err := build(kept); err != nil {
		return err
	}
	if os.Link(kept, file) == nil {
		return nil
	}
	program, err := os.ReadFile(kept) // on another file system
	if err != nil {
		return err
	}
	return os.WriteFile(file, program, 0o700)
}
