package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// gitTime is the most that one git command may take.
const gitTime = 10 * time.Second

// worktreeCommit returns the commit of the git work tree that contains dir,
// in the form of a stamped build: "-dirty" is appended where git status lists
// changed or untracked files. It returns "" where git is missing or fails, or
// where the go.mod of the work tree does not declare module.
//
// Anybody can write a go.mod, so nothing that the work tree's own configuration
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

// withoutFilters returns options that empty every clean and process filter of
// the configuration. git status runs these on files whose time has changed, and
// no single option turns them off.
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

// git runs one git command in dir and returns its output. Everything is turned
// off by which config, rev-parse and status could run another program, except
// filters: see withoutFilters.
func git(dir string, args ...string) (out string, ok bool) {
	program, err := exec.LookPath("git")
	if err != nil {
		return "", false
	}
	ctx, cancel := context.WithTimeout(context.Background(), gitTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, append([]string{
		"--no-pager", "--no-optional-locks", // status writes no index, so that no hook runs
		"-c", "core.fsmonitor=", "-c", "core.virtualFilesystem=", "-c", "core.hooksPath=" + os.DevNull,
	}, args...)...)
	cmd.Dir = dir
	cmd.WaitDelay = time.Second
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") { // a hook's GIT_DIR names another work tree
			cmd.Env = append(cmd.Env, v)
		}
	}
	// Objects that a partial clone lacks stay where they are: to fetch them runs ssh.
	cmd.Env = append(cmd.Env, "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	b, err := cmd.Output()
	return strings.TrimSuffix(string(b), "\n"), err == nil
}
