package gitstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"evalctl/internal/environ"
	"evalctl/internal/printable"
)

// stopTimeout is the time that git has to exit after its context is done.
const stopTimeout = 5 * time.Second

// settings restrict the git program to the requested command: no hooks, no maintenance, no
// submodules, no signing.
var settings = []string{
	"core.hooksPath=" + os.DevNull, "core.fsmonitor=false", "core.fsync=committed,reference",
	"core.attributesFile=" + os.DevNull,
	"gc.auto=0", "maintenance.auto=false", "fetch.writeCommitGraph=false",
	"submodule.recurse=false", "push.recurseSubmodules=no", "fetch.recurseSubmodules=no",
	"push.followTags=false", "push.gpgSign=false", "merge.directoryRenames=false",
	"fetch.prune=false", "fetch.pruneTags=false", "credential.interactive=false",
}

// userVariables are the variables, or their beginnings, by which the user of Options.UserSettings
// tells git where settings, keys and credentials are. Others could redirect git to another
// repository, or make it print the data that it sends.
var userVariables = []string{
	"GIT_SSH=", "GIT_SSH_COMMAND=", "GIT_SSH_VARIANT=", "GIT_ASKPASS=", "GIT_PROXY_COMMAND=",
	"GIT_SSL_", "GIT_CONFIG_GLOBAL=", "GIT_CONFIG_SYSTEM=", "GIT_CONFIG_NOSYSTEM=",
	"GIT_CONFIG_COUNT=", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_",
}

// programError is returned when the git program exits with a code other than 0.
type programError struct {
	command string
	code    int
	stdout  []byte
	detail  string // errorDetail of stderr
}

func (e *programError) Error() string {
	return fmt.Sprintf("git %s exited with code %d: %s", e.command, e.code, e.detail)
}

// runGit runs the git program on the repository without a shell. It ignores the settings of the
// user, the system and the environment; only the repository's settings apply.
func (b *backend) runGit(ctx context.Context, command string, args ...string) (stdout []byte, err error) {
	return runProgram(ctx, b.Root.Name(), false, command, args...)
}

// runProgram runs the git program on the repository in dir, if there is one, without a shell. The
// settings of the user, the system and the environment apply only with userSettings.
func runProgram(
	ctx context.Context, dir string, userSettings bool, command string, args ...string,
) (stdout []byte, err error) {
	line := []string{"--no-pager"}
	if dir != "" {
		line = append(line, "--git-dir="+filepath.Join(dir, gitDir), "--work-tree="+dir)
	}
	for _, s := range settings {
		line = append(line, "-c", s)
	}
	cmd := exec.CommandContext(ctx, "git", append(append(line, command), args...)...)
	cmd.Dir = dir
	cmd.Env = programEnv(cmd.Environ(), userSettings)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	if userSettings {
		ownSession(cmd) // ssh and helpers may ask on the terminal
	}
	cmd.WaitDelay = stopTimeout
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err = cmd.Run()
	if err == nil {
		return out.Bytes(), nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, &programError{
			command: command, code: exit.ExitCode(), stdout: out.Bytes(), detail: errorDetail(stderr.String()),
		}
	}
	return nil, fmt.Errorf("git %s: %w", command, err)
}

// programEnv returns the environment of a git program, which never prompts. With the settings of
// the user, it is the user's own: ssh and the credential helpers in these settings may read any
// variable.
func programEnv(parent []string, userSettings bool) []string {
	own := []string{"LC_ALL=C", "GIT_TERMINAL_PROMPT=0"}
	if !userSettings {
		return environ.Of(parent, nil, append(own, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull))
	}
	env := slices.DeleteFunc(parent, func(v string) bool {
		hasPrefix := func(prefix string) bool { return strings.HasPrefix(v, prefix) }
		return hasPrefix("GIT_") && !slices.ContainsFunc(userVariables, hasPrefix)
	})
	env = append(env, own...)
	if !slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, "SSH_ASKPASS=") }) {
		env = append(env, "SSH_ASKPASS=false", "SSH_ASKPASS_REQUIRE=force") // a program that fails at once
	}
	return env
}

var credentials = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`://[^/@\s]+@`)
})

// errorDetail converts the output of git or of a remote into one line, without the credentials in
// addresses.
func errorDetail(text string) string {
	const longest = 500
	text = credentials().ReplaceAllString(text, "://")
	return printable.Short(strings.Join(strings.Fields(sanitize(text, "")), " "), longest)
}

var programVersion = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^git version (\d+)\.(\d+)`)
})

// CheckProgram returns an error unless the git program is installed in a version that Push and Pull
// can use.
func CheckProgram(ctx context.Context) error {
	const major, minor = 2, 38
	out, err := runProgram(ctx, "", false, "version")
	if err != nil {
		return fmt.Errorf("the git program is needed: %w", err)
	}
	m := programVersion().FindSubmatch(out)
	if m == nil {
		return fmt.Errorf("git version returned %.60q", out)
	}
	x, errX := strconv.Atoi(string(m[1]))
	y, errY := strconv.Atoi(string(m[2]))
	if err := errors.Join(errX, errY); err != nil {
		return err
	}
	if x < major || x == major && y < minor {
		return fmt.Errorf("git %d.%d or newer is needed, not %d.%d", major, minor, x, y)
	}
	return nil
}
