package build

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"evalctl/internal/environ"
)

// gitTimeout limits the duration of one git command.
const gitTimeout = 10 * time.Second

// worktreeCommit returns the commit of the git work tree that contains dir, in the form of a
// stamped build: "-dirty" is appended if git status lists changed or untracked files. It returns ""
// if git is missing or fails, or if the go.mod of the work tree does not declare module.
//
// The go.mod does not prove that the work tree is trustworthy, so no program that its configuration
// names is executed.
func worktreeCommit(dir, module string) string {
	out, ok := git(dir, "rev-parse", "--show-toplevel", "--verify", "HEAD")
	root, commit, both := strings.Cut(out, "\n")
	if !ok || !both || declaredModule(root) != module {
		return ""
	}
	inert, ok := withoutFilters(root)
	if !ok {
		return ""
	}
	changes, ok := git(root, append(inert, "status", "--porcelain", "--no-renames", "--ignore-submodules=dirty")...)
	if !ok {
		return ""
	}
	if changes != "" {
		commit += "-dirty"
	}
	return commit
}

var moduleLine = regexp.MustCompile(`(?m)^module[ \t]+"?([^\s"]+)`)

// declaredModule returns the module path in the go.mod of root, or "".
func declaredModule(root string) string {
	file := filepath.Join(root, "go.mod")
	if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	if m := moduleLine.FindSubmatch(text); m != nil {
		return string(m[1])
	}
	return ""
}

// withoutFilters returns options that empty every clean and process filter of the configuration.
// git status runs these on files whose modification time has changed, and no single option disables
// them all.
func withoutFilters(root string) (options []string, ok bool) {
	keys, ok := git(root, "config", "--list", "--name-only", "-z")
	if !ok {
		return nil, false
	}
	for key := range strings.SplitSeq(keys, "\x00") {
		if !strings.HasPrefix(key, "filter.") {
			continue
		}
		if strings.Contains(key, "=") {
			return nil, false // -c would set another key
		}
		options = append(options, "-c", key+"=")
	}
	return options, true
}

// git runs one git command in dir and returns its output. It disables every feature through which
// git status or git rev-parse would run another program.
func git(dir string, args ...string) (out string, ok bool) {
	program, err := exec.LookPath("git")
	if err != nil {
		return "", false
	}
	ctx, cancel := context.WithTimeout(context.Background(), gitTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, append([]string{
		"--no-pager", "--no-optional-locks", // status does not write the index, so no hook runs
		"-c", "core.fsmonitor=", "-c", "core.virtualFilesystem=", "-c", "core.hooksPath=" + os.DevNull,
	}, args...)...)
	cmd.Dir = dir
	cmd.WaitDelay = time.Second
	// There is no GIT_DIR, which in a hook may name another work tree. Missing objects of a partial
	// clone are not fetched, because fetching may run ssh.
	cmd.Env = environ.Of(os.Environ(), nil,
		[]string{"GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C"})
	b, err := cmd.Output()
	return strings.TrimSuffix(string(b), "\n"), err == nil
}
